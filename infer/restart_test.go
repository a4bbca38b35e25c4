package infer

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// ferromagnet is an Ising model on a complete graph, strong enough for ordinary
// belief propagation to have several fixed points, with a weak field.
func ferromagnet(coupling, field float64) *mrf.Pairwise {
	g := must(gen.Complete(5))
	p := &mrf.Pairwise{Graph: g, NodeAt: []int{0}, EdgeAt: []int{0}}
	for range g.NumNodes() {
		p.Card, p.Node = append(p.Card, 2), append(p.Node, field, -field)
		p.NodeAt = append(p.NodeAt, len(p.Node))
	}
	for range g.NumEdges() {
		p.Edge = append(p.Edge, coupling, -coupling, -coupling, coupling)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	return p
}

// TestRestart finds both fixed points of a ferromagnet and takes the one of lower
// free energy; a convex free energy has one only.
func TestRestart(t *testing.T) {
	p := ferromagnet(0.8, 0.01)
	g := p.Graph
	r := must(restart(context.Background(), p, counting.Bethe(g), DefaultLimits, 30, source(1)))
	if r.Restarts != 30 || len(r.FixedPoints) < 2 || !slices.IsSortedFunc(r.FixedPoints, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	}) || r.LogZ < r.FixedPoints[0]-1e-6 {
		t.Errorf("%d restarts converged to %v; chosen is %v", r.Restarts, r.FixedPoints, r.LogZ)
	}
	if m := r.nodeMarginals(); m[0][0] < 0.5 {
		t.Errorf("the field favours state 0, which has %v", m[0])
	}
	again := must(restart(context.Background(), p, counting.Bethe(g), DefaultLimits, 30, source(1)))
	if again.LogZ != r.LogZ || !slices.Equal(again.FixedPoints, r.FixedPoints) || !slices.Equal(again.state.LogBelief, r.state.LogBelief) {
		t.Error("a second search gives another answer")
	}
	for seed := range uint64(20) {
		rng := source(seed)
		p := oracle.RandomPairwise(rng, g, randomCards(rng, 5), 2, 0)
		c := must(restart(context.Background(), p, counting.Convex(g), DefaultLimits, 5, rng))
		if !c.Converged || c.Restarts != 5 || len(c.FixedPoints) != 1 || c.Bound != counting.Upper || c.LogZ < oracle.LogZ(p)-1e-9 {
			t.Errorf("seed %d: %d restarts converged to %v", seed, c.Restarts, c.FixedPoints)
		}
		plain := must(beliefPropagation(context.Background(), p, counting.Convex(g), DefaultLimits))
		if math.Abs(plain.LogZ-c.LogZ) > 1e-8 {
			t.Errorf("seed %d: %v, without restarts %v", seed, c.LogZ, plain.LogZ)
		}
	}
}

// TestRestartOfTheRest: what does not converge says so, and a cancelled search ends
// with the first run.
func TestRestartOfTheRest(t *testing.T) {
	p := ferromagnet(0.8, 0.01)
	r := must(restart(context.Background(), p, counting.Bethe(p.Graph), Limits{Tolerance: 1e-10, MaxSweeps: 2}, 3, source(1)))
	if r.Restarts != 3 || len(r.FixedPoints) != 0 || r.Converged || r.Bound != counting.None {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := must(restart(ctx, p, counting.Bethe(p.Graph), DefaultLimits, 3, source(1))); r.Restarts != 0 {
		t.Errorf("cancelled: %d restarts", r.Restarts)
	}
}
