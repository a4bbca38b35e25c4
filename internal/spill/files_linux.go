package spill

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/blockbp/blockbp/internal/memory"
)

// takeRoom has the file system set room aside: a file of zeros that takes none until it is written
// could find the disk full then.
func takeRoom(file *os.File, bytes int64) error {
	for {
		err := unix.Fallocate(int(file.Fd()), 0, 0, bytes)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return writeZeros(file, bytes)
		default:
			return err
		}
	}
}

// whatIsFree says how much room a disk has.
func whatIsFree(folder string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return ""
	}
	return fmt.Sprintf(", %s are free", memory.Text(float64(s.Bavail)*float64(s.Bsize)))
}

// InMemory reports whether the files of a folder lie in memory, as far as the system tells.
func InMemory(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && (int64(s.Type) == unix.TMPFS_MAGIC || int64(s.Type) == unix.RAMFS_MAGIC)
}
