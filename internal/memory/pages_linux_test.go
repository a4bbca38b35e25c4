package memory

import (
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestZeros: zeros of any number.
func TestZeros(t *testing.T) {
	for _, n := range []int{0, 3, leastWhole/8 - 1, 40 << 20 / 8} {
		zeros := Zeros[float64](n)
		for i, x := range zeros {
			oracle.MustEqual(t, x, 0, "entry %d of %d", i, n)
			zeros[i] = 1
		}
		oracle.MustEqual(t, len(zeros), n, "numbers")
	}
}
