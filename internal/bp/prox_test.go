package bp

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestProxFixedPoints: sweeps with and without prox have the same fixed points, of numbers that are
// provably convex and have negative c_s.
func TestProxFixedPoints(t *testing.T) {
	for name, g := range splitGraphs() {
		for seed := range uint64(6) {
			rng := source(1200 + seed)
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), 1.5, 0)
			for _, c := range splitCounting(rng, g) {
				r := newBlockInference(t, p, c, nil, partition.Whole(g))
				r.solve(t)
				want := append([]float64(nil), r.state.LogBelief...)
				r.net.proximal = [kindsOfProx][]float64{}
				o, err := r.iterate(0, Limits{MaxSweeps: 1})
				if err != nil || !(o.Residual <= 1e-7) {
					t.Fatalf("%s, seed %d, %s: a sweep without prox moves the fixed point of those with it by %v (%v)", name, seed, c.Name, o.Residual, err)
				}
				for i, x := range r.state.LogBelief {
					if !near(math.Exp(x), math.Exp(want[i]), 1e-7) {
						t.Fatalf("%s, seed %d, %s: belief %v, with a prox %v", name, seed, c.Name, math.Exp(x), math.Exp(want[i]))
					}
				}
			}
		}
	}
}

// hubs returns the graph of two nodes that each have all others for neighbours.
func hubs(spokes int) *graph.Graph {
	var u, v []int32
	for s := range int32(spokes) {
		u, v = append(u, 0, 1), append(v, s+2, s+2)
	}
	return legal(graph.FromEdges(spokes+2, u, v))
}

// TestHubsSettle: messages to nodes of many neighbours do not circle where these have a prox.
func TestHubsSettle(t *testing.T) {
	for _, spokes := range []int{10, 40, 160} {
		g := hubs(spokes)
		rng := source(5)
		p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 3, 3), 2, 0)
		c := legal(counting.SampledTreeReweighted(g, 1))
		sweeps := func(free bool) (Outcome, float64) {
			r := newBlockInference(t, p, c, nil, partition.Whole(g))
			if free {
				r.net.proximal = [kindsOfProx][]float64{}
			}
			o := Outcome{}
			for o.Sweeps < 100 && !o.Converged {
				next := oracle.Must(r.iterate(0, Limits{Tolerance: 1e-6, MaxSweeps: 1}))(t)
				next.Sweeps += o.Sweeps
				o = next
			}
			v := r.values(t)
			return o, v.Dual - v.Primal
		}
		prox, gap := sweeps(false)
		free, freeGap := sweeps(true)
		t.Logf("%d spokes: with a prox %+v, gap %.3g; without %+v, gap %.3g", spokes, prox, gap, free, freeGap)
		if !(gap <= 1e-3) {
			t.Errorf("%d spokes: messages have not settled: %+v, gap %v", spokes, prox, gap)
		}
		if spokes > 10 && free.Converged {
			t.Errorf("%d spokes: messages settle without a prox, too: the test shows nothing", spokes)
		}
	}
}

// TestDampedHubsSettle: sweeps around nodes of many neighbours settle where a larger prox damps them. Damped messages
// bring answers back late, and circle.
func TestDampedHubsSettle(t *testing.T) {
	g := hubs(160)
	p := oracle.RandomPairwise(source(5), g, randomCards(source(1), g.NumNodes(), 3, 3), 2, 0)
	for _, byProx := range []bool{true, false} {
		r := newBlockInference(t, p, legal(counting.SampledTreeReweighted(g, 1)), nil, partition.Whole(g))
		if !byProx {
			r.net.proximal[mostProx] = nil
		}
		o := Outcome{}
		for o.Sweeps < 400 && !o.Converged {
			next := oracle.Must(r.iterate(0, Limits{Tolerance: 1e-6, MaxSweeps: 1, Damping: 0.85}))(t)
			next.Sweeps += o.Sweeps
			o = next
		}
		oracle.Equal(t, o.Converged, byProx, "damped by a prox %t: settled after %d sweeps, residual %.2g", byProx, o.Sweeps,
			o.Residual)
	}
}

// TestNoProx: exact belief propagation and numbers that are not negative stay as they are.
func TestNoProx(t *testing.T) {
	grid, tree := legal(graph.Grid(4, 5, graph.GridOptions{})), legal(gen.Tree(20, source(1)))
	for _, x := range []struct {
		g *graph.Graph
		c *counting.Numbers
	}{{grid, counting.Convex(grid)}, {grid, edgeCover(grid)}, {grid, counting.Bethe(grid)}, {tree, counting.Bethe(tree)},
		{tree, legal(counting.SampledTreeReweighted(tree, 1))}} {
		if h := proximal(x.g, x.c); h[0] != nil {
			t.Errorf("%s: nodes have a prox: %v", x.c.Name, h)
		}
	}
}

// TestAcceleratedSettle: over-relaxed sweeps over a lattice of tied nodes settle; by the prox of plain ones they go on.
func TestAcceleratedSettle(t *testing.T) {
	g := legal(graph.Grid(30, 30, graph.GridOptions{}))
	p := oracle.RandomPairwise(source(3), g, randomCards(source(1), g.NumNodes(), 2, 2), 0.5, 0)
	for e := range g.NumEdges() {
		p.Edge[4*e], p.Edge[4*e+3] = p.Edge[4*e]+1.5, p.Edge[4*e+3]+1.5
	}
	for kind, settles := range []bool{false, true} {
		r := newBlockInference(t, p, legal(counting.SampledTreeReweighted(g, 1)), nil, partition.Whole(g))
		r.net.proximal[1] = r.net.proximal[kind]
		o := oracle.Must(r.iterate(0, Limits{Accelerated: true, Tolerance: 1e-6, MaxSweeps: 100}))(t)
		oracle.Equal(t, o.Converged, settles, "prox %d: settled after %d sweeps", kind, o.Sweeps)
	}
}
