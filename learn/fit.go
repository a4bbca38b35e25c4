package learn

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Fit minimises the objective of p. It returns a *DivergedError where the run got worse instead of better; a run that
// reached a limit, or was interrupted through ctx, is a Result with the Status that says so.
func Fit(ctx context.Context, p Problem, settings Settings) (*Result, error) {
	began := time.Now()
	s, err := settings.resolve(&p)
	if err != nil {
		return nil, err
	}
	s.MaxTime = time.Duration(s.team.Number(float64(s.MaxTime))) // less what each has spent before
	if s.unlabelled != nil {
		p.Model = s.unlabelled.Begin(p.Model, p.Data, s.Seed)
	}
	if s.Method.Local() {
		return fitLocal(ctx, &p, &s, began)
	}
	l, err := newLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if l.auto != nil {
		defer l.auto.forget() // the caller keeps the rule, and with it all that it refers to
	}
	if s.Resume != nil {
		// A checkpoint may write over the file next: all processes have read it before any goes on.
		if err := s.team.Common(l.restore(s.Resume), ErrState); err != nil {
			return nil, err
		}
		l.ranks.exchangeAll(true)
		if l.auto.descends() && !l.messages.leftAccepted() {
			l.messages.save()
		}
		s.Resume = nil // it was copied: let the memory go
	}
	return l.run(ctx, began)
}

// run is the loop, from a check of the first weights to the result. Its seconds are those since started.
func (l *learner) run(ctx context.Context, started time.Time) (*Result, error) {
	if l.settings.Checkpoint == nil && !l.replicated() {
		l.stopped = ctx
	}
	l.clock.start(started)
	nextCheckpoint := started.Add(l.firstPause())
	if l.progress.Status.Stationary() && !l.progress.Check.Active { // a resumed run that had nothing left to do
		l.sums.estimate(l.model.Weights, l.problem.L2) // the gradient is in no state
		return l.finish(l.progress.Status)
	}
	for p := &l.progress; ; {
		p.Seconds = l.clock.seconds()
		if l.settings.team.Any(ctx.Err() != nil) {
			p.Reason = "interrupted"
			return l.finish(Interrupted)
		}
		if l.worthSaving() && l.settings.team.Number(float64(numeric.OneIf(time.Now().After(nextCheckpoint)))) > 0 {
			now := time.Now()
			if err := l.checkpoint(); err != nil {
				return nil, err
			}
			nextCheckpoint = time.Now().Add(l.settings.checkpointPause(time.Since(now)))
		}
		var done bool
		var err error
		if checks := p.Check.Active; checks || l.auto.descends() {
			if done, err = l.visitInWholePass(); checks {
				p.CheckSeconds += l.clock.seconds() - p.Seconds
			}
		} else {
			err = l.iterate()
		}
		if p.Seconds = l.clock.seconds(); err != nil {
			return nil, err
		}
		if done {
			return l.finish(p.Status)
		}
	}
}

// replicated reports that several processes do all of the same work, each for itself. A clock or a context of one may
// not end a visit there: its messages would be others than those of the rest.
func (l *learner) replicated() bool { return l.ranks.size < l.settings.team.Size() }

// iterate is one iteration of the paper's Algorithm 2: it selects a block, visits it, which replaces the block's
// contribution to the gradient (9), and takes a step of the weights, unless the gradient has become so small that a
// check comes first.
func (l *learner) iterate() error {
	p, pass := &l.progress, &l.progress.Pass
	blocks, limits := l.schedule.pick(p.Iterations), l.messages.innerLimits()
	until, stop := l.endOfVisit(limits.MaxSweeps)
	defer stop()
	report, err := l.visitBlocks(visit{blocks: blocks, limits: limits, until: until})
	switch {
	case err != nil:
		return err
	case report.ended && l.stopped != nil && l.settings.team.Any(l.stopped.Err() != nil): // interrupted
		return nil
	case report.ended: // a longer run goes on with the messages as they are
		l.sumContributions() // cut edges have kept beliefs that the visit has not added
		p.Seconds = l.clock.seconds()
		p.Status, p.Reason = l.settings.timeIsOver(p)
		return l.startFinalCheck()
	}
	p.Objective, p.GradientNorm = l.sums.estimate(l.model.Weights, l.problem.L2)
	p.Upper, pass.Momentum = math.NaN(), 0 // blocks were visited at different weights
	if l.claims.worthChecking(l.schedule.perPass()) {
		l.startCheck(checkConvergence)
		return nil
	}
	p.Point = unjudged
	// At the end of a pass automatic steps may begin descent in this call: auto.descends reports true from then on.
	size := l.settings.Step.Step(l.model.Weights, l.sums.gradient)
	pass.noteResidual(report.firstResidual)
	if (p.Iterations+1)%l.schedule.perPass() == 0 {
		pass.end()
		l.messages.damp(size == 0)
	}
	return l.endIteration(blocks[0], size, &report)
}

// endOfVisit returns a context that ends a visit between two sweeps: with the time of the run, if it may make so many
// sweeps that the time could be over before.
func (l *learner) endOfVisit(sweeps int) (until context.Context, stop func()) {
	if l.settings.MaxTime == 0 || sweeps <= wholeSweeps || l.clock.began.IsZero() || l.replicated() {
		return l.stopped, func() {}
	}
	deadline := l.clock.began.Add(l.settings.latest(l.endSeconds()))
	return context.WithDeadline(cmp.Or(l.stopped, context.Background()), deadline)
}

// allBlocks stands for the block of an iteration that has visited all.
const allBlocks = -1

// endIteration counts and records an iteration, with a step of some size, and does what is due after it: an evaluation,
// the comparison with the start, and a look at the limits.
func (l *learner) endIteration(block int, size float64, report *visitReport) error {
	p := &l.progress
	l.model.Layout.Symmetrise(l.model.Weights) // without what rounding has left
	p.Iterations++
	event := Event{Block: block, Step: size, Suboptimality: l.claims.suboptimality(), Sweeps: report.sweeps,
		Residual: report.residual}
	if err := l.evaluate(&event); err != nil {
		return err
	}
	if err := l.record(event); err != nil {
		return err
	}
	if err := l.diagnosis.checkFinite(block); err != nil {
		return err
	}
	if whole := l.auto.descends(); whole || p.Iterations%l.schedule.perPass() == 0 {
		if err := l.diagnosis.comparePass(block); err != nil {
			return err
		}
		if !whole && p.Iterations/l.schedule.perPass()%sumEvery == 0 {
			l.sumContributions()
		}
	}
	return l.lookAtLimits()
}

// lookAtLimits ends the run with a last check where a limit is reached.
func (l *learner) lookAtLimits() error {
	p := &l.progress
	p.Seconds = l.clock.seconds()
	if p.Status, p.Reason = l.settings.limitReached(p, l.endSeconds()); p.Status != "" {
		return l.startFinalCheck()
	}
	return nil
}

// sumEvery is the number of passes of single visits after which totals are summed anew; whole passes do so each time.
const sumEvery = 16

// finish makes the result. An interrupted run saves its state first, unless it was in a final check: what a longer run
// goes on from is the state before that, which was saved as the check began.
func (l *learner) finish(status Status) (*Result, error) {
	p, check := &l.progress, &l.progress.Check
	if status == Interrupted && !(check.Active && check.Purpose == checkFinal) {
		if err := l.checkpoint(); err != nil {
			return nil, err
		}
	}
	r := l.result(status)
	r.Gradient, r.StateBytes = l.sums.gradient, l.stateBytes(0)
	r.Convex = l.holds.convex
	if l.recalled {
		r.Checked, r.Gradient = false, nil
	}
	if !r.Checked {
		return r, nil
	}
	r.Gap, r.Residual, r.InferenceConverged = p.Pass.Gap, p.Pass.Residual, check.Certain
	r.Suboptimality = l.claims.suboptimality()
	if !r.InferenceConverged {
		r.Unsettled = l.diagnosis.where(l.schedule.wholePass[p.Pass.WorstAt])
	}
	r.Damping, r.Separable = p.MessageDamping, l.diagnosis.separable()
	switch {
	case math.IsNaN(r.Objective) || math.IsInf(r.Objective, 0):
		return nil, l.diagnosis.diverged(0, "the objective at the final weights is %v", r.Objective)
	case status != EarlyStopped && l.diagnosis.worseThanStart():
		return nil, l.diagnosis.diverged(0, "the objective at the final weights is %.6g, above %.6g at the start",
			r.Objective, p.FirstObjective)
	}
	return r, l.writeProof(r)
}
