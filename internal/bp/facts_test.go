package bp

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// drawGraph returns a graph of 2 to 6 nodes.
func drawGraph(t *rapid.T) *graph.Graph {
	n := rapid.IntRange(2, 6).Draw(t, "nodes")
	p := rapid.SampledFrom([]float64{0.3, 0.6, 1}).Draw(t, "density")
	return legal(gen.ErdosRenyi(n, p, source(rapid.Uint64().Draw(t, "graph"))))
}

// drawCounting draws counting numbers around bethe, trw and convex.
func drawCounting(t *rapid.T, g *graph.Graph) *counting.Numbers {
	node, edge := make([]float64, g.NumNodes()), make([]float64, g.NumEdges())
	// Multiples of 1/8, so that sums are exact and never within a tolerance.
	number := func(lo, hi int, label string) float64 { return float64(rapid.IntRange(lo, hi).Draw(t, label)) / 8 }
	even := number(1, 10, "all c_uv")
	for e := range edge {
		edge[e] = even
		if rapid.IntRange(0, 3).Draw(t, "own") == 0 {
			edge[e] = number(1, 16, "c_uv")
		}
	}
	for s := range node {
		node[s] = 1
		if rapid.Bool().Draw(t, "own") {
			node[s] = number(1, 24, "ρ_s")
		}
		for _, d := range g.Incoming(int32(s)) {
			node[s] -= edge[d>>1]
		}
	}
	c := legal(counting.New("drawn", g, node, edge))
	c.Prove(g)
	return c
}

// TestClaimedBoundsHold: whatever is claimed of counting numbers holds for
// networks that strain it: strong potentials that agree or disagree.
func TestClaimedBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		c := drawCounting(t, g)
		if c.Facts.Bound == counting.None {
			return
		}
		rng := source(rapid.Uint64().Draw(t, "network"))
		p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, 3), rapid.SampledFrom([]float64{0.1, 1, 4}).Draw(t, "scale"), 0)
		agree := rapid.SampledFrom([]float64{0, 1, 4, -2}).Draw(t, "agreement")
		addAgreement(rng, p.Edge, p.EdgeAt, p.Card, g, agree)
		r := newInference(t, p, c)
		o, err := r.iterate(0, Limits{Tolerance: 1e-11, MaxSweeps: 3000})
		oracle.OK(t, err)
		tolerance := 1e-6
		if !o.Converged {
			tolerance = math.Inf(1)
		}
		r.check(t, tolerance)
		if !o.Converged && !c.Facts.Dual {
			return // nothing is claimed
		}
		v, z := r.values(t), oracle.LogZ(p)
		value := v.FreeEnergy
		if c.Facts.Dual {
			value = v.Dual
		}
		switch {
		case c.Facts.Bound == counting.Upper && !(value >= z-1e-7):
			t.Fatalf("%.10f is said to be an upper bound, log Z is %.10f", value, z)
		case c.Facts.Bound == counting.Exact && !near(value, z, 1e-7):
			t.Fatalf("%.10f is said to be exact, log Z is %.10f", value, z)
		}
	})
}

// addAgreement adds strength to the joint states whose two states are equal.
func addAgreement(rng *rand.Rand, table []float64, at []int, card []int32, g *graph.Graph, strength float64) {
	for e := range int32(g.NumEdges()) {
		x := strength * rng.Float64()
		for i := range min(card[g.U(e)], card[g.V(e)]) {
			table[at[e]+int(i*card[g.V(e)]+i)] += x
		}
	}
}

// TestNetErrors: shapes that do not fit, and a node without states.
func TestNetErrors(t *testing.T) {
	g := legal(gen.Chain(3))
	for _, test := range []struct {
		card     []int32
		counting *counting.Numbers
		want     string
	}{
		{[]int32{2, 2}, counting.Convex(g), "3 nodes and 2 edges, but 2 cardinalities"},
		{[]int32{2, 0, 2}, counting.Convex(g), "node 1 has 0 states, want at least 1"},
		{[]int32{2, 2, 2}, counting.Convex(legal(gen.Chain(2))), "counting numbers for 2 nodes and 1 edges"},
	} {
		oracle.Fails(NewNet(g, test.card, test.counting, nil))(t, test.want)
	}
}
