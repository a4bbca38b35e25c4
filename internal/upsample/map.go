// Package upsample lays a map of few cells over the many pixels of a picture.
//
// The map is interpolated bilinearly between the centres of its cells: pixel i of n lies at
// (i+½)·h/n − ½ in a map of h cells, and what lies beyond the outermost centres takes their
// value. This is align_corners=False of PyTorch and the "half-pixel" convention of others.
//
// Interpolation is linear, and its weights sum to one. So what is linear in the features of a pixel, such as its
// potentials, is interpolated from the same of the cells: there is a product for each cell, not for each pixel.
package upsample

import (
	"sync"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
)

// Cells are the values of a map, wherever they are kept. They do not change, and several goroutines may read them.
type Cells interface {
	// Read writes the features of some cells to dst [cells × features]. Cell r*columns+c is in row r and column c.
	Read(dst []float32, cells []int32)
}

// Values are cells in memory.
type Values []float32

// Read implements Cells.
func (v Values) Read(dst []float32, cells []int32) {
	d := len(dst) / max(1, len(cells))
	for i, c := range cells {
		copy(dst[i*d:][:d], v[int(c)*d:])
	}
}

// Size counts rows and columns, of cells or of pixels.
type Size struct{ Rows, Cols int }

// Count returns how many cells or pixels there are.
func (s Size) Count() int { return s.Rows * s.Cols }

// Map has the features of the pixels of a picture, a row for each. It does not change, and is crf.Computed.
type Map struct {
	cells         Cells
	of, over      Size
	depth         int
	down, across  axis
	bias          bool      // a feature that is one follows the others
	pixel         []int32   // of each row; nil: the row itself
	mean, inverse []float64 // of each of depth features, and of its deviation; nil: features as they are
}

// New upsamples a map of a size, with so many features for each cell, over a picture. With
// bias a feature follows that is one everywhere.
func New(cells Cells, of Size, depth int, over Size, bias bool) *Map {
	return &Map{cells: cells, of: of, over: over, depth: depth, down: newAxis(over.Rows, of.Rows),
		across: newAxis(over.Cols, of.Cols), bias: bias}
}

// axis gives, for every pixel along it, the two cells of the map that it lies between, and the weight of the second.
type axis struct {
	low, high []int32
	weight    []float32
}

func newAxis(pixels, cells int) axis {
	a := axis{make([]int32, pixels), make([]int32, pixels), make([]float32, pixels)}
	for i := range pixels {
		at := float64((float64(i)+0.5)*float64(cells)/float64(pixels)) - 0.5
		at = max(0, min(at, float64(cells-1)))
		low := int(at)
		a.low[i], a.high[i], a.weight[i] = int32(low), int32(min(low+1, cells-1)), float32(at-float64(low))
	}
	return a
}

// Rows returns how many pixels have features.
func (m *Map) Rows() int {
	if m.pixel != nil {
		return len(m.pixel)
	}
	return m.over.Count()
}

// Dim returns how many features a pixel has, the bias included.
func (m *Map) Dim() int {
	if m.bias {
		return m.depth + 1
	}
	return m.depth
}

// NumCells returns how many cells the map has.
func (m *Map) NumCells() int { return m.of.Count() }

// Pick returns the features of some rows: another *Map.
func (m *Map) Pick(rows []int32) crf.Computed {
	some := *m
	some.pixel = make([]int32, len(rows))
	for i, r := range rows {
		some.pixel[i] = int32(m.pixelOf(r))
	}
	return &some
}

// Scaled returns the features x as (x − mean)/deviation, with the mean and the deviation of
// each, which are 0 and 1 for the bias.
func (m *Map) Scaled(mean, deviation []float64) *Map {
	scaled := *m
	scaled.mean, scaled.inverse = make([]float64, m.depth), make([]float64, m.depth)
	for j := range m.depth {
		scaled.mean[j], scaled.inverse[j] = mean[j], 1/deviation[j]
		if m.mean != nil { // scaled before
			scaled.mean[j] = m.mean[j] + mean[j]/m.inverse[j]
			scaled.inverse[j] *= m.inverse[j]
		}
	}
	return &scaled
}

func (m *Map) pixelOf(row int32) int {
	if m.pixel != nil {
		return int(m.pixel[row])
	}
	return int(row)
}

// Read writes the features of some cells, as those of a pixel would be that lies on the
// cell, to dst [cells × Dim]. scratch becomes as long as is needed.
func (m *Map) Read(dst []float64, cells []int32, scratch *[]float32) {
	values, dim := numeric.Resize(*scratch, len(cells)*m.depth), m.Dim()
	*scratch = values
	m.cells.Read(values, cells)
	for range cells {
		to, from := dst[:m.depth], values[:m.depth]
		if m.mean == nil {
			for j, x := range from {
				to[j] = float64(x)
			}
		} else {
			mean, inverse := m.mean[:len(from)], m.inverse[:len(from)]
			for j, x := range from {
				to[j] = (float64(x) - mean[j]) * inverse[j]
			}
		}
		if m.bias {
			dst[m.depth] = 1
		}
		dst, values = dst[dim:], values[m.depth:]
	}
}

// Row writes the features of a row to dst [Dim].
func (m *Map) Row(dst []float64, row int) {
	r := readers.Get().(*reader)
	r.row(dst, m, row)
	*r = reader{corners: r.corners, single: r.single} // the map may go
	readers.Put(r)
}

// Reader returns what reads rows one after another: those of neighbouring pixels share their
// cells, which are read once.
func (m *Map) Reader() func(dst []float64, row int) {
	r := &reader{}
	return func(dst []float64, row int) { r.row(dst, m, row) }
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// reader keeps the cells of the last row.
type reader struct {
	of      *Map
	cells   [4]int32
	corners []float64 // [4*Dim] the features of these cells
	single  []float32
}

func (r *reader) row(dst []float64, m *Map, row int) {
	p, d := m.pixelOf(int32(row)), m.Dim()
	at := m.cornerOf(p)
	if cells := at.cells(); r.of != m || r.cells != cells {
		r.of, r.cells, r.corners = m, cells, numeric.Resize(r.corners, 4*d)
		m.Read(r.corners, r.cells[:], &r.single)
	}
	across := float64(m.across.weight[p-at.line])
	a, b, c, e := r.corners[:d], r.corners[d:][:d], r.corners[2*d:][:d], r.corners[3*d:][:d]
	for j := range dst[:d] {
		upper, lower := a[j]+float64(across*(b[j]-a[j])), c[j]+float64(across*(e[j]-c[j]))
		dst[j] = upper + float64(at.down*(lower-upper))
	}
}
