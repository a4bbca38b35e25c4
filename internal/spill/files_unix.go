//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapNew makes a file without a name in a folder, takes room for it, and maps it.
func mapNew(folder string, bytes int64) ([]byte, error) {
	if int64(int(bytes)) != bytes {
		return nil, errors.New("that is more than this system can map")
	}
	file, err := named(folder)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping keeps it
	if err := takeRoom(file, bytes); err != nil {
		if full(err) {
			err = fmt.Errorf("%w%s", err, whatIsFree(folder))
		}
		return nil, err
	}
	return unix.Mmap(int(file.Fd()), 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(bytes []byte) { _ = unix.Munmap(bytes) }

// named makes a file that has a name for a moment.
func named(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, ".blockbp-spill-*")
	var path *fs.PathError
	if errors.As(err, &path) { // it names a file that nobody knows
		return nil, path.Err
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// full reports whether a disk, or what a user may have of it, has too little room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
