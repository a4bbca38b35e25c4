//go:build linux || darwin || freebsd || openbsd || dragonfly

package study

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns the processor time that all threads of this process have taken so far, theirs and the system's
// on their behalf; ok is false where the system does not tell: Linux, macOS and the BSDs do. Unlike time on the wall it
// stands still while other programs have the processor, and while the process is stopped.
func ProcessorTime() (taken time.Duration, ok bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
