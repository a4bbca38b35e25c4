package memory

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// memoryFile is where Linux says how much memory is free or can be freed.
	memoryFile = "/proc/meminfo"
	// groupFile is where Linux says which control groups this process is in, as containers and
	// jobs of clusters are, and groupFolder where these are.
	groupFile   = "/proc/self/cgroup"
	groupFolder = "/sys/fs/cgroup"
	// assumedMemory is taken where the system does not tell.
	assumedMemory = 2 << 30
	// statusFile is where Linux says how much memory this process has had at most.
	statusFile = "/proc/self/status"
)

// AvailableMemory returns how many bytes a program may take without pushing others out of memory: as Linux says it,
// within the bounds of a container; 2 GiB where nothing is known.
func AvailableMemory() int64 {
	free, ok := readKilobytes(memoryFile, "MemAvailable:")
	if !ok {
		free = assumedMemory
	}
	return min(free, groupMemory(groupFile, groupFolder))
}

// numberBehind reads the number behind a name that begins a line of a file; ok is false where there is none.
func numberBehind(path, name string) (n int64, ok bool) {
	for line := range strings.Lines(readWord(path)) {
		rest, found := strings.CutPrefix(line, name)
		if fields := strings.Fields(rest); found && len(fields) > 0 {
			n, err := strconv.ParseInt(fields[0], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// groupMemory is what the control groups of this process, and all above them, leave: the largest number where they
// have no bounds. Files are in a folder a controller in version 1, and in one for all in version 2.
func groupMemory(membership, folder string) int64 {
	left := int64(math.MaxInt64)
	for line := range strings.Lines(readWord(membership)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		root, limit, used, cache := folder, "memory.max", "memory.current", "inactive_file"
		if slices.Contains(strings.Split(fields[1], ","), "memory") {
			root, limit, used, cache = filepath.Join(folder, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes",
				"total_inactive_file"
		} else if fields[1] != "" {
			continue
		}
		for group := filepath.Join("/", fields[2]); ; group = filepath.Dir(group) {
			at := filepath.Join(root, group)
			most, limited := readNumber(filepath.Join(at, limit))
			taken, known := readNumber(filepath.Join(at, used))
			if limited && known {
				free, _ := numberBehind(filepath.Join(at, "memory.stat"), cache+" ")
				left = min(left, max(0, most-max(0, taken-free)))
			}
			if group == "/" {
				break
			}
		}
	}
	return left
}

// readNumber reads a file of one number.
func readNumber(path string) (n int64, ok bool) {
	n, err := strconv.ParseInt(readWord(path), 10, 64)
	return n, err == nil
}

// PeakMemory returns the most bytes that this process has had in memory at a time, since it began; ok is false where
// the system does not tell: Linux does.
func PeakMemory() (bytes int64, ok bool) { return readKilobytes(statusFile, "VmHWM:") }

// readKilobytes reads the line "name N kB" of a file.
func readKilobytes(path, name string) (bytes int64, ok bool) {
	kilobytes, ok := numberBehind(path, name)
	return kilobytes << 10, ok
}

// systemCaches is where Linux describes the caches of the first core.
const systemCaches = "/sys/devices/system/cpu/cpu0/cache"

// usualCache stands in where the system does not tell: most processors of the last ten years have or exceed it.
const usualCache = 512 << 10

// SecondLevelCache returns the bytes of the second-level cache of the first core.
func SecondLevelCache() int { return readSecondLevel(systemCaches) }

// readSecondLevel reads a folder in the form of systemCaches.
func readSecondLevel(folder string) int {
	entries, _ := filepath.Glob(filepath.Join(folder, "index*")) // the pattern is one
	for _, entry := range entries {
		size, isKiB := strings.CutSuffix(readWord(filepath.Join(entry, "size")), "K")
		kib, err := strconv.Atoi(size)
		if readWord(filepath.Join(entry, "level")) == "2" && isKiB && err == nil && kib > 0 {
			return kib << 10
		}
	}
	return usualCache
}

// readWord returns the text of a small file without blanks around it, or nothing.
func readWord(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
