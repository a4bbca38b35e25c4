package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
)

// TestSinglePrecision: iterations in single precision come as near to the optimum
// as rounding of the gradient lets them, on every kind of problem, and what a run
// says of its result was computed in double precision.
func TestSinglePrecision(t *testing.T) {
	differ := 0
	defer func() {
		if differ == 0 {
			t.Error("all runs have the same bits as in double precision")
		}
	}()
	for kind, p := range problems(t) {
		if slices.Contains(p.Data[0].Samples()[0], crf.Unobserved) {
			continue
		}
		reference := fit(t, p, Settings{GradientTolerance: 1e-9})
		for name, s := range runs {
			s.SinglePrecision, s.RelativeTolerance = true, 1e-4
			r := fit(t, p, s)
			if r.Status != Converged {
				t.Errorf("%s, %s: %s: %s", kind, name, r.Status, r.Reason)
			}
			s.SinglePrecision = false
			double := fit(t, p, s)
			if !sameBits(r, double) {
				differ++ // not where visits end at once
			}
			if d := distance(r.Model.Weights, reference.Model.Weights) / norm(reference.Model.Weights); !(d <= 1e-3) {
				t.Errorf("%s, %s: relative distance %g", kind, name, d)
			}
			e := must(NewEvaluator(p, 1))
			if x := settled(t, e, r.Model.Weights); !near(x.Objective, r.Objective, 1e-9) {
				t.Errorf("%s, %s: objective %.12f, want %.12f", kind, name, r.Objective, x.Objective)
			}
			e.Close()
		}
	}
}

// TestSinglePrecisionConverges: near the optimum a run goes over to double
// precision, so that it meets any tolerance that double precision meets.
func TestSinglePrecisionConverges(t *testing.T) {
	shifted := randomProblem(t, 2, problemOptions{rows: 5, cols: 5, states: 3, nodeDim: 3, edgeDim: 2, l2: 0.01})
	for name, p := range map[string]Problem{
		"plain":        randomProblem(t, 1, problemOptions{rows: 8, cols: 8, states: 3, nodeDim: 3, edgeDim: 2, l2: 0.1}),
		"missing":      randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: 3, nodeDim: 2, edgeDim: 1, missing: 0.3, l2: 0.01}),
		"one state":    randomProblem(t, 1, problemOptions{rows: 4, cols: 4, states: 1, nodeDim: 2, edgeDim: 1, l2: 0.1}),
		"badly scaled": rescaled(t, shifted, []float64{1e3, 1, 1e-3}, 0.9),
	} {
		double := fit(t, p, Settings{RelativeTolerance: 1e-8})
		single := fit(t, p, Settings{RelativeTolerance: 1e-8, SinglePrecision: true})
		if !single.Status.Stationary() || !(single.Passes <= 2*double.Passes+50) {
			t.Errorf("%s: %s: %s after %.0f passes, in double precision %.0f", name, single.Status, single.Reason, single.Passes, double.Passes)
		}
		if slices.Contains(p.Data[0].Samples()[0], crf.Unobserved) {
			continue // several optima
		}
		if d := math.Abs(single.Objective - double.Objective); !(d <= 1e-9*(1+math.Abs(double.Objective))) {
			t.Errorf("%s: objective %v, in double precision %v", name, single.Objective, double.Objective)
		}
	}
}
