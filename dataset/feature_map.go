package dataset

import (
	"bytes"
	"fmt"
	"math"
)

// featureMap is a picture's unary features as a network gave them.
type featureMap struct {
	path              string
	rows, cols, depth int
	data              []float32 // [rows*cols*depth]
}

// parseFeatureMap reads an array [h, w, d] of floating-point numbers, or bytes; float64
// is rounded to single precision.
func parseFeatureMap(path string, data []byte) (*featureMap, error) { return parseMap(path, data, 3) }

// parseMap reads an array [h, w, d], or [h, w].
func parseMap(path string, data []byte, dimensions int) (*featureMap, error) {
	r := bytes.NewReader(data)
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, arrayError(path, "", err)
	}
	wanted := "[h, w, d]"
	if dimensions == 2 {
		wanted = "[h, w]"
	}
	if len(h.shape) == 2 && dimensions == 2 {
		h.shape = append(h.shape, 1)
	}
	switch {
	case len(h.shape) != 3 || h.count == 0 || dimensions == 2 && h.shape[2] != 1:
		return nil, &Error{File: path, Problem: fmt.Sprintf("shape is %s, want %s, none of them 0", shapeText(h.shape), wanted)}
	case !h.floating() && h.code() != "u1": // a network's output in bytes
		return nil, &Error{File: path, Problem: fmt.Sprintf("dtype is %s, want float32, float16, float64 or uint8", h.descr), Remedy: "convert it with astype(numpy.float32)"}
	case h.shape[2] > mostFeatures:
		return nil, &Error{File: path, Problem: fmt.Sprintf("shape is %s, at most %d features are supported", shapeText(h.shape), mostFeatures)}
	case h.bytes+h.dataBytes() != int64(len(data)):
		return nil, &Error{File: path, Problem: fmt.Sprintf("the file has %d bytes, shape %s of %s wants %d", len(data), shapeText(h.shape), h.descr, h.bytes+h.dataBytes()), Remedy: "it was cut short or damaged; write it again"}
	}
	values, err := readFloats(r, h)
	if err != nil {
		return nil, arrayError(path, "", err)
	}
	m := &featureMap{path: path, rows: h.shape[0], cols: h.shape[1], depth: h.shape[2], data: values.data32}
	if values.data32 == nil {
		m.data = make([]float32, len(values.data))
		for i, v := range values.data {
			if m.data[i] = float32(v); math.IsInf(float64(m.data[i]), 0) && !math.IsInf(v, 0) {
				return nil, &Error{File: path, Place: indexText(h.shape, i, false), Problem: fmt.Sprintf("is %v, beyond the single precision in which the features of pictures are kept", v), Remedy: "rescale the features, for example to a standard deviation of 1"}
			}
		}
	}
	for i, v := range m.data {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &Error{File: path, Place: indexText(h.shape, i, false), Problem: fmt.Sprintf("is %v, want a finite number", v)}
		}
	}
	return m, nil
}

// fits reports whether the map can be one of a picture of rows × cols pixels:
// whether some scale s makes both |m.rows − s·rows| ≤ 1 and |m.cols − s·cols| ≤ 1.
// Networks round sizes up and down, but a map of another picture, or a
// transposed one, is further off.
func (m *featureMap) fits(rows, cols int) bool {
	least := max(float64(m.rows-1)/float64(rows), float64(m.cols-1)/float64(cols))
	most := min(float64(m.rows+1)/float64(rows), float64(m.cols+1)/float64(cols))
	return least <= most
}

// upsample writes the features of every pixel of a picture of rows × cols to the
// first depth entries of its row in dst, [rows*cols, stride].
//
// The map is stretched over the picture and interpolated bilinearly between the
// centres of its cells: pixel i of n lies at (i+½)·h/n − ½ in a map of h cells,
// and what lies beyond the outermost centres takes their value. This is
// align_corners=False of PyTorch and the "half-pixel" convention of others.
func (m *featureMap) upsample(dst []float32, stride, rows, cols int) {
	down, across := newInterpolation(rows, m.rows), newInterpolation(cols, m.cols)
	width := m.cols * m.depth
	line := make([]float32, width) // the map interpolated down to one pixel row
	for r := range rows {
		above, below := m.data[down.low[r]*width:][:width], m.data[down.high[r]*width:][:width]
		blend(line, above, below, down.weight[r])
		for c := range cols {
			pixel := dst[(r*cols+c)*stride:][:m.depth]
			left, right := line[across.low[c]*m.depth:][:m.depth], line[across.high[c]*m.depth:][:m.depth]
			blend(pixel, left, right, across.weight[c])
		}
	}
}

// blend computes dst = a + weight·(b − a). The conversion keeps the compiler
// from fusing the two operations, so that all machines give the same features.
func blend(dst, a, b []float32, weight float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + float32(weight*(b[i]-a[i]))
	}
}

// interpolation gives, for every pixel along an axis, the two cells of the map
// that it lies between and the weight of the second.
type interpolation struct {
	low, high []int
	weight    []float32
}

func newInterpolation(pixels, cells int) interpolation {
	p := interpolation{make([]int, pixels), make([]int, pixels), make([]float32, pixels)}
	for i := range pixels {
		at := float64((float64(i)+0.5)*float64(cells)/float64(pixels)) - 0.5
		at = max(0, min(at, float64(cells-1)))
		p.low[i] = int(at)
		p.high[i] = min(p.low[i]+1, cells-1)
		p.weight[i] = float32(at - float64(p.low[i]))
	}
	return p
}
