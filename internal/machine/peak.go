package machine

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// statusFile is where Linux says how much memory this process takes and has taken
	// at most, and resetFile where it is told to forget the latter.
	statusFile = "/proc/self/status"
	resetFile  = "/proc/self/clear_refs"
	// resetPeak is what is written there.
	resetPeak = "5"
)

// PeakMemory returns the most bytes that this process has had in memory at a time,
// since ForgetPeak or else since it began; ok is false where the system does not
// tell: Linux does.
func PeakMemory() (bytes int64, ok bool) { return readPeak(statusFile) }

// ForgetPeak gives memory that is no longer used back to the system and begins the
// peak anew, where the system can: else the peak of before stays.
func ForgetPeak() {
	debug.FreeOSMemory()
	// Where the file is missing or not allowed the peak stays: that is documented.
	_ = os.WriteFile(resetFile, []byte(resetPeak), 0)
}

// readPeak reads the line "VmHWM: N kB".
func readPeak(path string) (bytes int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err == nil
		}
	}
	return 0, false
}
