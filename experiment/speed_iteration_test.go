package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/learn"
)

// TestPasses: passes of a run that goes on for as long as it is asked to.
func TestPasses(t *testing.T) {
	n := must(gridNetwork(8, 2, 2))
	p := must(n.problem(2))
	learning := newPasses(t.Context(), p, n.settings(), 4)
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
	learning = newPasses(t.Context(), p, short, 4)
	defer learning.stop()
	if _, err := learning.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := learning.Run(); err == nil || !strings.Contains(err.Error(), "iterations 11") {
		t.Errorf("the run ended, the error is %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	learning = newPasses(ctx, p, n.settings(), 4)
	defer learning.stop()
	if _, err := learning.Run(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestTurnWatch: turns count if nothing but whole iterations is in them.
func TestTurnWatch(t *testing.T) {
	counted := 0
	w := &turnWatch{skip: 3, perTurn: 2, sweeps: 3, last: 1000, yield: func(turn) bool { counted++; return counted < 3 }}
	record := func(e learn.Event) {
		t.Helper()
		if err := w.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	iteration := func(i int) learn.Event { return learn.Event{Iteration: i, Sweeps: 3} }
	for i, c := range []struct {
		events []learn.Event
		want   int // turns counted afterwards
	}{
		{[]learn.Event{{Check: true}, iteration(1), iteration(2), iteration(3)}, 0}, // skipped
		{[]learn.Event{iteration(4)}, 0},
		{[]learn.Event{iteration(5)}, 1},
		{[]learn.Event{{Iteration: 6, Sweeps: 1}, iteration(7)}, 1}, // a visit with fewer sweeps
		{[]learn.Event{iteration(8), {Iteration: 8, Sweeps: 3, Check: true}, iteration(9)}, 1},
		{[]learn.Event{iteration(10), iteration(11)}, 2},
		{[]learn.Event{iteration(12)}, 2},
	} {
		for _, e := range c.events {
			record(e)
		}
		if counted != c.want {
			t.Errorf("after step %d %d turns counted, want %d", i, counted, c.want)
		}
	}
	if err := w.Record(iteration(13)); !errors.Is(err, errEnough) {
		t.Errorf("when nobody wants more the error is %v", err)
	}

	w = &turnWatch{skip: 1, perTurn: 1, sweeps: 3, last: 4, yield: func(turn) bool { counted++; return true }}
	counted = 0
	for i := range 3 {
		record(iteration(i + 1))
	}
	if err := w.Record(iteration(4)); !errors.Is(err, errAnew) || counted != 3 {
		t.Errorf("at the last iteration the error is %v, after %d turns", err, counted)
	}
}

// TestTurns: turns may be shorter and longer than passes.
func TestTurns(t *testing.T) {
	n := must(gridNetwork(8, 2, 2))
	p := must(n.problem(2))
	for _, perTurn := range []int{1, 3, 10} {
		learning := newTurns(t.Context(), p, n.settings(), 4, perTurn)
		defer learning.stop()
		for range 3 {
			if seconds := must(learning.Run()); !(seconds > 0) {
				t.Errorf("a turn of %d iterations took %v s", perTurn, seconds)
			}
		}
	}
}
