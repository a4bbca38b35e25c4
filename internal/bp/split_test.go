package bp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// splitCounting are provably convex numbers with negative c_s.
func splitCounting(rng *rand.Rand, g *graph.Graph) []*counting.Numbers {
	sampled := legal(counting.SampledTreeReweighted(g, rng.Uint64()))
	proved := legal(counting.New("proved", g, sampled.Node, sampled.Edge))
	proved.Prove(g)
	found, given := drawnSplit(rng, g), drawnSplit(rng, g)
	found.Prove(g) // replaces the split
	numbers := []*counting.Numbers{sampled, proved, found, given}
	if g.IsForest() {
		numbers = append(numbers, counting.Bethe(g))
	}
	return numbers
}

// drawnSplit draws the terms of a split, some of them zero, and takes their sums. All c'_uv are positive.
func drawnSplit(rng *rand.Rand, g *graph.Graph) *counting.Numbers {
	draw := func() float64 { return max(0, 1.5*rng.Float64()-0.3) }
	node, edge, split := make([]float64, g.NumNodes()), make([]float64, g.NumEdges()), []float64(nil)
	for s := range node {
		node[s] = draw()
		if g.Degree(int32(s)) == 0 {
			node[s]++
		}
	}
	for e := range edge {
		u, v := g.U(int32(e)), g.V(int32(e))
		first, second := draw(), draw()
		edge[e] = 0.1 + draw() + first + second
		node[u] -= first
		node[v] -= second
		split = append(split, second, first)
	}
	c := legal(counting.New("drawn", g, node, edge))
	c.Split, c.Facts.Certified = split, true
	return c
}

// splitGraphs are loopyGraphs with a tree.
func splitGraphs() map[string]*graph.Graph {
	graphs := loopyGraphs()
	graphs["tree"] = legal(gen.Tree(7, source(3)))
	return graphs
}

// TestSplitDual: with negative c_s too, the dual value is at least B at any messages, and
// log Z where that is claimed; at the fixed point it is B. Zeros and blocks change nothing.
func TestSplitDual(t *testing.T) {
	for name, g := range splitGraphs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(9) {
				rng := source(700 + seed)
				zeros := []float64{0, 0.25, 0}[seed%3]
				scale := []float64{1.5, 2, 40}[seed%3]
				p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), scale, zeros)
				for _, c := range splitCounting(rng, g) {
					if !c.Facts.Certified {
						t.Fatalf("seed %d: %s has no dual: %+v", seed, c.Name, c.Facts)
					}
					checkSplitDual(t, fmt.Sprintf("seed %d, %s", seed, c.Name), rng, p, c, zeros == 0 && scale < 2)
				}
			}
		})
	}
}

func checkSplitDual(t *testing.T, name string, rng *rand.Rand, p *mrf.Pairwise, c *counting.Numbers, solve bool) {
	t.Helper()
	least := math.Inf(-1)
	if c.Facts.Bound != counting.None {
		least = oracle.LogZ(p)
	}
	r := newBlockInference(t, p, c, nil, randomPartition(rng, p.Graph, 1+rng.IntN(3)))
	best := math.NaN()
	if solve {
		r.solve(t)
		v := r.values(t)
		if !near(v.Dual, v.Primal, 1e-9) || c.Facts.Bound == counting.Exact && !near(v.Dual, least, 1e-9) {
			t.Fatalf("%s: values %+v at the fixed point, log Z is %.12f", name, v, least)
		}
		least = max(least, v.Primal)
		best = v.Dual
	}
	r.damped = true // the messages below need not be normalised
	check := func(when string) {
		v := r.values(t)
		if !(v.Dual >= least-1e-9*(1+math.Abs(least))) || v.Primal > v.Dual+1e-9*(1+math.Abs(v.Dual)) || !(v.Dual >= best-1e-9*(1+math.Abs(best))) && solve {
			t.Fatalf("%s: values %+v %s, at least %.12f wanted", name, v, when, least)
		}
	}
	for range 3 {
		r.scramble(rng)
		check("at random messages")
		for sweep := range 3 {
			oracle.Must(r.iterate(rng.IntN(len(r.part.Blocks)), Limits{MaxSweeps: 1}))(t)
			check(fmt.Sprintf("after visit %d", sweep))
		}
	}
}

// TestSplitDualOfObserved: with some nodes observed, the dual value is that of the
// network with their other states forbidden.
func TestSplitDualOfObserved(t *testing.T) {
	for name, g := range splitGraphs() {
		for seed := range uint64(6) {
			rng := source(800 + seed)
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, 3), 1.5, 0)
			observed := make([]int32, g.NumNodes())
			for s := range observed {
				observed[s] = int32(rng.IntN(int(p.Card[s])+3)) - 3
				observed[s] = max(-1, observed[s])
			}
			for _, c := range splitCounting(rng, g) {
				r := newBlockInference(t, p, c, observed, partition.Whole(g))
				r.solve(t)
				solved := r.values(t)
				if !near(solved.Dual, solved.Primal, 1e-9) {
					t.Fatalf("%s, seed %d, %s: values %+v at the fixed point", name, seed, c.Name, solved)
				}
				r.scramble(rng)
				if v := r.values(t); !(v.Dual >= solved.Dual-1e-9) {
					t.Fatalf("%s, seed %d, %s: dual value %.12f at random messages, %.12f at the fixed point", name, seed, c.Name, v.Dual, solved.Dual)
				}
			}
		}
	}
}

// TestSplitValue: with what cross entropies of any labelling lack, found block by block, they
// are the dual value, at any messages.
func TestSplitValue(t *testing.T) {
	for name, g := range splitGraphs() {
		for seed := range uint64(8) {
			rng := source(1000 + seed)
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3+17*int(seed%2)), []float64{1, 4, 60, 300}[seed%4], 0)
			labels := make([]int32, g.NumNodes())
			for s := range labels {
				labels[s] = int32(rng.IntN(int(p.Card[s])))
			}
			for _, c := range splitCounting(rng, g) {
				r := newBlockInference(t, p, c, nil, randomPartition(rng, g, 1+rng.IntN(3)))
				r.logForm = seed%3 == 2
				for _, when := range []string{"at random messages", "after sweeps"} {
					if when == "after sweeps" {
						r.sweep(t, r.blocks())
						r.sweep(t, r.blocks())
					} else if seed%4 < 2 { // beliefs of strong potentials are not what random messages say
						r.scramble(rng)
					}
					want, value := r.values(t).Dual, 0.0
					for s, y := range labels {
						value += p.Node[p.NodeAt[s]+int(y)] - c.Node[s]*r.net.LogBelief(r.state, int32(s), y)
					}
					for b := range r.part.Blocks {
						block := legal(r.load(b))
						value += legal(r.space.SplitValue(r.net, r.state, block, labels))
						for q, e := range block.Edges {
							if x, y := labels[g.U(e)], labels[g.V(e)]; r.part.Of[g.U(e)] == int32(b) {
								value += p.Edge[p.EdgeAt[e]+int(x)*int(p.Card[g.V(e)])+int(y)] - c.Edge[e]*legal(r.space.LogPair(r.net, r.state, block, q, x, y))
							}
						}
					}
					if c.Split != nil && !near(value, want, 1e-11) {
						t.Fatalf("%s, seed %d, %s, %s: %.12f, the dual value is %.12f", name, seed, c.Name, when, value, want)
					}
				}
			}
		}
	}
}
