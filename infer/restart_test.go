package infer

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
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
	r := must(restart(context.Background(), p, counting.Bethe(g), DefaultLimits, 30, DefaultLimits, source(1)))
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
	again := must(restart(context.Background(), p, counting.Bethe(g), DefaultLimits, 30, DefaultLimits, source(1)))
	if again.LogZ != r.LogZ || !slices.Equal(again.FixedPoints, r.FixedPoints) || !slices.Equal(again.state.LogBelief, r.state.LogBelief) {
		t.Error("a second search gives another answer")
	}
	for seed := range uint64(20) {
		rng := source(seed)
		p := oracle.RandomPairwise(rng, g, randomCards(rng, 5), 2, 0)
		c := must(restart(context.Background(), p, counting.Convex(g), DefaultLimits, 5, DefaultLimits, rng))
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
	r := must(restart(context.Background(), p, counting.Bethe(p.Graph), Limits{Tolerance: 1e-10, MaxSweeps: 2}, 3, Limits{Tolerance: 1e-10, MaxSweeps: 2}, source(1)))
	if first := must(propagate(t.Context(), p, counting.Bethe(p.Graph), Limits{Tolerance: 1e-10, MaxSweeps: 2}, nil)); r.Restarts != 3 || len(r.FixedPoints) != 0 || r.Converged || r.Bound != counting.None || r.LogZ != first.LogZ {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := must(restart(ctx, p, counting.Bethe(p.Graph), DefaultLimits, 3, DefaultLimits, source(1))); r.Restarts != 0 {
		t.Errorf("cancelled: %d restarts", r.Restarts)
	}
}

// magnets are random networks that favour agreement with hidden states, of which the
// opposite is nearly as good: what leads belief propagation to several fixed points.
func magnets(count int) (all []*mrf.Pairwise) {
	for seed := range uint64(count) {
		rng := source(100 + seed)
		g := must(graph.Grid(4+int(seed%4), 6, graph.GridOptions{}))
		p := &mrf.Pairwise{Graph: g, NodeAt: []int{0}, EdgeAt: []int{0}}
		hidden := make([]float64, g.NumNodes())
		for s := range hidden {
			hidden[s] = float64(2*rng.IntN(2) - 1)
			p.Card, p.Node = append(p.Card, 2), append(p.Node, 0.5*rng.NormFloat64(), 0.5*rng.NormFloat64())
			p.NodeAt = append(p.NodeAt, len(p.Node))
		}
		u, v := g.Ends()
		for e := range u {
			j := 2 * rng.Float64() * hidden[u[e]] * hidden[v[e]]
			p.Edge = append(p.Edge, j, -j, -j, j)
			p.EdgeAt = append(p.EdgeAt, len(p.Edge))
		}
		all = append(all, p)
	}
	return all
}

// TestDefaultRestarts: without being asked, Propagation with numbers that are not convex
// looks for other fixed points. On networks where one run ends far from the exact value
// it ends nearer, and nowhere further away.
func TestDefaultRestarts(t *testing.T) {
	far, helped := 0, 0
	for i, p := range magnets(40) {
		n := p.Network()
		exact := must(Marginals(t.Context(), n, Options{Method: Exact}))
		single := must(Marginals(t.Context(), n, Options{Counting: bethe, Restarts: -1}))
		several := must(Marginals(t.Context(), n, Options{Counting: bethe}))
		if single.Restarts != 0 || single.FixedPoints != nil || several.Restarts != defaultRestarts || len(several.FixedPoints) == 0 {
			t.Fatalf("%d and %d restarts, fixed points %v and %v", single.Restarts, several.Restarts, single.FixedPoints, several.FixedPoints)
		}
		if !single.Stationary || !several.Stationary || exact.Stationary || several.LogZ != several.FixedPoints[0] && math.Abs(several.LogZ-several.FixedPoints[0]) > 1e-4 {
			t.Errorf("network %d: %+v", i, several)
		}
		before, after := math.Abs(single.LogZ-exact.LogZ)/math.Ln10, math.Abs(several.LogZ-exact.LogZ)/math.Ln10
		if after > before+1e-6 {
			t.Errorf("network %d: %.3f decades off with restarts, %.3f without", i, after, before)
		}
		if before > 0.1 && after < before-0.01 {
			helped++
			if offBy(several.Marginals, exact.Marginals) > offBy(single.Marginals, exact.Marginals) {
				t.Errorf("network %d: the marginals are further off", i)
			}
		}
		if before > 0.1 {
			far++
		}
		again := must(Marginals(t.Context(), n, Options{Counting: bethe, Threads: 2}))
		if again.LogZ != several.LogZ || !slices.Equal(again.FixedPoints, several.FixedPoints) {
			t.Errorf("network %d: a second search gives another answer", i)
		}
	}
	t.Logf("of 40 networks, %d are more than 0.1 decades off, and restarts bring %d nearer", far, helped)
	if helped < 5 {
		t.Errorf("restarts help on %d of %d networks only", helped, far)
	}
}

// offBy is the mean distance of marginals.
func offBy(a, b [][]float64) (sum float64) {
	for v := range a {
		for i := range a[v] {
			sum += math.Abs(a[v][i]-b[v][i]) / float64(2*len(a))
		}
	}
	return sum
}

// TestRestartsLeaveSaddles: constant messages are a fixed point of a magnet without a
// field, and no minimum of its free energy.
func TestRestartsLeaveSaddles(t *testing.T) {
	p := ferromagnet(0.8, 0)
	single := must(LogPartition(t.Context(), p.Network(), Options{Counting: bethe, Restarts: -1}))
	several := must(LogPartition(t.Context(), p.Network(), Options{Counting: bethe}))
	if exact := oracle.LogZ(p); !single.Converged || !(math.Abs(several.LogZ-exact) < math.Abs(single.LogZ-exact)-0.5) {
		t.Errorf("log Z is %v from constant messages, %v with restarts, %v in truth", single.LogZ, several.LogZ, exact)
	}
}
