package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/learn"
)

// TestPasses: passes of a run that goes on for as long as it is asked to.
func TestPasses(t *testing.T) {
	n := must(tiledNetwork(8, 2, 2))
	p := must(n.problem(2))
	learning := newPasses(t.Context(), p, n.settings())
	for range 3 * passesPerRun { // learning begins anew on the way
		if seconds := must(learning.Run()); !(seconds > 0) {
			t.Errorf("a pass took %v s", seconds)
		}
	}
	learning.stop()
	if _, err := learning.Run(); !errors.Is(err, errEnough) {
		t.Errorf("after the end: %v", err)
	}

	short := n.settings()
	short.MaxIterations = 11 // two passes and a part, of which the first does not count
	learning = newPasses(t.Context(), p, short)
	defer learning.stop()
	if _, err := learning.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := learning.Run(); err == nil || !strings.Contains(err.Error(), "iterations 11") {
		t.Errorf("the run ended, the error is %v", err)
	}

	// Runs that come to the optimum begin anew.
	easy := p
	easy.L2 = 1000
	if r := must(learn.Fit(t.Context(), easy, n.settings())); !r.Status.Stationary() || r.Passes > 20*passesPerRun {
		t.Fatalf("the easy problem ends by %s after %v passes", r.Status, r.Passes)
	}
	learning = newPasses(t.Context(), easy, n.settings())
	for range 3 * passesPerRun {
		must(learning.Run())
	}
	learning.stop()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	learning = newPasses(ctx, p, n.settings())
	defer learning.stop()
	if _, err := learning.Run(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestStretchWatch: stretches count if nothing but whole iterations is in them.
func TestStretchWatch(t *testing.T) {
	counted := 0
	w := &stretchWatch{skip: 3, sweeps: 3, most: 1000, yield: func(stretch) bool { counted++; return counted < 3 }}
	record := func(e learn.Event) {
		t.Helper()
		if err := w.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	iteration := func(i int) learn.Event { return learn.Event{Iteration: i, Block: (i + 1) % 2, Sweeps: 3} }
	for i, c := range []struct {
		events []learn.Event
		want   int // stretches counted afterwards
	}{
		{[]learn.Event{{Check: true}, iteration(1), iteration(2), iteration(3)}, 0}, // skipped
		{[]learn.Event{iteration(4)}, 0},
		{[]learn.Event{iteration(5)}, 1},
		{[]learn.Event{{Iteration: 6, Block: 1, Sweeps: 1}, iteration(7)}, 1}, // a visit with fewer sweeps
		{[]learn.Event{iteration(8), {Iteration: 8, Block: 1, Sweeps: 3, Check: true}, iteration(9)}, 1},
		{[]learn.Event{iteration(10), iteration(11)}, 2},
		{[]learn.Event{iteration(12)}, 2},
	} {
		for _, e := range c.events {
			record(e)
		}
		if counted != c.want {
			t.Errorf("after step %d %d stretches counted, want %d", i, counted, c.want)
		}
	}
	if err := w.Record(iteration(13)); !errors.Is(err, errEnough) {
		t.Errorf("when nobody wants more the error is %v", err)
	}

	w = &stretchWatch{skip: 1, sweeps: 3, most: 3, yield: func(stretch) bool { counted++; return true }}
	counted = 0
	for i := range 3 {
		record(iteration(2*i + 1))
	}
	if err := w.Record(iteration(7)); !errors.Is(err, errAnew) || counted != 3 {
		t.Errorf("at the last iteration the error is %v, after %d stretches", err, counted)
	}
}

// TestStretchWatchPasses: a pass ends where the first block has been visited again, in
// however many iterations, and the first of a run does not count.
func TestStretchWatchPasses(t *testing.T) {
	var got []int
	w := &stretchWatch{skip: 2, sweeps: 3, most: 100, yield: func(next stretch) bool {
		got = append(got, next.iterations)
		return true
	}}
	for i, block := range []int{0, 3, 1, 0, 3, 1, 0, 5, 0, 0} {
		if err := w.Record(learn.Event{Iteration: i + 1, Block: block, Sweeps: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []int{3, 2, 1}) {
		t.Errorf("passes of %d iterations", got)
	}
}

// TestPassIterations: a pass has as many iterations as learning makes of its blocks,
// and every visit of the pass is in the laps.
func TestPassIterations(t *testing.T) {
	n := must(tiledNetwork(24, 6, 6))
	p := must(n.problem(2))
	for _, together := range []int{0, 1, 3} {
		settings := n.settings()
		settings.Together, settings.PhaseTimes = together, &learn.PhaseTimes{}
		first := 0
		settings.Recorder = func(e learn.Event) error {
			if e.Iteration > 1 && e.Block == 0 && first == 0 {
				first = e.Iteration - 1
			}
			return nil
		}
		learning := newPasses(t.Context(), p, settings)
		defer learning.stop()
		for range 3 {
			must(learning.Run())
		}
		for _, done := range learning.done {
			if done.iterations != first || (together <= 1) != (first == 36) || first < 12 {
				t.Errorf("%d blocks at a time: a stretch of %d iterations, a pass has %d", together, done.iterations, first)
			}
			before, after := &done.phases[0], &done.phases[1]
			sum := 0.0
			for phase := range after.Spent {
				if visits := after.Count[phase] - before.Count[phase]; visits != 36 && (phase != phaseGround) {
					t.Errorf("%d blocks at a time: %d visits in a pass of 36 blocks", together, visits)
				}
				sum += (after.Spent[phase] - before.Spent[phase]).Seconds()
			}
			if !(sum > 0) || sum > done.seconds {
				t.Errorf("%d blocks at a time: phases take %v s of a pass of %v", together, sum, done.seconds)
			}
		}
	}
}
