package infer

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEnginesAgreeOnTrees: on trees too large to enumerate elimination, Bethe's and tree-reweighted belief propagation
// have the same log Z and marginals, and all methods for most probable states the same energy.
func TestEnginesAgreeOnTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(rapid.Uint64().Draw(t, "seed"))
		g := must(gen.Tree(rapid.IntRange(1, 60).Draw(t, "nodes"), rng))
		card := randomCards(rng, g.NumNodes())
		p := oracle.RandomPairwise(rng, g, card, rapid.SampledFrom([]float64{0.5, 3}).Draw(t, "scale"), rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "zeros"))
		p.Constant = -7
		plan := exact.NewPlan(p.Network(), math.Inf(1))
		want := must(plan.Run(context.Background(), true))
		for _, counts := range []*counting.Numbers{counting.Bethe(g), must(counting.SampledTreeReweighted(g, 1))} {
			r := must(beliefPropagation(context.Background(), p, counts, Limits{Tolerance: 1e-13, MaxSweeps: 1000}))
			if r.Bound != counting.Exact || !(math.Abs(r.LogZ-want.LogZ) <= 1e-10*(1+math.Abs(want.LogZ))) {
				t.Fatalf("%s: %s %.14g, elimination gives %.14g", counts.Name, r.Bound, r.LogZ, want.LogZ)
			}
			for s, marginal := range r.Marginals {
				for i, x := range marginal {
					oracle.MustNear(t, x, want.Marginals[s][i], 1e-10, "%s: P(x_%d = %d)", counts.Name, s, i)
				}
			}
		}
		best := must(plan.Maximize(context.Background()))
		for _, method := range []Method{"", Exact, TRWS} {
			r := must(MostProbable(context.Background(), p.Network(), Options{Method: method}))
			slack := 1e-10 * (1 + math.Abs(best.Energy))
			if !r.Optimal || !(math.Abs(r.Energy-best.Energy) <= slack) || !(math.Abs(r.LowerBound-r.Energy) <= slack) || !(r.Energy >= -want.LogZ-slack) {
				t.Fatalf("%s: %+v, elimination gives energy %v", method, r, best.Energy)
			}
		}
	})
}
