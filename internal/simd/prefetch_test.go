package simd

import (
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPrefetchRows: whatever is asked for, nothing changes and nothing ends.
func TestPrefetchRows(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6}
	for _, rows := range [][]int32{nil, {0}, {2, 0, 1}, {1 << 20, -1 << 20}} {
		PrefetchRows(x, rows, 2)
		PrefetchRows([]float32{1, 2}, rows, 1)
	}
	PrefetchRows([]float64(nil), []int32{0}, 3)
	PrefetchRows(x, []int32{0}, 0)
	oracle.Equal(t, x, []float64{1, 2, 3, 4, 5, 6}, "entries")
}
