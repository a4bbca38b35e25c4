package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/learn"
)

// turns is learning that stops after every so many iterations until it is asked to
// go on, so that several runs can take turns.
type turns struct {
	next func() (turn, bool)
	stop func()
	done []turn // so far
}

// turn is the time of one turn, or what ended the run.
type turn struct {
	iterations int
	seconds    float64
	laps       laps // where the settings have them
	err        error
}

// laps is what learn.Settings.Laps was told in a turn.
type laps struct {
	spent [bp.NumPhases]time.Duration
	count [bp.NumPhases]int
}

// lapsOf returns what laps have so far; nothing if they are nil.
func lapsOf(l *bp.Laps) laps {
	if l == nil {
		return laps{}
	}
	return laps{l.Spent, l.Count}
}

// since returns what came to before.
func (l laps) since(before laps) laps {
	for p := range l.spent {
		l.spent[p] -= before.spent[p]
		l.count[p] -= before.count[p]
	}
	return l
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

// newPasses prepares learning in turns of a pass over all blocks each, however many
// blocks an iteration visits.
func newPasses(ctx context.Context, p learn.Problem, s learn.Settings) *turns {
	// A pass begins with the first block; the end of the first iteration of the run is
	// that of no pass.
	const second = 2
	return startTurns(ctx, p, s, turnWatch{skip: second, most: passesPerRun})
}

// newTurns prepares learning in turns of so many iterations, on so many blocks of
// which an iteration visits one.
func newTurns(ctx context.Context, p learn.Problem, s learn.Settings, blocks, perTurn int) *turns {
	return startTurns(ctx, p, s, turnWatch{skip: blocks, perTurn: perTurn, most: max(1, passesPerRun*blocks/perTurn)})
}

// startTurns prepares learning that watch divides into turns, with settings whose
// runs do not end in passesPerRun passes. Nothing happens before the first turn is
// asked for. The settings' recorder, if there is one, sees everything too. stop must
// be called.
func startTurns(ctx context.Context, p learn.Problem, s learn.Settings, watch turnWatch) *turns {
	watch.also, watch.sweeps, watch.laps = s.Recorder, s.Resolved().InnerSweeps, s.Laps
	next, stop := iter.Pull(func(yield func(turn) bool) {
		err := errAnew
		for errors.Is(err, errAnew) {
			w := watch
			w.yield = yield
			s.Recorder = &w
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
	return &turns{next: next, stop: stop}
}

// Run implements machine.Task.
func (t *turns) Run() (seconds float64, err error) {
	next, ok := t.next()
	if !ok {
		return 0, errEnough
	}
	t.done = append(t.done, next)
	return next.seconds, next.err
}

// turnWatch records a run and hands out the time of every turn, from the end of an
// iteration to the end of another. It leaves out the first iterations, a pass in
// which everything is touched for the first time, and turns that are not like the
// others: with a check of the whole network in them, or with fewer sweeps in a
// visit, as where all weights are zero.
type turnWatch struct {
	yield   func(turn) bool
	also    learn.Recorder // nil: nobody else looks
	laps    *bp.Laps       // nil: not timed by phase
	skip    int            // iteration at whose end the first turn begins at the earliest
	perTurn int            // iterations; 0: a pass
	sweeps  int
	most    int // turns of a run

	turns   int  // begun
	counts  bool // the turn at hand is like the others
	first   int  // iteration at whose end it began
	started time.Time
	before  laps
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
	if e.Check || e.Iteration < w.skip || !w.ends(e) {
		return nil
	}
	if w.counts {
		t := turn{iterations: e.Iteration - w.first, seconds: time.Since(w.started).Seconds(), laps: lapsOf(w.laps).since(w.before)}
		if !w.yield(t) {
			return errEnough
		}
	}
	if w.turns == w.most {
		return errAnew
	}
	w.turns++
	w.counts, w.first, w.before, w.started = true, e.Iteration, lapsOf(w.laps), time.Now()
	return nil
}

// ends reports whether a turn may end with an iteration: a pass where the first
// block has been visited again.
func (w *turnWatch) ends(e learn.Event) bool {
	if w.perTurn == 0 {
		return e.Block == 0
	}
	return (e.Iteration-w.skip)%w.perTurn == 0
}
