package graph_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
)

// checkColouring: every node has a colour, every colour a node, no edge two ends of
// one colour.
func checkColouring(t interface{ Errorf(string, ...any) }, name string, g *graph.Graph) int {
	colour, count := g.Colouring()
	used := make([]bool, count)
	for s, c := range colour {
		if c < 0 || int(c) >= count {
			t.Errorf("%s: node %d has colour %d of %d", name, s, c, count)
			return count
		}
		used[c] = true
	}
	for c, ok := range used {
		if !ok {
			t.Errorf("%s: no node has colour %d of %d", name, c, count)
		}
	}
	u, v := g.Ends()
	for e := range u {
		if colour[u[e]] == colour[v[e]] {
			t.Errorf("%s: both ends of edge %d have colour %d", name, e, colour[u[e]])
		}
	}
	return count
}

func TestColouring(t *testing.T) {
	build := func(g *graph.Graph, err error) *graph.Graph {
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct {
		name  string
		graph *graph.Graph
		want  int
	}{
		{"empty", &graph.Graph{}, 0},
		{"no edges", build(graph.FromEdges(3, nil, nil)), 1},
		{"grid", build(graph.Grid(5, 7, graph.GridOptions{})), 2},
		{"grid of 8 neighbours", build(graph.Grid(5, 7, graph.GridOptions{Eight: true})), 4},
		{"even torus", build(graph.Grid(4, 6, graph.GridOptions{Torus: true})), 2},
		{"complete", build(gen.Complete(6)), 6},
		{"tree", build(gen.Tree(40, rand.New(rand.NewPCG(1, 1)))), 2},
		{"triangle and a lone node", build(graph.FromEdges(4, []int32{0, 1, 2}, []int32{1, 2, 0})), 3},
	} {
		if got := checkColouring(t, c.name, c.graph); got != c.want {
			t.Errorf("%s: %d colours, want %d", c.name, got, c.want)
		}
	}
	// The checkerboard of a grid.
	grid := build(graph.Grid(4, 5, graph.GridOptions{}))
	colour, _ := grid.Colouring()
	for s, c := range colour {
		if want := int32((s/5 + s%5) % 2); c != want {
			t.Errorf("pixel %d of the grid has colour %d, want %d", s, c, want)
		}
	}
}

func TestColouringOfRandomGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "nodes")
		g, err := gen.ErdosRenyi(n, rapid.Float64Range(0, 1).Draw(t, "chance"), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for s := range int32(n) {
			most = max(most, g.Degree(s))
		}
		if count := checkColouring(t, "random", g); count > most+1 {
			t.Errorf("%d colours for a largest degree of %d", count, most)
		}
	})
}
