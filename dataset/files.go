package dataset

import (
	"cmp"
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
	var entries []listEntry
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		entries = append(entries, listEntry{text, line})
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

// filesIn lists the files of a folder whose names match, in natural order. Names beginning with a dot are temporary or
// hidden files.
func filesIn(folder string, match func(name string) bool) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if match(e.Name()) && e.Name()[0] != '.' {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	slices.SortFunc(files, naturalCompare)
	return files, err
}

// naturalCompare orders names as people number files: digits compare as numbers, so that "2.npz" comes before "10.npz".
func naturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if m == 0 || n == 0 {
			m, n, p, q = 1, 1, x[:1], y[:1]
		}
		if order := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); order != 0 {
			return order
		}
		x, y = x[m:], y[n:]
	}
	// Names that differ only in leading zeros still need a fixed order.
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits is how many of them s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
