package crf

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestCoded: a row reads as that of the book, and only its entries that are not 0 are gone through.
func TestCoded(t *testing.T) {
	f, err := Coded([]int32{1, 0, 1}, []float64{1, 2, 0, 0, 3, 0}, 3)
	if err != nil || f.Rows() != 3 || f.Dim() != 3 {
		t.Fatal(f, err)
	}
	row := make([]float64, 3)
	for r, want := range [][]float64{{0, 3, 0}, {1, 2, 0}, {0, 3, 0}} {
		f.Row(row, r)
		sparse := make([]float64, 3)
		entries := 0
		for j, x := range f.Entries(r) {
			sparse[j] = x
			entries++
		}
		if !slices.Equal(row, want) || !slices.Equal(sparse, want) || entries != 2-(r+1)%2 {
			t.Errorf("row %d is %v, its %d entries %v, want %v", r, row, entries, sparse, want)
		}
	}
	for _, c := range []struct {
		codes []int32
		book  []float64
		dim   int
		want  string
	}{
		{[]int32{2}, make([]float64, 6), 3, "want 0 to 1"},
		{[]int32{-1}, make([]float64, 6), 3, "want 0 to 1"},
		{[]int32{0}, make([]float64, 5), 3, "does not divide"},
		{[]int32{0}, nil, 0, "does not divide"},
		{[]int32{0}, []float64{1, math.NaN()}, 2, "feature is NaN"},
	} {
		if _, err := Coded(c.codes, c.book, c.dim); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %v: %v, want %q", c.codes, c.book, err, c.want)
		}
	}
}
