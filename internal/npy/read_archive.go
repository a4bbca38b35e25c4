package npy

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/memory"
)

const (
	// A constant array compresses nearly as well as deflate allows, so a large ratio is no crime; but where the arrays
	// of a file, as they are kept, take more than freeExpansion, they must be at most mostExpansionRate times the
	// file: real data with so many numbers have some that differ.
	freeExpansion     = 1 << 28
	mostExpansionRate = 128
)

// limits bound the memory that arrays take.
type limits struct {
	budget *memory.Budget
	most   float64 // that a file is believed to hold; 0: it lies there as it is
	kept   float64 // bytes of all arrays
}

// ReadArchive adds all arrays of an npz file. Memory is bounded by what the size of the file allows for, and by the
// budget.
func (s *Set) ReadArchive(r io.ReaderAt, size int64, budget *memory.Budget) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		s.Partial = true
		s.Add(0, "", "write it with numpy.savez or numpy.savez_compressed",
			"it is no npz file, or was cut short or damaged: %v", err)
		return
	}
	s.Arrays = map[string]Values{}
	l := &limits{budget: budget, most: max(freeExpansion, mostExpansionRate*float64(size))}
	for _, entry := range archive.File {
		s.take(strings.TrimSuffix(entry.Name, ".npy"), func(floats bool) (a Values, err error) {
			r, err := entry.Open()
			if err != nil {
				return a, fmt.Errorf("%w; write the file with numpy.savez_compressed", err)
			}
			defer r.Close()
			return l.read(r, int64(entry.UncompressedSize64), nil, floats)
		})
	}
}

// read reads an array of so many bytes, with its header. Elements lie in the file that is mapped, or else come behind
// the header.
func (l *limits) read(r io.Reader, size int64, mapped *fileio.Mapping, floats bool) (a Values, err error) {
	h, err := ReadHeader(r)
	if err != nil {
		return a, err
	}
	if err := cmp.Or(h.checkSize(size), l.allow(h, floats, mapped == nil)); err != nil {
		return a, err
	}
	var raw []byte
	if mapped != nil {
		raw = mapped.Bytes()[h.bytes:]
	} else {
		raw = make([]byte, h.DataBytes())
		if _, err = io.ReadFull(r, raw); err == nil { // only at the end does the archive's checksum get compared
			_, err = r.Read(make([]byte, 1))
		}
		if err != nil && err != io.EOF {
			return a, fmt.Errorf("%w: the file is damaged", err)
		}
	}
	if !floats {
		return h.Integers(raw)
	}
	if a = h.Floats(raw); h.InPlace(raw) {
		a.Owner = mapped
	}
	return a, nil
}

// allow refuses an array that would take too much memory, before it is made: for bytes that are read, and for elements
// where these are not used as they lie.
func (l *limits) allow(h *Header, floats, read bool) error {
	width, bytes := 4, 0.0 // float32, or int32 whatever the file has
	if read {
		bytes = float64(h.DataBytes())
	}
	if floats && h.Size == 8 || floats && h.Size == 4 && !h.Floating() {
		width = 8
	}
	if !floats || !h.asUsed() {
		bytes += float64(h.Count) * float64(width)
	}
	if l.kept += bytes; l.most > 0 && l.kept > l.most {
		return fmt.Errorf("a small file promises arrays of %s; if they are really that large, write it with numpy.savez",
			memory.Text(l.kept))
	}
	return l.budget.Take("reading the arrays up to this one", bytes)
}

// File is a file of one array, which lies in memory.
type File struct {
	Path string
	*fileio.Mapping
}

// ReadFolder adds the arrays of a folder, a file NAME.npy each, and returns the files. Numbers that lie there as they
// are used stay in the file, and keep it. Those who own them may change them, and not the file.
func (s *Set) ReadFolder(budget *memory.Budget) (files []File) {
	l := &limits{budget: budget}
	s.Arrays = map[string]Values{}
	entries, err := os.ReadDir(s.File)
	s.Keep(err)
	for _, e := range entries {
		path := filepath.Join(s.File, e.Name())
		name, isArray := strings.CutSuffix(e.Name(), ".npy")
		switch {
		case strings.HasPrefix(e.Name(), "."): // what systems keep beside files
		case strings.HasSuffix(e.Name(), ".npz"):
			s.Add(0, e.Name(), "keep them in folders of their own", "instance files lie beside arrays of "+Edges+".npy")
		case isArray:
			s.take(name, func(floats bool) (a Values, err error) {
				file, err := fileio.Map(path, "an array of "+name, func(size int64) error {
					return budget.Take("reading "+path, float64(size))
				})
				if err == nil {
					defer runtime.KeepAlive(file)
					files = append(files, File{path, file})
					a, err = l.read(bytes.NewReader(file.Bytes()), int64(len(file.Bytes())), file, floats)
				}
				return a, err
			})
		}
	}
	return files
}
