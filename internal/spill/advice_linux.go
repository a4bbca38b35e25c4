package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

var pageSize = uintptr(os.Getpagesize())

// fetch has the pages of a span read. It is advice: between two pieces may lie what is no file.
func (s span) fetch() { s.advise(unix.MADV_WILLNEED) }

func (s span) readApart(apart bool) {
	if apart {
		s.advise(unix.MADV_RANDOM)
	} else {
		s.advise(unix.MADV_NORMAL)
	}
}

// advise gives an address and not a slice: what lies on the same pages may be memory of others.
func (s span) advise(advice int) {
	lo := s.lo / pageSize * pageSize
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, lo, s.hi-lo, uintptr(advice))
}
