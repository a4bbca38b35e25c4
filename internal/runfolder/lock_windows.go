package runfolder

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks an open file, for itself alone or with others that look, or returns errHeld at once. What is locked
// is a byte far behind the end of the file, so that others can read whom it names. The lock belongs to the open file
// and ends with the process.
func tryLock(file *os.File, alone bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

// release unlocks the lock file first: a file that is open cannot be removed. Nor can
// it be if another process has taken it since, which is as it should be.
func release(file *os.File) error {
	name := file.Name()
	err := file.Close()
	_ = os.Remove(name)
	return err
}
