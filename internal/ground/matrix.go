package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/stretch"
)

// matrix is the features of one type, as they are kept.
type matrix crf.FeatureData

func nodeFeatures(in *crf.Instance, t int) *matrix { return (*matrix)(in.NodeFeatures(t).Data()) }
func edgeFeatures(in *crf.Instance, t int) *matrix { return (*matrix)(in.EdgeFeatures(t).Data()) }

// scratch is what products with features need; the zero value is ready.
type scratch struct {
	rows   [RowsPerBatch]int32 // of the batch at hand
	next   [RowsPerBatch]int32 // of the batch to come
	double []float64           // rows of features
	cells  []float32           // of a map
	patch  stretch.Patch       // potentials at cells
}

// Tables returns how many distinct potential tables the rows of f can have, or 0
// where every row has its own.
func Tables(f *crf.Features) int { return (*matrix)(f.Data()).tables() }

// UsedFeatures returns how many features of every edge of a type are not zero, at most.
func UsedFeatures(layout *crf.Layout, in *crf.Instance, edgeType int) int {
	if edgeFeatures(in, edgeType).tables() > 0 {
		return 1
	}
	return layout.Edge[edgeType].Features
}

func (f *matrix) tables() int {
	switch {
	case f.Book != nil:
		return len(f.Book) / f.Dim
	case f.Bins != nil:
		return f.Dim
	case f.dense() || f.Start != nil || f.Computed != nil:
		return 0
	}
	return 1
}

// tableOf returns which of the distinct tables row r has.
func (f *matrix) tableOf(r int) int {
	if f.Bins != nil {
		return int(f.Bins[r])
	}
	return 0
}

// dense reports whether rows of f are multiplied in batches: those of other forms
// have ways of their own.
func (f *matrix) dense() bool { return f.Double != nil || f.Single != nil }

// row returns row r of dense or computed features.
func (f *matrix) row(r int, s *scratch) []float64 {
	if f.Double != nil {
		return f.Double[r*f.Dim:][:f.Dim]
	}
	s.double = numeric.Resize(s.double, f.Dim)
	if f.Computed != nil {
		f.Computed.Row(s.double, r)
		return s.double
	}
	widen(s.double, f.Single[r*f.Dim:])
	return s.double
}

// coded returns row r of coded features.
func (f *matrix) coded(r int) []float64 { return f.Book[int(f.Bins[r])*f.Dim:][:f.Dim] }

// value returns the i-th stored value of sparse features.
func (f *matrix) value(i int) float64 {
	if f.Value == nil {
		return 1
	}
	return f.Value[i]
}

// multiply computes dst[x] = Σ_j f[r,j] w[j*len(dst)+x]: one row of grounding.
func (f *matrix) multiply(dst, w []float64, r int, s *scratch) {
	k := len(dst)
	switch {
	case f.dense(), f.Computed != nil:
		simd.MultiplyMatrix(dst, f.row(r, s), w, 1, f.Dim, k)
	case f.Book != nil:
		clear(dst)
		for j, v := range f.coded(r) {
			if v != 0 {
				simd.AddScaled(dst, w[j*k:][:k], v)
			}
		}
	case f.Bins != nil:
		copy(dst, w[int(f.Bins[r])*k:][:k])
	case f.Start != nil:
		clear(dst)
		for i := f.Start[r]; i < f.Start[r+1]; i++ {
			simd.AddScaled(dst, w[int(f.Column[i])*k:][:k], f.value(i))
		}
	default:
		clear(dst)
		for j := range f.Dim {
			simd.AddScaled(dst, w[j*k:][:k], 1)
		}
	}
}

// scatter computes w[j*len(t)+x] += f[r,j] t[x], the adjoint of multiply.
func (f *matrix) scatter(w, t []float64, r int, s *scratch) {
	k := len(t)
	switch {
	case f.dense(), f.Computed != nil:
		simd.ScatterMatrix(w, f.row(r, s), t, 1, f.Dim, k)
	case f.Book != nil:
		for j, v := range f.coded(r) {
			if v != 0 {
				simd.AddScaled(w[j*k:][:k], t, v)
			}
		}
	case f.Bins != nil:
		simd.AddScaled(w[int(f.Bins[r])*k:][:k], t, 1)
	case f.Start != nil:
		for i := f.Start[r]; i < f.Start[r+1]; i++ {
			simd.AddScaled(w[int(f.Column[i])*k:][:k], t, f.value(i))
		}
	default:
		for j := range f.Dim {
			simd.AddScaled(w[j*k:][:k], t, 1)
		}
	}
}

// add is scatter for a table of k states with weight at state x, and zeros elsewhere.
func (f *matrix) add(w []float64, r, x, k int, weight float64, s *scratch) {
	switch {
	case f.dense(), f.Computed != nil:
		for j, v := range f.row(r, s) {
			w[j*k+x] += weight * v
		}
	case f.Book != nil:
		for j, v := range f.coded(r) {
			w[j*k+x] += weight * v
		}
	case f.Bins != nil:
		w[int(f.Bins[r])*k+x] += weight
	case f.Start != nil:
		for i := f.Start[r]; i < f.Start[r+1]; i++ {
			w[int(f.Column[i])*k+x] += weight * f.value(i)
		}
	default:
		for j := range f.Dim {
			w[j*k+x] += weight
		}
	}
}

// doubles returns rows of dense or coded features, one behind the other: the features
// themselves where the rows are neighbours, else a copy in s.
func (f *matrix) doubles(rows []int32, s *scratch) []float64 {
	n, d := len(rows), f.Dim
	if f.Book != nil {
		s.double = numeric.Resize(s.double, n*d)
		for i, r := range rows {
			copy(s.double[i*d:][:d], f.coded(int(r)))
		}
		return s.double
	}
	if f.Double == nil {
		s.double = numeric.Resize(s.double, n*d)
		for i, r := range rows {
			widen(s.double[i*d:][:d], f.Single[int(r)*d:])
		}
		return s.double
	}
	if neighbours(rows) {
		return f.Double[int(rows[0])*d:][:n*d]
	}
	s.double = numeric.Resize(s.double, n*d+simd.Padding)
	simd.Gather(s.double, f.Double, rows, nil, d)
	return s.double[:n*d]
}

// neighbours reports whether rows follow each other without a gap.
func neighbours(rows []int32) bool {
	for i, r := range rows {
		if r != rows[0]+int32(i) {
			return false
		}
	}
	return true
}

func widen(dst []float64, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float64(v)
	}
}

// prefetch asks for rows that are about to be needed, as far as they are dense.
func (f *matrix) prefetch(rows []int32) {
	if f.Double != nil {
		simd.PrefetchRows(f.Double, rows, f.Dim)
	} else if f.Single != nil {
		simd.PrefetchRows(f.Single, rows, f.Dim)
	}
}
