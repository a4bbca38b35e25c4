// Package job is a training as a value: Prepare checks and resolves choices, Train fits, evaluates and reports, in a
// run folder or in memory alone. Model, Predict and Evaluate are what a trained model is used with. The command and
// the package at the root are built on it; nothing here prints.
//
// Texts name options as the command line does, such as --l2.
package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// Watch is told of a training while it runs. All fields may be nil.
type Watch struct {
	// Note says what the user would not expect, in words.
	Note func(text string)
	// Opened is told that the folder is open, and with it the run to resume, or why not; its answer
	// ends the training unless it is nil. Processes that train together agree there.
	Opened func(error) error
	// Iteration is told of every iteration and check.
	Iteration func(learn.Event)
	// Checking is told of every pass of a check, as learn.Settings.Checking.
	Checking func(passes int, residual float64)
	// SaveNow is asked now and then whether to make a checkpoint, as learn.Settings.CheckpointNow.
	SaveNow func() bool
	// Fitted is told when the weights are learned, unless the training was interrupted.
	Fitted func()
	// Candidate is told of every candidate of a choice by data that are held out.
	Candidate func(Candidate)
	// Instances counts instances in work of its own, which begins with done = 0.
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
	if w.Instances == nil {
		return nil
	}
	return func(done, total int) { w.Instances(work, done, total) }
}

// Result is what a training ended with.
type Result struct {
	*learn.Result
	Model *Model // with the final weights
	Best  *Model // of the best evaluation, where Options.EarlyStop was set
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
	// Calibration of the final model, nil where there was none.
	Calibration *Calibration
	// NotCopied says why Folder.Copy was not written; all else was.
	NotCopied error
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
	if own.choice != nil {
		run.chosenFor = own.choice.Seconds
	}
	if err := run.choose(ctx); err != nil {
		return nil, err
	}
	if err := run.beginWithFeatures(ctx); err != nil {
		return nil, err
	}
	fitted, times, err := run.fit(ctx)
	if err != nil {
		return nil, run.fail(err)
	}
	result, err := run.finish(ctx, fitted, times)
	return result, run.goesOn(err)
}

// finish writes what a training has come to, what is worth most first.
func (r *run) finish(ctx context.Context, fitted *learn.Result, times times) (*Result, error) {
	result, err := r.p.result(ctx, fitted)
	if err != nil {
		return nil, err
	}
	if err := r.saveModels(result); err != nil {
		return nil, err
	}
	if err := r.spread(ctx, result); err != nil {
		return nil, err
	}
	started := time.Now()
	if result.Unevaluated, err = r.p.calibrate(ctx, result, r.watch); err == nil && result.Calibration != nil {
		err = r.saveModels(result)
	}
	if err != nil {
		return nil, err
	}
	result.NotCopied = r.copyModel(result)
	if !result.Unevaluated {
		if result.Scores, result.Unevaluated, err = r.p.evaluate(ctx, result, r.watch); err != nil {
			return nil, err
		}
	}
	times.evaluated = time.Since(started)
	result.Summary = r.summarise(result, times)
	return result, r.report(result, times)
}

// times are what the parts of a training took.
type times struct {
	earlier float64 // seconds of training before this start
	// evaluating is the time of evaluations during training, evaluated that of the final ones.
	evaluating, evaluated time.Duration
}
