package local

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// chainOfStates is the problem of all pairs of some nodes, in samples of a chain through them.
func chainOfStates(t *testing.T, nodes, states, samples int, symmetric bool) *Bonds {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(states), 3))
	var us, vs []int32
	for u := range int32(nodes) {
		for v := u + 1; v < int32(nodes); v++ {
			us, vs = append(us, u), append(vs, v)
		}
	}
	spec := crf.InstanceSpec{Graph: oracle.Must(graph.FromEdges(nodes, us, vs))(t),
		NodeFeat: []crf.Features{crf.Constant(nodes, 1)}, EdgeFeat: []crf.Features{crf.Constant(len(us), 1)}}
	for range samples {
		labels := make([]int32, nodes)
		for s := range labels {
			if labels[s] = rng.Int32N(int32(states)); s > 0 && rng.Float64() < 0.5 {
				labels[s] = labels[s-1]
			}
		}
		spec.Labels = append(spec.Labels, labels)
	}
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(states), Features: 1, Copies: nodes}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 1, Copies: len(us), Symmetric: symmetric}},
	}
	m := &crf.Model{Schema: schema, Layout: schema.Layout()}
	in := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	return &Bonds{Model: m, Data: []*crf.Instance{in}, L2: 1 / float64(samples), Total: float64(samples), Gamma: 0.25,
		Threads: 1}
}

// TestBondsOfChain: of all pairs, those of the chain that samples are of stay.
func TestBondsOfChain(t *testing.T) {
	for _, c := range []struct {
		states    int
		symmetric bool
	}{{2, true}, {2, false}, {3, true}, {3, false}} {
		b := chainOfStates(t, 8, c.states, 600, c.symmetric)
		found := oracle.Must(b.Choose(context.Background()))(t)
		us, vs := b.Data[0].Graph.Ends()
		var kept [][2]int32
		for _, e := range found.Edges {
			kept = append(kept, [2]int32{us[e], vs[e]})
		}
		if !slices.Equal(kept, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}) {
			t.Errorf("%+v: %v stay", c, kept)
		}
		if found.Violation > conditionsMet {
			t.Errorf("%+v: a condition is missed by %v of its penalty", c, found.Violation)
		}
	}
}

// TestBondsMinimum: no weights near those of the path have a smaller objective, written out here, and some couplings
// are zero.
func TestBondsMinimum(t *testing.T) {
	b := chainOfStates(t, 5, 3, 300, false)
	b.begin()
	defer b.objective.Close()
	b.slopes(t.Context())
	lambda := 0.05
	active := oracle.Must(b.shrink(context.Background(), lambda, &Chosen{}))(t)
	if len(active) < 4 || len(active) == len(b.groups) {
		t.Fatalf("%d edges stay", len(active))
	}
	objective := func(weights []float64) (sum float64) {
		in := b.Data[0]
		us, vs := in.Graph.Ends()
		for _, labels := range in.Samples() {
			for s := range labels {
				all, own := 0.0, 0.0
				for x := range 3 {
					score := weights[3*s+x]
					for e, g := range b.groups {
						switch s {
						case int(us[e]):
							score += weights[g.at+3*x+int(labels[vs[e]])]
						case int(vs[e]):
							score += weights[g.at+3*int(labels[us[e]])+x]
						}
					}
					if all += math.Exp(score); x == int(labels[s]) {
						own = score
					}
				}
				sum += (math.Log(all) - own) / b.Total
			}
		}
		for _, w := range weights {
			sum += b.L2 / 2 * w * w
		}
		for _, g := range b.groups {
			norm := 0.0
			for _, w := range weights[g.at:][:9] {
				norm += w * w
			}
			sum += lambda * 2 * math.Sqrt(norm)
		}
		return sum
	}
	least, rng, moved := objective(b.weights), rand.New(rand.NewPCG(1, 1)), make([]float64, len(b.weights))
	for i := range 300 {
		size := math.Pow(10, -float64(i%3))
		for j, w := range b.weights {
			moved[j] = w + size*rng.NormFloat64()/30
		}
		if at := objective(moved); at < least-1e-5 {
			t.Fatalf("objective %v, and %v near it", least, at)
		}
	}
}
