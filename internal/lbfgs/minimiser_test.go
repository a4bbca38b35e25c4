package lbfgs

import (
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
