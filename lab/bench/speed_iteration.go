package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
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
	each       []lap               // [iterations] of a pass
	err        error
}

// lap is an iteration of a stretch.
type lap struct {
	seconds float64
	phases  learn.PhaseTimes // after it
}

// phase is what a phase took in an iteration of the stretch, without the readings of the clock
// that took so many seconds each.
func (s *stretch) phase(i int, phase int, reading float64) (seconds float64) {
	before := &s.phases[0]
	if i > 0 {
		before = &s.each[i-1].phases
	}
	after := &s.each[i].phases
	spent := (after.Spent[phase] - before.Spent[phase]).Seconds()
	// A disturbed measurement of the clock must not make a phase free.
	return max(spent-reading*float64(after.Count[phase]-before.Count[phase]), spent/2)
}

// undisturbed is the time of a pass of which each iteration takes as long as in the pass where
// of returns the least for it: other work disturbs some iteration of every pass, but hardly one
// in all passes. It is largest where stretches are no passes, or passes differ in length.
func undisturbed(passes []stretch, largest float64, of func(s *stretch, i int) float64) float64 {
	if len(passes) == 0 || len(passes[0].each) == 0 {
		return largest
	}
	sum := 0.0
	for i := range passes[0].each {
		least := math.Inf(1)
		for p := range passes {
			if len(passes[p].each) != len(passes[0].each) {
				return largest
			}
			least = min(least, of(&passes[p], i))
		}
		sum += least
	}
	return min(sum, largest)
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

// watched prepares learning that watch divides into stretches. A run that comes to the optimum
// begins anew. Nothing happens before the first stretch is asked for. The settings' recorder, if
// there is one, sees everything too. stop must be called.
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
			switch {
			case err == nil && result.Status.Stationary() && w.begun > 1:
				err = errAnew // momentum may take small networks to the optimum before
			case err == nil:
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

// stretchWatch records a run and hands out the time of every stretch, from the end of a
// visit of the first block to the end of the next. It leaves out the first iterations, a pass in
// which everything is touched for the first time, and stretches that are not like the
// others: with a check of the whole network in them, or with fewer sweeps in a
// visit, as where all weights are zero.
type stretchWatch struct {
	yield  func(stretch) bool
	also   func(learn.Event) error // nil: nobody else looks
	phases *learn.PhaseTimes       // nil: not timed by phase
	skip   int                     // iteration at whose end the first stretch begins at the earliest
	sweeps int
	most   int // stretches of a run

	begun   int  // stretches
	counts  bool // the one at hand is like the others
	first   int  // iteration at whose end it began
	started time.Time
	before  learn.PhaseTimes
	each    []lap         // of it, so far
	since   time.Duration // it began, at the end of the last of them
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
	if e.Check || e.Iteration < w.skip {
		return nil
	}
	var phases learn.PhaseTimes
	if w.phases != nil {
		phases = *w.phases
	}
	now := time.Since(w.started)
	if w.counts {
		w.each = append(w.each, lap{(now - w.since).Seconds(), phases})
		w.since = now
	}
	if e.Block != 0 { // a pass ends where the first block has been visited again
		return nil
	}
	if w.counts {
		next := stretch{iterations: e.Iteration - w.first, seconds: now.Seconds(), phases: [2]learn.PhaseTimes{w.before, phases}, each: slices.Clone(w.each)}
		if !w.yield(next) {
			return errEnough
		}
	}
	if w.begun == w.most {
		return errAnew
	}
	w.begun++
	w.counts, w.first, w.before, w.each, w.since, w.started = true, e.Iteration, phases, w.each[:0], 0, time.Now()
	return nil
}

// firstError prefers the end of ctx to what it led to.
func firstError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
