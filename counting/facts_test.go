package counting

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// treeReweightedCounts are the counting numbers of edge appearances μ, without any facts claimed.
func treeReweightedCounts(t oracle.TB, g *graph.Graph, mu []float64) *Numbers {
	t.Helper()
	node := constants(g.NumNodes(), 1)
	for e, x := range mu {
		node[g.U(int32(e))] -= x
		node[g.V(int32(e))] -= x
	}
	c, err := New("trw", g, node, mu)
	oracle.OK(t, err)
	return c
}

func TestProveKnownCases(t *testing.T) {
	triangle, chain := legal(gen.Complete(3)), legal(gen.Chain(4))
	grid, k4 := legal(graph.Grid(3, 3, graph.GridOptions{})), legal(gen.Complete(4))
	cover := legal(SampledTreeReweighted(grid, 3))
	for _, test := range []struct {
		name string
		g    *graph.Graph
		c    *Numbers
		want Facts
	}{
		{"convex on a loop", triangle, Convex(triangle), Facts{Convex: true, Dual: true, Certified: true, Bound: Upper}},
		{"convex on a chain", chain, Convex(chain), Facts{Convex: true, Dual: true, Certified: true, Bound: Upper}},
		{"cover of a grid", grid, edgeCover(grid), Facts{Convex: true, Dual: true, Certified: true, Bound: None}},
		{"cover of a chain", chain, edgeCover(chain), Facts{Convex: true, Dual: true, Certified: true, Bound: None}},
		{"bethe on a chain", chain, Bethe(chain), Facts{Convex: true, Certified: true, Bound: Exact}},
		{"bethe on one loop", triangle, Bethe(triangle), Facts{Convex: true, Certified: true, Bound: None}}, // Heskes 2004: one loop is convex
		{"bethe on a grid", grid, Bethe(grid), Facts{Bound: None}},
		{"spanning forests", grid, treeReweightedCounts(t, grid, cover.Edge), Facts{Convex: true, Certified: true, Bound: None}},
		{"two thirds on a triangle", triangle, treeReweightedCounts(t, triangle, constants(3, 2.0/3)), Facts{Convex: true, Certified: true, Bound: None}},
		{"more than a triangle has", triangle, treeReweightedCounts(t, triangle, constants(3, 0.67)), Facts{Convex: true, Certified: true, Bound: None}},
		{"half on a chain", chain, treeReweightedCounts(t, chain, constants(3, 0.5)), Facts{Convex: true, Dual: true, Certified: true, Bound: None}},
		{"mean field side", triangle, legal(New("", triangle, constants(3, 1), constants(3, 0.1))), Facts{Convex: true, Dual: true, Certified: true, Bound: Upper}},
		{"forests and a little more", k4, legal(New("", k4, constants(4, 1.2-3*0.55), constants(6, 0.55))), Facts{Convex: true, Certified: true, Bound: None}},
		{"small entropies", triangle, legal(New("", triangle, constants(3, 0.1), constants(3, 0.1))), Facts{Convex: true, Dual: true, Certified: true, Bound: None}},
	} {
		test.c.Prove(test.g)
		oracle.Equal(t, test.c.Facts, test.want, "%s", test.name)
	}
}

// TestLargeNumbersHideNothing: large counting numbers elsewhere in the network,
// beside which the rest looks like rounding, change no answer about the rest.
func TestLargeNumbersHideNothing(t *testing.T) {
	g := legal(graph.FromEdges(6, []int32{0, 1, 2, 4}, []int32{1, 2, 0, 5})) // a triangle, a lone node, an edge
	for _, test := range []struct {
		triangle []float64 // c_s, c_uv
		want     Facts
	}{
		{[]float64{1 - 2*0.9, 0.9}, Facts{Convex: true, Certified: true, Bound: None}}, // more than forests have
		{[]float64{0.1 - 2, 1}, Facts{Bound: None}},
		{[]float64{1, 1}, Facts{Convex: true, Dual: true, Certified: true, Bound: Upper}},
	} {
		s, e := test.triangle[0], test.triangle[1]
		for _, large := range []float64{1, 1e3, 1e10, 1e15, 1e99} {
			for i, c := range []*Numbers{
				legal(New("", g, []float64{s, s, s, large, 1, 1}, []float64{e, e, e, 1})),
				legal(New("", g, []float64{s, s, s, 1, 1, 1}, []float64{e, e, e, large})),
			} {
				oracle.Equal(t, c.Facts, Facts{Bound: None}, "claims before a proof")
				c.Prove(g)
				oracle.Equal(t, c.Facts, test.want, "triangle %v, large number %g (%d)", test.triangle, large, i)
			}
		}
	}
}

// TestNamedCountings: what the constructors claim, Prove proves, but for the bound of numbers averaged over forests.
func TestNamedCountings(t *testing.T) {
	rng := source(1)
	for name, g := range loopyGraphs() {
		for _, c := range []*Numbers{Convex(g), Bethe(g), legal(SampledTreeReweighted(g, rng.Uint64()))} {
			claimed := c.Facts
			c.Prove(g)
			if claimed.Convex && !c.Facts.Convex || claimed.Dual && !c.Facts.Dual || claimed.Bound != c.Facts.Bound && c.Name != "trw" {
				t.Errorf("%s on %s: claims %+v, proved %+v", c.Name, name, claimed, c.Facts)
			}
			for s := range c.Node { // (3)
				rho := c.Node[s]
				for _, d := range g.Incoming(int32(s)) {
					rho += c.Edge[d>>1]
				}
				if !near(rho, c.Rho[s], 1e-14) {
					t.Errorf("%s on %s: ρ of node %d is %v, want %v", c.Name, name, s, c.Rho[s], rho)
				}
			}
		}
	}
}

// drawGraph returns a graph of 2 to 6 nodes.
func drawGraph(t *rapid.T) *graph.Graph {
	n := rapid.IntRange(2, 6).Draw(t, "nodes")
	p := rapid.SampledFrom([]float64{0.3, 0.6, 1}).Draw(t, "density")
	return legal(gen.ErdosRenyi(n, p, source(rapid.Uint64().Draw(t, "graph"))))
}

// drawCounting draws counting numbers around bethe, trw and convex.
func drawCounting(t *rapid.T, g *graph.Graph) *Numbers {
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
	c := legal(New("drawn", g, node, edge))
	c.Prove(g)
	return c
}

// eachSet calls visit with every non-empty set of nodes, as bits, and the edges inside it.
func eachSet(g *graph.Graph, visit func(set uint, inside []int32)) {
	for set := uint(1); set < 1<<g.NumNodes(); set++ {
		var inside []int32
		for e := range int32(g.NumEdges()) {
			if set>>g.U(e)&1 == 1 && set>>g.V(e)&1 == 1 {
				inside = append(inside, e)
			}
		}
		visit(set, inside)
	}
}

// TestConvexByAllSets: the free energy is concave exactly if no set S of nodes has Σ_{s∈S} ρ_s < Σ_{E(S)} c_uv. Where
// one has, making its nodes copies of one another, independent of the rest, gives curvature of the wrong sign: with τ_s
// = (½,½), δ_s = ±1 and the edges of S on the diagonal it is −4 (Σ ρ_s − Σ c_uv). Facts.Convex must say the same.
func TestConvexByAllSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		c := drawCounting(t, g)
		concave := true
		eachSet(g, func(set uint, inside []int32) {
			slack := 0.0
			for s := range int32(g.NumNodes()) {
				if set>>s&1 == 1 {
					slack += c.Rho[s]
				}
			}
			for _, e := range inside {
				slack -= c.Edge[e]
			}
			concave = concave && slack >= 0
		})
		oracle.MustEqual(t, c.Facts.Convex, concave, "%+v with c_s = %v and c_uv = %v: concave", c.Facts, c.Node, c.Edge)
	})
}

// TestAppearanceOfForestsIsInThePolytope: by Edmonds' inequalities, one by one.
func TestAppearanceOfForestsIsInThePolytope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		c := legal(SampledTreeReweighted(g, rapid.Uint64().Draw(t, "seed")))
		eachSet(g, func(set uint, inside []int32) {
			excess := 1.0
			for s := range g.NumNodes() {
				excess -= float64(set >> s & 1)
			}
			for _, e := range inside {
				excess += c.Edge[e]
			}
			if excess > 1e-12 {
				t.Fatalf("μ = %v exceeds the rank of the node set %b by %g", c.Edge, set, excess)
			}
		})
	})
}

// TestCountingErrors: what cannot be used, or what arithmetic cannot be done with, is refused with its place,
// its range, and what to do.
func TestCountingErrors(t *testing.T) {
	g := legal(gen.Chain(3))
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		node, edge []float64
		want       string
	}{
		{[]float64{1, 1}, []float64{1, 1}, "counting numbers for 2 nodes and 2 edges, the network has 3 and 2"},
		{[]float64{1, 1, 1}, []float64{1}, "counting numbers for 3 nodes and 1 edges"},
		{[]float64{1, 1, 1}, []float64{1, 0}, "counting number of edge 1 (1 – 2) is 0, want a positive number"},
		{[]float64{1, 1, 1}, []float64{-1, 1}, "counting number of edge 0 (0 – 1) is -1"},
		{[]float64{1, 1, 1}, []float64{nan, 1}, "counting number of edge 0 (0 – 1) is NaN"},
		{[]float64{1, 1, 1}, []float64{inf, 1}, "counting number of edge 0 (0 – 1) is +Inf"},
		{[]float64{1, nan, 1}, []float64{1, 1}, "counting number of node 1 is NaN"},
		{[]float64{1, 1, -inf}, []float64{1, 1}, "counting number of node 2 is -Inf"},
		{[]float64{1, -2, 1}, []float64{1, 1}, "node 1: its counting number and those of its edges sum to 0"},
		{[]float64{1, 1, 1}, []float64{1e308, 1e308}, "counting number of edge 0 (0 – 1) is 1e+308, want one from"},
		{[]float64{1, 1, 1}, []float64{1, 1e-309}, "counting number of edge 1 (1 – 2) is 1e-309, want one from 1e-100 to 1e+100: "},
		{[]float64{1, 1, 1}, []float64{5e-324, 1}, "counting number of edge 0 (0 – 1) is 5e-324, want one from"},
		{[]float64{1, 1, 1e300}, []float64{1, 1}, "counting number of node 2 is 1e+300, want a number from -1e+100 to 1e+100"},
		{[]float64{1, 1, -1e99}, []float64{1, 1e99 * (1 + 1e-14)}, "counting number of edge 1 (1 – 2) is 1.00000000000001e+99, more than 1e+09 times"},
		{[]float64{-1 + 1e-12, 1, 1}, []float64{1, 1}, "node 0 and its edges (ρ_s of equation 3): beliefs of the node would be rounding errors; raise its counting number"},
	} {
		oracle.Fails(New("given", g, test.node, test.edge))(t, test.want)
	}
	alone := legal(graph.FromEdges(1, nil, nil))
	oracle.Fails(New("given", alone, []float64{1e-320}, nil))(t,
		"node 0: its counting number and those of its edges sum to 1e-320 (ρ_s of equation 3), want one from")
	if c, err := treeReweighted(g, []float64{1, 0.5}, nil); err != nil || c.Facts != (Facts{Convex: true, Bound: Upper}) {
		t.Errorf("half an edge of a tree: %+v, %v", c, err)
	}
	oracle.Fails(treeReweighted(g, []float64{1, 0}, nil))(t, "edge 1")
}

// TestSplit: the terms of a split are not negative and sum to the counting numbers, and
// what is provably convex has one, or needs none.
func TestSplit(t *testing.T) {
	graphs := loopyGraphs()
	graphs["tree"] = legal(gen.Tree(9, source(2)))
	graphs["torus"] = legal(graph.Grid(6, 5, graph.GridOptions{Torus: true}))
	for name, g := range graphs {
		sampled := legal(SampledTreeReweighted(g, 3))
		_, components := g.Components()
		for _, c := range []*Numbers{sampled, treeReweightedCounts(t, g, sampled.Edge), Bethe(g), Convex(g), edgeCover(g)} {
			if c != sampled {
				c.Prove(g)
			}
			if c.Facts.Certified != (c.Facts.Dual || c.Facts.Convex) || (c.Split == nil) != (c.Facts.Dual || !c.Facts.Convex) {
				t.Fatalf("%s, %s: facts %+v with a split of %d terms", name, c.Name, c.Facts, len(c.Split))
			}
			if c.Split == nil {
				continue
			}
			node, edge := slices.Clone(c.Node), slices.Clone(c.Edge)
			for d, x := range c.Split {
				if x < 0 {
					t.Fatalf("%s, %s: split is %v", name, c.Name, c.Split)
				}
				node[g.Target(int32(d))] += x
				edge[d/2] -= x
			}
			for e, x := range edge {
				if x < -1e-12 {
					t.Errorf("%s, %s: edge %d is left with %v", name, c.Name, e, x)
				}
			}
			total := 0.0
			for s, x := range node {
				if x < -1e-12 || c.Name == "trw" && x < 1e-3 {
					t.Errorf("%s, %s: node %d is left with %v", name, c.Name, s, x)
				}
				total += x
			}
			if c.Name == "trw" && !near(total, float64(components), 1e-9) {
				t.Errorf("%s: the nodes are left with %v together, want one for each of %d trees", name, total, components)
			}
		}
	}
}

// TestConditionalForm: numbers that somebody gives as conditional entropies (Heskes 2006, Globerson and Jaakkola 2007),
// Σ_s c'_s H(τ_s) + Σ_e c'_e H(τ_e) + Σ_{s,e} c_{s,e} (H(τ_e) − H(τ_s)) without a negative term, are proved convex.
func TestConditionalForm(t *testing.T) {
	for seed := range uint64(300) {
		rng := source(seed)
		g := legal(gen.Complete(2 + int(seed%8)))
		node, edge := make([]float64, g.NumNodes()), make([]float64, g.NumEdges())
		for s := range node {
			node[s] = max(0, rng.NormFloat64())
		}
		for e := range edge {
			edge[e] = max(0, rng.NormFloat64())
			for _, s := range []int32{g.U(int32(e)), g.V(int32(e))} {
				conditional := 0.01 + max(0, rng.NormFloat64())
				node[s], edge[e] = node[s]-conditional, edge[e]+conditional
			}
		}
		if c := legal(Given("conditional", node, edge).Of(g)); !c.Facts.Convex || !c.Facts.Certified {
			t.Errorf("seed %d: %+v of a sum of concave terms, c_s = %v, c_uv = %v", seed, c.Facts, node, edge)
		}
	}
}
