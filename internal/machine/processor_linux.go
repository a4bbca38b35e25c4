package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime reads the clock of the process, in nanoseconds.
func processorTime() (taken time.Duration, ok bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
