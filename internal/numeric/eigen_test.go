package numeric

import (
	"math"
	"slices"
	"testing"
)

// TestEigen: A v = λ v for every column, and values ascend.
func TestEigen(t *testing.T) {
	const n = 4
	a := []float64{2, -1, 0.5, 0, 0, 1, 3, -0.25, 0, 0, -1, 1, 0, 0, 0, 0.5} // the upper triangle
	v := slices.Clone(a)
	values, ok := Eigen(v, n)
	if !ok || !slices.IsSorted(values) {
		t.Fatalf("%v, %v", values, ok)
	}
	for k, value := range values {
		for i := range n {
			sum := 0.0
			for j := range n {
				sum += a[min(i, j)*n+max(i, j)] * v[j*n+k]
			}
			if math.Abs(sum-value*v[i*n+k]) > 1e-13 {
				t.Errorf("(A v)_%d = %v for value %v, want %v", i, sum, value, value*v[i*n+k])
			}
		}
	}
}
