package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/upsample"
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
	patch  upsample.Patch      // potentials at cells
}

// Tables returns how many distinct potential tables the rows of f can have, or 0 where every row has its own.
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

// dense reports whether rows of f are multiplied in batches: those of other forms have ways of their own.
func (f *matrix) dense() bool { return f.Double != nil || f.Single != nil }

// entries returns the entries of row r.
func (f *matrix) entries(r int, s *scratch) crf.Entries {
	return (*crf.FeatureData)(f).Entries(r, &s.double)
}

// multiply computes dst[x] = Σ_j f[r,j] w[j*len(dst)+x]: one row of grounding.
func (f *matrix) multiply(dst, w []float64, r int, s *scratch) {
	row, k := f.entries(r, s), len(dst)
	clear(dst)
	for i := range row.N {
		if j, v := row.At(i); v != 0 {
			simd.AddScaled(dst, w[j*k:][:k], v)
		}
	}
}

// add computes w[j*k+x] += weight f[r,j]: the adjoint of multiply for a table of k states with weight at state x.
func (f *matrix) add(w []float64, r, x, k int, weight float64, s *scratch) {
	row := f.entries(r, s)
	for i := range row.N {
		j, v := row.At(i)
		w[j*k+x] += weight * v
	}
}

// doubles returns rows of dense or coded features, one behind the other: the features
// themselves where the rows are neighbours, else a copy in s.
func (f *matrix) doubles(rows []int32, s *scratch) []float64 {
	n, d := len(rows), f.Dim
	if f.Double != nil && neighbours(rows) {
		return f.Double[int(rows[0])*d:][:n*d]
	}
	s.double = numeric.Resize(s.double, n*d+simd.Padding)
	switch {
	case f.Double != nil:
		simd.Gather(s.double, f.Double, rows, d)
	case f.Book != nil:
		for i, r := range rows {
			copy(s.double[i*d:][:d], f.Book[int(f.Bins[r])*d:])
		}
	default:
		for i, r := range rows {
			for j, x := range f.Single[int(r)*d:][:d] {
				s.double[i*d+j] = float64(x)
			}
		}
	}
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

// prefetch asks for rows that are about to be needed, as far as they are dense.
func (f *matrix) prefetch(rows []int32) {
	if f.Double != nil {
		simd.PrefetchRows(f.Double, rows, f.Dim)
	} else if f.Single != nil {
		simd.PrefetchRows(f.Single, rows, f.Dim)
	}
}
