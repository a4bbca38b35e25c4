package local

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestSpinsByHand: the objective of spins is the pseudo-likelihood of fields h and couplings J as physics has it, with
// a prior of every entry of a table: h as (−h, h) at a node counts 2h², and J as (J, −J, −J, J) at an edge 4J².
func TestSpinsByHand(t *testing.T) {
	const n, samples, l2 = 7, 40, 0.3
	rng := rand.New(rand.NewPCG(45, 2))
	var us, vs []int32
	for v := range int32(n) {
		for u := range v {
			us, vs = append(us, u), append(vs, v)
		}
	}
	m, err := crf.NewModel(crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "spin", States: []string{"-1", "1"}, Features: 1, Copies: n}},
		EdgeTypes: []crf.EdgeType{{Name: "bond", Features: 1, Copies: len(us), Symmetric: true}},
	})
	oracle.OK(t, err)
	h, j := make([]float64, n), make([]float64, len(us))
	want := 0.0
	for s := range h {
		h[s] = rng.NormFloat64()
		want += l2 / 2 * 2 * h[s] * h[s]
		m.Weights[2*s], m.Weights[2*s+1] = -h[s], h[s]
	}
	for e := range j {
		j[e] = rng.NormFloat64()
		want += l2 / 2 * 4 * j[e] * j[e]
		copy(m.Weights[2*n+4*e:], []float64{j[e], -j[e], -j[e], j[e]})
	}
	spec := crf.InstanceSpec{NodeFeat: []crf.Features{crf.Constant(n, 1)}, EdgeFeat: []crf.Features{crf.Constant(len(us), 1)}}
	spec.Graph = oracle.Must(graph.FromEdges(n, us, vs))(t)
	slopes := make([]float64, len(j)) // by J
	for e := range j {
		slopes[e] = l2 * 4 * j[e]
	}
	for range samples {
		labels, x := make([]int32, n), make([]float64, n)
		for s := range labels {
			labels[s] = int32(rng.IntN(2))
			x[s] = float64(2*labels[s] - 1)
		}
		spec.Labels = append(spec.Labels, labels)
		field := append([]float64(nil), h...)
		for e := range j {
			field[us[e]] += j[e] * x[vs[e]]
			field[vs[e]] += j[e] * x[us[e]]
		}
		for s, a := range field {
			want += math.Log1p(math.Exp(-2*x[s]*a)) / samples
		}
		for e := range j {
			u, v := us[e], vs[e]
			slopes[e] -= ((x[u]-math.Tanh(field[u]))*x[v] + (x[v]-math.Tanh(field[v]))*x[u]) / samples
		}
	}
	in := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	o := Objective{Kind: Pseudo, Model: m, Data: []*crf.Instance{in}, L2: l2, Total: samples}
	o.Allocate(2)
	defer o.Close()
	gradient := make([]float64, len(m.Weights))
	if got := o.Evaluate(t.Context(), gradient, m.Weights); math.Abs(got-want) > 1e-12*want {
		t.Errorf("objective %v, want %v", got, want)
	}
	for e, want := range slopes {
		g := gradient[2*n+4*e:]
		if got := g[0] - g[1] - g[2] + g[3]; math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("derivative by coupling %d is %v, want %v", e, got, want)
		}
	}
}
