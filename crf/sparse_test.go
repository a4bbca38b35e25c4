package crf

import (
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// Row boundaries must be checked before the entries between them are read.
func TestSparseStartTooLarge(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	if _, err := Sparse([]int{0, 5, 3}, []int32{0, 1, 0}, nil, 2); err == nil {
		t.Error("a row that ends beyond the data was accepted")
	}
	if _, err := Sparse([]int{0, 0}, nil, nil, -1); err == nil {
		t.Error("a negative dimension was accepted")
	}
}

// TestPickSparse: rows that are picked are those of the whole, in the order that is asked for.
func TestPickSparse(t *testing.T) {
	for _, value := range [][]float64{nil, {3, 4, 5}} {
		whole := oracle.Must(Sparse([]int{0, 2, 2, 3}, []int32{0, 2, 1}, value, 3))(t)
		some := whole.Pick([]int32{2, 0, 1})
		for i, r := range []int{2, 0, 1} {
			x, y := make([]float64, 3), make([]float64, 3)
			some.Row(x, i)
			whole.Row(y, r)
			if !slices.Equal(x, y) {
				t.Errorf("row %v, want %v", x, y)
			}
		}
	}
}
