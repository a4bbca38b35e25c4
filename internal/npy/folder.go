package npy

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
)

// File is a file of one array, which lies in memory.
type File struct {
	Path string
	*fileio.Mapping
}

// ReadFolder adds the arrays of a folder, a file NAME.npy each, and returns the files. Numbers that lie there as they
// are used stay in the file, and keep it. Those who own them may change them, and not the file.
func (s *Set) ReadFolder(folder string, budget *memory.Budget) (files []File, err error) {
	limits := &Limits{Budget: budget}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		name, isArray := strings.CutSuffix(e.Name(), ".npy")
		switch {
		case strings.HasPrefix(e.Name(), "."): // what systems keep beside files
		case strings.HasSuffix(e.Name(), ".npz"):
			s.Fail(&option.Error{Place: e.Name(), Problem: "instance files lie beside arrays of " + Edges + ".npy",
				Remedy: "keep them in folders of their own"})
		case isArray:
			s.Add(name, func(floats bool) (Values, error) {
				file, err := fileio.Map(path, "an array of "+name, func(size int64) error {
					return budget.Take("reading "+path, float64(size))
				})
				if err != nil {
					return Values{}, err
				}
				files = append(files, File{path, file})
				return limits.values(file, floats)
			})
		}
	}
	return files, err
}

// values are those of the array that a file is.
func (l *Limits) values(file *fileio.Mapping, floats bool) (a Values, err error) {
	defer runtime.KeepAlive(file)
	h, raw, err := Open(file.Bytes())
	if err == nil {
		err = l.Allow(h, floats, 0)
	}
	if err != nil {
		return a, err
	}
	if a, err = h.Values(raw, floats); floats && h.InPlace(raw) {
		a.Owner = file
	}
	return a, err
}
