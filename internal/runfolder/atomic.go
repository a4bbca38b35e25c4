package runfolder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/blockbp/blockbp/internal/atomicfile"
)

// writeAtomically writes the file at path through fill, whole or not at all.
// Parents are made. Errors name the path and, where there is no room left, what to
// do.
func writeAtomically(path string, fill func(io.Writer) error) error {
	err := os.MkdirAll(filepath.Dir(path), folderPermission)
	if err == nil {
		err = atomicfile.Write(path, fill)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, withRoomAdvice(err, "try again: what was there before is unchanged"))
	}
	return nil
}

// withRoomAdvice is err and, if it says that the disk is full, what to do then.
func withRoomAdvice(err error, advice string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w; free some space and %s", err, advice)
	}
	return err
}
