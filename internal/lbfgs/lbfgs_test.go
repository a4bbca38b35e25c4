package lbfgs

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestLineSearch finds the minimum of functions that a plain step misses by far.
func TestLineSearch(t *testing.T) {
	for name, f := range map[string]func(t float64) (value, slope float64){
		"far":       func(t float64) (float64, float64) { return (t - 1e6) * (t - 1e6), 2 * (t - 1e6) },
		"near":      func(t float64) (float64, float64) { return (t - 1e-6) * (t - 1e-6), 2 * (t - 1e-6) },
		"overflows": func(t float64) (float64, float64) { return math.Exp(1e3*t) - 1e4*t, 1e3*math.Exp(1e3*t) - 1e4 },
		"flat": func(t float64) (float64, float64) {
			return math.Log1p(math.Exp(-t)) + 1e-6*t, -1/(1+math.Exp(t)) + 1e-6
		},
	} {
		value, slope := f(0)
		step, at, err := search(value, slope, 1, func(t float64) (float64, float64, error) {
			v, d := f(t)
			return v, d, nil
		})
		if err != nil || !(step > 0) || !(at < value) {
			t.Errorf("%s: step %v to %v, from %v: %v", name, step, at, value, err)
		}
		if v, d := f(step); v != at || !(math.Abs(d) <= FlatEnough*math.Abs(slope)) {
			t.Errorf("%s: at %v the value is %v, %v was said; slope %v of %v", name, step, v, at, d, slope)
		}
	}
	if step, _, err := search(1, 1, 1, nil); step != 0 || err != nil {
		t.Errorf("uphill: %v, %v", step, err)
	}
	nowhere := func(t float64) (float64, float64, error) { return 2, 1, nil }
	if step, _, err := search(1, -1, 1, nowhere); step != 0 || err != nil {
		t.Errorf("no smaller value: step %v, %v", step, err)
	}
}

// valley is a function with a narrow curved valley (Rosenbrock 1960), which is smallest at (1, 1).
type valley struct{}

func (valley) Evaluate(_ context.Context, gradient, x []float64) float64 {
	a, b := 1-x[0], x[1]-x[0]*x[0]
	gradient[0], gradient[1] = -2*a-400*x[0]*b, 200*b
	return a*a + 100*b*b
}

func (valley) Solve(dst, g []float64) { copy(dst, g) }

// TestMinimiser goes down a valley to its end. A step that is interrupted changes nothing, and counts
// for nothing.
func TestMinimiser(t *testing.T) {
	m := NewMinimiser(valley{}, []float64{-1.2, 1})
	m.Begin()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for steps := 0; math.Hypot(m.Gradient[0], m.Gradient[1]) > 1e-9; steps++ {
		value, count := m.Value, m.Evaluations
		if _, err := m.Step(ended); err == nil || m.Value != value || m.Evaluations != count {
			t.Fatalf("interrupted: %v, the value was %v and is %v", err, value, m.Value)
		}
		if size, err := m.Step(t.Context()); err != nil || !(size > 0) || !(m.Value < value) || steps > 100 {
			t.Fatalf("step %d of size %v from %v to %v: %v", steps, size, value, m.Value, err)
		}
	}
	if math.Hypot(m.Weights[0]-1, m.Weights[1]-1) > 1e-8 {
		t.Errorf("it ends at %v after %v evaluations", m.Weights, m.Evaluations)
	}
}

// quadratic is a function with H = Rᵀ diag(curvatures) R and P = RᵀR, of nearly no slope at theta.
type quadratic struct {
	n                   int
	theta, slope, start []float64
	h, p, root          mat.Dense
	smallest            float64
	z                   *Lanczos
}

// newQuadratic draws one of at most as many dimensions as there are products or, where the seed is
// odd, of 40. Two of four seeds have a negative curvature.
func newQuadratic(t *testing.T, seed uint64) (*quadratic, *rand.Rand) {
	rng := rand.New(rand.NewPCG(seed, 31))
	q := &quadratic{n: 2 + rng.IntN(Products-1), smallest: 1}
	if seed%2 == 1 {
		q.n = 40
	}
	root, curvatures := q.random(rng), mat.NewDiagDense(q.n, nil)
	for i := range q.n {
		c := 0.1 + rng.Float64()
		if i == 0 && seed%4 < 2 {
			c = -0.2 * rng.Float64()
		}
		curvatures.SetDiag(i, c)
		q.smallest = min(q.smallest, c)
	}
	q.root.CloneFrom(root)
	q.p.Mul(root.T(), root)
	q.h.Product(root.T(), curvatures, root)
	var inverse mat.Dense
	oracle.OK(t, inverse.Inverse(&q.p))
	draw := func() []float64 { return mat.Col(nil, 0, q.random(rng)) }
	q.theta, q.slope, q.start = draw(), draw(), draw()
	for i := range q.slope {
		q.slope[i] *= 1e-9
	}
	q.z = NewLanczos(New(q.n, func(dst, g []float64) { copy(dst, q.times(&inverse, slices.Clone(g))) }))
	return q, rng
}

func (q *quadratic) random(rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(q.n, q.n, nil)
	for i := range q.n {
		for j := range q.n {
			x.Set(i, j, rng.NormFloat64())
		}
	}
	return x
}

func (q *quadratic) times(m mat.Matrix, x []float64) []float64 {
	y := make([]float64, q.n)
	mat.NewVecDense(q.n, y).MulVec(m, mat.NewVecDense(q.n, x))
	return y
}

// gradient is that of the Hessian h.
func (q *quadratic) gradient(h mat.Matrix, x []float64) []float64 {
	d := slices.Clone(x)
	for i := range d {
		d[i] -= q.theta[i]
	}
	g := q.times(h, d)
	for i := range g {
		g[i] += q.slope[i]
	}
	return g
}

func (q *quadratic) value(x []float64) (sum float64) {
	for i, g := range q.gradient(&q.h, x) {
		sum += (x[i] - q.theta[i]) * (g + q.slope[i]) / 2
	}
	return sum
}

// TestLanczos holds it against a dense eigenvalue solver, on quadratic functions of
// as many dimensions as it makes products, and of more.
func TestLanczos(t *testing.T) {
	for seed := range uint64(40) {
		q, _ := newQuadratic(t, seed)
		z := q.z
		if !z.Due(0) {
			t.Fatal("not due")
		}
		z.Begin(q.theta, q.slope, q.start, 0, 1e-3)
		x := make([]float64, q.n)
		points := 1
		for z.Point(x); z.Take(q.gradient(&q.h, x), q.value(x)); z.Point(x) {
			points++
		}
		found := z.smallest
		if q.n < Products && !z.Leaves() && math.Abs(found-q.smallest) > 1e-6 || found < q.smallest-1e-6 {
			t.Errorf("seed %d: smallest curvature %v of %d dimensions, want %v", seed, found, q.n, q.smallest)
		}
		if z.Due(0) || !z.Due(-1) || points > Products+2 {
			t.Errorf("seed %d: due again at the same value: %v; %d points", seed, z.Due(0), points)
		}
		if q.n < Products && z.Leaves() != (q.smallest < clearlyNegative) {
			t.Errorf("seed %d: it leaves: %v, with curvatures from %v", seed, z.Leaves(), q.smallest)
		}
		if !z.Leaves() {
			continue
		}
		if z.Point(x); !(q.value(x) < 0) {
			t.Errorf("seed %d: it leaves to %v", seed, q.value(x))
		}
	}
}

// TestLanczosOfUnsettledProducts: gradients come nearer pass by pass, as those of messages do, and
// products end where the sign of the smallest curvature is known. Saddles are found as with exact
// products, in fewer passes than it takes to make these exact; one in twenty may be left undecided,
// but none is said to be a minimum, also where the direction of its negative curvature shows as
// much more curvature as any at first.
func TestLanczosOfUnsettledProducts(t *testing.T) {
	const most, problems = 10, 100
	for _, size := range []float64{1, 3} {
		for _, shrink := range []float64{0.3, 0.5, 0.6} {
			passes, points, saddles, missed := 0, 0, 0, 0
			for seed := range uint64(problems) {
				q, rng := newQuadratic(t, 2*seed) // of which all curvatures are found
				z := q.z
				// What messages have not answered yet adds curvature.
				var e, rough mat.Dense
				lag := mat.NewDiagDense(q.n, nil)
				for i := range q.n {
					lag.SetDiag(i, size*rng.Float64())
				}
				if seed%3 == 0 {
					lag.SetDiag(0, size)
				}
				e.Product(q.root.T(), lag, &q.root)
				z.Begin(q.theta, q.slope, q.start, 0, 1e-3)
				x := make([]float64, q.n)
				for more := true; more; {
					z.Point(x)
					left, change := 1.0, math.NaN()
					gradient, before := []float64(nil), []float64(nil)
					for pass := 1; ; pass++ {
						rough.Scale(left, &e)
						rough.Add(&rough, &q.h)
						before, gradient = gradient, q.gradient(&rough, x)
						for i, g := range before {
							if i == 0 {
								change = 0
							}
							change = math.Hypot(change, gradient[i]-g)
						}
						passes++
						if z.Settled(gradient, change) || pass == most {
							break
						}
						left *= shrink
					}
					points++
					more = z.Take(gradient, q.value(x))
				}
				if z.Point(x); z.Leaves() && !(q.value(x) < 0) {
					t.Errorf("seed %d: it leaves to %v", seed, q.value(x))
				}
				if q.smallest > -0.01 {
					continue
				}
				if saddles++; !z.Leaves() {
					missed++
					if z.smallest > 0 && z.Text() != "" {
						t.Errorf("seed %d, lag %v, factor %v: a curvature of %v was found as %v, going to %v", seed, size, shrink, q.smallest, z.smallest, z.goesTo)
					}
				}
			}
			t.Logf("lag %v, factor %v: %d passes for %d points, %d of %d saddles missed", size, shrink, passes, points, missed, saddles)
			if passes >= points*most*9/10 {
				t.Errorf("lag %v, factor %v: %d passes for %d points, which are not exact after %d each", size, shrink, passes, points, most)
			}
			if shrink <= 0.5 && 20*missed > saddles {
				t.Errorf("lag %v, factor %v: %d of %d saddles were not found", size, shrink, missed, saddles)
			}
		}
	}
}
