package memory

import "testing"

// TestZeros: zeros of any number.
func TestZeros(t *testing.T) {
	for _, n := range []int{0, 3, leastWhole/8 - 1, 40 << 20 / 8} {
		zeros := Zeros[float64](n)
		for i, x := range zeros {
			if x != 0 {
				t.Fatalf("entry %d of %d is %v", i, n, x)
			}
			zeros[i] = 1
		}
		if len(zeros) != n {
			t.Fatalf("%d numbers, want %d", len(zeros), n)
		}
	}
}
