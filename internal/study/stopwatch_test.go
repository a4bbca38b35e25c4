package study

import (
	"context"
	"testing"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// idle is a step rule that waits, as a process does that is stopped or has to leave
// the processor to others.
type idle struct {
	learn.StepRule
	pause time.Duration
}

func (i idle) Step(theta, gradient []float64) float64 {
	time.Sleep(i.pause)
	return i.StepRule.Step(theta, gradient)
}

// TestStopwatch: a run that is alone does not count the time that it waits, one
// beside others does.
func TestStopwatch(t *testing.T) {
	const pause, iterations = 20 * time.Millisecond, 10
	b, o, _ := solved(t, Problem{Kind: Grid, Size: 4, Seed: 1})
	for _, alone := range []bool{true, false} {
		fixed := learn.Fixed{Alpha: 1e-6}
		r := &runner{trace: &Trace{}, star: o.Weights, share: []float64{1}, first: 1, watch: stopwatch{alone: alone && clockName() == processorClock}}
		ctx, cancel := context.WithCancel(context.Background())
		r.end, r.limits.work = cancel, 1e9
		_, err := learn.Fit(ctx, b.problem, learn.Settings{
			Method: learn.InnerDual, Step: idle{timedStep{&fixed, &r.watch}, pause}, MaxIterations: iterations,
			Recorder: learn.RecorderFunc(r.record),
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		waited := (iterations * pause).Seconds()
		switch seconds := r.trace.Seconds; {
		case r.watch.alone && !(seconds > 0 && seconds < waited/2):
			t.Errorf("alone: %g s of the processor in %d pauses of %v", seconds, iterations, pause)
		case !r.watch.alone && !(seconds >= waited):
			t.Errorf("beside others: %g s in %d pauses of %v", seconds, iterations, pause)
		}
	}
}
