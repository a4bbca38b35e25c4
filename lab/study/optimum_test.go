package study

import (
	"context"
	"math"
	"testing"
)

// TestPseudo: pseudo-likelihood ends near the optimum of the others' objective, and
// not below it.
func TestPseudo(t *testing.T) {
	b, star, _ := solved(t, Problem{Kind: Grid, Size: 4, Seed: 1})
	p := must(b.pseudo(context.Background(), star.Weights))
	if !(p.Objective >= star.Objective*(1-1e-9)) || !(p.Distance > 0 && p.Distance < 1) || p.Evaluations < 2 || math.IsNaN(p.Seconds) {
		t.Errorf("%+v, the optimum is %v", *p, star.Objective)
	}
}
