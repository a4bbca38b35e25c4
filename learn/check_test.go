package learn

import "testing"

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
