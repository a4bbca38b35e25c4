package bp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// farthest returns by how much sums of beliefs of a block's edges differ at most from the beliefs of their ends.
func (r *inference) farthest(t *testing.T, b int) (most float64) {
	t.Helper()
	block := legal(r.load(b))
	nodes := r.nodes()
	for q, e := range block.Edges {
		pair := make([]float64, r.net.pairStates(e))
		legal(r.space.EdgeBelief(pair, r.net, r.state, block, q))
		u, v := r.network.Graph.U(e), r.network.Graph.V(e)
		rows, columns := marginalsOf(pair, len(nodes[v]))
		for i, x := range nodes[u] {
			most = max(most, math.Abs(rows[i]-x))
		}
		for i, x := range nodes[v] {
			most = max(most, math.Abs(columns[i]-x))
		}
	}
	return most
}

// TestOutwardVisitIsConsistent: a converged visit as the paper prints it leaves beliefs of edges, cut
// ones among them, that agree with those of their ends, and touches no belief outside and no message
// between outside nodes. Without messages out of the block cut edges disagree.
func TestOutwardVisitIsConsistent(t *testing.T) {
	disagree := 0
	for name, g := range loopyGraphs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				rng := source(500 + seed)
				lo := 2 + int(seed%2)
				p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), lo, 3), 1, 0)
				for _, c := range someNumbers(rng, g, seed) {
					r := newBlockInference(t, p, c, nil, randomPartition(rng, g, 3))
					r.logForm = seed == 5
					r.solve(t)
					for i := range p.Node {
						p.Node[i] += rng.NormFloat64()
					}
					other := newBlockInference(t, p, c, nil, r.part)
					other.state = &State{slices.Clone(r.state.LogMessage), slices.Clone(r.state.LogBelief)}
					visitOnce(t, r, 1, true)
					if most := r.farthest(t, 1); most > 1e-9 {
						t.Errorf("seed %d, %s: beliefs of edges are %g from those of their ends", seed, c.Name, most)
					}
					untouched(t, r, other.state, 1)
					visitOnce(t, other, 1, false)
					disagree += oneIf(other.farthest(t, 1) > 1e-3)
				}
			}
		})
	}
	if disagree == 0 {
		t.Error("visits with messages into the block alone are consistent, too: nothing was tested")
	}
}

// someNumbers are positive, tree-reweighted and random counting numbers.
func someNumbers(rng *rand.Rand, g *graph.Graph, seed uint64) []*counting.Numbers {
	trw := legal(counting.SampledTreeReweighted(g, seed))
	return []*counting.Numbers{counting.Convex(g), trw, dualCounting(rng, g)}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// visitOnce visits a block until it has converged.
func visitOnce(t *testing.T, r *inference, b int, outward bool) {
	t.Helper()
	if o := legal(r.iterate(b, Limits{Tolerance: 1e-13, MaxSweeps: 5000, Outward: outward})); !o.Converged {
		t.Fatalf("the visit did not converge: %+v", o)
	}
}

// untouched fails where beliefs outside block b, or messages between such nodes, are not those of before.
func untouched(t *testing.T, r *inference, before *State, b int32) {
	t.Helper()
	g, of := r.network.Graph, r.part.Of
	for s := range int32(g.NumNodes()) {
		if of[s] != b && !slices.Equal(r.net.belief(r.state, s), r.net.belief(before, s)) {
			t.Errorf("the belief of node %d, outside, has changed", s)
		}
	}
	for d := range int32(2 * g.NumEdges()) {
		if v := g.Target(d); of[v] != b && of[g.Source(d)] != b &&
			!slices.Equal(r.net.message(r.state, d, v), r.net.message(before, d, v)) {
			t.Errorf("the message of directed edge %d, outside, has changed", d)
		}
	}
}

// TestOutwardVisitsNeverCircle: with strong potentials and no negative c_s two sweeps a visit settle, as long as sweeps
// go no farther than (5) says. Over-relaxed by 0.3 some circle for ever, which is why visits of learning are not.
func TestOutwardVisitsNeverCircle(t *testing.T) {
	g := legal(graph.Grid(4, 5, graph.GridOptions{}))
	const blocks, enough = 4, 1500
	circled := 0
	for seed := range uint64(10) {
		for _, damping := range []float64{0, -0.3} {
			rng := source(3000 + seed)
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, 3), 6, 0)
			r := newBlockInference(t, p, dualCounting(rng, g), nil, randomPartition(rng, g, blocks))
			limits, residual := Limits{Tolerance: 1e-9, MaxSweeps: 2, Outward: true, Damping: damping}, 1.0
			for round := 0; round < enough && residual > 1e-7; round++ {
				residual = 0
				for b := range blocks {
					residual = max(residual, legal(r.iterate(b, limits)).FirstResidual)
				}
			}
			switch unsettled := residual > 1e-7; {
			case damping < 0:
				circled += oneIf(unsettled)
			case unsettled:
				t.Errorf("seed %d: visits still change a message by %g", seed, residual)
			}
		}
	}
	if circled == 0 {
		t.Error("nothing circles over-relaxed either: nothing was tested")
	}
}
