//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fileio

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapBytes returns the content of a file, nil where it cannot be mapped: it is empty, or on a
// file system without maps, or there are too many.
func mapBytes(file *os.File, size int64, own bool) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	access, kind := unix.PROT_READ, unix.MAP_SHARED
	if own {
		access, kind = unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE
	}
	bytes, err := unix.Mmap(int(file.Fd()), 0, int(size), access, kind)
	if err != nil {
		return nil
	}
	return bytes
}

func unmap(bytes []byte) { _ = unix.Munmap(bytes) }
