//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fileio

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapBytes returns the content of a file, nil where it cannot be mapped: it is empty, or on a
// file system without maps, or there are too many.
func mapBytes(file *os.File, size int64) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	bytes, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return bytes
}

func unmap(bytes []byte) { _ = unix.Munmap(bytes) }
