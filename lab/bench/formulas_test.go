package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/lab/ceilings"
	"github.com/blockbp/blockbp/learn"
)

// TestWorkByHand counts two nodes of two states with three features each, joined by
// an edge with one feature, with pencil and paper.
func TestWorkByHand(t *testing.T) {
	g := must(graph.FromEdges(2, []int32{0}, []int32{1}))
	m := modelShape{states: 2, nodeFeatures: 3, edgeFeatures: 1}
	b := m.shapesOf(partition.Whole(g))[0]
	if want := (blockShape{nodes: 2, edges: 1, messages: 2, outside: 0}); b != want {
		t.Fatalf("shape %+v, want %+v", b, want)
	}
	// Weights: 3·2 for nodes and 1·4 for edges; a contribution has also 2 + 4 sums
	// of beliefs and an entropy.
	if m.weights() != 10 || m.contribution() != 17 || m.perKeptEdge() != 5 {
		t.Errorf("%v weights, %v numbers per contribution, %v per edge", m.weights(), m.contribution(), m.perKeptEdge())
	}
	table := 4 * 8.0 // bytes
	for _, c := range []struct {
		name      string
		got, want Work
	}{
		// 4 node potentials of 3 products and 3 sums, 4 entries of 1 and 1. 7 features
		// are read, 4 potentials and a table written.
		{"ground", groundWork(m, b), Work{
			Operations: Operations{Flops: 4*6 + 4*2}, NetworkBytes: 7 * 8, BlockBytes: 4*8 + table,
		}},
		// 4 entries, each read and written.
		{"exp", expWork(m, b), Work{Operations: Operations{Flops: 4 * 3, Exps: 4}, BlockBytes: 2 * table}},
		// A message: 4 products and 4 sums, for each of 2 states 9 operations, an
		// exponential and a logarithm. A belief: for each of 2 states 5 operations and an
		// exponential, then a logarithm. Read: a table and 4 node potentials; 2 messages of
		// 2 numbers and 2 beliefs, which are written too.
		{"one sweep", sweepsWork(m, b, 1), Work{
			Operations: Operations{2*(8+18) + 2*10, 2*2 + 2*2, 2*2 + 2},
			BlockBytes: table + 4*8, NetworkBytes: 2 * 8 * 8,
		}},
		// The second sweep finds messages and beliefs where the tables are.
		{"two sweeps", sweepsWork(m, b, 2), Work{
			Operations: Operations{2 * (52 + 20), 16, 12},
			BlockBytes: 2*(table+4*8) + 2*8*8, NetworkBytes: 2 * 8 * 8,
		}},
		// The edge: 4 entries with 4 multiply-adds into sums, 2 products and a multiply-add for
		// the belief, a sum of beliefs, and a product and a sum for the feature; 2 ends with 2
		// states of 10 operations and an exponential; a logarithm. A node: 2 states with an
		// exponential, 4 operations for the free energy, a sum, and 3 products and sums. Read: 7
		// features, 4 node potentials, a table, 4 beliefs, 4 numbers of messages. Written: 17
		// numbers.
		{"gradient", gradientWork(m, b), Work{
			Operations: Operations{Flops: 4*(4+2+1+2) + 2*(2*6+1) + 2*2*(4+1+6), Exps: 4 + 4, Logs: 1},
			BlockBytes: table + 8*(7+4+4+4+17),
		}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	// 10 weights and the 17 numbers of the contribution beside those of the gradient.
	if got := visitBytes(m, b); got != table+8*(19+10+17) {
		t.Errorf("a visit touches %v bytes", got)
	}
	if got := networkBytes(m, 2, 1); got != 8*(7+4+4) {
		t.Errorf("the network has %v bytes", got)
	}
}

// TestKeptEdges: beliefs of cut edges are kept, as learning does.
func TestKeptEdges(t *testing.T) {
	part := tiles(12, 3, 2) // pairs with 4 edges side by side and 6 above each other
	m := modelShape{states: 2, nodeFeatures: 3, edgeFeatures: 3}
	b := m.shapesOf(part)[0]
	if b.cutEdges != 10 {
		t.Errorf("%v cut edges, want 10", b.cutEdges)
	}
	none := b
	none.cutEdges = 0
	if more := gradientWork(m, b).NetworkBytes - gradientWork(m, none).NetworkBytes; more != 8*10*5 {
		t.Errorf("10 kept edges take %v bytes", more)
	}
	if more := visitBytes(m, b) - visitBytes(m, none); more != 8*10*5 {
		t.Errorf("10 kept edges take %v bytes of a visit", more)
	}
}

// touched counts distinct numbers that are read and that are written.
type touched struct{ read, written map[[2]int]bool }

// Arrays whose numbers are counted.
const (
	ofTables = iota
	ofPotentials
	ofMessages
	ofBeliefs
)

func (a touched) bytes(k int) float64 {
	total := 0
	for _, list := range []map[[2]int]bool{a.read, a.written} {
		for what := range list {
			if what[0] == ofTables {
				total += k * k
			} else {
				total += k
			}
		}
	}
	return 8 * float64(total)
}

// TestSweepTraffic follows a sweep over each block of a grid, message by message,
// and counts what it touches.
func TestSweepTraffic(t *testing.T) {
	part := tiles(12, 3, 2)
	m := threeStates
	of := part.Of
	for id, shape := range m.shapesOf(part) {
		block := &part.Blocks[id]
		a := touched{map[[2]int]bool{}, map[[2]int]bool{}}
		outside, messages := map[int32]bool{}, 0
		for i, p := range block.Order {
			u := block.Nodes[p]
			a.read[[2]int{ofPotentials, int(u)}] = true
			for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
				messages++
				source := part.Graph.Source(d)
				a.read[[2]int{ofTables, int(d >> 1)}] = true
				a.read[[2]int{ofMessages, int(d ^ 1)}] = true // divided out of the belief of the source
				a.read[[2]int{ofMessages, int(d)}] = true     // the old one
				a.read[[2]int{ofBeliefs, int(source)}] = true
				a.written[[2]int{ofMessages, int(d)}] = true
				if of[source] != int32(id) {
					outside[source] = true
				}
			}
			a.written[[2]int{ofBeliefs, int(u)}] = true
		}
		for i, d := range block.Out {
			messages++
			a.read[[2]int{ofTables, int(d >> 1)}] = true
			a.read[[2]int{ofMessages, int(d ^ 1)}] = true
			a.read[[2]int{ofMessages, int(d)}] = true
			a.read[[2]int{ofBeliefs, int(block.OutSource[i])}] = true
			a.written[[2]int{ofMessages, int(d)}] = true
		}
		w := sweepsWork(m, shape, 1)
		if got := a.bytes(3); got != w.bytes() {
			t.Errorf("block %d: a sweep touches %v bytes, the formula says %v", id, got, w.bytes())
		}
		if int(shape.outside) != len(outside) || int(shape.messages) != messages {
			t.Errorf("block %d: %d nodes outside and %d messages, the shape says %v and %v", id, len(outside), messages,
				shape.outside, shape.messages)
		}
		if flops := float64(messages)*(2*9+9*3) + float64(len(block.Nodes))*5*3; w.Flops != flops {
			t.Errorf("block %d: %v operations, the formula says %+v", id, flops, w)
		}
	}
}

// TestRoofline: the larger of the two times, with every rate where it belongs.
func TestRoofline(t *testing.T) {
	c := &ceilings.Ceilings{
		Compute: ceilings.Compute{FMA: 100, Exp: 0.5, Log: 2},
		Curve:   []ceilings.Point{{Bytes: 1000, Rate: 50}, {Bytes: 1e6, Rate: 10}},
	}
	// 100 bytes at 50 and 30 at 10 GB/s: 5 ns. 200 operations at 100 GFLOP/s, 2
	// exponentials and 1 logarithm: 2 + 1 + 2 = 5 ns.
	w := Work{BlockBytes: 100, NetworkBytes: 30, Operations: Operations{Flops: 200, Exps: 2, Logs: 1}}
	for _, step := range []struct {
		more    Work
		seconds float64
	}{
		{Work{NetworkBytes: 10}, 6e-9},
		{Work{BlockBytes: 50}, 6e-9},
		{Work{Operations: Operations{Flops: 300}}, 8e-9},
		{Work{Operations: Operations{Exps: 2}}, 6e-9},
		{Work{Operations: Operations{Logs: 1}}, 7e-9},
	} {
		if got := roofline(c, w.plus(step.more), 1000, 1e6); math.Abs(got-step.seconds) > 1e-15 {
			t.Errorf("with %+v: %v s, want %v s", step.more, got, step.seconds)
		}
	}
	if got := roofline(c, w.times(3), 1000, 1e6); math.Abs(got-15e-9) > 1e-15 {
		t.Errorf("three times the work takes %v s", got)
	}
}

// TestRun: what a benchmark times is there, and blocks are those that training makes.
func TestRun(t *testing.T) {
	for name, spec := range specs(10, 90) {
		n := newNetwork(t, spec, 3)
		took := n.run(t)
		if !(took.seconds > 0) {
			t.Errorf("%s: %+v", name, took)
		}
		s := n.settings()
		s.MaxIterations = 30
		here := must(learn.Fit(t.Context(), n.problem, s))
		s.Assign, s.Together = nil, 0
		if training := must(learn.Fit(t.Context(), n.problem, s)); !slices.Equal(here.Model.Weights, training.Model.Weights) {
			t.Errorf("%s: training with its own blocks comes to other weights", name)
		}
	}
}

// threeStates is a model with the features of the paper's problem.
var threeStates = modelShape{states: 3, nodeFeatures: 20, edgeFeatures: 10}

// tiles is a square grid cut into tiles.
func tiles(side, rows, cols int) *partition.Partition {
	of := partition.Tiles(side, side, rows, cols)
	return must(partition.FromAssignment(must(graph.Grid(side, side, graph.GridOptions{})), of, rows*cols))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
