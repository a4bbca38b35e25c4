package learn

import (
	"math"
	"slices"
	"testing"
)

// TestFisherIsExactWithoutCoupling: at zero weights no node answers to another, and
// P is the Hessian: P⁻¹ undoes a product with it, found by finite differences.
func TestFisherIsExactWithoutCoupling(t *testing.T) {
	const h, allowed = 1e-4, 1e-5
	for _, kind := range []string{"plain", "binned", "instances", "mixed types"} {
		for _, counting := range []string{"convex", "trw", "symmetric"} {
			p := problems(t)[kind]
			if counting == "symmetric" {
				p, counting = p.turned(t, half), "trw"
			}
			p = p.with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			size := len(p.Model.Weights)
			direction := p.randomWeights(7, 1)
			p.Model.Layout.Symmetrise(direction)
			gradient := func(scale float64) []float64 {
				w := make([]float64, size)
				for i, d := range direction {
					w[i] = scale * d
				}
				settled(t, e, w)
				return slices.Clone(e.l.gradient)
			}
			ahead, behind := gradient(h), gradient(-h)
			for i := range ahead {
				ahead[i] = (ahead[i] - behind[i]) / (2 * h)
			}
			settled(t, e, make([]float64, size))
			rule := &auto{}
			if err := rule.Start(e.l.stepProblem()); err != nil {
				t.Fatal(err)
			}
			clear(rule.labels) // beliefs alone: uniform
			rule.measure()
			rule.apply(ahead, ahead)
			for i, x := range ahead {
				if !(math.Abs(x-direction[i]) <= allowed*(1+math.Abs(x))) {
					t.Errorf("%s, %s: P⁻¹Hv at %s is %v, v is %v", kind, counting, p.Model.WeightName(i), x, direction[i])
					break
				}
			}
		}
	}
}
