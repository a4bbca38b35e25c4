package learn

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestLanczos holds it against a dense eigenvalue solver, on quadratic functions of
// as many dimensions as it makes products, and of more.
func TestLanczos(t *testing.T) {
	for seed := range uint64(40) {
		rng := source(seed)
		n := 2 + rng.IntN(lanczosSteps-1)
		if seed%2 == 1 {
			n = 40
		}
		random := func() *mat.Dense {
			x := mat.NewDense(n, n, nil)
			for i := range n {
				for j := range n {
					x.Set(i, j, rng.NormFloat64())
				}
			}
			return x
		}
		// H = Rᵀ diag(curvatures) R of P = RᵀR.
		root, curvatures := random(), mat.NewDiagDense(n, nil)
		smallest := 1.0
		for i := range n {
			c := 0.1 + rng.Float64()
			if i == 0 && seed%4 < 2 {
				c = -0.2 * rng.Float64()
			}
			curvatures.SetDiag(i, c)
			smallest = min(smallest, c)
		}
		var p, h, inverse mat.Dense
		p.Mul(root.T(), root)
		h.Product(root.T(), curvatures, root)
		if err := inverse.Inverse(&p); err != nil {
			t.Fatal(err)
		}
		vector := func(m mat.Matrix, x []float64) []float64 {
			y := make([]float64, n)
			mat.NewVecDense(n, y).MulVec(m, mat.NewVecDense(n, x))
			return y
		}
		draw := func() []float64 { return mat.Col(nil, 0, random()) }
		theta, slope, start := draw(), draw(), draw()
		for i := range slope {
			slope[i] *= 1e-9
		}
		gradient := func(x []float64) []float64 {
			d := make([]float64, n)
			for i := range d {
				d[i] = x[i] - theta[i]
			}
			g := vector(&h, d)
			for i := range g {
				g[i] += slope[i]
			}
			return g
		}
		value := func(x []float64) (sum float64) {
			g := gradient(x)
			for i := range g {
				sum += (x[i] - theta[i]) * (g[i] + slope[i]) / 2
			}
			return sum
		}
		z := newLanczos(newQuasiNewton(n, func(dst, g []float64) { copy(dst, vector(&inverse, slices.Clone(g))) }))
		if !z.due(0) {
			t.Fatal("not due")
		}
		z.begin(theta, slope, start, 0, 1e-3)
		x := make([]float64, n)
		points := 1
		for z.point(x); z.take(gradient(x), value(x)); z.point(x) {
			points++
		}
		found := z.smallest
		if n < lanczosSteps && !z.leaves() && !near(found, smallest, 1e-6) || found < smallest-1e-6 {
			t.Errorf("seed %d: smallest curvature %v of %d dimensions, want %v", seed, found, n, smallest)
		}
		if z.due(0) || !z.due(-1) || points > lanczosSteps+2 {
			t.Errorf("seed %d: due again at the same value: %v; %d points", seed, z.due(0), points)
		}
		if n < lanczosSteps && z.leaves() != (smallest < clearlyNegative) {
			t.Errorf("seed %d: it leaves: %v, with curvatures from %v", seed, z.leaves(), smallest)
		}
		if !z.leaves() {
			continue
		}
		if z.point(x); !(value(x) < 0) {
			t.Errorf("seed %d: it leaves to %v", seed, value(x))
		}
	}
}
