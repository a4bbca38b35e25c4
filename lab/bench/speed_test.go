package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/simd"
)

// tinyPlan takes a moment.
func tinyPlan() SpeedPlan {
	p := QuickSpeedPlan()
	p.Grid, p.BA = 8, 60
	p.States, p.ReferenceStates = []int{2, 3}, 3
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
	for _, want := range []string{"ceilings", "phases", "kernels"} {
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
	if want := cases * (numPhases + 1); len(s.Phases) != want {
		t.Errorf("%d phases, want %d", len(s.Phases), want)
	}
	for i, p := range s.Phases {
		name := []string{"ground", "sweep", "gradient", Iteration}[i%(numPhases+1)]
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
	if len(s.Left) != 0 || !(s.Disturbance >= 0) {
		t.Errorf("left out %q, disturbance %v", s.Left, s.Disturbance)
	}
}

// TestMeasureSpeedBounds: little memory leaves things out and says so; an end that
// is asked for comes.
func TestMeasureSpeedBounds(t *testing.T) {
	plan := tinyPlan()
	plan.MostMemory = 60 << 10
	s := must(MeasureSpeed(t.Context(), plan, nil))
	if left := strings.Join(s.Left, "\n"); !strings.Contains(left, "phases of grid 8×8") {
		t.Errorf("left out %q", s.Left)
	}
	for _, stage := range []string{"ceilings", "phases", "kernels"} {
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

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
