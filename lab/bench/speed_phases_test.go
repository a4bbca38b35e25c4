package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/learn"
)

// TestPhaseTiming: readings of the clock are no work, and never all of a phase.
func TestPhaseTiming(t *testing.T) {
	of := func(spent time.Duration, count int) stretch {
		var next stretch
		before, after := &next.phases[0], &next.phases[1]
		before.Spent[phaseGround], before.Count[phaseGround] = time.Second, 7
		after.Spent[phaseGround], after.Count[phaseGround] = time.Second+spent, 7+count
		next.each = []lap{{phases: *after}}
		return next
	}
	got := phaseTiming([]stretch{of(10*time.Microsecond, 20), of(8*time.Microsecond, 20), of(4*time.Microsecond, 30)}, phaseGround, 1e-7)
	if math.Abs(got.Minimum-2e-6) > 1e-12 || math.Abs(got.Median-6e-6) > 1e-12 || got.Repeats != 3 {
		t.Errorf("%+v", got)
	}
	if reading := readingSeconds(); !(reading > 0) || reading > 1e-3 {
		t.Errorf("a reading of the clock takes %v s", reading)
	}
}

// TestCut: blocks are those that training makes where nobody says how.
func TestCut(t *testing.T) {
	ba, grid := must(newSpeedNetwork(baSpec(300))), must(newSpeedNetwork(gridSpec(30)))
	for _, n := range []*speedNetwork{ba, grid} {
		p := must(n.problem(4))
		if err := n.cut(p); err != nil {
			t.Fatal(err)
		}
		cuts, together, err := learn.Cut{}.Resolve(p.Model, p.Data)
		if err != nil {
			t.Fatal(err)
		}
		blocks := cuts[0].Blocks
		if len(n.part.Blocks) != blocks || n.together != together || n.settings().Together != together {
			t.Errorf("%s: %d blocks, %d at a time, want %d and %d", n.name, len(n.part.Blocks), n.together, blocks, together)
		}
	}
	p := must(ba.problem(4))
	settings := ba.settings()
	settings.MaxIterations = 30
	here := must(learn.Fit(t.Context(), p, settings))
	settings.Assign, settings.Together = nil, 0
	if training := must(learn.Fit(t.Context(), p, settings)); !slices.Equal(here.Model.Weights, training.Model.Weights) {
		t.Error("training with its own blocks comes to other weights")
	}
	tiles := must(tiledNetwork(30, 4, 5))
	if !slices.Equal(grid.part.Of, tiles.part.Of) {
		t.Error("a grid is not cut into 4×5 tiles")
	}
}

// tiledNetwork is a square grid cut into tiles.
func tiledNetwork(side, tileRows, tileCols int) (*speedNetwork, error) {
	n, err := newSpeedNetwork(gridSpec(side))
	if err != nil {
		return nil, err
	}
	of, blocks, err := partition.Tiles(side, side, tileRows, tileCols)
	if err != nil {
		return nil, err
	}
	return n, n.cutInto(of, blocks)
}

// TestSpeedNetworks: the networks are what their names say, and the same every time.
func TestSpeedNetworks(t *testing.T) {
	grid, again := must(tiledNetwork(20, 4, 5)), must(tiledNetwork(20, 4, 5))
	if grid.name != "grid 20×20" || grid.graph.NumNodes() != 400 || grid.graph.NumEdges() != 2*20*19 || len(grid.part.Blocks) != 20 {
		t.Errorf("%s: %d nodes, %d edges, %d blocks", grid.name, grid.graph.NumNodes(), grid.graph.NumEdges(), len(grid.part.Blocks))
	}
	ba := must(newSpeedNetwork(baSpec(200)))
	if ba.name != "BA 200" || ba.graph.NumNodes() != 200 || ba.part != nil {
		t.Errorf("%s: %d nodes", ba.name, ba.graph.NumNodes())
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
	if _, err := tiledNetwork(3, 4, 5); err == nil {
		t.Error("a grid of 3 rows was cut into 4 rows of tiles")
	}
}

// TestLabelsFollowFeatures: labels are draws from the softmax of the potentials.
func TestLabelsFollowFeatures(t *testing.T) {
	n := must(tiledNetwork(100, 1, 1))
	m, in, err := n.instance(2)
	if err != nil {
		t.Fatal(err)
	}
	var space ground.Potentials
	space.Ground(m, in, &partition.Whole(n.graph).Blocks[0])
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

// TestSpeedOfPhase: rates from times.
func TestSpeedOfPhase(t *testing.T) {
	n := must(tiledNetwork(12, 3, 2))
	c := newPhaseCount(n, 3, 2)
	ceilings := &Ceilings{
		Compute: machine.Compute{FMA: 10, Exp: 1, Log: 1},
		Curve:   []machine.Point{{Bytes: 1000, Rate: 1000}},
	}
	w := Work{Operations: Operations{Flops: 2640}} // 10 per edge: 1 ns
	p := c.speed(ceilings, "ground", w, machine.Timing{Minimum: 264 * 4e-9, Median: 264 * 8e-9, Repeats: 1})
	if math.Abs(p.NsPerEdge-4) > 1e-9 || math.Abs(p.NsPerEdgeMedian-8) > 1e-9 || math.Abs(p.RooflineNsPerEdge-1) > 1e-9 ||
		math.Abs(p.RooflineFraction-0.25) > 1e-9 || p.Bound != BoundOperations || p.MessagesPerS != 0 || p.FlopsPerEdge != 10 {
		t.Errorf("%+v", p)
	}
	second := machine.Timing{Minimum: 1, Median: 1, Repeats: 1}
	if p := c.speed(ceilings, "sweep", w, second); p.MessagesPerS != 600 { // 528 into blocks and 72 out of them
		t.Errorf("%v messages in a second of one sweep", p.MessagesPerS)
	}
	if p := c.speed(ceilings, Iteration, w, second); p.MessagesPerS != 2*600 {
		t.Errorf("%v messages in a second of two sweeps", p.MessagesPerS)
	}
}
