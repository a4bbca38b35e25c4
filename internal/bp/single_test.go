package bp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
)

// precisionCase is an instance with dense features, and blocks of it.
type precisionCase struct {
	model *crf.Model
	in    *crf.Instance
	net   *Net
	part  *partition.Partition
}

func newPrecisionCase(t *testing.T, states int, scale float64, binned bool) precisionCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(states)))
	g := sure(graph.Grid(6, 7, graph.GridOptions{}))
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: stateNames(states), Features: 3}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 4}},
	}
	model := sure(crf.NewModel(schema))
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
	edges := sure(crf.Dense(draw(4*g.NumEdges()), 4))
	if binned {
		bins := make([]int32, g.NumEdges())
		for e := range bins {
			bins[e] = rng.Int32N(4)
		}
		edges = sure(crf.Bins(bins, 4))
	}
	in := sure(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: g, NodeFeat: []crf.Features{sure(crf.Dense(draw(3*g.NumNodes()), 3))}, EdgeFeat: []crf.Features{edges}}))
	of := sure(partition.BreadthFirst(g, 3))
	return precisionCase{model, in, sure(NewNet(g, in.Cards(), counting.Convex(g), nil)), sure(partition.FromAssignment(g, of, 3))}
}

// solve iterates over all blocks and returns the state, the beliefs of the edges of
// the first block, the free energy of all, and whether all was in single precision.
func (c precisionCase) solve(t *testing.T, p Precision) (st *State, beliefs []float64, free float64, single bool) {
	t.Helper()
	w := Workspace{Precision: p}
	st, single = NewState(c.net), true
	for range 60 {
		beliefs, free = nil, 0
		for b := range c.part.Blocks {
			block := &c.part.Blocks[b]
			if err := w.Ground(c.model, c.in, c.net, block); err != nil {
				t.Fatal(err)
			}
			single = single && w.InSingle()
			if _, err := w.Iterate(context.Background(), c.net, st, block, Limits{Tolerance: 1e-6, MaxSweeps: 20}); err != nil {
				t.Fatal(err)
			}
			k := c.net.pairStates(0)
			x := make([]float64, k*len(block.Edges))
			for lo := 0; lo < len(block.Edges); lo += 5 {
				hi := min(lo+5, len(block.Edges))
				f, err := w.EdgeBeliefs(x[lo*k:hi*k], nil, c.net, st, block, lo, hi)
				if err != nil {
					t.Fatal(err)
				}
				free += f
			}
			beliefs = append(beliefs, x...)
		}
	}
	return st, beliefs, free, single
}

// TestSingleIsNearDouble: messages and beliefs in single precision are those in
// double precision to a few of its digits, with tables of their own and shared
// ones; and where potentials are too large for it, they are the same bits.
func TestSingleIsNearDouble(t *testing.T) {
	for _, states := range []int{2, 3, 8, 11} {
		for _, binned := range []bool{false, true} {
			for _, test := range []struct {
				scale, tolerance float64
				single           bool
			}{{0.3, 1e-5, true}, {2, 1e-4, true}, {60, 0, false}} {
				c := newPrecisionCase(t, states, test.scale, binned)
				a, x, f, _ := c.solve(t, Double)
				b, y, g, single := c.solve(t, Single)
				if single != test.single {
					t.Errorf("%d states, scale %v, binned %v: in single precision %v", states, test.scale, binned, single)
				}
				for i := range x {
					if !(math.Abs(x[i]-y[i]) <= test.tolerance) {
						t.Fatalf("%d states, scale %v, binned %v: beliefs[%d] is %v, in double precision %v", states, test.scale, binned, i, y[i], x[i])
					}
				}
				if !(math.Abs(f-g) <= test.tolerance*math.Abs(f)) {
					t.Errorf("%d states, scale %v, binned %v: free energy %v, in double precision %v", states, test.scale, binned, g, f)
				}
				same := true
				for i := range a.LogMessage {
					same = same && a.LogMessage[i] == b.LogMessage[i]
				}
				if same == test.single {
					t.Errorf("%d states, scale %v, binned %v: the same messages %v", states, test.scale, binned, same)
				}
			}
		}
	}
}

func sure[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func stateNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	return names
}
