package job

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
)

// gaugeTerm is a field, h_s(a), or a coupling, J_uv(a, b).
type gaugeTerm struct {
	U, V int32 // nodes; V is −1 for a field
	A, B int   // states of them
}

// gauge reads couplings and fields off the weights of an untied model, by a linear map: p(x) is proportional to
//
//	exp{Σ_s h_s(x_s) + Σ_uv J_uv(x_u, x_v)}
//
// with Σ_a h_s(a) = 0 and Σ_a J(a, b) = Σ_b J(a, b) = 0, the zero-sum gauge. Weights are tables without such sums:
// what an edge's table has of one end alone is part of h there, so that all weights of the same probabilities have
// the same J and h. Of two states, spins of −1 and 1, h_s(x) is h_s x and J_uv(x, y) is J_uv x y.
type gauge struct {
	Terms []gaugeTerm // fields in the order of nodes, then couplings in that of edges

	in        *crf.Instance
	layout    *crf.Layout
	couplings int   // the first of them
	at        []int // where the states of each node begin
	fields    []float64
	table     []float64 // of one edge
}

// newGauge returns the map for the network of an instance. With spins, of nodes of two states, a
// field and a coupling have one term, that of the second state; else there is one for every
// state, and for every pair, of symmetric types those with a ≤ b.
func newGauge(m *crf.Model, in *crf.Instance, spins bool) *gauge {
	g := &gauge{in: in, layout: &m.Layout, at: []int{0}}
	for s := range int32(in.Graph.NumNodes()) {
		k := in.States(s)
		g.at = append(g.at, g.at[s]+k)
		for a := range k {
			if !spins || a == 1 {
				g.Terms = append(g.Terms, gaugeTerm{U: s, V: -1, A: a})
			}
		}
	}
	g.fields = make([]float64, g.at[len(g.at)-1])
	g.couplings = len(g.Terms)
	us, vs := in.Graph.Ends()
	for e := range us {
		symmetric := m.Schema.EdgeTypes[in.EdgeType(int32(e))].Symmetric
		for a := range in.States(us[e]) {
			for b := range in.States(vs[e]) {
				if spins && a == 1 && b == 1 || !spins && !(symmetric && a > b) {
					g.Terms = append(g.Terms, gaugeTerm{us[e], vs[e], a, b})
				}
			}
		}
	}
	return g
}

// values writes the values of all terms, at weights or of a change of weights.
func (g *gauge) values(dst, weights []float64) {
	for s := range int32(len(g.at) - 1) {
		span := &g.layout.Node[g.in.NodeType(s)]
		copy(g.fields[g.at[s]:g.at[s+1]], weights[span.At+g.in.NodeRow(s)*span.Copy():][:span.States])
	}
	us, vs := g.in.Graph.Ends()
	next := g.couplings
	for e := range us {
		b := g.in.EdgeType(int32(e))
		span := &g.layout.Edge[b]
		g.table = numeric.Resize(g.table, span.States)
		copy(g.table, weights[span.At+g.in.EdgeRow(int32(e))*span.Copy():][:span.States])
		u, v := g.fields[g.at[us[e]]:g.at[us[e]+1]], g.fields[g.at[vs[e]]:g.at[vs[e]+1]]
		centre(g.table, u, v)
		for ; next < len(g.Terms) && g.Terms[next].U == us[e] && g.Terms[next].V == vs[e]; next++ {
			dst[next] = g.table[g.Terms[next].A*len(v)+g.Terms[next].B]
		}
	}
	for s := range len(g.at) - 1 {
		subtractMean(g.fields[g.at[s]:g.at[s+1]])
	}
	for i, t := range g.Terms[:g.couplings] {
		dst[i] = g.fields[g.at[t.U]+t.A]
	}
}

// centre takes the means of rows and columns out of a table, and adds them to the potentials of its ends.
func centre(table, u, v []float64) {
	k := len(v)
	for a := range u {
		mean := subtractMean(table[a*k:][:k])
		u[a] += mean
	}
	for b := range v {
		mean := 0.0
		for a := range u {
			mean += table[a*k+b] / float64(len(u))
		}
		for a := range u {
			table[a*k+b] -= mean
		}
		v[b] += mean
	}
}

// subtractMean leaves a sum of 0, and returns what the mean was.
func subtractMean(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for i := range x {
		x[i] -= mean
	}
	return mean
}
