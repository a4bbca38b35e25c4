package dataset

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// listEntry is one line of a list file.
type listEntry struct {
	text string
	line int // from 1
}

// parseList reads a list file: one path or id per line; blank lines and lines that begin with # do not count.
func parseList(path string, data []byte) ([]listEntry, []error) {
	if err := formats.NotText(path, data); err != nil {
		return nil, []error{err}
	}
	entries, line := []listEntry(nil), 0
	for text := range strings.Lines(string(data)) {
		line++
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			entries = append(entries, listEntry{text, line})
		}
	}
	if len(entries) == 0 {
		return nil, []error{option.At(path, 0, "", "", "the list is empty")}
	}
	return entries, nil
}

// Source is a file that was read, for the record of a run.
type Source struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // hexadecimal
	Bytes  int64  `json:"bytes"`
}

// What is read whole may have any size within what is allowed of memory, but lists and descriptions of data.
const anySize, smallText = math.MaxInt64, fileio.Text

// source reads a whole text of so many bytes at most, which then is among the sources; nil: it cannot be read.
func (l *loader) source(path, wanted string, most int64) []byte {
	data, err := fileio.ReadIf(path, wanted, most, func(size int64) error {
		return memory.Check("the file "+path, float64(size), l.o.Memory)
	})
	if err != nil {
		l.fail(err)
		return nil
	}
	l.set.Sources = append(l.set.Sources, sourceOf(path, data))
	return fileio.Lines(data)
}

func sourceOf(path string, data []byte) Source {
	return Source{Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Bytes: int64(len(data))}
}

// filesIn lists the files of a folder whose names match, in natural order. Names with a dot first are hidden files.
func filesIn(folder string, match func(name string) bool) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if match(e.Name()) && e.Name()[0] != '.' {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	slices.SortFunc(files, numeric.NaturalOrder)
	return files, err
}
