package lbfgs

import (
	"context"
	"math"
	"testing"
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

// TestMinimiser goes down a valley to its end. A step that is interrupted changes nothing, and counts for nothing.
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
