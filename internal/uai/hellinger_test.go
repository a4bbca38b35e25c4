package uai

import (
	"math"
	"strings"
	"testing"
)

func TestCompareMarginals(t *testing.T) {
	// H² = 1 − Σ √(p q), by another formula.
	p, q := []float64{0.2, 0.3, 0.5}, []float64{0.5, 0.25, 0.25}
	h := math.Sqrt(1 - math.Sqrt(0.1) - math.Sqrt(0.075) - math.Sqrt(0.125))
	d := must(CompareMarginals([][]float64{{1, 0}, p, {0.5, 0.5}}, [][]float64{{0, 1}, q, {0.5005, 0.5005}}))
	if math.Abs(d.Hellinger-(1+h)/3) > 1e-15 || d.Largest != 1 || d.Worst != 0 || d.Absolute != 1 {
		t.Errorf("%+v, want a mean of %v", d, (1+h)/3)
	}
	if d := must(CompareMarginals([][]float64{p}, [][]float64{q})); math.Abs(d.Largest-h) > 1e-15 || math.Abs(d.Absolute-0.3) > 1e-15 {
		t.Errorf("%+v, want %v", d, h)
	}
	if d := must(CompareMarginals(nil, nil)); *d != (MarginalDistance{}) {
		t.Errorf("%+v", d)
	}
	for _, c := range []struct {
		got, want [][]float64
		message   string
	}{
		{nil, [][]float64{p}, "marginals of 0 variables, the reference has 1"},
		{[][]float64{p}, [][]float64{{0.5, 0.5}}, "variable 0 has 3 states, in the reference 2"},
		{[][]float64{p, {math.NaN(), 1}}, [][]float64{p, {0, 1}}, "variable 1: the probability of state 0 is NaN"},
		{[][]float64{p, {1, 0}}, [][]float64{p, {-0.1, 1.1}}, "variable 1 of the reference: the probability of state 0 is -0.1"},
		{[][]float64{{0.5, 0.4}}, [][]float64{{0.5, 0.5}}, "variable 0: its probabilities sum to 0.9"},
	} {
		if d, err := CompareMarginals(c.got, c.want); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%+v, %v, want %q", d, err, c.message)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
