package learn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// shuffled returns an instance with its nodes and edges in random order, and which node of in each of its nodes is.
func shuffled(in *crf.Instance, seed uint64) (mixed *crf.Instance, node []int32) {
	rng := source(seed)
	draw := func(n int) []int32 { return numeric.Map(rng.Perm(n), func(i int) int32 { return int32(i) }) }
	node, edge := draw(in.Graph.NumNodes()), draw(in.Graph.NumEdges())
	place := make([]int32, len(node))
	for i, s := range node {
		place[s] = int32(i)
	}
	spec, u, v := in.Spec(), []int32(nil), []int32(nil)
	spec.Rows, spec.Cols = 0, 0
	nodeRows, edgeRows := make([][]int32, len(spec.NodeFeat)), make([][]int32, len(spec.EdgeFeat))
	for _, s := range node {
		nodeRows[in.NodeType(s)] = append(nodeRows[in.NodeType(s)], int32(in.NodeRow(s)))
	}
	for _, e := range edge {
		u, v = append(u, place[in.Graph.U(e)]), append(v, place[in.Graph.V(e)])
		edgeRows[in.EdgeType(e)] = append(edgeRows[in.EdgeType(e)], int32(in.EdgeRow(e)))
	}
	spec.Graph = must(graph.FromEdges(len(node), u, v))
	spec.NodeType, spec.EdgeType = numeric.Pick(spec.NodeType, node), numeric.Pick(spec.EdgeType, edge)
	for a := range nodeRows {
		spec.NodeFeat[a] = spec.NodeFeat[a].Pick(nodeRows[a])
	}
	for b := range edgeRows {
		spec.EdgeFeat[b] = spec.EdgeFeat[b].Pick(edgeRows[b])
	}
	spec.Labels = numeric.Map(spec.Labels, func(labels []int32) []int32 { return numeric.Pick(labels, node) })
	return must(crf.NewInstance(in.Schema(), spec)), node
}

// laidOutProblem is of a lattice that is large enough to be laid out where its nodes come in random order: two types of
// nodes, directed edges of three, with features, or one type of each, and hidden labels. node is which node of neat
// each one of mixed is.
func laidOutProblem(t testing.TB, missing float64, types int) (neat, mixed Problem, node []int32) {
	s := mixedShape(t, must(graph.Grid(80, 90, graph.GridOptions{})))
	s.missing = missing
	if types == 1 {
		s.nodeType, s.schema = nil, crf.Homogeneous(crf.NumberedStates(3), 3, 2)
	}
	neat = s.build(t, 3)
	if types == 1 {
		neat.Data[0] = changed(neat.Data[0], func(spec *crf.InstanceSpec) { spec.EdgeType = nil })
	}
	mixed = neat
	in, node := shuffled(neat.Data[0], 4)
	mixed.Data = []*crf.Instance{in}
	if laid := in.LaidOut(); laid == in || laid.LaidOut() != laid || neat.Data[0].LaidOut() != neat.Data[0] {
		t.Fatal("what comes in random order alone should be laid out, and once")
	}
	return neat, mixed, node
}

// TestLaidOut: nodes and edges in random order give the same optimum and the same beliefs, in the order that the user
// knows, also where counting numbers and states that are held go by their numbers.
func TestLaidOut(t *testing.T) {
	for name, types := range map[string]int{"one type": 1, "two types": 2} {
		neat, mixed, node := laidOutProblem(t, 0.1*float64(types-1), types)
		s := Settings{Method: Full, RelativeTolerance: 1e-8, InnerTolerance: 1e-10}
		a, b := fit(t, neat, s), fit(t, mixed, s)
		if d := numeric.RelativeDistance(a.Model.Weights, b.Model.Weights); d > 1e-7 || d == 0 {
			t.Errorf("%s: weights are %v apart", name, d)
		}
		nearly(t, b.Objective, a.Objective, 1e-9, "%s: objective", name)
		predictedAlike(t, a.Model, neat.Data[0], mixed.Data[0], node)
	}
}

// TestLaidOutSplit: what counting numbers have of directed edges stays with them.
func TestLaidOutSplit(t *testing.T) {
	_, p, _ := laidOutProblem(t, 0, 1)
	f := counting.Func(func(g *graph.Graph) (*counting.Numbers, error) {
		c := counting.Convex(g)
		for d := range 2 * g.NumEdges() {
			c.Split = append(c.Split, float64(d))
		}
		return c, nil
	})
	laid := p.Data[0].Graph.LaidOut()
	c := must(f.Of(laid))
	_, _, edge := laid.Given()
	for i, e := range edge {
		oracle.MustEqual(t, c.Split[2*i:2*i+2], []float64{2 * float64(e), 2*float64(e) + 1}, "split of edge %d", e)
	}
}

// predictedAlike compares what is predicted of an instance with what is of one whose nodes have another order.
func predictedAlike(t *testing.T, m *crf.Model, neat, mixed *crf.Instance, node []int32) {
	numbers := func(in *crf.Instance, node []int32) counting.Func { // by the numbers of nodes
		of := make([]float64, len(node))
		for i, s := range node {
			of[i] = 0.3 - float64(s%7)/14
		}
		return counting.Given("own", of, slices.Repeat([]float64{1.5}, in.Graph.NumEdges()))
	}
	held := numeric.Map(numeric.To(len(node)), func(s int32) int32 { return min(1, s%9) - 1 })
	want := infer.Predictor{Model: m, Limits: infer.Limits{Tolerance: 1e-12}}
	got := want
	want.Counting = numbers(neat, numeric.To(len(node)))
	got.Counting = numbers(mixed, node)
	x, likely, err := want.Assess(t.Context(), neat, held, neat.Samples(), nil)
	oracle.OK(t, err)
	y, also, err := got.Assess(t.Context(), mixed, numeric.Pick(held, node), mixed.Samples(), nil)
	oracle.OK(t, err)
	nearly(t, also.NegativeLog, likely.NegativeLog, 1e-9, "likelihood")
	for i, s := range node {
		oracle.MustEqual(t, y.Labels[i], x.Labels[s], "label of node %d", i)
		for k, p := range x.Of(int(s)) {
			oracle.Near(t, y.Of(i)[k], p, 1e-9, "belief of node %d", i)
		}
	}
}

// TestLaidOutBytes: threads, files and interruptions change no byte of a run, nor do two runs differ.
func TestLaidOutBytes(t *testing.T) {
	_, p, _ := laidOutProblem(t, 0.1, 2)
	for _, method := range []Method{Full, BBPL} {
		s := Settings{Method: method, Cut: Cut{Blocks: 5 * oneIf(method == BBPL)}, MaxPasses: 9}
		want := fit(t, p, s)
		run := interruptible{p, func() Settings { return s }}
		_, state := run.until(t, nil, 5)
		s.Threads, s.Spill = 2, t.TempDir()
		if got := fit(t, p, s); !sameBits(got, want) {
			t.Errorf("%s: two threads and a file: %+v, want %+v", method, got, want)
		}
		if got, _ := run.until(t, state, 1<<40); !sameBits(got, want) {
			t.Errorf("%s: gone on: %+v, want %+v", method, got, want)
		}
	}
}

// TestLaidOutByNumber: what goes by numbers of nodes has them as they were given, and so do errors.
func TestLaidOutByNumber(t *testing.T) {
	neat, p, node := laidOutProblem(t, 0, 2)
	in := p.Data[0]
	s := Settings{Method: BBPL, MaxPasses: 1, Assign: func(of *crf.Instance) ([]int32, int, error) {
		if of != in {
			t.Error("blocks are asked for of another instance than the one that was given")
		}
		return make([]int32, len(node)), 1, nil
	}}
	fit(t, p, s)
	s.Assign, s.Cut = nil, Cut{Kind: "range", Blocks: 4}
	if resolved := s.Resolved(); must(planLearner(&p, &resolved)).units[0].in != in {
		t.Error("ranges are of another order than the one that was given")
	}
	at := int32(slices.IndexFunc(node, func(s int32) bool { return s == 4321 })) // a pixel, in the middle
	x := make([]float64, 3*in.NodeFeatures(0).Rows())
	x[3*in.NodeRow(at)] = 1e300
	broken := changed(in, func(spec *crf.InstanceSpec) { spec.NodeFeat[0] = must(crf.Dense(x, 3)) })
	p = neat.startingAt(slices.Repeat([]float64{1e10}, len(neat.Model.Weights)))
	_, err := (&infer.Predictor{Model: p.Model}).Predict(t.Context(), broken, nil)
	oracle.WantError(t, err, fmt.Sprintf("node %d: ", at))
	p.Data = []*crf.Instance{broken}
	_, err = Fit(t.Context(), p, Settings{Method: Full})
	oracle.WantError(t, err, fmt.Sprintf("node %d: ", at))
}
