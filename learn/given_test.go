package learn

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// given are means of a random model, which a file has in place of samples.
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

// open writes and reads the file.
func (g *given) open(t *testing.T) (*dataset.Set, error) {
	path, k := filepath.Join(t.TempDir(), "means.npz"), g.states
	oracle.OK(t, npy.WriteArchive(path, npy.ArrayOf("edges", g.edges, len(g.edges)/2, 2),
		npy.ArrayOf("directed", []int32{1}), npy.ArrayOf("node_means", slices.Concat(g.node...), g.nodes, k),
		npy.ArrayOf("edge_means", slices.Concat(g.edge...), len(g.edge), k, k)))
	return dataset.Open(t.Context(), []string{path}, dataset.Options{Untied: true, Statistics: true})
}

// TestStatisticsByEnumeration: at the weights that are learned from means w̄, p − w̄ + l2 w = 0 with the means p that
// enumeration finds, by the likelihood, and by bounds where these are exact; elsewhere the objective is a bound.
func TestStatisticsByEnumeration(t *testing.T) {
	ring, chain := []int32{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 1, 4}, []int32{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7}
	partial := givenOf(t, 6, 3, ring...)
	partial.edge[6][4], partial.node[2][0] = math.NaN(), math.NaN() // tables of edges tell of the node
	for name, c := range map[string]struct {
		g      *given
		method Method
		exact  bool
	}{
		"exact":         {givenOf(t, 6, 3, ring...), Exact, true},
		"bbpl, chain":   {givenOf(t, 8, 2, chain...), BBPL, true},
		"bbpl, loops":   {givenOf(t, 6, 3, ring...), BBPL, false},
		"full, chain":   {givenOf(t, 8, 2, chain...), Full, true},
		"partial":       {partial, Exact, true},
		"partial, bbpl": {partial, BBPL, false},
	} {
		set := oracle.Must(c.g.open(t))(t)
		p := Problem{Model: must(crf.NewModel(set.Schema)), Data: set.Instances, Statistics: set.Means, L2: 1e-3}
		p.Counting = must(counting.Parse(t.Context(), "trw", 1))
		r := oracle.Must(Fit(t.Context(), p, Settings{Method: c.method, RelativeTolerance: 1e-9, Proof: 1e-9}))(t)
		w, edges, known := r.Model.Weights, c.g.edges, slices.Concat(c.g.node...)
		for e, table := range c.g.edge {
			if math.IsNaN(slices.Max(table)) {
				edges = edges[:2*e]
				continue
			}
			known = append(known, table...)
		}
		net := c.g.network(t, edges, w)
		nodes, tables := oracle.Marginals(net)
		objective := oracle.LogZ(net) - simd.Dot(w, set.Means) + p.L2/2*simd.Dot(w, w)
		if apart := r.Objective - objective; !(apart > -1e-9) || c.exact && !(apart < 1e-6) {
			t.Errorf("%s: objective %v, by enumeration %v", name, r.Objective, objective)
		}
		for i, mean := range slices.Concat(slices.Concat(nodes...), slices.Concat(tables...)) {
			if known[i] == known[i] && math.Abs(known[i]-set.Means[i]) > 1e-9 {
				t.Errorf("%s: mean %d is %v, was given as %v", name, i, set.Means[i], known[i])
			}
			if slope := mean - set.Means[i] + p.L2*w[i]; c.exact && !(math.Abs(slope) < 1e-5) {
				t.Errorf("%s: the slope of weight %d is %v", name, i, slope)
			}
		}
	}
}

// TestNoisyStatistics: a node has the mean of what is said of it, weighted by observations, and tables have the means
// of their ends and the odds ratios that they were given with.
func TestNoisyStatistics(t *testing.T) {
	g := givenOf(t, 3, 2, 0, 1, 1, 2)
	g.node = [][]float64{{50, 50}, {120, 180}, {30, 70}}
	g.edge = [][]float64{{20, 30, 30, 20}, {20, 70, 40, 70}} // node 1 has 0.5 and 0.45, and 0.4 above
	set := oracle.Must(g.open(t))(t)
	first := func(i int) float64 { return set.Means[i] }
	if want := (300*0.4 + 100*0.5 + 200*0.45) / 600; math.Abs(first(2)-want) > 1e-12 || set.Instances[0].Weight() != 200 {
		t.Errorf("node 1 has %v, want %v; the sample weighs %v", first(2), want, set.Instances[0].Weight())
	}
	for e, table := range g.edge {
		got := set.Means[6+4*e:][:4]
		odds := func(t []float64) float64 { return t[0] * t[3] / (t[1] * t[2]) }
		if math.Abs(got[0]+got[1]-first(2*e)) > 1e-12 || math.Abs(got[0]+got[2]-first(2*e+2)) > 1e-12 ||
			math.Abs(odds(got)-odds(table)) > 1e-9 {
			t.Errorf("table %d is %v", e, got)
		}
	}
	for i := range g.edge[0] {
		g.edge[0][i] *= 1e4
		g.edge[1][i] *= 1e4
	}
	if _, err := g.open(t); err == nil {
		t.Error("means that chance does not explain are taken")
	}
}

// TestMeansOfNoDistribution: sums that no distribution has may lead the objective below 0, and proofs of it still hold.
func TestMeansOfNoDistribution(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 4, cols: 4, states: 2, nodeDim: 2, edgeDim: 1, l2: 1e-5})
	s := must(Settings{}.resolve(&p))
	l := must(newLearner(&p, &s))
	p.Statistics = slices.Clone(l.sums.data)
	l.close()
	p.Statistics[0] += 0.05
	p.Statistics[2] -= 0.05
	best := fit(t, p, Settings{RelativeTolerance: 1e-9})
	r := fit(t, p, Settings{Gap: 1e-3})
	if low := r.Objective - r.Suboptimality; best.Status != Converged || !(low <= best.Objective+1e-6) {
		t.Errorf("%v, at least %v; the optimum is %v: %s", r.Objective, low, best.Objective, best.Status)
	}
}
