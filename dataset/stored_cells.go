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
	code                     string // f2, f4, f8 or u1
	order                    binary.ByteOrder
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
	little := s.order == binary.ByteOrder(binary.LittleEndian)
	switch {
	case s.code == "u1":
		for i := range dst {
			dst[i] = float32(s.data[at])
			at += step
		}
	case s.code == "f4" && little:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(s.data[4*at:]))
			at += step
		}
	case s.code == "f2" && little:
		for i := range dst {
			dst[i] = npy.Half(binary.LittleEndian.Uint16(s.data[2*at:])).Float32()
			at += step
		}
	default:
		for i := range dst {
			dst[i] = float32(s.double(at))
			at += step
		}
	}
}

// double reads a value as it is in the file.
func (s *storedCells) double(at int) float64 {
	switch s.code {
	case "u1":
		return float64(s.data[at])
	case "f2":
		return float64(npy.Half(s.order.Uint16(s.data[2*at:])).Float32())
	case "f4":
		return float64(math.Float32frombits(s.order.Uint32(s.data[4*at:])))
	}
	return math.Float64frombits(s.order.Uint64(s.data[8*at:]))
}

// check reads all values and reports the first that is no finite number of single precision,
// by its place in the file.
func (s *storedCells) check(path string, h *npyHeader) error {
	chunk := make([]float32, min(npyChunk, h.count))
	for at := 0; at < h.count && s.code != "u1"; at += len(chunk) {
		chunk = chunk[:min(len(chunk), h.count-at)]
		s.values(chunk, at, 1)
		for i, v := range chunk {
			if v-v == 0 {
				continue
			}
			place, kept := indexText(h.shape, at+i, h.fortran), s.double(at+i)
			if kept-kept == 0 {
				return &Error{File: path, Place: place, Problem: fmt.Sprintf("is %v, beyond the single precision in which the features of pictures are kept", kept), Remedy: "rescale the features, for example to a standard deviation of 1"}
			}
			return &Error{File: path, Place: place, Problem: fmt.Sprintf("is %v, want a finite number", kept)}
		}
	}
	return nil
}
