package npy

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/blockbp/blockbp/internal/memory"
)

const (
	// A constant array compresses nearly as well as deflate allows, so a large ratio is no crime; but where the arrays
	// of a file, as they are kept, take more than freeExpansion, they must be at most mostExpansionRate times the
	// file: real data with so many numbers have some that differ.
	freeExpansion     = 1 << 28
	mostExpansionRate = 128
)

// Limits bound the memory that arrays take.
type Limits struct {
	Budget *memory.Budget
	most   float64 // that a file is believed to hold; 0: it lies there as it is
	kept   float64 // bytes of all arrays
}

// ReadArchive adds all arrays of an npz file. Memory is bounded by what the size of the file allows for, and by the
// budget.
func (s *Set) ReadArchive(r io.ReaderAt, size int64, budget *memory.Budget) error {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("it is no npz file, or was cut short or damaged: %w", err)
	}
	l := &Limits{Budget: budget, most: max(freeExpansion, mostExpansionRate*float64(size))}
	for _, entry := range archive.File {
		s.Add(strings.TrimSuffix(entry.Name, ".npy"), func(floats bool) (Values, error) { return l.readEntry(entry, floats) })
	}
	return nil
}

// readEntry reads one array of an archive.
func (l *Limits) readEntry(entry *zip.File, floats bool) (a Values, err error) {
	r, err := entry.Open()
	if err != nil {
		return a, fmt.Errorf("%w; write the file with numpy.savez_compressed", err)
	}
	defer r.Close()
	h, err := ReadHeader(r)
	if err != nil {
		return a, err
	}
	if err := cmp.Or(h.checkSize(int64(entry.UncompressedSize64)), l.Allow(h, floats, h.DataBytes())); err != nil {
		return a, err
	}
	raw := make([]byte, h.DataBytes())
	_, err = io.ReadFull(r, raw)
	if err == nil { // only at the end does the archive's checksum get compared
		_, err = r.Read(make([]byte, 1))
	}
	if err != nil && err != io.EOF {
		return a, fmt.Errorf("%w: the file is damaged", err)
	}
	return h.Values(raw, floats)
}

// Values makes an array of its bytes.
func (h *Header) Values(raw []byte, floats bool) (Values, error) {
	if floats {
		return h.Floats(raw), nil
	}
	return h.Integers(raw)
}

// Allow refuses an array that would take too much memory, before it is made: for so many bytes that are read, and for
// elements where these are not used as they lie.
func (l *Limits) Allow(h *Header, floats bool, read int64) error {
	width, bytes := 4, float64(read) // float32, or int32 whatever the file has
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
	return l.Budget.Take("reading the arrays up to this one", bytes)
}
