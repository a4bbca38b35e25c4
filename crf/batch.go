package crf

import "github.com/blockbp/blockbp/internal/simd"

// rowsPerBatch is how many rows of dense features are multiplied in one call:
// enough to hide the cost of a call and to use a weight more than once per load,
// and few enough for the beliefs of a batch to stay in the nearest cache.
const rowsPerBatch = 24

// batch collects rows of the features of one type, to be multiplied together.
type batch struct {
	features *Features
	rows     []int32
	values   []float64 // [rowsPerBatch*dim] scratch for rows that are not neighbours
}

// inBatches reports whether rows of f are multiplied in batches: those of other forms
// have ways of their own.
func (f *Features) inBatches() bool {
	return f.form == formDense || f.form == formDense32
}

// add appends a row of f. It reports false where the batch has to be multiplied
// first, because it is full or of other features.
func (b *batch) add(f *Features, row int) bool {
	if len(b.rows) == rowsPerBatch || len(b.rows) > 0 && b.features != f {
		return false
	}
	b.features = f
	b.rows = append(b.rows, int32(row))
	return true
}

// matrix returns the rows of the batch, one behind the other.
func (b *batch) matrix() []float64 {
	f, n := b.features, len(b.rows)
	first := int(b.rows[0])
	neighbours := f.form == formDense
	for i, r := range b.rows {
		neighbours = neighbours && int(r) == first+i
	}
	if neighbours {
		return f.dense[first*f.dim:][:n*f.dim]
	}
	if len(b.values) < n*f.dim {
		b.values = make([]float64, rowsPerBatch*f.dim)
	}
	for i, r := range b.rows {
		f.Row(b.values[i*f.dim:][:f.dim], int(r))
	}
	return b.values[:n*f.dim]
}

// multiply computes the potentials of the batch, dst [rows × k], and empties it.
func (b *batch) multiply(dst, w []float64, k int) {
	if len(b.rows) == 0 {
		return
	}
	simd.MultiplyMatrix(dst, b.matrix(), w, len(b.rows), b.features.dim, k)
	b.rows = b.rows[:0]
}

// scatter is the adjoint of multiply: it adds the products of features and
// beliefs t [rows × k] to w, and empties the batch.
func (b *batch) scatter(w, t []float64, k int) {
	if len(b.rows) == 0 {
		return
	}
	simd.ScatterMatrix(w, b.matrix(), t, len(b.rows), b.features.dim, k)
	b.rows = b.rows[:0]
}
