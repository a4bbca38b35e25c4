package job

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// ring is an untied model on a ring of four nodes of k states, with random weights.
func gaugeRing(t *testing.T, k int, symmetric bool, seed uint64) (*crf.Model, *crf.Instance) {
	t.Helper()
	g := oracle.Must(graph.FromEdges(4, []int32{0, 2, 2, 0}, []int32{1, 1, 3, 3}))(t)
	m := oracle.Must(crf.NewModel(crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(k), Features: 1, Copies: 4}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 1, Copies: 4, Symmetric: symmetric}},
	}))(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range m.Weights {
		m.Weights[i] = rng.NormFloat64()
	}
	m.Layout.Symmetrise(m.Weights)
	in := oracle.Must(crf.NewInstance(&m.Schema, crf.InstanceSpec{Graph: g, NodeFeat: []crf.Features{crf.Constant(4,
		1)}, EdgeFeat: []crf.Features{crf.Constant(4, 1)}}))(t)
	return m, in
}

// TestGaugeScores: with J and h, all states have the scores that they have with the weights, but
// for a constant, and sums are zero.
func TestGaugeScores(t *testing.T) {
	for _, c := range []struct {
		k                int
		symmetric, spins bool
	}{{2, true, true}, {2, false, true}, {2, true, false}, {3, true, false}, {3, false, false}} {
		m, in := gaugeRing(t, c.k, c.symmetric, 7)
		g := newGauge(m, in, c.spins)
		values := make([]float64, len(g.Terms))
		g.values(values, m.Weights)
		u, v := in.Graph.Ends()
		offset, x := math.NaN(), make([]int, 4)
		for state := range int(math.Pow(float64(c.k), 4)) {
			for s := range x {
				x[s] = state % c.k
				state /= c.k
			}
			score := 0.0
			for i, term := range g.Terms {
				a, b := x[term.U], 1
				if term.V >= 0 {
					b = x[term.V]
				}
				switch {
				case c.spins && term.V < 0:
					score += values[i] * float64(2*a-1)
				case c.spins:
					score += values[i] * float64((2*a-1)*(2*b-1))
				case a == term.A && (term.V < 0 || b == term.B), c.symmetric && term.V >= 0 && a == term.B && b == term.A:
					score += values[i]
				}
			}
			apart := -score
			for s := range x {
				apart += m.Weights[s*c.k+x[s]]
			}
			for e := range u {
				apart += m.Weights[4*c.k+(e*c.k+x[u[e]])*c.k+x[v[e]]]
			}
			if math.IsNaN(offset) {
				offset = apart
			}
			oracle.MustNear(t, apart, offset, 1e-12, "%+v: difference of the score of state %v", c, x)
		}
	}
}

// TestGauge: what does not change probabilities does not change J and h, and the weights of a
// model that is in the gauge are what is read.
func TestGauge(t *testing.T) {
	m, in := gaugeRing(t, 3, false, 3)
	g := newGauge(m, in, false)
	before, after := make([]float64, len(g.Terms)), make([]float64, len(g.Terms))
	g.values(before, m.Weights)
	edge := m.Layout.Edge[0]
	u, v := in.Graph.Ends()
	node := m.Layout.Node[0]
	for e := range 4 {
		for a := range 3 {
			shift := float64(1+e) * float64(a*a-1)
			m.Weights[node.At+int(u[e])*3+a] += shift
			m.Weights[node.At+int(v[e])*3+a] -= 2 * shift
			for b := range 3 {
				m.Weights[edge.At+e*9+a*3+b] -= shift
				m.Weights[edge.At+e*9+b*3+a] += 2 * shift
			}
		}
	}
	m.Weights[edge.At]++ // and J changes by 1 − 1/3 − 1/3 + 1/9 there
	g.values(after, m.Weights)
	for i, term := range g.Terms {
		want := before[i]
		if term.V >= 0 && term.U == u[0] && term.V == v[0] {
			part := func(x int) float64 {
				if x == 0 {
					return 2.0 / 3
				}
				return -1.0 / 3
			}
			want += part(term.A) * part(term.B)
		} else if term.V < 0 && (term.U == u[0] || term.U == v[0]) {
			if want -= 1.0 / 9; term.A == 0 {
				want += 1.0 / 3
			}
		}
		oracle.Near(t, after[i], want, 1e-12, "%+v", term)
	}
}
