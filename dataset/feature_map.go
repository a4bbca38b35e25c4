package dataset

import (
	"encoding/binary"
	"image"
	"math"
	"runtime"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/stretch"
)

// featureMap is a picture's unary features as a network gave them.
type featureMap struct {
	path              string
	rows, cols, depth int
	cells             stretch.Cells // stored ones, or the colours of the picture
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
		return nil, wrong(path, 0, "", "", "shape is %s, want [h, w, d], none of them 0", npy.ShapeText(h.Shape))
	case !h.Floating() && h.Code() != "u1": // a network's output in bytes
		return nil, wrong(path, 0, "", "convert it with astype(numpy.float32)",
			"dtype is %s, want float32, float16, float64 or uint8", h.Descr)
	}
	m := &featureMap{path, h.Shape[0], h.Shape[1], h.Shape[2], nil}
	s := &storedCells{file, raw, h, h.Number(), m.cols, m.depth, m.cols * m.depth, m.depth, 1}
	if h.Fortran {
		s.rowStep, s.colStep, s.toNext = 1, m.rows, m.rows*m.cols
	}
	m.cells = s
	return m, s.check(path)
}

// over stretches the map over a picture.
func (m *featureMap) over(s *ImageSource, bias bool) *stretch.Map {
	return stretch.New(m.cells, stretch.Size{Rows: m.rows, Cols: m.cols}, m.depth,
		stretch.Size{Rows: s.Height, Cols: s.Width}, bias)
}

// fits reports whether the map can be one of a picture of rows × cols pixels. Networks round
// sizes up and down, but a map of another picture, or a transposed one, is further off: by more than a cell at the
// scale s of the picture that suits it best, where |m.rows − s·rows| and |m.cols − s·cols| are equal.
func (m *featureMap) fits(rows, cols int) bool {
	return math.Abs(float64(m.rows)*float64(cols)-float64(m.cols)*float64(rows)) <= float64(rows)+float64(cols) &&
		m.depth <= mostFeatures && m.rows <= math.MaxInt32/m.cols
}

// colourFeatures are the colours of a picture, of 0 to 255: those that coloursOf returned, or in finer steps if it has
// them.
func colourFeatures(path string, picture image.Image, colours []uint8) *featureMap {
	size, fine, values := picture.Bounds().Size(), false, make(stretch.Values, 0, len(colours)/4*3)
	switch picture.(type) {
	case *image.Gray16, *image.RGBA64, *image.NRGBA64:
		fine = true
	}
	for i := range size.X * size.Y {
		if c := colours[4*i:]; !fine {
			values = append(values, float32(c[0]), float32(c[1]), float32(c[2]))
			continue
		}
		at := picture.Bounds().Min.Add(image.Pt(i%size.X, i/size.X))
		r, g, b, _ := picture.At(at.X, at.Y).RGBA()
		values = append(values, float32(r)/257, float32(g)/257, float32(b)/257)
	}
	return &featureMap{path: path, rows: size.Y, cols: size.X, depth: 3, cells: values}
}

// isColours reports whether the features are those.
func (m *featureMap) isColours() bool {
	_, colours := m.cells.(stretch.Values)
	return colours
}

// grey reports whether all pixels are.
func (m *featureMap) grey() bool {
	colours := m.cells.(stretch.Values)
	for i := 0; i < len(colours); i += 3 {
		if colours[i] != colours[i+1] || colours[i+1] != colours[i+2] {
			return false
		}
	}
	return true
}

// oneColour keeps the first of three colours, which are equal.
func (m *featureMap) oneColour() {
	values := make(stretch.Values, m.rows*m.cols)
	for i := range values {
		values[i] = m.cells.(stretch.Values)[3*i]
	}
	m.depth, m.cells = 1, values
}

// storedCells are the values of a map as they lie in a file. They become numbers of single
// precision when they are read; those of double precision are rounded.
type storedCells struct {
	file                     *fileio.Mapping
	data                     []byte // of the file, without the header
	header                   *npy.Header
	number                   func(raw []byte) float64 // of header
	cols, depth              int
	rowStep, colStep, toNext int // from a value to that of the next row, column or feature
}

// Read implements stretch.Cells.
func (s *storedCells) Read(dst []float32, cells []int32) {
	defer runtime.KeepAlive(s.file)
	for i, c := range cells {
		r, c := int(c)/s.cols, int(c)%s.cols
		s.values(dst[i*s.depth:][:s.depth], r*s.rowStep+c*s.colStep, s.toNext)
	}
}

// values reads values from a place on, each so many places behind the one before.
func (s *storedCells) values(dst []float32, at, step int) {
	single := s.header.Code() == "f4" && s.header.Order == binary.ByteOrder(binary.LittleEndian)
	for i := range dst {
		if raw := s.data[s.header.Size*at:]; single {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw))
		} else {
			dst[i] = float32(s.number(raw))
		}
		at += step
	}
}

// check reads all values and reports the first that is no finite number of single precision.
func (s *storedCells) check(path string) error {
	h := s.header
	for i := 0; i < h.Count && h.Code() != "u1"; i++ {
		x := s.number(s.data[h.Size*h.Place(i):])
		switch v := float32(x); {
		case v-v == 0:
		case x-x == 0:
			return wrong(path, 0, npy.IndexText(h.Shape, i), "rescale the features, for example to a standard deviation of 1",
				"is %v, beyond the single precision in which the features of pictures are kept", x)
		default:
			return wrong(path, 0, npy.IndexText(h.Shape, i), "", "is %v, want a finite number", x)
		}
	}
	return nil
}
