package bp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// groundCase is an instance with dense features, and blocks of it.
type groundCase struct {
	model *crf.Model
	in    *crf.Instance
	net   *Net
	part  *partition.Partition
}

func newGroundCase(t *testing.T, states int, scale float64, binned bool) groundCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(states)))
	g := legal(graph.Grid(6, 7, graph.GridOptions{}))
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: stateNames(states), Features: 3}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 4}},
	}
	model := legal(crf.NewModel(schema))
	for i := range model.Weights {
		model.Weights[i] = scale * rng.NormFloat64()
	}
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	edges := legal(crf.Dense(draw(4*g.NumEdges()), 4))
	if binned {
		bins := make([]int32, g.NumEdges())
		for e := range bins {
			bins[e] = rng.Int32N(4)
		}
		edges = legal(crf.Bins(bins, 4))
	}
	in := legal(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: g,
		NodeFeat: []crf.Features{legal(crf.Dense(draw(3*g.NumNodes()), 3))}, EdgeFeat: []crf.Features{edges}}))
	of := partition.BreadthFirst(g, 3)
	net := legal(NewNet(g, in.Cards(), counting.Convex(g), nil))
	return groundCase{model, in, net, legal(partition.FromAssignment(g, of, 3))}
}

// TestGround: tables that are exponentiated as they are ground have the bytes of Prepare.
func TestGround(t *testing.T) {
	for _, binned := range []bool{false, true} {
		c := newGroundCase(t, 3, 0.3, binned)
		var woven, plain Workspace
		for i := range c.part.Blocks {
			block := &c.part.Blocks[i]
			plain.Potentials.Ground(c.model, c.in, block)
			oracle.OK(t, errors.Join(woven.Ground(c.model, c.in, c.net, nil, block), plain.Prepare(c.net, block)))
			for q, e := range block.Edges {
				n := c.net.pairStates(e)
				if a, b := woven.values(int32(q), n), plain.values(int32(q), n); !slices.Equal(a, b) {
					t.Fatalf("binned %t: table %v of edge %d, want %v", binned, a, e, b)
				}
			}
		}
	}
}
