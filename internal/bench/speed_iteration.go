package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/learn"
)

// watchedRun is learning that stops after every stretch of iterations until it is asked
// to go on, so that several runs can take turns.
type watchedRun struct {
	// kernels is the implementation of the kernels that it runs with; "": the usual one.
	kernels string
	next    func() (stretch, bool)
	stop    func()
	done    []stretch // so far
}

// stretch is the time of some iterations, or what ended the run.
type stretch struct {
	iterations int
	seconds    float64
	phases     [2]learn.PhaseTimes // before and after, where the settings have them
	err        error
}

// What ends a run early: nobody wants more of it, or it has come so far
// that it is begun anew.
var (
	errEnough = errors.New("enough iterations")
	errAnew   = errors.New("enough iterations of this run")
)

// passesPerRun is the number of passes after which learning begins anew, so that
// none comes near the optimum: there it would check the whole network and end.
const passesPerRun = 25

// newPasses prepares learning in stretches of a pass over all blocks each, however many
// blocks an iteration visits.
func newPasses(ctx context.Context, p learn.Problem, s learn.Settings) *watchedRun {
	// A pass begins with the first block; the end of the first iteration of the run is
	// that of no pass.
	const second = 2
	return watched(ctx, p, s, stretchWatch{skip: second, most: passesPerRun})
}

// newStretches prepares learning in stretches of so many iterations, on so many blocks of
// which an iteration visits one.
func newStretches(ctx context.Context, p learn.Problem, s learn.Settings, blocks, length int) *watchedRun {
	return watched(ctx, p, s, stretchWatch{skip: blocks, length: length, most: max(1, passesPerRun*blocks/length)})
}

// watched prepares learning that watch divides into stretches, with settings whose runs
// do not end in passesPerRun passes. Nothing happens before the first is asked for. The settings' recorder, if there is one, sees everything too. stop must
// be called.
func watched(ctx context.Context, p learn.Problem, s learn.Settings, watch stretchWatch) *watchedRun {
	watch.also, watch.sweeps, watch.phases = s.Recorder, s.Resolved().InnerSweeps, s.PhaseTimes
	next, stop := iter.Pull(func(yield func(stretch) bool) {
		err := errAnew
		for errors.Is(err, errAnew) {
			w := watch
			w.yield = yield
			s.Recorder = w.Record
			var result *learn.Result
			result, err = learn.Fit(ctx, p, s)
			if err == nil {
				err = fmt.Errorf("the run that was to be measured ended: %s", result.Reason)
			}
		}
		if !errors.Is(err, errEnough) {
			yield(stretch{err: firstError(ctx, err)})
		}
	})
	return &watchedRun{next: next, stop: stop}
}

// Run implements machine.Task.
func (r *watchedRun) Run() (seconds float64, err error) {
	if r.kernels != "" {
		restore, err := simd.Use(r.kernels)
		if err != nil {
			return 0, err
		}
		defer restore()
	}
	next, ok := r.next()
	if !ok {
		return 0, errEnough
	}
	r.done = append(r.done, next)
	return next.seconds, next.err
}

// stretchWatch records a run and hands out the time of every stretch, from the end of an
// iteration to the end of another. It leaves out the first iterations, a pass in
// which everything is touched for the first time, and stretches that are not like the
// others: with a check of the whole network in them, or with fewer sweeps in a
// visit, as where all weights are zero.
type stretchWatch struct {
	yield  func(stretch) bool
	also   func(learn.Event) error // nil: nobody else looks
	phases *learn.PhaseTimes       // nil: not timed by phase
	skip   int                     // iteration at whose end the first stretch begins at the earliest
	length int                     // iterations; 0: a pass
	sweeps int
	most   int // stretches of a run

	begun   int  // stretches
	counts  bool // the one at hand is like the others
	first   int  // iteration at whose end it began
	started time.Time
	before  learn.PhaseTimes
}

// Record is a recorder of learn.Settings.
func (w *stretchWatch) Record(e learn.Event) error {
	if w.also != nil {
		if err := w.also(e); err != nil {
			return err
		}
	}
	if e.Check || e.Sweeps != w.sweeps {
		w.counts = false
	}
	if e.Check || e.Iteration < w.skip || !w.ends(e) {
		return nil
	}
	var phases learn.PhaseTimes
	if w.phases != nil {
		phases = *w.phases
	}
	if w.counts {
		next := stretch{iterations: e.Iteration - w.first, seconds: time.Since(w.started).Seconds(), phases: [2]learn.PhaseTimes{w.before, phases}}
		if !w.yield(next) {
			return errEnough
		}
	}
	if w.begun == w.most {
		return errAnew
	}
	w.begun++
	w.counts, w.first, w.before, w.started = true, e.Iteration, phases, time.Now()
	return nil
}

// ends reports whether a stretch may end with an iteration: a pass where the first
// block has been visited again.
func (w *stretchWatch) ends(e learn.Event) bool {
	if w.length == 0 {
		return e.Block == 0
	}
	return (e.Iteration-w.skip)%w.length == 0
}
