package infer

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/spanning"
)

// TestOptimizeAppearance: the bound falls, stays a bound, and belongs to edge
// appearances that are an average of forests.
func TestOptimizeAppearance(t *testing.T) {
	tightened, drawn := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rng := source(rapid.Uint64().Draw(t, "seed"))
		g := must(gen.ErdosRenyi(rapid.IntRange(1, 7).Draw(t, "nodes"), 0.6, rng))
		p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes()), rapid.SampledFrom([]float64{0.5, 2}).Draw(t, "scale"), rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "zeros"))
		p.Constant = 5
		z := oracle.LogZ(p)
		start := must(counting.SampledTreeReweighted(g, 1, true))
		limits := Limits{Tolerance: 1e-9, MaxSweeps: 3000}
		before := must(beliefPropagation(context.Background(), p, start, limits))
		got, err := optimizeAppearance(context.Background(), p, start, limits, 5)
		if err != nil {
			t.Fatal(err)
		}
		slack := 1e-7 * (1 + math.Abs(z))
		if !(got.LogZ >= z-slack) || !(got.LogZ <= before.LogZ+slack) || got.Bound != counting.Upper && got.Bound != counting.Exact {
			t.Fatalf("%s %v after %d steps from %v, log Z is %v", got.Bound, got.LogZ, got.AppearanceSteps, before.LogZ, z)
		}
		if got.LogZ < before.LogZ-1e-3 {
			tightened++
		}
		if verdict := spanning.CheckForestPolytope(g, got.Counting.Edge); verdict.Status != spanning.Inside {
			t.Fatal(verdict.Reason)
		}
		if g.IsForest() && got.AppearanceSteps > 0 {
			t.Fatal("on a forest there is nothing to tighten")
		}
		drawn++
	})
	if tightened == 0 {
		t.Errorf("no bound of %d became tighter", drawn)
	}
}

// TestDerivativeOfBound: the slope towards a forest is what a small step lowers the
// bound by.
func TestDerivativeOfBound(t *testing.T) {
	rng := source(5)
	g := must(gen.Complete(5))
	p := oracle.RandomPairwise(rng, g, []int32{2, 3, 2, 2, 3}, 1, 0)
	limits := Limits{Tolerance: 1e-12, MaxSweeps: 20000}
	start := must(counting.SampledTreeReweighted(g, 1, true))
	r := must(beliefPropagation(context.Background(), p, start, limits))
	information := must(r.mutualInformation())
	forest := spanning.Maximum(g, information)
	const share = 1e-4
	forests, weights := append(append([][]int32(nil), start.Forests...), forest), make([]float64, len(start.Forests)+1)
	for i := range start.Forests {
		weights[i] = (1 - share) * start.ForestWeights[i]
	}
	weights[len(start.Forests)] = share
	next := must(beliefPropagation(context.Background(), p, must(weightedForests(g, forests, weights)), limits))
	if got, want := (r.LogZ-next.LogZ)/share, r.slope(information, forest); math.Abs(got-want) > 1e-2*want || want <= 0 {
		t.Errorf("the bound falls at the rate %v, want %v", got, want)
	}
}

// TestOptimizeAppearanceErrors come from the first inference; a cancelled search
// ends with what it has.
func TestOptimizeAppearanceErrors(t *testing.T) {
	rng := source(2)
	g := must(gen.Complete(4))
	p := oracle.RandomPairwise(rng, g, []int32{2, 2, 2, 2}, 1, 0)
	start := must(counting.SampledTreeReweighted(g, 1, true))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := optimizeAppearance(ctx, p, start, DefaultLimits, 5); err != nil || got.AppearanceSteps != 0 {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	p.Node[0] = math.NaN()
	if _, err := optimizeAppearance(context.Background(), p, start, DefaultLimits, 5); !errors.As(err, new(*bp.NumericalError)) {
		t.Errorf("error is %v", err)
	}
}
