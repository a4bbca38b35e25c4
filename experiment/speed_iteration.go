package experiment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// turns is learning that stops after every so many iterations until it is asked to
// go on, so that several runs can take turns.
type turns struct {
	next func() (turn, bool)
	stop func()
}

// turn is the time of one turn, or what ended the run.
type turn struct {
	seconds float64
	err     error
}

// What ends a run early: nobody wants its turns any more, or it has come so far
// that it is begun anew.
var (
	errEnough = errors.New("enough turns")
	errAnew   = errors.New("enough turns of this run")
)

// passesPerRun is the number of passes after which learning begins anew, so that
// none comes near the optimum: there it would check the whole network and end.
const passesPerRun = 25

// newPasses is newTurns with a pass over all blocks for a turn.
func newPasses(ctx context.Context, p learn.Problem, s learn.Settings, blocks int) *turns {
	return newTurns(ctx, p, s, blocks, blocks)
}

// newTurns prepares learning in turns of so many iterations, on so many blocks and
// with settings whose runs do not end in passesPerRun passes. Nothing happens before
// the first turn is asked for. The settings' recorder, if there is one, sees
// everything too. stop must be called.
func newTurns(ctx context.Context, p learn.Problem, s learn.Settings, blocks, perTurn int) *turns {
	next, stop := iter.Pull(func(yield func(turn) bool) {
		err, also := errAnew, s.Recorder
		for errors.Is(err, errAnew) {
			s.Recorder = &turnWatch{
				yield: yield, also: also, skip: blocks, perTurn: perTurn, sweeps: s.Resolved().InnerSweeps,
				last: max(passesPerRun*blocks, blocks+perTurn),
			}
			var result *learn.Result
			result, err = learn.Fit(ctx, p, s)
			if err == nil {
				err = fmt.Errorf("the run that was to be measured ended: %s", result.Reason)
			}
		}
		if !errors.Is(err, errEnough) {
			yield(turn{err: firstError(ctx, err)})
		}
	})
	return &turns{next, stop}
}

// Run implements machine.Task.
func (t *turns) Run() (seconds float64, err error) {
	next, ok := t.next()
	if !ok {
		return 0, errEnough
	}
	return next.seconds, next.err
}

// turnWatch records a run and hands out the time of every turn, from the end of an
// iteration to the end of another. It leaves out the first iterations, a pass in
// which everything is touched for the first time, and turns that are not like the
// others: with a check of the whole network in them, or with fewer sweeps in a
// visit, as where all weights are zero.
type turnWatch struct {
	yield         func(turn) bool
	also          learn.Recorder // nil: nobody else looks
	skip, perTurn int            // iterations
	sweeps        int
	last          int // iteration from which on no turn is begun

	started time.Time
	counts  bool // the turn at hand is like the others
}

// Record implements learn.Recorder.
func (w *turnWatch) Record(e learn.Event) error {
	if w.also != nil {
		if err := w.also.Record(e); err != nil {
			return err
		}
	}
	if e.Check || e.Sweeps != w.sweeps {
		w.counts = false
	}
	if done := e.Iteration - w.skip; e.Check || done < 0 || done%w.perTurn != 0 {
		return nil
	}
	if w.counts && e.Iteration > w.skip && !w.yield(turn{seconds: time.Since(w.started).Seconds()}) {
		return errEnough
	}
	if e.Iteration >= w.last {
		return errAnew
	}
	w.counts, w.started = true, time.Now()
	return nil
}
