//go:build unix && !linux

package machine

import (
	"syscall"
	"time"
)

// processorTime reads what the system accounts to the process, in microseconds.
func processorTime() (taken time.Duration, ok bool) {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0, false
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), true
}
