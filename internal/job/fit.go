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
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// left is what of --max-time is left, or a share of it, if that is more; 0: there is no limit.
func (r *run) left(least float64) time.Duration {
	all := r.p.Options.MaxTime
	spent := time.Since(r.began) + time.Duration(r.took.earlier*float64(time.Second))
	return min(all, max(1, time.Duration(least*float64(all)), all-spent))
}

// learningShare of --max-time is for learning and what follows, however long reading took: weights of the start serve
// nobody.
const learningShare = 0.25

// fit runs the learner, with metrics and checkpoints where there is a folder.
func (r *run) fit(ctx context.Context) (*learn.Result, error) {
	s, started, limit := r.p.Settings, time.Now(), r.left(learningShare)
	r.before = started.Sub(r.began)
	s.Recorder, s.Checking, s.MaxTime = r.Record, r.watch.Checking, limit
	s.Evaluate, s.EarlyStop = r.p.evaluateDuring(r.watch, &r.took, limit, r.draw), r.p.earlyStop
	if r.folder != nil && !r.folder.NoCheckpoint {
		s.Checkpoint = r.checkpoint
	}
	if r.folder != nil && r.p.Options.WriteProof {
		s.ProofFile = r.files.Path(proofFile)
	}
	if limit > 0 && len(r.p.Evaluations) > 0 { // the final evaluation counts
		s.Reserve = func() time.Duration { return r.took.reserve(limit) }
		if s.Group != nil { // its processes agree on a limit once, as they begin
			s.Reserve, s.MaxTime = nil, limit-r.took.reserve(limit)
		}
	}
	fitted, err := learn.Fit(ctx, r.p.Problem, s)
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
		return nil, err
	}
	r.took.earlier = max(0, fitted.Seconds-time.Since(started).Seconds())
	return fitted, nil
}

// keepBest goes back to the weights of the best evaluation with --early-stop, and where --max-time ended a training
// that had become worse, by the final score on the first set. If it had not, this score is returned.
func (r *run) keepBest(ctx context.Context, result *Result) (scored *Scored, err error) {
	p, best := r.p, result.Best
	result.Best = nil
	switch {
	case best == nil || slices.Equal(p.original(best).Weights, result.Model.Model.Weights):
		return nil, nil
	case p.Options.EarlyStop != "":
		p.tell(r.watch, "{early-stop}: the weights are those of the best evaluation, and their objective is not known"+
			"{!; that of the last ones is in metrics.jsonl}")
	case result.Status != learn.TimeLimit:
		return nil, nil
	default:
		if scored, err = r.score(ctx, result, 0); err != nil || ctx.Err() != nil {
			return nil, err
		}
		loss := scored.Score.MeanLogLoss()
		if loss <= result.BestValue {
			return scored, nil
		}
		p.tell(r.watch, fmt.Sprintf("{max-time} ended the run: the weights are those of its best evaluation, with log loss "+
			"%.4f on %s, where the last ones have %.4f; their objective is not known", result.BestValue, scored.Name, loss))
	}
	keep(result.Result, best)
	*result = *p.result(result.Result)
	return nil, r.saveModel(result)
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
	if e.Iteration == 0 {
		r.took.start = e.Elapsed
	}
	if told := e; r.watch.Iteration != nil {
		told.Elapsed += r.before
		r.watch.Iteration(told)
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
