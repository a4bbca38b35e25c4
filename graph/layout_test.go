package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// shuffle returns a graph with its nodes and edges in random order.
func shuffle(t *testing.T, g *graph.Graph) *graph.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	node, u, v := rng.Perm(g.NumNodes()), []int32(nil), []int32(nil)
	for _, e := range rng.Perm(g.NumEdges()) {
		u, v = append(u, int32(node[g.U(int32(e))])), append(v, int32(node[g.V(int32(e))]))
	}
	return oracle.Must(graph.FromEdges(g.NumNodes(), u, v))(t)
}

// TestLaidOut: a graph that was laid out is the one that was given, with edges in the same direction, by other numbers:
// those of neighbours are near each other. What is in order, or small, keeps its own.
func TestLaidOut(t *testing.T) {
	const side = 100
	grid := oracle.Must(graph.Grid(side, side, graph.GridOptions{}))(t)
	chain := oracle.Must(graph.Grid(1, side*side, graph.GridOptions{}))(t)
	small := shuffle(t, oracle.Must(graph.Grid(side/2, side/2, graph.GridOptions{}))(t))
	for _, g := range []*graph.Graph{{}, grid, chain, small} {
		if of, node, edge := g.LaidOut().Given(); of != nil || g.LaidOut() != g || node != nil || edge != nil {
			t.Errorf("a graph of %d nodes in good order has another one", g.NumNodes())
		}
	}
	for _, c := range []struct {
		g        *graph.Graph
		farthest int32
	}{{shuffle(t, grid), 4 * side}, {shuffle(t, chain), 2}} {
		laid := c.g.LaidOut()
		of, node, edge := laid.Given()
		if of != c.g || laid == c.g || laid != c.g.LaidOut() || laid.LaidOut() != laid {
			t.Fatal("it is laid out once, and stays so")
		}
		for _, list := range [][]int32{node, edge} {
			sorted := slices.Sorted(slices.Values(list))
			for i, x := range sorted {
				oracle.MustEqual(t, x, int32(i), "the numbers of all nodes, or edges, in order")
			}
		}
		oracle.Equal(t, [2]int{len(node), len(edge)}, [2]int{c.g.NumNodes(), c.g.NumEdges()}, "nodes and edges")
		before := int32(0)
		for i, e := range edge {
			u, v := laid.U(int32(i)), laid.V(int32(i))
			oracle.MustEqual(t, [2]int32{node[u], node[v]}, [2]int32{c.g.U(e), c.g.V(e)}, "ends of edge %d", e)
			if first := min(u, v); first < before || max(u, v)-first > c.farthest {
				t.Fatalf("edge %d joins nodes %d and %d after one of %d", i, u, v, before)
			} else {
				before = first
			}
		}
	}
}
