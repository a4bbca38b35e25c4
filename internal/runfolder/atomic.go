package runfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/blockbp/blockbp/internal/fileio"
)

// writeAtomically makes a file through fill, whole or not at all. Parents are made.
// Errors name the path and, where there is no room left, what to do.
func writeAtomically(target fileio.Target, fill func(path string) error) error {
	err := os.MkdirAll(filepath.Dir(target.Path), folderPermission)
	if err == nil {
		err = target.Via(fill)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", target.Path, WithRoomAdvice(err, "try again: what was there before is unchanged"))
	}
	return nil
}

// WithRoomAdvice is err and, if it says that the disk is full, what to do then.
func WithRoomAdvice(err error, advice string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w; free some space and %s", err, advice)
	}
	return err
}
