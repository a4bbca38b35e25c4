package runfolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// leftover is what files are called while they are written: the name of the file with a
// point before it and a random number behind it, or a folder with one in it.
var leftover = regexp.MustCompile(`^\.(blockbp-[0-9]+|[^/]+\.(json|jsonl|csv|safetensors|svg|png|html|npz)[0-9]{6,})$`)

// IsLeftover reports whether a file or folder of this name is there only while something is written.
func IsLeftover(name string) bool { return leftover.MatchString(name) }

// isOurs reports a leftover that is a file or a folder, as those that are written are.
func isOurs(e fs.DirEntry) bool {
	return IsLeftover(e.Name()) && (e.IsDir() || e.Type().IsRegular())
}

// RemoveLeftovers removes what processes that were killed while they wrote into the
// folder, or into one right in it, have left there.
func (run *Run) RemoveLeftovers() error {
	entries, err := os.ReadDir(run.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(run.dir, e.Name())
		if isOurs(e) {
			err = errors.Join(err, os.RemoveAll(path))
			continue
		}
		inside, readErr := os.ReadDir(path)
		if readErr != nil {
			continue // a file, or a folder that nobody could have written to
		}
		for _, e := range inside {
			if isOurs(e) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
			}
		}
	}
	return err
}
