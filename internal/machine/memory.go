package machine

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// memoryFile is where Linux says how much memory is free or can be freed.
	memoryFile = "/proc/meminfo"
	// limitFile and usedFile are where a container of Linux (cgroup 2) finds its own
	// bound and what it uses.
	limitFile = "/sys/fs/cgroup/memory.max"
	usedFile  = "/sys/fs/cgroup/memory.current"
	// limitsFile is where Linux says what this process may take, as set by ulimit -d and
	// ulimit -v, and statusFile what it has taken.
	limitsFile = "/proc/self/limits"
	// assumedMemory is taken where the system does not tell.
	assumedMemory = 2 << 30
	// statusFile is also where Linux says how much memory this process has had at most, and
	// resetFile where it is told to forget that, by resetPeak.
	statusFile = "/proc/self/status"
	resetFile  = "/proc/self/clear_refs"
	resetPeak  = "5"
)

// AvailableMemory returns how many bytes a program may take without pushing others
// out of memory: as Linux says it, within the bounds of a container and of the process
// itself; 2 GiB where nothing is known.
func AvailableMemory() int64 {
	return min(availableMemory(memoryFile, limitFile, usedFile), processMemory(limitsFile, statusFile))
}

// processMemory is what this process may still take within its own limits, the largest
// number where it has none.
func processMemory(limits, status string) int64 {
	left := int64(math.MaxInt64)
	for _, l := range []struct{ limit, taken string }{{"Max data size", "VmData:"}, {"Max address space", "VmSize:"}} {
		taken, ok := readKilobytes(status, l.taken)
		if most, limited := readLimit(limits, l.limit); ok && limited {
			left = min(left, max(0, most-taken))
		}
	}
	return left
}

// readLimit reads the soft limit of the line "name SOFT HARD bytes"; ok is false where it
// is unlimited or not known.
func readLimit(path, name string) (bytes int64, ok bool) {
	for line := range strings.Lines(readWord(path)) {
		rest, found := strings.CutPrefix(line, name)
		if fields := strings.Fields(rest); found && len(fields) > 0 {
			bytes, err := strconv.ParseInt(fields[0], 10, 64)
			return bytes, err == nil
		}
	}
	return 0, false
}

func availableMemory(memory, limit, used string) int64 {
	available, ok := readKilobytes(memory, "MemAvailable:")
	if !ok {
		available = assumedMemory
	}
	bound, err := strconv.ParseInt(readWord(limit), 10, 64)
	if err != nil {
		return available // no container, or "max"
	}
	taken, err := strconv.ParseInt(readWord(used), 10, 64)
	if err != nil {
		return available
	}
	return max(0, min(available, bound-taken))
}

// PeakMemory returns the most bytes that this process has had in memory at a time,
// since ForgetPeak or else since it began; ok is false where the system does not
// tell: Linux does.
func PeakMemory() (bytes int64, ok bool) { return readKilobytes(statusFile, "VmHWM:") }

// ForgetPeak gives memory that is no longer used back to the system and begins the
// peak anew, where the system can: else the peak of before stays.
func ForgetPeak() {
	debug.FreeOSMemory()
	// Where the file is missing or not allowed the peak stays: that is documented.
	_ = os.WriteFile(resetFile, []byte(resetPeak), 0)
}

// readKilobytes reads the line "name N kB" of a file.
func readKilobytes(path, name string) (bytes int64, ok bool) {
	for line := range strings.Lines(readWord(path)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err == nil
		}
	}
	return 0, false
}
