package learn

import (
	"slices"
	"testing"
	"time"
)

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
				if !r.Status.Stationary() {
					t.Errorf("%s, %s, %s: %s", kind, counting, name, r.Reason)
					continue
				}
				x := settled(t, e, r.Model.Weights)
				if allowed := 1.1 * 1e-6 * r.FirstGradientNorm; x.GradientNorm > allowed || !near(x.Objective, r.Objective, 1e-8) {
					t.Errorf("%s, %s, %s: gradient norm %v and objective %v, allowed %v, and claimed %v", kind, counting, name, x.GradientNorm, x.Objective, allowed, r.Objective)
				}
				most := 40.0
				if !r.Convex { // a gradient for each product, and the claim again, in four passes each
					most += (lanczosSteps + 1) * 4 * wholeSweeps
				}
				if share := r.CheckPasses / r.Passes; share > 0.5 && r.CheckPasses > most {
					t.Errorf("%s, %s, %s: %.1f of %.1f passes were checks", kind, counting, name, r.CheckPasses, r.Passes)
				}
			}
		}
	}
}

// astray is the automatic rule with steps that lead far away from anything.
type astray struct{ *auto }

func (a astray) Recovery() Recovery { return a }

func (a astray) best() []float64 { return nil }

func (a astray) Step(theta, gradient []float64) float64 {
	for i := range theta {
		theta[i] += float64(5 - i%11)
	}
	return 1
}

// TestFallBack: weights that are worse than those of the start are given up for them, with
// another check only where there is time for it. The values are those of the start, and the
// result says that they are.
func TestFallBack(t *testing.T) {
	p := problems(t)["plain"]
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	start := settled(t, e, p.Model.Weights)
	for _, late := range []bool{false, true} {
		s, passes := Settings{Step: astray{&auto{}}, MaxIterations: 1, MaxTime: time.Hour}, 0
		s.Checking = func(int, float64) { passes++ }
		s = must(s.resolve(&p))
		l := must(newLearner(&p, &s))
		defer l.pool.close()
		s.Recorder = func(e Event) error {
			if passes = 0; e.Iteration > 0 && late {
				l.clock = l.clock.Add(-2 * time.Hour)
			}
			return nil
		}
		r, err := l.run(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if !r.AtStart || !slices.Equal(r.Model.Weights, p.Model.Weights) || r.Iterations != 1 || r.Status != IterationLimit {
			t.Errorf("late %v: %s after %d iterations, at the start: %v", late, r.Status, r.Iterations, r.AtStart)
		}
		if !near(r.Objective, start.Objective, 1e-5) || !near(r.GradientNorm, start.GradientNorm, 1e-3) {
			t.Errorf("late %v: objective %v and gradient %v, %v and %v at the start", late, r.Objective, r.GradientNorm, start.Objective, start.GradientNorm)
		}
		if r.Checked == late || (r.Gradient == nil) != late || late && passes > 0 {
			t.Errorf("late %v: checked %v, %d more passes, and a gradient of %d weights", late, r.Checked, passes, len(r.Gradient))
		}
	}
	if r := fit(t, p, Settings{MaxIterations: 5}); r.AtStart {
		t.Error("five steps led nowhere")
	}
}
