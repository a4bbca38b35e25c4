package bp

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// TestNumericalErrorsLocate: what inference cannot go on with is named, in the
// numbers of the whole network, also where it is found in a later block.
func TestNumericalErrorsLocate(t *testing.T) {
	g := legal(graph.Grid(2, 3, graph.GridOptions{})) // edge 4 joins nodes 2 and 5
	forbid := math.Inf(-1)
	if g.U(4) != 2 || g.V(4) != 5 {
		t.Fatal("edge 4 is another one")
	}
	fill := func(x []float64, value float64) {
		for i := range x {
			x[i] = value
		}
	}
	node := func(p *mrf.Pairwise, s int) []float64 { return p.Node[p.NodeAt[s]:p.NodeAt[s+1]] }
	edge := func(p *mrf.Pairwise, e int) []float64 { return p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]] }
	for _, test := range []struct {
		name       string
		node, edge int32
		want       string
		spoil      func(p *mrf.Pairwise)
	}{
		{"NaN in a node", 5, -1, "node 5: potential of state 1 is NaN", func(p *mrf.Pairwise) { node(p, 5)[1] = math.NaN() }},
		{"+Inf in a node", 5, -1, "node 5: potential of state 0 is +Inf", func(p *mrf.Pairwise) { node(p, 5)[0] = math.Inf(1) }},
		{"NaN in an edge", -1, 4, "edge 4: potential of joint state 3 is NaN", func(p *mrf.Pairwise) { edge(p, 4)[3] = math.NaN() }},
		{"+Inf in an edge", -1, 4, "edge 4: potential of joint state 0 is +Inf", func(p *mrf.Pairwise) { edge(p, 4)[0] = math.Inf(1) }},
		{"no joint state", -1, 4, "edge 4: every joint state is forbidden", func(p *mrf.Pairwise) { fill(edge(p, 4), forbid) }},
		{"no state", 5, -1, "node 5: no state is possible", func(p *mrf.Pairwise) { fill(node(p, 5), forbid) }},
		{"node against edge", 5, -1, "node 5: no state is possible", func(p *mrf.Pairwise) {
			fill(node(p, 5)[1:], forbid)
			for i := range 2 { // joint states of nodes 2 and 5 with state 0 of node 5
				edge(p, 4)[i*3] = forbid
			}
		}},
	} {
		for _, c := range []*counting.Numbers{counting.Convex(g), counting.Bethe(g)} {
			p := oracle.RandomPairwise(source(1), g, []int32{2, 2, 2, 2, 2, 3}, 1, 0)
			test.spoil(p)
			r := newBlockInference(t, p, c, nil, legal(partition.FromAssignment(g, []int32{0, 0, 0, 0, 0, 1}, 2)))
			var err error
			for b := 0; b < 2 && err == nil; b++ {
				_, err = r.iterate(b, Limits{MaxSweeps: 10})
			}
			var numerical *NumericalError
			if !errors.As(err, &numerical) || numerical.Node != test.node || numerical.Edge != test.edge || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: error %v, want %q", test.name, c.Name, err, test.want)
			}
		}
	}
}

// TestHugePotentials: near the end of float64's range one joint state has all
// of the probability, and nothing becomes NaN.
func TestHugePotentials(t *testing.T) {
	for seed := range uint64(10) {
		rng := source(seed)
		g := legal(gen.Tree(5, rng))
		p := oracle.RandomPairwise(rng, g, randomCards(rng, 5, 1, 3), 1e300, 0)
		for _, c := range treeCountings(g) {
			compareWithOracle(t, c.Name, p, c)
		}
	}
}

// TestNoAllocations: once the workspace has seen the largest block, grounding
// aside, nothing is allocated: not by Prepare, sweeps, beliefs or values.
func TestNoAllocations(t *testing.T) {
	g := legal(graph.Grid(6, 6, graph.GridOptions{}))
	rng := source(1)
	uniform := oracle.RandomPairwise(rng, g, slices.Repeat([]int32{3}, 36), 1, 0.1)
	mixed := oracle.RandomPairwise(rng, g, randomCards(rng, 36, 1, 5), 300, 0)
	for e := 5; e < g.NumEdges(); e++ {
		copy(uniform.Edge[uniform.EdgeAt[e]:uniform.EdgeAt[e+1]], uniform.Edge[uniform.EdgeAt[e%5]:])
	}
	for name, r := range map[string]*inference{
		"own tables":    newInference(t, uniform, counting.Convex(g)),
		"shared tables": newInference(t, uniform, legal(counting.SampledTreeReweighted(g, 1))),
		"mixed, logs":   newInference(t, mixed, counting.Convex(g)),
		"observed":      newBlockInference(t, mixed, counting.Convex(g), observe(1, mixed.Card), partition.Whole(g)),
		"blocks":        newBlockInference(t, uniform, counting.Convex(g), nil, randomPartition(rng, g, 4)),
	} {
		r.share = name == "shared tables"
		pair := make([]float64, r.net.maxCard*r.net.maxCard)
		visit := func() {
			for b := range r.part.Blocks {
				block := oracle.Must(r.load(b))(t)
				oracle.Must(r.space.Sweep(r.net, r.state, block, 0.5))(t)
				for q := range block.Edges {
					oracle.Must(r.space.EdgeBelief(pair, r.net, r.state, block, q))(t)
				}
				for p := range block.Nodes {
					r.space.NodeBeliefs(pair, r.net, r.state, block, p, p+1)
				}
				oracle.Must(r.space.Evaluate(r.net, r.state, block, true))(t)
			}
		}
		visit()
		oracle.Equal(t, testing.AllocsPerRun(5, visit), 0, "%s: allocations per visit of all blocks", name)
	}
}
