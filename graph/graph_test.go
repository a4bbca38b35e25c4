package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// drawEdges returns up to 40 pairs of distinct nodes, each pair once.
func drawEdges(t *rapid.T) (n int, u, v []int32) {
	n = rapid.IntRange(0, 12).Draw(t, "nodes")
	if n < 2 {
		return n, nil, nil
	}
	seen := map[[2]int32]bool{}
	for range rapid.IntRange(0, 40).Draw(t, "tries") {
		a, b := rapid.Int32Range(0, int32(n-1)).Draw(t, "u"), rapid.Int32Range(0, int32(n-1)).Draw(t, "v")
		if key := [2]int32{min(a, b), max(a, b)}; a != b && !seen[key] {
			seen[key] = true
			u, v = append(u, a), append(v, b)
		}
	}
	return n, u, v
}

// TestFromEdges: edges keep their order and orientation, and the incoming
// directed edges of a node are exactly those whose target it is, ascending.
func TestFromEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, u, v := drawEdges(t)
		g, err := graph.FromEdges(n, u, v)
		oracle.OK(t, err)
		oracle.MustEqual(t, [2]int{g.NumNodes(), g.NumEdges()}, [2]int{n, len(u)}, "nodes, edges")
		incoming := make([][]int32, n)
		for e := range int32(len(u)) {
			oracle.MustEqual(t, [2]int32{g.U(e), g.V(e)}, [2]int32{u[e], v[e]}, "edge %d", e)
			forth, back := 2*e, 2*e+1
			ends := [4]int32{g.Source(forth), g.Target(forth), g.Source(back), g.Target(back)}
			oracle.MustEqual(t, ends, [4]int32{u[e], v[e], v[e], u[e]}, "ends of edge %d, forth and back", e)
			incoming[v[e]], incoming[u[e]] = append(incoming[v[e]], forth), append(incoming[u[e]], back)
		}
		for s := range int32(n) {
			if !slices.Equal(g.Incoming(s), incoming[s]) || g.Degree(s) != len(incoming[s]) {
				t.Fatalf("incoming of node %d: %v, want %v", s, g.Incoming(s), incoming[s])
			}
		}
		if ends, others := g.Ends(); !slices.Equal(ends, u) || !slices.Equal(others, v) {
			t.Fatalf("ends %v, %v", ends, others)
		}
	})
}

// TestComponents: by the transitive closure, numbered by their smallest node;
// and a forest is a graph in which every edge joins what was apart.
func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, u, v := drawEdges(t)
		g, err := graph.FromEdges(n, u, v)
		oracle.OK(t, err)
		smallest := make([]int32, n) // node of the component
		for s := range smallest {
			smallest[s] = int32(s)
		}
		forest := true
		for e := range u {
			a, b := smallest[u[e]], smallest[v[e]]
			forest = forest && a != b
			for s, c := range smallest {
				if c == a || c == b {
					smallest[s] = min(a, b)
				}
			}
		}
		numbers := map[int32]int32{}
		component, count := g.Components()
		for s, first := range smallest {
			if int32(s) == first {
				numbers[first] = int32(len(numbers))
			}
			oracle.MustEqual(t, component[s], numbers[first], "components %v, smallest nodes %v", component, smallest)
		}
		if count != len(numbers) || g.IsForest() != forest {
			t.Fatalf("%d components, want %d; forest %v, want %v", count, len(numbers), g.IsForest(), forest)
		}
	})
}

// TestFromEdgesErrors name the edge and its ends.
func TestFromEdgesErrors(t *testing.T) {
	for _, test := range []struct {
		nodes int
		u, v  []int32
		edge  int // −1: no *EdgeError
		want  string
	}{
		{-1, nil, nil, -1, "number of nodes is -1"},
		{1 << 31, nil, nil, -1, "number of nodes is 2147483648"},
		{3, []int32{0}, nil, -1, "1 first ends but 0 second ends"},
		{3, []int32{0, 1}, []int32{1, 3}, 1, "edges[1] = (1, 3): node 3 does not exist: nodes are 0 to 2"},
		{3, []int32{0, -1}, []int32{1, 2}, 1, "edges[1] = (-1, 2): node -1 does not exist"},
		{3, []int32{2}, []int32{2}, 0, "edges[0] = (2, 2): an edge must join two different nodes"},
		{3, []int32{0, 1, 0}, []int32{1, 2, 1}, 2, "edges[2] = (0, 1): nodes 0 and 1 are already joined by an earlier edge"},
		{3, []int32{0, 1, 1}, []int32{1, 2, 0}, 2, "edges[2] = (1, 0): nodes 0 and 1 are already joined by an earlier edge"},
		{0, []int32{0}, []int32{0}, 0, "node 0 does not exist"},
	} {
		_, err := graph.FromEdges(test.nodes, test.u, test.v)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
			continue
		}
		var edge *graph.EdgeError
		if errors.As(err, &edge) != (test.edge >= 0) || edge != nil && (edge.Edge != test.edge || edge.U != test.u[test.edge] || edge.V != test.v[test.edge]) {
			t.Errorf("error %#v, want edge %d", err, test.edge)
		}
	}
}

// TestZeroValue: the zero Graph is the empty graph.
func TestZeroValue(t *testing.T) {
	var g graph.Graph
	if component, count := g.Components(); len(component) != 0 || count != 0 || g.NumNodes() != 0 || g.NumEdges() != 0 || !g.IsForest() {
		t.Errorf("the zero graph has %d nodes, %d edges and %d components", g.NumNodes(), g.NumEdges(), count)
	}
}
