package graph_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

func TestGridEdgeOrder(t *testing.T) {
	tests := []struct {
		rows, cols int
		options    graph.GridOptions
		want       [][2]int32
	}{
		{1, 1, graph.GridOptions{}, nil},
		{1, 3, graph.GridOptions{Eight: true}, [][2]int32{{0, 1}, {1, 2}}},
		{3, 1, graph.GridOptions{Eight: true}, [][2]int32{{0, 1}, {1, 2}}},
		{2, 2, graph.GridOptions{}, [][2]int32{{0, 1}, {0, 2}, {1, 3}, {2, 3}}},
		{2, 3, graph.GridOptions{Eight: true}, [][2]int32{
			{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 4}, {1, 5}, {1, 3}, {2, 5}, {2, 4}, {3, 4}, {4, 5},
		}},
		{3, 3, graph.GridOptions{Torus: true}, [][2]int32{
			{0, 1}, {0, 3}, {1, 2}, {1, 4}, {2, 0}, {2, 5},
			{3, 4}, {3, 6}, {4, 5}, {4, 7}, {5, 3}, {5, 8},
			{6, 7}, {6, 0}, {7, 8}, {7, 1}, {8, 6}, {8, 2},
		}},
	}
	for _, test := range tests {
		g := oracle.Must(graph.Grid(test.rows, test.cols, test.options))(t)
		var got [][2]int32
		u, v := g.Ends()
		for e := range u {
			got = append(got, [2]int32{u[e], v[e]})
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d × %d %+v (-want +got):\n%s", test.rows, test.cols, test.options, diff)
		}
	}
}

func TestGridErrors(t *testing.T) {
	for _, c := range []struct {
		want       string
		rows, cols int
		torus      bool
	}{
		{"0 rows and 3 columns, want at least 1", 0, 3, false}, {"5 rows and 2 columns, want at least 3", 5, 2, true},
		{"at most 536870911 nodes", 40000, 40000, false}, {"at most 536870911 nodes", math.MaxInt, 4, false},
	} {
		oracle.Fails(graph.Grid(c.rows, c.cols, graph.GridOptions{Torus: c.torus}))(t, c.want)
	}
}
