package dataset

import (
	"cmp"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// sparseValue is one entry of a feature vector.
type sparseValue struct {
	index int32
	value float64
}

// sparseRows are feature vectors in the making.
type sparseRows struct {
	start  []int // of rows but the first
	column []int32
	value  []float64
	valued bool // not all values are 1
}

// add adds a row. Values of one feature count together, as crfsuite counts an attribute as often as it is given.
func (r *sparseRows) add(row []sparseValue) {
	slices.SortStableFunc(row, func(a, b sparseValue) int { return cmp.Compare(a.index, b.index) })
	for i, x := range row {
		last := len(r.value) - 1
		if i > 0 && x.index == row[i-1].index {
			r.value[last] += x.value
			r.valued = r.valued || r.value[last] != 1
			continue
		}
		r.column, r.value, r.valued = append(r.column, x.index), append(r.value, x.value), r.valued || x.value != 1
	}
	r.start = append(r.start, len(r.column))
}

// features freezes the rows, of so many features.
func (r *sparseRows) features(dim int) (crf.Features, error) {
	if !r.valued {
		r.value = nil
	}
	return crf.Sparse(append([]int{0}, r.start...), r.column, r.value, dim)
}
