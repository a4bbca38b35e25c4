package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// LockFile is in a folder as long as a process writes there: locked by that process, whose owner it names. The lock
// goes with the process, however it ends. A file that is left over is no obstacle.
const LockFile = ".lock"

// owner is what a lock file holds.
type owner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// InUseError says that a process is at work in a folder.
type InUseError struct {
	Dir string // the folder as given
	By  string // the process, in words
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("folder %q is in use by %s: wait until that has ended, or choose another folder", e.Dir, e.By)
}

// errHeld says that another open file holds the lock.
var errHeld = errors.New("locked")

// lockFile is replaced by tests.
var lockFile = tryLock

// A lock that is held for a moment only, by a process that looks whether it is free, is tried again.
const (
	lockAttempts = 5
	lockPause    = 5 * time.Millisecond
)

// acquire locks the folder dir for this process, and returns the lock file. A file system without locks has none.
func acquire(dir string) (*os.File, error) {
	path := filepath.Join(dir, LockFile)
	for attempt := 0; ; {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, filePermission)
		if err != nil {
			return nil, fmt.Errorf("folder %q is not writable: %w", dir, WithRoomAdvice(err, "try again"))
		}
		err = lockFile(file, true)
		switch {
		case errors.Is(err, errHeld):
			by := ownerIn(file)
			file.Close()
			if attempt++; attempt == lockAttempts {
				return nil, &InUseError{dir, by}
			}
			time.Sleep(lockPause)
		case err == nil && !isAt(path, file): // its owner removed it in the meantime
			file.Close()
		default:
			sign(file)
			return file, nil
		}
	}
}

// isAt reports whether file is what a path stands for.
func isAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	named, nameErr := os.Stat(path)
	return err == nil && nameErr == nil && os.SameFile(opened, named)
}

// sign writes who has the lock. Without it others are told less: no reason to fail.
func sign(file *os.File) {
	host, _ := os.Hostname()
	text, err := json.Marshal(owner{os.Getpid(), host, time.Now().Truncate(time.Second)})
	if err == nil && file.Truncate(0) == nil {
		_, _ = file.WriteAt(append(text, '\n'), 0)
	}
}

// ownerIn says in words whom a lock file names.
func ownerIn(file io.ReaderAt) string {
	const most = 4096 // bytes: more than any owner takes
	var o owner
	if json.NewDecoder(io.NewSectionReader(file, 0, most)).Decode(&o) != nil {
		return "another process"
	}
	if host, err := os.Hostname(); o.PID == os.Getpid() && err == nil && host == o.Host {
		return fmt.Sprintf("this very process, since %s", o.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("process %d on %q, since %s", o.PID, o.Host, o.Since.Format(time.DateTime))
}

// CheckFree refuses a folder in which a process is at work, with an *InUseError, and
// one that holds something, with a *NotEmptyError. One that does not exist is free.
func CheckFree(dir string) error {
	if err := CheckUnlocked(dir); err != nil {
		return err
	}
	if first, err := firstEntry(dir); err == nil && first != "" {
		return &NotEmptyError{Dir: dir, Holds: first}
	}
	return nil
}

// CheckUnlocked refuses a folder in which a process is at work, with an *InUseError.
func CheckUnlocked(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR, 0)
	if err == nil {
		err = lockFile(file, false)
		by := ownerIn(file)
		file.Close()
		if errors.Is(err, errHeld) {
			return &InUseError{dir, by}
		}
	}
	return nil
}
