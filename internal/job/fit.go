package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// fit runs the learner, with metrics and checkpoints where there is a folder.
func (r *run) fit(ctx context.Context) (*learn.Result, times, error) {
	var took times
	s := r.p.Settings
	s.Recorder, s.Checking = r.Record, r.watch.Checking
	s.Evaluate, s.EarlyStop = r.p.evaluateDuring(r.watch, &took.evaluating, r.draw), r.p.earlyStop
	if r.folder != nil && !r.folder.NoCheckpoint {
		s.Checkpoint = r.checkpoint
	}
	if r.folder != nil && r.p.Options.WriteProof {
		s.ProofFile = r.files.Path(proofFile)
	}
	if len(r.p.Evaluations) > 0 { // the final evaluation counts
		s.MaxTime -= time.Duration(evaluationShare * float64(s.MaxTime))
	}
	started := time.Now()
	fitted, err := learn.Fit(ctx, r.p.Problem, s)
	if left := r.p.Settings.MaxTime - time.Since(started); err == nil {
		err = r.keepBest(ctx, fitted, left)
	}
	if err == nil && r.watch.Fitted != nil && fitted.Status != learn.Interrupted {
		r.watch.Fitted()
	}
	if err == nil && r.folder != nil {
		err = r.begin() // a run that had ended has nothing to record
	}
	if r.metrics != nil {
		err = cmp.Or(err, r.metrics.Close())
	}
	if err != nil {
		return nil, took, err
	}
	r.p.tell(r.watch, resultNotes(fitted)...)
	if r.p.Options.WriteProof && math.IsNaN(fitted.Suboptimality) {
		r.p.tell(r.watch, "{proof}: nothing is proved of these weights: no bound is known, or no check of them has ended")
	}
	took.earlier = max(0, fitted.Seconds-time.Since(started).Seconds())
	return fitted, took, nil
}

// keepBest goes back to the weights of the best evaluation with --early-stop, and where --max-time ended a training
// that had become worse. To find that out takes twice as long as the final evaluation, for which time is left, too.
func (r *run) keepBest(ctx context.Context, fitted *learn.Result, left time.Duration) error {
	p, best := r.p, fitted.Best
	fitted.Best = nil
	switch {
	case best == nil || slices.Equal(best.Weights, fitted.Model.Weights):
		return nil
	case p.Options.EarlyStop != "":
		keep(fitted, best)
		p.tell(r.watch, "{early-stop}: the weights are those of the best evaluation, and their objective is not known; "+
			"that of the last ones is in metrics.jsonl")
		return nil
	case fitted.Status != learn.TimeLimit:
		return nil
	}
	e, loss := p.Evaluations[0], [2]float64{}
	inTime, stop := context.WithTimeout(ctx, max(evaluationGrace, 2*left/3))
	defer stop()
	for i, m := range []*crf.Model{fitted.Model, best} {
		w := p.inference(p.original(m), infer.Limits{})
		scored, err := w.score(inTime, e, false, 0)
		if inTime.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("evaluation %s: %w", e.Name, err)
		}
		loss[i] = scored.Score.MeanLogLoss()
	}
	if loss[1] < loss[0] {
		keep(fitted, best)
		p.tell(r.watch, fmt.Sprintf("{max-time} ended the run: the weights are those of its best evaluation, with log loss "+
			"%.4f on %s, where the last ones have %.4f; their objective is not known", loss[1], e.Name, loss[0]))
	}
	return nil
}

// keep takes the weights of the best evaluation: what was found of the last ones does not hold of these.
func keep(fitted *learn.Result, best *crf.Model) {
	unknown := math.NaN()
	fitted.Model, fitted.Objective, fitted.GradientNorm, fitted.Suboptimality = best, unknown, unknown, unknown
	fitted.Gap, fitted.Residual, fitted.Checked, fitted.InferenceConverged = unknown, unknown, false, false
	fitted.Separable, fitted.AtStart, fitted.Unsettled = false, false, ""
	if fitted.Status.Stationary() {
		fitted.Status = learn.EarlyStopped
		fitted.Reason = "an evaluation before the end was the best; at the end " + fitted.Reason
	}
}

// Record is the recorder of the run: metrics have one line per iteration. The exact
// values of checks are in result.json.
func (r *run) Record(e learn.Event) error {
	if r.watch.Iteration != nil {
		r.watch.Iteration(e)
	}
	if r.folder == nil {
		return nil
	}
	if err := r.begin(); err != nil {
		return err
	}
	if e.Check && e.Iteration > 0 {
		return nil
	}
	return r.metrics.Write(r.metricOf(e))
}

func (r *run) metricOf(e learn.Event) runfolder.Metric {
	m := runfolder.NewMetric(e.Iteration)
	if reference := r.p.Reference; reference != nil {
		r.p.scale.Original(r.weights, e.Theta, &r.p.Problem.Model.Layout)
		m.ThetaDist = numeric.RelativeDistance(r.weights, reference.Model.Weights)
	}
	m.Pass, m.WallS, m.Block = e.Pass, e.Elapsed.Seconds(), e.Block
	m.Objective, m.GradNorm, m.Suboptimality = e.Objective, e.GradientNorm, e.Suboptimality
	if !e.Check {
		m.Step = e.Step
	}
	if !e.Check && !math.IsNaN(e.Residual) { // methods without inference have none
		m.BPSweeps, m.BPResidual = float64(e.Sweeps), e.Residual
	}
	if e.Eval != nil {
		m.Eval = map[string]float64{}
	}
	for name, value := range e.Eval {
		metric, set, _ := strings.Cut(name, "@")
		m.Eval[set+"."+metric] = value
	}
	return m
}

func (r *run) checkpoint(s *learn.State) error {
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.metrics.Flush(); err != nil {
		return err
	}
	path := r.files.Path(checkpointFile)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = s.WriteFile(path)
	}
	if err != nil {
		const advice = "resume the run: the checkpoint before, if there was one, is unchanged"
		return fmt.Errorf("writing %s: %w", path, runfolder.WithRoomAdvice(err, advice))
	}
	r.checkpointed = true
	return nil
}

// Failure is what result.json holds of a run that diverged.
type Failure struct {
	Status    string `json:"status"`
	Reason    string `json:"reason"`
	Iteration int    `json:"iterations"`
	Block     int    `json:"block"`
}

// NewFailure says why a run diverged.
func NewFailure(d *learn.DivergedError) Failure {
	return Failure{"diverged", d.Error(), d.Iteration, d.Block}
}

// fail records a diverged run, whose last good checkpoint stays, and names the
// checkpoint that does not go with the run.
func (r *run) fail(err error) error {
	var diverged *learn.DivergedError
	switch {
	case r.folder == nil:
	case errors.As(err, &diverged):
		if writeErr := r.files.WriteJSON(ResultFile, NewFailure(diverged)); writeErr != nil {
			return writeErr
		}
	case errors.Is(err, learn.ErrState):
		return fmt.Errorf("%s: %w", r.files.Path(checkpointFile), err)
	}
	return r.goesOn(err)
}

// goesOn adds to an error how to go on when it is put right, where the run has a checkpoint and the error is no
// judgement of the training itself.
func (r *run) goesOn(err error) error {
	if err == nil || !r.checkpointed || errors.As(err, new(*learn.DivergedError)) || !IsRunFolder(r.files.Dir()) {
		return err
	}
	return option.Errorf("%w; when that is put right, go on with %s", err, Resumes(r.files.Dir()))
}
