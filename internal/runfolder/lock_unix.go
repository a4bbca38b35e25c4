//go:build !windows

package runfolder

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks an open file, for itself alone or with others that look, or returns errHeld at once. The lock belongs
// to the open file: another one of the same process does not have it, programs that are started do not inherit it,
// and it ends with the process.
func tryLock(file *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		default:
			return err
		}
	}
}

// release removes the lock file first and unlocks it then: who opens it in between finds that its name is gone.
func release(file *os.File) error { return errors.Join(os.Remove(file.Name()), file.Close()) }
