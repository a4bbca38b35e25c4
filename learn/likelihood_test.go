package learn

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/oracle"
)

// enumerable are problems of all kinds that are small enough for the oracle.
func enumerable(t *testing.T) map[string]Problem {
	grid := must(graph.Grid(2, 3, graph.GridOptions{}))
	mixed, missing := mixedShape(t, grid), mixedShape(t, grid)
	mixed.instances, mixed.samples = 2, 3
	missing.missing, missing.samples, missing.instances = 0.3, 2, 2
	masked := maskedProblem(t, mixedShape(t, grid), 3)
	one := problemOptions{rows: 2, cols: 4, states: 3, nodeDim: 3, edgeDim: 2, l2: 0.3, missing: 0.4, samples: 2, instances: 3}
	binned := problemOptions{rows: 2, cols: 3, states: 3, nodeDim: 3, edgeDim: 4, bins: true, l2: 0.3}
	apart := mixedShape(t, must(graph.FromEdges(6, []int32{0, 1, 3}, []int32{1, 2, 4})))
	return map[string]Problem{
		"mixed types": mixed.build(t, 1), "mixed missing": missing.build(t, 2), "masked": masked, "one type": randomProblem(t, 3, one),
		"binned": randomProblem(t, 4, binned), "untied": untiedShape(grid, 3).build(t, 5), "forest": apart.build(t, 6),
	}
}

// TestLikelihoodByEnumeration: value and gradient of the exact likelihood, and where
// L-BFGS ends, by enumeration of all joint states; the same bits for any threads.
func TestLikelihoodByEnumeration(t *testing.T) {
	for name, p := range enumerable(t) {
		hidden := instances.AnyHidden(p.Data)
		for seed, scale := range []float64{0, 0.3, 2} {
			w := p.randomWeights(uint64(seed), scale)
			value, gradient := localAt(p, Exact, 1, w)
			want, slope := likelihood(p, w)
			if !near(value, want, 1e-12) || !(distance(gradient, slope) <= 1e-11*(1+norm(slope))) {
				t.Errorf("%s, weights of %v: L = %.15g, want %.15g; ∇L is off by %g of %g", name, scale, value, want, distance(gradient, slope), norm(slope))
			}
		}
		r := fit(t, p, Settings{Method: Exact, RelativeTolerance: 1e-9})
		want, slope := likelihood(p, r.Model.Weights)
		if !r.Status.Stationary() || !near(r.Objective, want, 1e-12) || !near(norm(slope), r.GradientNorm, 1e-11) || r.Convex == hidden || !(r.GradientNorm <= 1e-9*r.FirstGradientNorm) {
			t.Errorf("%s: %s (%s), L = %.15g, want %.15g; ‖∇L‖ = %g, want %g; convex %v", name, r.Status, r.Reason, r.Objective, want, r.GradientNorm, norm(slope), r.Convex)
		}
		if again := fit(t, p, Settings{Method: Exact, RelativeTolerance: 1e-9, Threads: 3}); !sameBits(r, again) {
			t.Errorf("%s: three threads end in other bits", name)
		}
		// A run that was stopped goes on to the same bits.
		run := interruptible{p, func() Settings { return Settings{Method: Exact, RelativeTolerance: 1e-9} }}
		_, state := run.until(t, nil, 3)
		if again, _ := run.until(t, state, math.MaxInt); !sameBits(r, again) {
			t.Errorf("%s: resumed it ends in other bits", name)
		}
	}
}

// TestLikelihoodRefusals: networks that are too wide are named, before anything is allocated; and memory is forecast.
func TestLikelihoodRefusals(t *testing.T) {
	oracle.Long(t)
	p := randomProblem(t, 1, problemOptions{rows: 12, cols: 12, states: 4, nodeDim: 1, edgeDim: 1, l2: 1})
	var large *MemoryError
	if _, err := Fit(t.Context(), p, Settings{Method: Exact, Memory: 64 << 20}); !errors.As(err, &large) || large.Needed < 4<<24 {
		t.Errorf("error %v", err)
	}
	p = randomProblem(t, 1, problemOptions{rows: 80, cols: 80, states: 9, nodeDim: 1, edgeDim: 1, l2: 1})
	oracle.Fails(Forecast(p, Settings{Method: Exact}))(t, "instance 0 () is too wide for method exact")
	p = randomProblem(t, 1, problemOptions{rows: 4, cols: 5, states: 4, nodeDim: 1, edgeDim: 1, l2: 1})
	m := must(Forecast(p, Settings{Method: Exact}))
	if !slices.ContainsFunc(m.Items, func(i MemoryItem) bool { return i.Name == "tables of elimination" }) {
		t.Errorf("%+v", m)
	}
}
