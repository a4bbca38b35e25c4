package crf

import "testing"

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
