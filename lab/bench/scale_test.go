package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/learn"
)

// tinyScale takes a moment.
func tinyScale() ScalePlan {
	return ScalePlan{
		Grids: []int{8, 16}, BA: []int{64, 128},
		TileHeight: 4, TileWidth: 8, States: 3, Stretches: 2, MostMemory: 64 << 20,
	}
}

// TestMeasureScale: every network of the plan is there, cut as it should be, and
// every number is one that can be. How large times are is not for a test to say.
func TestMeasureScale(t *testing.T) {
	said := ""
	s := must(MeasureScale(t.Context(), tinyScale(), func(stage string) { said += stage + "\n" }))
	want := []struct {
		graph                       string
		nodes, edges, blocks, inner int // inner: groups of two different blocks, −1: any
	}{
		{"grid 8×8", 64, 112, 2, 1},
		{"grid 16×16", 256, 480, 8, 10}, // 4 rows of 2 tiles: 4 pairs beside, 6 below each other
		{"BA 64", 64, 124, 2, 1},
		{"BA 128", 128, 252, 4, -1},
	}
	if len(s.Networks) != len(want) || len(s.Left) != 0 || !(s.Disturbance >= 0) {
		t.Fatalf("%d networks, left out %q, disturbance %v", len(s.Networks), s.Left, s.Disturbance)
	}
	_, known := machine.PeakMemory()
	for i, w := range want {
		n := s.Networks[i]
		if n.Graph != w.graph || n.Nodes != w.nodes || n.Edges != w.edges || n.Blocks != w.blocks || n.BlockNodes != 32 || n.States != 3 {
			t.Errorf("network %+v, want %+v", n, w)
		}
		if w.inner >= 0 && n.Groups != w.blocks+w.inner || n.TouchedGroups*float64(n.Blocks) != float64(2*n.Groups-n.Blocks) {
			t.Errorf("%s: %d groups, %v a block", n.Graph, n.Groups, n.TouchedGroups)
		}
		for _, x := range []float64{n.Cut, n.BuildSeconds, n.PartitionSeconds, n.SetupSeconds, n.PassSeconds, n.NsPerEdge, n.MsPerIteration, n.MsPerIterationBest, n.NsRatio, n.IterationRatio, n.NeedBytes} {
			if !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%s: a number is %v: %+v", n.Graph, x, n)
			}
		}
		if n.MsPerIterationMedian < n.MsPerIterationBest || known != (n.PeakBytes > 0) || !strings.Contains(said, w.graph+": building") {
			t.Errorf("%+v, said %q", n, said)
		}
		if i%2 == 0 && (n.NsRatio != 1 || n.IterationRatio != 1) {
			t.Errorf("the smallest network is %v and %v times itself", n.NsRatio, n.IterationRatio)
		}
	}
	if len(s.Growth) != 2 || s.Growth[0].Kind != "grid" || s.Growth[0].FromNodes != 64 || s.Growth[0].ToNodes != 256 || s.Growth[1].Kind != "ba" {
		t.Errorf("growth %+v", s.Growth)
	}
}

// TestMeasureScaleBounds: little memory leaves networks out and says so; an end that
// is asked for comes; a plan that cannot be is an error that names the network.
func TestMeasureScaleBounds(t *testing.T) {
	plan := tinyScale()
	plan.MostMemory = 100 << 10
	s := must(MeasureScale(t.Context(), plan, nil))
	if len(s.Networks) != 2 || len(s.Left) != 2 || !strings.Contains(s.Left[0], "grid 16×16") || len(s.Growth) != 2 {
		t.Errorf("networks %+v, left out %q", s.Networks, s.Left)
	}
	plan.MostMemory = 0
	if s = must(MeasureScale(t.Context(), plan, nil)); len(s.Networks) != 0 || len(s.Left) != 4 || len(s.Growth) != 0 {
		t.Errorf("%d networks without memory, left out %q", len(s.Networks), s.Left)
	}
	for _, stage := range []string{"grid 8×8: building", "grid 16×16: learning", "BA 128: building"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := MeasureScale(ctx, tinyScale(), func(now string) {
			if strings.HasPrefix(now, stage) {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v", stage, err)
		}
		cancel()
	}
	plan = tinyScale()
	plan.BA = []int{2}
	if _, err := MeasureScale(t.Context(), plan, nil); err == nil || !strings.Contains(err.Error(), "BA 2") {
		t.Errorf("a graph that cannot be: %v", err)
	}
}

// TestNeedBytes: the count of memory has all that learning keeps, and grows in
// proportion to the network.
func TestNeedBytes(t *testing.T) {
	plan := tinyScale()
	for _, c := range []scaleCase{plan.grid(8), plan.grid(16), plan.ba(64), plan.ba(128)} {
		n := must(c.build(&NetworkScale{}))
		p := must(n.problem(c.states))
		sizes := must(learn.Measure(p, n.settings()))
		features := 8 * (len(n.node) + len(n.edge))
		if kept := float64(sizes.StateBytes) + float64(features); c.needBytes() < kept || c.needBytes() > 2*kept {
			t.Errorf("%s: counted %v bytes, learning keeps %v", c.name(), c.needBytes(), kept)
		}
		if n.part.NumGroups > c.groups || n.graph.NumEdges() > c.edges {
			t.Errorf("%s: %d groups and %d edges, counted at most %d and %d", c.name(), n.part.NumGroups, n.graph.NumEdges(), c.groups, c.edges)
		}
	}
	full := FullScalePlan()
	large, quarter := full.grid(2000), full.grid(1000)
	if ratio := large.needBytes() / quarter.needBytes(); math.Abs(ratio-4) > 0.01 {
		t.Errorf("four times the nodes need %v times the memory", ratio)
	}
}

// TestTakeStretches: rates of turns, against the smallest network's in the same turns.
func TestTakeStretches(t *testing.T) {
	small := &scaleNetwork{result: NetworkScale{Blocks: 10, Edges: 20_000}}
	large := &scaleNetwork{result: NetworkScale{Blocks: 100, Edges: 250_000}}
	large.take(machine.Timing{Minimum: 0.04, Median: 0.08, Mean: 0.1}, machine.Timing{Minimum: 0.02, Median: 0.04, Mean: 0.08}, small)
	r := large.result
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("mean", r.MsPerIteration, 2.5)
	near("best", r.MsPerIterationBest, 1)
	near("median", r.MsPerIterationMedian, 2)
	near("ns per edge", r.NsPerEdge, 0.1/40*100/250_000*1e9) // 1000 ns
	near("ratio of ns per edge", r.NsRatio, 1000.0/1000)     // 0.08/40·10/20,000 s
	near("ratio of iterations", r.IterationRatio, 2)

	var networks []NetworkScale
	for _, ratio := range []float64{1, 0.8, 1.5} {
		networks = append(networks, NetworkScale{Kind: "grid", Nodes: int(100 * ratio), NsRatio: ratio, IterationRatio: ratio})
	}
	g := growthOf(networks)
	near("growth", g.NsRatio, 1.5/0.8)
	near("growth", g.IterationRatio, 1.5/0.8)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
