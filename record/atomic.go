package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/atomicfile"
)

// writeAtomically writes the file at path through fill, whole or not at all.
// Parents are made. Errors name the path.
func writeAtomically(path string, fill func(io.Writer) error) error {
	err := os.MkdirAll(filepath.Dir(path), folderPermission)
	if err == nil {
		err = atomicfile.Write(path, fill)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
