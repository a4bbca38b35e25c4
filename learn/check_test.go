package learn

import (
	"math"
	"testing"
)

// TestCloses: a claim needs a gap as small as the tolerance, within bounds, and where none
// can be had, messages that are still.
func TestCloses(t *testing.T) {
	l := &learner{course: course{settings: &Settings{GradientTolerance: 1e-7}}}
	l.progress.First, l.progress.Objective = 1, 99
	for _, c := range []struct {
		gap, residual float64
		want          bool
	}{
		{math.NaN(), 1, true}, {0, 1, true}, {-1e-13, 1, true}, {0.9e-5, 1, true}, {1.1e-5, 0, false},
		{math.Inf(1), 1e-3, false}, {math.Inf(1), 1e-6, true},
	} {
		l.progress.Check.Residual = c.residual
		if got := l.closes(c.gap); got != c.want {
			t.Errorf("gap %v, residual %v: %v, want %v", c.gap, c.residual, got, c.want)
		}
	}
	l.settings.GradientTolerance = 1e-3
	if !l.closes(0.9e-4) || l.closes(1.1e-4) {
		t.Error("a rough tolerance takes another gap than 1e-6 of the objective")
	}
}

// TestCheckIsShortAndRight: a claim of convergence is decided by the gradient as it
// settles, in far fewer sweeps than its messages would need to settle by
// themselves, and the claim holds.
func TestCheckIsShortAndRight(t *testing.T) {
	for kind, p := range problems(t) {
		for _, counting := range []string{"convex", "trw"} {
			p := p.with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			for name, s := range runs {
				s.RelativeTolerance = 1e-6
				r := fit(t, p, s)
				if r.Status != Converged {
					t.Errorf("%s, %s, %s: %s", kind, counting, name, r.Reason)
					continue
				}
				x := settled(t, e, r.Model.Weights)
				if allowed := 1.1 * 1e-6 * r.FirstGradientNorm; x.GradientNorm > allowed || !near(x.Objective, r.Objective, 1e-8) {
					t.Errorf("%s, %s, %s: gradient norm %v and objective %v, allowed %v, and claimed %v", kind, counting, name, x.GradientNorm, x.Objective, allowed, r.Objective)
				}
				if share := r.CheckPasses / r.Passes; share > 0.5 && r.CheckPasses > 12 {
					t.Errorf("%s, %s, %s: %.1f of %.1f passes were checks", kind, counting, name, r.CheckPasses, r.Passes)
				}
			}
		}
	}
}
