//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package runfolder

import (
	"errors"
	"os"
)

// tryLock fails: there are no locks that go with the process.
func tryLock(*os.File, bool) error { return errors.ErrUnsupported }

func release(file *os.File) error { return file.Close() }
