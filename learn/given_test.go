package learn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// given are means of a random model, in place of samples.
type given struct {
	edges         []int32
	nodes, states int
	node, edge    [][]float64
}

// network is the model with these weights: fields, and then tables of edges.
func (g *given) network(t *testing.T, edges []int32, weights []float64) *mrf.Pairwise {
	us, vs := make([]int32, len(edges)/2), make([]int32, len(edges)/2)
	for e := range us {
		us[e], vs[e] = edges[2*e], edges[2*e+1]
	}
	p := &mrf.Pairwise{Graph: must(graph.FromEdges(g.nodes, us, vs)), Card: slices.Repeat([]int32{int32(g.states)}, g.nodes),
		Node: weights[:g.nodes*g.states], Edge: weights[g.nodes*g.states:]}
	for s := range g.nodes + 1 {
		p.NodeAt = append(p.NodeAt, s*g.states)
	}
	for e := range len(us) + 1 {
		p.EdgeAt = append(p.EdgeAt, e*g.states*g.states)
	}
	return p
}

// givenOf enumerates the means of a model with random weights.
func givenOf(t *testing.T, nodes, states int, edges ...int32) *given {
	rng, g := rand.New(rand.NewPCG(uint64(nodes), 1)), &given{edges: edges, nodes: nodes, states: states}
	weights := make([]float64, nodes*states+len(edges)/2*states*states)
	for i := range weights {
		weights[i] = rng.NormFloat64() / 2
	}
	g.node, g.edge = oracle.Marginals(g.network(t, edges, weights))
	return g
}

// open makes a network for the means.
func (g *given) open(t *testing.T) (*dataset.Set, []float64) {
	a := dataset.Arrays{Labels: [][]int32{make([]int32, g.nodes)}, States: []int32{int32(g.states)}, Directed: true}
	for e := 0; e < len(g.edges); e += 2 {
		a.Edges = append(a.Edges, [2]int32{g.edges[e], g.edges[e+1]})
	}
	set := oracle.Must(dataset.FromArrays(dataset.Manifest{}, dataset.Options{Untied: true}, &a))(t)
	return set, slices.Concat(slices.Concat(g.node...), slices.Concat(g.edge...))
}

// TestStatisticsByEnumeration: at the weights that are learned from means w̄, p − w̄ + l2 w = 0 with the means p that
// enumeration finds, by the likelihood, and by bounds where these are exact; elsewhere the objective is a bound.
func TestStatisticsByEnumeration(t *testing.T) {
	ring, chain := []int32{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 1, 4}, []int32{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7}
	for name, c := range map[string]struct {
		g      *given
		method Method
		exact  bool
	}{
		"exact":       {givenOf(t, 6, 3, ring...), Exact, true},
		"bbpl, chain": {givenOf(t, 8, 2, chain...), BBPL, true},
		"bbpl, loops": {givenOf(t, 6, 3, ring...), BBPL, false},
		"full, chain": {givenOf(t, 8, 2, chain...), Full, true},
	} {
		set, means := c.g.open(t)
		p := Problem{Model: must(crf.NewModel(set.Schema)), Data: set.Instances, Statistics: means, L2: 1e-3}
		p.Counting = must(counting.Parse(t.Context(), "trw", 1))
		r := oracle.Must(Fit(t.Context(), p, Settings{Method: c.method, RelativeTolerance: 1e-9, Proof: 1e-9}))(t)
		w := r.Model.Weights
		net := c.g.network(t, c.g.edges, w)
		nodes, tables := oracle.Marginals(net)
		objective := oracle.LogZ(net) - simd.Dot(w, means) + p.L2/2*simd.Dot(w, w)
		if apart := r.Objective - objective; !(apart > -1e-9) || c.exact && !(apart < 1e-6) {
			t.Errorf("%s: objective %v, by enumeration %v", name, r.Objective, objective)
		}
		for i, mean := range slices.Concat(slices.Concat(nodes...), slices.Concat(tables...)) {
			if slope := mean - means[i] + p.L2*w[i]; c.exact && !(math.Abs(slope) < 1e-5) {
				t.Errorf("%s: the slope of weight %d is %v", name, i, slope)
			}
		}
	}
}
