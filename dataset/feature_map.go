package dataset

import (
	"encoding/binary"
	"math"
	"runtime"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/upsample"
)

// featureMap is a picture's unary features as a network gave them.
type featureMap struct {
	path              string
	rows, cols, depth int
	cells             upsample.Cells // stored ones, or the colours of the picture
}

// parseMap reads an array [h, w, d], or [h, w] alone, of floating-point numbers, or bytes; float64 is rounded to single
// precision. The values stay where they are, in a file that has to stay open for as long as the map, if it is not nil.
func parseMap(path string, data []byte, file *fileio.Mapping) (*featureMap, error) {
	defer runtime.KeepAlive(file)
	h, raw, err := npy.Open(data)
	if err != nil {
		return nil, arrayError(path, err)
	}
	if len(h.Shape) == 2 { // one number for each cell
		h.Shape = append(h.Shape, 1)
	}
	switch {
	case len(h.Shape) != 3 || h.Count == 0:
		return nil, option.At(path, 0, "", "", "shape is %s, want [h, w, d], none of them 0", npy.ShapeText(h.Shape))
	case !h.Floating() && h.Code() != "u1": // a network's output in bytes
		return nil, option.At(path, 0, "", "convert it with astype(numpy.float32)",
			"dtype is %s, want float32, float16, float64 or uint8", h.Descr)
	}
	for i := 0; i < h.Count && h.Code() != "u1"; i++ {
		if x := h.Number(raw[h.Size*h.Place(i):]); float32(x)-float32(x) != 0 {
			return nil, option.At(path, 0, npy.IndexText(h.Shape, i),
				"write the mean in the place of NaN, and rescale features that are larger, for example to a deviation of 1",
				"is %v, want a finite number of single precision", x)
		}
	}
	return &featureMap{path, h.Shape[0], h.Shape[1], h.Shape[2], &storedCells{file, raw, h, h.Shape[2]}}, nil
}

// fits reports whether the map can be one of a picture of rows × cols pixels. Networks round
// sizes up and down, but a map of another picture, or a transposed one, is further off: by more than a cell at the
// scale s of the picture that suits it best, where |m.rows − s·rows| and |m.cols − s·cols| are equal.
func (m *featureMap) fits(rows, cols int) bool {
	return math.Abs(float64(m.rows)*float64(cols)-float64(m.cols)*float64(rows)) <= float64(rows)+float64(cols) &&
		m.depth <= mostFeatures && m.rows <= math.MaxInt32/m.cols
}

// storedCells are the values of a map as they lie in a file. They become numbers of single
// precision when they are read; those of double precision are rounded.
type storedCells struct {
	file   *fileio.Mapping
	data   []byte // of the file, without the header
	header *npy.Header
	depth  int
}

// Read implements upsample.Cells.
func (s *storedCells) Read(dst []float32, cells []int32) {
	defer runtime.KeepAlive(s.file)
	h := s.header
	usual := h.Descr == "<f4" && !h.Fortran // is read without a call for each number
	for i, c := range cells {
		first := int(c) * s.depth
		for k := range s.depth {
			if to := &dst[i*s.depth+k]; usual {
				*to = math.Float32frombits(binary.LittleEndian.Uint32(s.data[4*(first+k):]))
			} else {
				*to = float32(h.Number(s.data[h.Size*h.Place(first+k):]))
			}
		}
	}
}
