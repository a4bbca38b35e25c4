package linear

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
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
	solveFactor(factor, n, g)
	for i := range g {
		oracle.MustNear(t, g[i], want[i], 1e-8, "entry %d", i)
	}
	h[n+1] = -1
	if Factorise(h, n, parallel.Serially) {
		t.Error("a matrix that is not positive definite was factorised")
	}
}

// TestAbsolute: an indefinite matrix gets the eigenvalues without their signs, and what is coupled to nothing stays.
func TestAbsolute(t *testing.T) {
	const n = 4
	h := []float64{ // eigenvalues 3 and −1 of the first and the third, 2 of the others
		1, 0, 2, 0,
		0, 2, 0, 0,
		2, 0, 1, 0,
		0, 0, 0, 2,
	}
	d := &Dense{size: n, free: math.Inf(1), fresh: make([]float64, n*n), measured: h}
	d.Response, d.Each = &Response{}, parallel.Serially
	if !d.decompose() {
		t.Fatal("no factor")
	}
	// |h| = [2 0 1 0; 0 2 0 0; 1 0 2 0; 0 0 0 2]
	x := []float64{1, 2, 3, 4}
	d.Solve(x, x)
	for i, want := range []float64{-1.0 / 3, 1, 5.0 / 3, 2} {
		oracle.Near(t, x[i], want, 1e-7, "entry %d of the solution", i)
	}
}
