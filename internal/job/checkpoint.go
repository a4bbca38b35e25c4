package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/learn"
)

// saveCheckpoint writes the state of a run.
func saveCheckpoint(path string, s *learn.State) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return s.WriteFile(path)
}

// loadCheckpoint reads the state back, nil if the run has none yet.
func loadCheckpoint(path string) (*learn.State, error) {
	s, err := learn.ReadState(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, DataError(path, err)
	}
	return s, nil
}
