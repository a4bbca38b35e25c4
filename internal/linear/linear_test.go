package linear

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// TestDenseSolve: solutions with the factor are solutions.
func TestDenseSolve(t *testing.T) {
	const n = 37
	rng := rand.New(rand.NewPCG(5, 5))
	root, h := make([]float64, n*n), make([]float64, n*n)
	for i := range root {
		root[i] = rng.NormFloat64()
	}
	for i := range n {
		for j := range i + 1 {
			h[i*n+j] = simd.Dot(root[i*n:][:n], root[j*n:][:n])
		}
		h[i*n+i] += 0.1
	}
	factor := slices.Clone(h)
	if !Factorise(factor, n, parallel.Serially) {
		t.Fatal("not factorised")
	}
	want, g := make([]float64, n), make([]float64, n)
	for i := range want {
		want[i] = rng.NormFloat64()
	}
	for i := range n {
		for j := range n {
			g[i] += h[max(i, j)*n+min(i, j)] * want[j]
		}
	}
	Solve(factor, n, g)
	for i := range g {
		if math.Abs(g[i]-want[i]) > 1e-8 {
			t.Fatalf("%d: %v, want %v", i, g[i], want[i])
		}
	}
	h[n+1] = -1
	if Factorise(h, n, parallel.Serially) {
		t.Error("a matrix that is not positive definite was factorised")
	}
}
