package learn

import (
	"math"
	"strings"
	"testing"
)

// TestProof: a run ends where its optimum is proved to be near enough, sooner than by its gradient, and what it
// proves is true. Resumed with a tolerance of the gradient it goes on to where a run with that alone ends.
func TestProof(t *testing.T) {
	proof := 1e-3
	for kind, p := range problems(t) {
		for _, method := range []Method{BBPL, Full, Exact} {
			start := math.NaN()
			exact := Settings{Method: method, Assign: blocksOf(4), RelativeTolerance: 1e-8}
			exact.Recorder = func(e Event) error {
				if e.Iteration == 0 {
					start = e.Objective
				}
				return nil
			}
			best := fit(t, p, exact)
			run := interruptible{p, func() Settings { return Settings{Method: method, Assign: blocksOf(4), Proof: proof} }}
			r, state := run.until(t, nil, math.MaxInt)
			if !best.Convex || p.L2 == 0 {
				if strings.Contains(r.Reason, "gained") {
					t.Errorf("%s, %s: a proof where nothing bounds the optimum: %s", kind, method, r.Reason)
				}
				continue
			}
			above := r.Objective - best.Objective
			if r.Status != Converged || !strings.Contains(r.Reason, "0.001 of what was gained") || r.Passes >= best.Passes {
				t.Errorf("%s, %s: %s: %s after %v passes; %v without a proof", kind, method, r.Status, r.Reason, r.Passes, best.Passes)
			}
			if !(above <= r.Suboptimality+1e-9) || !(r.Suboptimality <= proof*(start-r.Objective)*(1+1e-9)) {
				t.Errorf("%s, %s: %g above the optimum, proved %g, of %g gained", kind, method, above, r.Suboptimality, start-r.Objective)
			}
			exact.Resume = state
			if again := fit(t, p, exact); again.Status != Converged || !near(again.Objective, best.Objective, 1e-9) ||
				again.GradientNorm > 1e-8*again.FirstGradientNorm {
				t.Errorf("%s, %s: resumed: %s: %s", kind, method, again.Status, again.Reason)
			}
		}
	}
}

// TestGapAlone: a gap without a tolerance ends a run where no more is left, as is proved or promised.
func TestGapAlone(t *testing.T) {
	gap := 1e-3
	for kind, p := range problems(t) {
		for _, method := range []Method{BBPL, Full, Exact} {
			best := fit(t, p, Settings{Method: method, Assign: blocksOf(4), RelativeTolerance: 1e-8})
			r := fit(t, p, Settings{Method: method, Assign: blocksOf(4), Gap: gap})
			allowed := gap * (1 + math.Abs(r.Objective))
			if !r.Status.Stationary() || r.Passes >= best.Passes {
				t.Errorf("%s, %s: %s: %s after %v passes; %v without a gap", kind, method, r.Status, r.Reason, r.Passes,
					best.Passes)
			}
			if best.Convex && !(r.Objective-best.Objective <= allowed) || r.Suboptimality > allowed {
				t.Errorf("%s, %s: %v beside %v, proved %v: %s", kind, method, r.Objective, best.Objective, r.Suboptimality,
					r.Reason)
			}
		}
	}
}

// TestStartsAtTheOptimum: a run that begins where another ended takes no step that F cannot tell, and makes no NaN.
func TestStartsAtTheOptimum(t *testing.T) {
	for kind, p := range problems(t) {
		s := Settings{Assign: blocksOf(2), GradientTolerance: 1e-300, MaxPasses: 200}
		best := fit(t, p, s)
		again := fit(t, p.startingAt(best.Model.Weights), s)
		if !(again.Objective <= best.Objective+1e-6*(1+math.Abs(best.Objective))) {
			t.Errorf("%s: it begins at %v, and ends at %v", kind, best.Objective, again.Objective)
		}
	}
}

// TestResumedConverged: a run that had nothing left to do returns the gradient that it ended with.
func TestResumedConverged(t *testing.T) {
	run := interruptible{problems(t)["plain"], func() Settings {
		return Settings{Assign: blocksOf(4), RelativeTolerance: 1e-4}
	}}
	r, state := run.until(t, nil, math.MaxInt)
	again, _ := run.until(t, state, math.MaxInt)
	if !sameBits(r, again) || !(math.Abs(norm(again.Gradient)-again.GradientNorm) <= 1e-9*(1+again.GradientNorm)) {
		t.Errorf("resumed: %s, gradient of norm %v, said to be %v", again.Status, norm(again.Gradient), again.GradientNorm)
	}
}
