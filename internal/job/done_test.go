package job

import (
	"testing"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// TestDone: the nearest limit tells, or the gradient's way to its tolerance in orders of
// magnitude.
func TestDone(t *testing.T) {
	for _, test := range []struct {
		e    learn.Event
		s    learn.Settings
		want float64
	}{
		{learn.Event{}, learn.Settings{}, 0},
		{learn.Event{Iteration: 5}, learn.Settings{MaxIterations: 20}, 0.25},
		{learn.Event{Iteration: 5, Pass: 3}, learn.Settings{MaxIterations: 20, MaxPasses: 4}, 0.75},
		{learn.Event{Elapsed: 3 * time.Second}, learn.Settings{MaxTime: time.Second}, 1},
		{learn.Event{GradientNorm: 10}, learn.Settings{RelativeTolerance: 1e-2}, 0.5},
		{learn.Event{GradientNorm: 1000}, learn.Settings{RelativeTolerance: 1e-2}, 0},
	} {
		if got := Done(test.e, test.s, 100); got < test.want-1e-12 || got > test.want+1e-12 {
			t.Errorf("%+v: %v, want %v", test.e, got, test.want)
		}
	}
}
