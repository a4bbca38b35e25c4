// Package job is a training as a value: Prepare checks and resolves choices, Train fits, evaluates and reports, in a
// run folder or in memory alone. Model, Predict and Evaluate are what a trained model is used with. The command and
// the package at the root are built on it; nothing here prints.
//
// Texts name options as the command line does, such as --l2.
package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/learn"
)

// Watch is told of a training while it runs. All fields may be nil.
type Watch struct {
	// Note says what the user would not expect, in words.
	Note func(text string)
	// Opened is told that the folder is open, and with it the run to resume, or why not; its answer
	// ends the training unless it is nil. Processes that train together agree there.
	Opened func(error) error
	// Iteration is told of every iteration and check; Elapsed counts from Task.Began there.
	Iteration func(learn.Event)
	// Checking is told of every pass of a check, as learn.Settings.Checking.
	Checking func(passes int, residual float64)
	// Fitted is told when the weights are learned, unless the training was interrupted.
	Fitted func()
	// Instances counts instances, or the candidates of a choice, in work of its own, which begins with done = 0.
	Instances func(work string, done, total int)
}

func (w Watch) note(format string, a ...any) {
	if w.Note != nil {
		w.Note(fmt.Sprintf(format, a...))
	}
}

// tell adds notes to those of the result, and tells who watches.
func (p *Prepared) tell(watch Watch, texts ...string) {
	for _, text := range texts {
		watch.note("%s", text)
	}
	p.Notes = slices.Concat(p.Notes, texts)
}

// counter returns what counts the instances of some work, or nil.
func (w Watch) counter(work string) func(done, total int) {
	return func(done, total int) {
		if w.Instances != nil {
			w.Instances(work, done, total)
		}
	}
}

// Result is what a training ended with.
type Result struct {
	*learn.Result
	Model *Model // with the final weights, or with Options.EarlyStop those of the best evaluation
	// Scores are of the final model, on every evaluation set. Unevaluated: there are
	// none because the training was interrupted while they were computed.
	Scores      []*Scored
	Unevaluated bool
	// Untrained: the weights of the model are 0 as at the start, and no label is likelier than
	// another. A limit has ended the training before better ones were found.
	Untrained bool
	// Errors are the standard errors of the final model's weights, nil where there are none.
	Errors []float64
	// Couplings of the final model, with Options.Physics; else nil.
	Couplings *Couplings
	Summary   *Summary
}

// Train chooses what is left open, fits, evaluates the final model and writes everything into folder; nil keeps all
// in memory. A training that was interrupted through ctx, or met a limit, is a Result that says so; one that got
// worse instead of better is a *learn.DivergedError.
func (p *Prepared) Train(ctx context.Context, folder *Folder, watch Watch) (*Result, error) {
	if folder != nil {
		if err := folder.Open(); err != nil {
			return nil, err
		}
		defer folder.Close()
	}
	own := *p
	var run *run
	err := own.recallChoice(ctx, folder)
	if err == nil {
		run, err = openRun(folder, &own, watch)
	}
	if watch.Opened != nil {
		err = watch.Opened(err)
	}
	if err != nil {
		return nil, err
	}
	if own.choice != nil { // in an earlier start
		run.began = run.began.Add(time.Duration(-own.choice.Seconds * float64(time.Second)))
	}
	if err := run.choose(ctx); err != nil {
		return nil, err
	}
	if err := run.beginWithFeatures(ctx); err != nil {
		return nil, err
	}
	fitted, err := run.fit(ctx)
	if err != nil {
		return nil, run.fail(err)
	}
	result, err := run.finish(ctx, fitted)
	return result, run.goesOn(err)
}

// finish writes what a training has come to, what is worth most first.
func (r *run) finish(ctx context.Context, fitted *learn.Result) (*Result, error) {
	result := r.p.result(fitted)
	if err := r.saveModel(result); err != nil { // before it is evaluated, which may take long
		return nil, err
	}
	started := time.Now()
	first, err := r.keepBest(ctx, result)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r.took.evaluated = time.Since(started)
	r.p.tell(r.watch, resultNotes(result.Result)...)
	if r.p.Options.WriteProof && math.IsNaN(result.Suboptimality) {
		r.p.tell(r.watch, "{proof}: nothing is proved of these weights: no bound is known, or no check of them has ended")
	}
	began := time.Now()
	if err := r.spread(ctx, result); err != nil {
		return nil, err
	}
	started = time.Now()
	r.began = r.began.Add(started.Sub(began)) // no limit bounds standard errors
	if result.Scores, result.Unevaluated, err = r.evaluate(ctx, result, first); err != nil {
		return nil, err
	}
	r.took.evaluated += time.Since(started)
	r.noteLate(fitted)
	result.Summary = r.summarise(result)
	return result, r.report(result)
}

// noteLate says what a training took that has outlasted its time, by more than a tenth and a second.
func (r *run) noteLate(fitted *learn.Result) {
	total, most := r.took.earlier+time.Since(r.began).Seconds(), r.p.Options.MaxTime.Seconds()
	if evaluated := r.took.evaluated.Seconds(); most > 0 && total > 1.1*most+1 {
		r.p.tell(r.watch, fmt.Sprintf("the run takes %.1f s, and {max-time} gives it %.3g: training took %.1f, scores, "+
			"which are of all data, %.1f, and the rest reading and choosing", total, most, fitted.Seconds, evaluated))
	}
}

// times are what the parts of a training took.
type times struct {
	earlier float64 // seconds of training before this start
	// evaluating is the time of evaluations during training, evaluated that of the final ones.
	evaluating, evaluated time.Duration
	// expected is what the last one in training took, or would have taken for all instances, with so many sweeps in the
	// mean over each network.
	expected time.Duration
	sweeps   float64
	// start is what the training took to begin: the one to compare with takes a part of that.
	start time.Duration
}

// compares reports whether a share of a limit of time, if there is one, is enough for a model to compare with.
func (t *times) compares(limit time.Duration) bool {
	return limit == 0 || float64(t.start) <= evaluationShare*float64(limit)
}

// rest is what of a limit of time is for what follows the final evaluation: a model to compare with, and reports.
func (t *times) rest(limit time.Duration) time.Duration {
	if !t.compares(limit) {
		limit /= 2
	}
	return time.Duration(evaluationShare * float64(limit))
}

// reserve is what of a limit of time is for what follows: the rest, and a share for the final evaluation where that
// takes so long, but no less than the fewest sweeps take.
func (t *times) reserve(limit time.Duration) time.Duration {
	share, sweeps, expected := evaluationShare*float64(limit), max(1, t.sweeps), float64(t.expected)
	all := min(evaluationGrowth, float64(PredictLimits.MaxSweeps)/sweeps) * expected
	fewest := float64(foldLimits.MaxSweeps) / sweeps * expected
	return t.rest(limit) + time.Duration(min(all, max(share, fewest)))
}

// within is how many sweeps over each network an evaluation has time for: at least those of folds, after which labels
// hardly change.
func (t *times) within(left time.Duration) int {
	if !(t.sweeps > 0) || left == 0 { // nothing is known, or there is no limit
		return PredictLimits.MaxSweeps
	}
	most := min(t.sweeps*float64(left)/float64(t.expected), float64(PredictLimits.MaxSweeps))
	return max(int(most), foldLimits.MaxSweeps)
}

// Kind says what an Error is about.
type Kind int

// The kinds of errors.
const (
	Usage       Kind = iota // an option, or options that do not go together
	Data                    // data, a model, or a run folder
	Interrupted             // the context ended before there was a result
)

// Error is a job that cannot be done as it was asked for.
type Error struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return option.Go(e.Err.Error()) }

// References is the text with its references to options.
func (e *Error) References() string { return option.References(e.Err) }

// Unwrap returns the error without its kind.
func (e *Error) Unwrap() error { return e.Err }

// Is makes an interrupted job that of the context that ended.
func (e *Error) Is(target error) bool { return e.Kind == Interrupted && target == context.Canceled }

func usagef(format string, a ...any) error {
	return &Error{Usage, fmt.Errorf(format, option.Literals(format, a)...)}
}

func dataf(format string, a ...any) error {
	return &Error{Data, fmt.Errorf(format, option.Literals(format, a)...)}
}

// deal refuses what several processes cannot do together.
func (p *Prepared) deal() error {
	g := p.Group
	if g == nil || g.Size() == 1 {
		return nil
	}
	p.Settings.Group = g
	o := &p.Options
	switch {
	case o.Method.Local():
		return usagef("{method=%s} runs in one process, and this job has %d: start it without mpirun, or give another "+
			"{method}", o.Method, g.Size())
	case o.WriteProof:
		return usagef("{proof} is of one process, and this job has %d: start it without mpirun", g.Size())
	case o.Errors != errorsNone:
		return usagef("{errors} %s runs in one process, and this job has %d: leave it out, or start without mpirun",
			o.Errors, g.Size())
	}
	return nil
}

// Follow takes part in the training that process 0 of Task.Group makes with Train, and writes nothing. folder is that
// of process 0, as far as it says what to resume, and opened is Watch.Opened.
func (p *Prepared) Follow(ctx context.Context, folder *Folder, opened func(error) error) error {
	own := *p
	r, err := openRun(nil, &own, Watch{})
	if err == nil && folder.Resume {
		if own.Settings.Resume, err = learn.ReadState(filepath.Join(folder.Dir, checkpointFile)); errors.Is(err,
			fs.ErrNotExist) {
			err = nil // there may be none yet
		}
	}
	if err := opened(err); err != nil {
		return err
	}
	if err := r.beginWithFeatures(ctx); err != nil {
		return err
	}
	s := own.Settings
	s.Evaluate, s.EarlyStop = own.evaluateDuring(Watch{}, &times{}, r.left(learningShare), nil), own.earlyStop
	if !folder.NoCheckpoint {
		s.Checkpoint = func(*learn.State) error { return nil }
	}
	_, err = learn.Fit(ctx, own.Problem, s) // nothing comes after it
	return err
}
