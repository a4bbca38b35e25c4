package experiment

import (
	"errors"
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/learn"
)

// TestVisitorGradient: what the visitor times is the work of learning. At messages
// that have settled its contributions add up to the gradient that learning finds.
func TestVisitorGradient(t *testing.T) {
	const states = 3
	n := must(gridNetwork(8, 2, 2))
	v := must(newVisitor(n, states, 3))
	for range 200 {
		if _, err := v.Run(); err != nil {
			t.Fatal(err)
		}
	}
	size := v.model.Layout.Size
	total := make([]float64, size)
	for i := range v.part.Blocks {
		v.adjoint = crf.NewAdjoint(v.model) // with nothing left over of the block before
		block := &v.part.Blocks[i]
		v.model.Ground(&v.space.Potentials, v.in, block)
		if err := errors.Join(v.space.Prepare(v.net, block), v.gradient(block)); err != nil {
			t.Fatal(err)
		}
		for g, group := range block.Groups {
			share := 1.0
			if group.Other != int32(i) {
				share = 0.5 // the block at the other end gives the same
			}
			for j, x := range v.contribution[g*v.stride:][:size] {
				total[j] += share * x
			}
		}
	}
	evaluator := must(learn.NewEvaluator(learn.Problem{Model: v.model, Data: []*crf.Instance{v.in}}, 1))
	defer evaluator.Close()
	exact := must(evaluator.At(v.model.Weights))
	data := make([]float64, size)
	crf.AddStatistics(data, v.model, crf.NewAdjoint(v.model), v.in, v.in.Samples()[0], 1, make([]float64, states*states))
	for j, g := range evaluator.Gradient() {
		if got := total[j] - data[j]; math.Abs(got-g) > 1e-7 {
			t.Fatalf("gradient of %s is %v, learning says %v (converged: %t)", v.model.WeightName(j), got, g, exact.Converged)
		}
	}
}

// TestVisitorTimes: a pass is timed as the sum of its phases, none of which is free.
func TestVisitorTimes(t *testing.T) {
	v := must(newVisitor(must(gridNetwork(8, 2, 2)), 2, 2))
	for pass := range 3 {
		seconds := must(v.Run())
		sum := 0.0
		for phase := range v.seconds {
			if len(v.seconds[phase]) != pass+1 || !(v.seconds[phase][pass] > 0) {
				t.Fatalf("phase %s: times %v after %d passes", phaseNames[phase], v.seconds[phase], pass+1)
			}
			sum += v.seconds[phase][pass]
		}
		if math.Abs(sum-seconds) > 1e-12 {
			t.Errorf("phases take %v s, the pass %v", sum, seconds)
		}
	}
}

// TestSizeSpeed: 4 blocks and 2·8·7 edges; 40 iterations are ten passes.
func TestSizeSpeed(t *testing.T) {
	got := sizeSpeed(must(gridNetwork(8, 2, 2)), machine.Timing{Minimum: 0.4, Median: 0.8, Repeats: 2})
	want := SizeSpeed{Nodes: 64, Edges: 112, Blocks: 4, BlockNodes: 16, MsPerIteration: 10, MsPerIterationMedian: 20, NsPerEdge: 4e7 / 112}
	if math.Abs(got.NsPerEdge-want.NsPerEdge) > 1e-6 || math.Abs(got.MsPerIteration-10) > 1e-9 || math.Abs(got.MsPerIterationMedian-20) > 1e-9 ||
		got.Nodes != want.Nodes || got.Edges != want.Edges || got.Blocks != want.Blocks || got.BlockNodes != want.BlockNodes {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSpeedNetworks: the networks are what their names say, and the same every time.
func TestSpeedNetworks(t *testing.T) {
	grid, again := must(gridNetwork(20, 4, 5)), must(gridNetwork(20, 4, 5))
	if grid.name != "grid 20×20" || grid.graph.NumNodes() != 400 || grid.graph.NumEdges() != 2*20*19 || len(grid.part.Blocks) != 20 {
		t.Errorf("%s: %d nodes, %d edges, %d blocks", grid.name, grid.graph.NumNodes(), grid.graph.NumEdges(), len(grid.part.Blocks))
	}
	ba := must(baNetwork(200, 20))
	if ba.name != "BA 200" || ba.graph.NumNodes() != 200 || len(ba.part.Blocks) != 20 {
		t.Errorf("%s: %d nodes, %d blocks", ba.name, ba.graph.NumNodes(), len(ba.part.Blocks))
	}
	p, q := must(grid.problem(4)), must(again.problem(4))
	counts := make([]int, 4)
	for s, y := range p.Data[0].Samples()[0] {
		counts[y]++
		if y != q.Data[0].Samples()[0][s] {
			t.Fatal("labels differ from one time to the other")
		}
	}
	for y, count := range counts {
		if count < 40 {
			t.Errorf("label %d at %d of 400 nodes", y, count)
		}
	}
	for _, w := range p.Model.Weights {
		if w != 0 {
			t.Fatal("learning does not start from nothing")
		}
	}
	if _, err := gridNetwork(3, 4, 5); err == nil {
		t.Error("a grid of 3 rows was cut into 4 rows of tiles")
	}
}

// TestLabelsFollowFeatures: labels are draws from the softmax of the potentials.
func TestLabelsFollowFeatures(t *testing.T) {
	n := must(gridNetwork(100, 1, 1))
	m, in, err := n.instance(2)
	if err != nil {
		t.Fatal(err)
	}
	var space crf.Potentials
	m.Ground(&space, in, &partition.Whole(n.graph).Blocks[0])
	expected, ones := 0.0, 0.0
	for s, y := range in.Samples()[0] {
		difference := space.Node[2*s+1] - space.Node[2*s]
		sign := math.Copysign(1, difference)
		expected += sign / (1 + math.Exp(-difference))
		ones += sign * float64(y)
	}
	// A sum of 10⁴ coins is within 4 standard deviations, of at most 50, of its mean.
	if math.Abs(ones-expected) > 200 {
		t.Errorf("labels agree with potentials %v times, want about %v", ones, expected)
	}
}

// TestSweeper: as many sweeps as are needed to be timed, each as long as it is.
func TestSweeper(t *testing.T) {
	s := must(newSweeper(must(gridNetwork(4, 1, 1)), 2))
	if seconds := must(s.Run()); !(seconds > 0) || s.repeat < 1 {
		t.Errorf("%d sweeps of %v s", s.repeat, seconds)
	}
	if _, err := newSweeper(must(gridNetwork(4, 1, 1)), 2); err != nil {
		t.Error(err)
	}
	if side := gridSide(8, 1e6); side < 20 || side > 40 {
		t.Errorf("a grid of %d×%d for a megabyte", side, side)
	}
	// 2·4·3 edges of 3 ns each.
	n := must(gridNetwork(4, 1, 1))
	c := &Ceilings{
		Compute: []machine.Compute{{Precision: Double, FMA: 100, Exp: 0.5, Log: 2}},
		Curve:   []machine.Point{{Bytes: 1000, Rate: 50}},
	}
	got := sweepSpeed(c, "L2", n, 2, machine.Timing{Minimum: 72e-9, Median: 96e-9, Repeats: 3})
	b := shapesOf(n.part)[0]
	bytes := sweepsWork(n.shape(2), b, 1).bytes()
	if got.Edges != 24 || math.Abs(got.NsPerEdge-3) > 1e-9 || math.Abs(got.NsPerEdgeMedian-4) > 1e-9 || math.Abs(got.MessagesPerS-48/72e-9) > 1 ||
		math.Abs(got.GBPerS-bytes/72) > 1e-9 || math.Abs(got.BandwidthFraction-bytes/72/50) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

// TestSpeedOfPhase: rates from times.
func TestSpeedOfPhase(t *testing.T) {
	n := must(gridNetwork(12, 3, 2))
	c := newPhaseCount(n, 3, 2)
	ceilings := &Ceilings{
		Compute: []machine.Compute{{Precision: Double, FMA: 10, Exp: 1, Log: 1}},
		Curve:   []machine.Point{{Bytes: 1000, Rate: 1000}},
	}
	w := Work{Flops: 2640} // 10 per edge: 1 ns
	p := c.speed(ceilings, "exp", w, machine.Timing{Minimum: 264 * 4e-9, Median: 264 * 8e-9, Repeats: 1})
	if math.Abs(p.NsPerEdge-4) > 1e-9 || math.Abs(p.NsPerEdgeMedian-8) > 1e-9 || math.Abs(p.RooflineNsPerEdge-1) > 1e-9 ||
		math.Abs(p.RooflineFraction-0.25) > 1e-9 || p.Bound != BoundOperations || p.MessagesPerS != 0 || p.FlopsPerEdge != 10 {
		t.Errorf("%+v", p)
	}
	second := machine.Timing{Minimum: 1, Median: 1, Repeats: 1}
	if p := c.speed(ceilings, "sweep", w, second); p.MessagesPerS != 528 {
		t.Errorf("%v messages in a second of one sweep", p.MessagesPerS)
	}
	if p := c.speed(ceilings, Iteration, w, second); p.MessagesPerS != 2*528 {
		t.Errorf("%v messages in a second of two sweeps", p.MessagesPerS)
	}
}
