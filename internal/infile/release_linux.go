package infile

import (
	"os"

	"golang.org/x/sys/unix"
)

var pageSize = uintptr(os.Getpagesize())

// discard lets go of pages, which the next look at them reads from the file.
func discard(pages []byte) bool { return unix.Madvise(pages, unix.MADV_DONTNEED) == nil }
