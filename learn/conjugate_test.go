package learn

import (
	"math"
	"testing"
)

// TestConjugate: conjugate gradients find the tangents that the factor finds.
func TestConjugate(t *testing.T) {
	for _, kind := range []string{"plain", "binned", "samples", "instances", "mixed types"} {
		p := problems(t)[kind].with("trw")
		e := must(NewEvaluator(p, 1))
		defer e.Close()
		small, large := newResponse(e.l), newLargeResponse(e.l)
		if small == nil || large == nil {
			t.Fatalf("%s: linear response %v, %v", kind, small != nil, large != nil)
		}
		settled(t, e, p.randomWeights(8, 0.4))
		direction := p.randomWeights(7, 1)
		for _, r := range []*response{small, large} {
			r.allocate()
			if !r.tangents(direction, 0) {
				t.Fatalf("%s: no tangents", kind)
			}
		}
		for i := range small.units {
			for j, line := range [][]float64{small.units[i].messages, small.units[i].beliefs} {
				other := [][]float64{large.units[i].messages, large.units[i].beliefs}[j]
				for k, x := range line {
					if !(math.Abs(x-other[k]) <= 1e-4*(1+math.Abs(x))) {
						t.Fatalf("%s: tangent %v, by conjugate gradients %v", kind, x, other[k])
					}
				}
			}
		}
	}
	e := must(NewEvaluator(problems(t)["plain"].with("convex"), 1))
	defer e.Close()
	if newLargeResponse(e.l) != nil {
		t.Error("messages that ascend a dual need none")
	}
}
