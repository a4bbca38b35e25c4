package dataset

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/npy"
)

// storedCells are the values of a map as they lie in a file. They become numbers of single
// precision when they are read; those of double precision are rounded.
type storedCells struct {
	file                     *infile.Mapping
	data                     []byte // of the file, without the header
	header                   *npyHeader
	number                   func(raw []byte) float64 // of header
	cols, depth              int
	rowStep, colStep, toNext int // from a value to that of the next row, column or feature
}

// Read implements stretch.Cells.
func (s *storedCells) Read(dst []float32, cells []int32) {
	if s.file != nil {
		defer s.file.End(s.file.Begin())
	}
	for i, c := range cells {
		r, c := int(c)/s.cols, int(c)%s.cols
		s.values(dst[i*s.depth:][:s.depth], r*s.rowStep+c*s.colStep, s.toNext)
	}
}

// values reads values from a place on, each so many places behind the one before.
func (s *storedCells) values(dst []float32, at, step int) {
	little := s.header.order == binary.ByteOrder(binary.LittleEndian)
	switch code := s.header.code(); {
	case code == "u1":
		for i := range dst {
			dst[i] = float32(s.data[at])
			at += step
		}
	case code == "f4" && little:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(s.data[4*at:]))
			at += step
		}
	case code == "f2" && little:
		for i := range dst {
			dst[i] = npy.Half(binary.LittleEndian.Uint16(s.data[2*at:])).Float32()
			at += step
		}
	default:
		for i := range dst {
			dst[i] = float32(s.number(s.data[s.header.size*at:]))
			at += step
		}
	}
}

// check reads all values and reports the first that is no finite number of single precision,
// by its place in the file.
func (s *storedCells) check(path string) error {
	h := s.header
	chunk := make([]float32, min(npyChunk, h.count))
	for at := 0; at < h.count && h.code() != "u1"; at += len(chunk) {
		chunk = chunk[:min(len(chunk), h.count-at)]
		s.values(chunk, at, 1)
		for i, v := range chunk {
			if v-v == 0 {
				continue
			}
			place, kept := indexText(h.shape, at+i, h.fortran), s.number(s.data[h.size*(at+i):])
			if kept-kept == 0 {
				const problem = "is %v, beyond the single precision in which the features of pictures are kept"
				return &Error{File: path, Place: place, Problem: fmt.Sprintf(problem, kept),
					Remedy: "rescale the features, for example to a standard deviation of 1"}
			}
			return &Error{File: path, Place: place, Problem: fmt.Sprintf("is %v, want a finite number", kept)}
		}
	}
	return nil
}
