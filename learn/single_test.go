package learn

import (
	"testing"

	"github.com/blockbp/blockbp/bp"
)

// TestSinglePrecision: iterations in single precision come as near to the optimum
// as rounding of the gradient lets them, on every kind of problem, and what a run
// says of its result was computed in double precision.
func TestSinglePrecision(t *testing.T) {
	for kind, p := range problems(t) {
		if p.Data[0].Missing(0) {
			continue
		}
		reference := fit(t, p, Settings{GradientTolerance: 1e-9})
		for name, s := range runs {
			s.Precision, s.RelativeTolerance = bp.Single, 1e-4
			r := fit(t, p, s)
			if r.Status != Converged {
				t.Errorf("%s, %s: %s: %s", kind, name, r.Status, r.Reason)
			}
			s.Precision = bp.Double
			double := fit(t, p, s)
			if r.Iterations == double.Iterations && sameBits(r, double) {
				t.Errorf("%s, %s: the same bits as in double precision", kind, name)
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
