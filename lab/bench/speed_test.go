package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/learn"
)

// tinyPlan takes a moment.
func tinyPlan() SpeedPlan {
	p := QuickSpeedPlan()
	p.Grid, p.BA, p.TileRows, p.TileCols = 8, 60, 2, 2
	p.States, p.ReferenceStates = []int{2, 3}, 3
	p.SizeSides, p.SizeTile = []int{4, 8}, 4
	p.ThreadInstances, p.ThreadGrid, p.ThreadSide = 3, 6, 7
	p.MethodGrids, p.MethodTolerance, p.MethodRepeats = []int{4}, 1e-4, 1
	p.Ceilings, p.Rounds = machine.Rounds{Least: 1}, machine.Rounds{Least: 2, Budget: time.Millisecond}
	p.MostMemory = 4 << 20
	return p
}

// TestHurry: after three quarters of the time that a plan gives, nothing is repeated
// more than once.
func TestHurry(t *testing.T) {
	plan := SpeedPlan{Rounds: machine.Rounds{Least: 3, Budget: time.Second}, Within: time.Minute}
	for _, c := range []struct {
		after time.Duration
		want  machine.Rounds
	}{{0, machine.Rounds{Least: 3, Budget: 2 * time.Second}}, {50 * time.Second, machine.Rounds{Least: 1}}} {
		r := &speedRun{plan: plan, begun: time.Now().Add(-c.after)}
		if got := r.rounds(2); got != c.want {
			t.Errorf("after %v: %+v, want %+v", c.after, got, c.want)
		}
	}
}

// TestMeasureSpeed: everything that a plan asks for is in the result, and every
// number is one that can be. How large they are is not for a test to say.
func TestMeasureSpeed(t *testing.T) {
	stages := map[string]bool{}
	plan := tinyPlan()
	s := must(MeasureSpeed(t.Context(), plan, func(stage string) {
		kind, _, _ := strings.Cut(stage, ":")
		stages[kind] = true
	}))
	for _, want := range []string{"ceilings", "phases", "kernels", "sweeps", "threads", "sizes", "methods"} {
		if !stages[want] {
			t.Errorf("nothing said of %s", want)
		}
	}
	good := func(what string, x float64) {
		t.Helper()
		if !(x > 0) || math.IsInf(x, 0) {
			t.Errorf("%s is %v", what, x)
		}
	}
	const cases = 2 * 2 // networks; states
	if want := cases * (bp.NumPhases + 1); len(s.Phases) != want {
		t.Errorf("%d phases, want %d", len(s.Phases), want)
	}
	for i, p := range s.Phases {
		name := []string{"ground", "exp", "sweep", "gradient", Iteration}[i%(bp.NumPhases+1)]
		if p.Name != name || p.NsPerEdgeMedian < p.NsPerEdge || (p.Sweeps == 2) != (name == Iteration) || p.Blocks != 20 || p.BlocksAtATime != 1 {
			t.Errorf("phase %d: %+v", i, p)
		}
		for what, x := range map[string]float64{"ns": p.NsPerEdge, "fraction": p.RooflineFraction, "roofline": p.RooflineNsPerEdge, "bytes": p.BytesPerEdge, "flops": p.FlopsPerEdge} {
			good(what, x)
		}
	}
	good("messages per second", s.MessagesPerS)
	good("speed-up", s.SpeedupVsPlainGo)
	names := simd.Names()
	if len(s.Kernels) != len(names) {
		t.Fatalf("%d kernels, want those of %q", len(s.Kernels), names)
	}
	for i, k := range s.Kernels {
		if k.Name != names[i] || (k.Name == "plain" && k.Speedup != 1) {
			t.Errorf("kernels %+v", k)
		}
	}
	if s.SpeedupVsPlainGo != s.Kernels[0].Speedup {
		t.Errorf("the speed-up %v is not that of %+v", s.SpeedupVsPlainGo, s.Kernels)
	}
	if len(s.Sweeps) != len(s.Ceilings.Memory)-1 || s.Sweeps[len(s.Sweeps)-1].Level != machine.DRAM {
		t.Errorf("sweeps %+v", s.Sweeps)
	}
	for _, x := range s.Sweeps {
		good("sweep", x.NsPerEdge)
		good("fraction of bandwidth", x.BandwidthFraction)
	}
	for i, x := range s.Threads {
		first := x.Threads == 1
		if first != (x.Speedup == 1) && first || (x.Instances == 3) != (i < len(s.Threads)/2) || x.BlocksAtATime < 1 {
			t.Errorf("threads %+v", x)
		}
	}
	if last := s.Threads[len(s.Threads)-1]; last.Graph != "grid 7×7" || last.Instances != 1 {
		t.Errorf("threads on one network: %+v", last)
	}
	for i, x := range s.Sizes {
		good("time of an iteration", x.MsPerIteration)
		if x.Nodes != plan.SizeSides[i]*plan.SizeSides[i] || x.Blocks*x.BlockNodes != x.Nodes {
			t.Errorf("size %+v", x)
		}
	}
	if len(s.Methods) != 3 {
		t.Fatalf("%d methods", len(s.Methods))
	}
	for _, x := range s.Methods {
		good("time to tolerance", x.Seconds)
		if x.Status != learn.Converged || math.Abs(x.Objective-s.Methods[0].Objective) > 1e-3*s.Methods[0].Objective {
			t.Errorf("method %+v", x)
		}
	}
	if len(s.Left) != 0 || !(s.Disturbance >= 0) {
		t.Errorf("left out %q, disturbance %v", s.Left, s.Disturbance)
	}
}

// TestMeasureSpeedBounds: little memory leaves things out and says so; an end that
// is asked for comes.
func TestMeasureSpeedBounds(t *testing.T) {
	plan := tinyPlan()
	plan.MostMemory = 60 << 10
	plan.MethodGrids = nil
	plan.SizeSides = []int{4, 80}
	s := must(MeasureSpeed(t.Context(), plan, nil))
	if len(s.Sizes) != 1 || len(s.Left) == 0 || !strings.Contains(strings.Join(s.Left, "\n"), "6400 nodes") {
		t.Errorf("%d sizes, left out %q", len(s.Sizes), s.Left)
	}
	for _, stage := range []string{"ceilings", "phases", "kernels", "sweeps", "threads", "sizes", "methods"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := MeasureSpeed(ctx, tinyPlan(), func(now string) {
			if strings.HasPrefix(now, stage+":") {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before %s: %v", stage, err)
		}
		cancel()
	}
}
