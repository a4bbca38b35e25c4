package study

import (
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
	b := must(Problem{Kind: Grid, Size: 4, Seed: 1}.build(1))
	for _, alone := range []bool{true, false} {
		_, told := ProcessorTime()
		alone, seconds := alone && told, 0.0
		rule := idle{fixed(1e-6), pause}
		if _, _, err := iterate(t.Context(), b.problem, innerDual(), rule, learn.Settings{}, alone,
			func(e learn.Event, spent float64) bool {
				seconds = spent
				return e.Iteration == iterations
			}); err != nil {
			t.Fatal(err)
		}
		switch waited := (iterations * pause).Seconds(); {
		case alone && !(seconds > 0 && seconds < waited/2):
			t.Errorf("alone: %g s of the processor in %d pauses of %v", seconds, iterations, pause)
		case !alone && !(seconds >= waited):
			t.Errorf("beside others: %g s in %d pauses of %v", seconds, iterations, pause)
		}
	}
}
