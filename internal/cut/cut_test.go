package cut

import (
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// grid is a network with features of its own at every node and edge.
func grid(t *testing.T, rows, cols, states int) (*crf.Model, []*crf.Instance) {
	t.Helper()
	g := oracle.Must(graph.Grid(rows, cols, graph.GridOptions{}))(t)
	m := oracle.Must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), 1, 1)))(t)
	features := func(n int) []crf.Features {
		f := oracle.Must(crf.Dense(make([]float64, n), 1))(t)
		return []crf.Features{f}
	}
	spec := crf.InstanceSpec{Graph: g, NodeFeat: features(g.NumNodes()), EdgeFeat: features(g.NumEdges()), Labels: [][]int32{make([]int32, g.NumNodes())}}
	in := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	in.Rows, in.Cols = rows, cols
	return m, []*crf.Instance{in}
}

// TestSizes: 20 blocks while they fit the cache, and more where they do not, of which
// an iteration then visits as many as make about a 20th of the network.
func TestSizes(t *testing.T) {
	m, data := grid(t, 20, 20, 3)
	// 760 edges: a table and both messages, and indices; 400 nodes: belief and potentials.
	oracle.Equal(t, Bytes(m, data[0]), 760.0*(9*8+2*6*8+24)+400*(2*3*8+8), "bytes that a visit of all works with")
	large, larger := grid(t, 150, 150, 2)
	bytes := Bytes(large, larger[0])
	for _, c := range []struct {
		parts            float64 // of the network that half the cache holds
		blocks, together int
	}{{1, 20, 1}, {20, 20, 1}, {25, 25, 1}, {35, 35, 2}, {64, 64, 4}, {100, 100, 6}} {
		blocks, together := sizeFor(large, larger, bytes/c.parts/CacheShare*1.0001)
		if blocks != c.blocks || together != c.together {
			t.Errorf("a cache for 1/%v: %d blocks, %d together; want %d, %d", c.parts, blocks, together, c.blocks, c.together)
		}
	}
	// Blocks of some ten nodes have half of their edges with others.
	if blocks, together := sizeFor(m, data, Bytes(m, data[0])/40); blocks != 20 || together != 1 {
		t.Errorf("a network that would be cut to pieces: %d blocks, %d together", blocks, together)
	}
	for _, c := range []Cut{{Blocks: 401}, {Kind: kindTiles, Rows: 21, Cols: 25}} {
		if cuts, _, err := c.Resolve(m, data, Cache()); err != nil || cuts[0].Blocks != 400 {
			t.Errorf("%+v: %+v, %v; want a block for each node", c, cuts, err)
		}
	}
	m, data = grid(t, 1, 4, 2)
	if blocks, together := sizeFor(m, data, Cache()); blocks != 4 || together != 1 {
		t.Errorf("four nodes: %d blocks, %d together", blocks, together)
	}
}
