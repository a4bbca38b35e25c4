package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// A whole pass visits every block at the same weights, with a few sweeps each. At its end F and the lower bound are
// known, and the gradient of consistent beliefs. F and the lower bound hold however far messages are from where they
// settle, if the problem has such bounds (bound.go). They decide on a step of descent (descent.go), or in a check.

// passState is where a whole pass stands, and what the last one has found.
type passState struct {
	Next int // of schedule.wholePass
	// Residual is the largest change of a log-message or log-belief in the first sweeps of the last pass, and Current
	// that of the pass at work so far, seen in visit WorstAt.
	Residual, Current float64
	WorstAt           int
	Infeasible        bool    // consistent beliefs of this pass take a forbidden state
	Gap               float64 // F less the value of consistent beliefs; NaN: neither is a bound; +Inf: Infeasible
	StartUpper        float64 // F when this pass began
	Momentum          int     // whole passes since momentum began anew (messages.beginPass): β grows with them
}

// noteResidual takes note of the largest change of a message in the first sweeps of a visit.
func (w *passState) noteResidual(change float64) {
	if !(change <= w.Current) {
		w.Current, w.WorstAt = change, w.Next
	}
}

func (w *passState) end() { w.Residual, w.Current, w.Next = w.Current, 0, 0 }

const (
	// wholeSweeps is how many sweeps a visit makes where weights are held for a whole pass: two need more gradients, and
	// six waste some (results/README.md).
	wholeSweeps = 3
	// exactSweeps of a forest, back and forth, make its beliefs marginals.
	exactSweeps = 2
	// lagging is the residual, in nats, above which messages count as lagging behind the weights: a belief became e
	// times what it was. Weights on their way to an optimum do not go on making such changes.
	lagging = 1.0
	// remainderShare, times the relative gradient norm or the gap allowed per edge, the smaller one, at most 1, is the
	// share of an edge's mass that may lie anywhere when beliefs are made consistent (remainder). With a tenth BFGS
	// learns less from gradients (results/README.md).
	remainderShare = 0.01
)

// visitInWholePass visits the next blocks of a whole pass. The end of the pass decides a check, or a step of descent.
// done says that the run is over.
func (l *learner) visitInWholePass() (done bool, err error) {
	p, at, check := &l.progress, &l.progress.Pass, &l.progress.Check
	if check.Active && check.AtHand {
		return l.endCheck()
	}
	blocks, uniform := l.schedule.wholePass[at.Next], check.Active && check.Uniform
	v := visit{kind: consistentVisit, blocks: blocks, until: l.stopped, remainder: l.messages.remainder()}
	if l.holds.forests {
		v.kind = forestVisit
	}
	if !uniform {
		v.limits = l.messages.wholeLimits()
	}
	if at.Next == 0 {
		at.Current = 0 // visits before may have left one
		l.clock.beginPass()
		if !uniform && !check.Uncoupled {
			l.messages.beginPass()
		}
	}
	before := p.Sweeps
	report, err := l.visitBlocks(v)
	if err != nil || report.ended {
		return false, err
	}
	if check.Active {
		p.CheckSweeps += p.Sweeps - before
	}
	at.noteResidual(report.firstResidual)
	if at.Next++; at.Next < len(l.schedule.wholePass) {
		if !check.Active {
			return false, l.lookAtLimits()
		}
		return false, nil
	}
	l.clock.endPass(1 + float64(numeric.OneIf(uniform))/3)
	at.end()
	if err := l.endWholePass(); err != nil {
		return false, err
	}
	if check.Active {
		return l.endCheckPass()
	}
	return l.descend(&report)
}

// endWholePass computes what is known once every block was visited at the present weights: the upper bound, the
// gradient of consistent beliefs, and the lower bound. Where a change of weights can be undone by one of messages, that
// gradient has no part in its direction, however far messages are from where they settle.
//
// With hidden labels F is the dual value of the free network less the value of consistent beliefs of the clamped one
// (byConsistent). Where some c_s is negative F is a difference of two dual values, and bounds nothing. If counting
// numbers are convex all the same, the value of consistent beliefs is taken in the place of F, as its error is far
// smaller where messages lag (results/README.md).
func (l *learner) endWholePass() (err error) {
	p, pass := &l.progress, &l.progress.Pass
	l.sumContributions()
	var consistent float64
	consistent, p.GradientNorm = l.sums.estimate(l.model.Weights, l.problem.L2)
	if p.Upper, err = l.upperBound(); err != nil {
		return l.diagnosis.locate(err)
	}
	pass.Gap = math.NaN()
	if l.holds.monotone || l.holds.certified {
		pass.Gap = math.Abs(p.Upper - consistent) // with labels missing it may have either sign
	}
	if pass.Infeasible {
		pass.Gap = math.Inf(1)
	} else {
		l.claims.raiseLowerBound()
	}
	if l.holds.hidden && l.holds.convexNumbers && !l.holds.bounded && !pass.Infeasible {
		p.Upper = consistent
	}
	pass.Infeasible, p.Objective = false, p.Upper
	return nil
}

// descend decides on the weights at the end of a whole pass. From accepted weights it takes the next step, unless it
// claims convergence or starts the check of a claim; from refused ones it goes back.
func (l *learner) descend(report *visitReport) (done bool, err error) {
	p := &l.progress
	accepted, undecided := l.auto.descent.acceptOrShrink(l.model.Weights, l.sums.gradient, p.Upper, p.Pass.Gap)
	if accepted {
		p.Accepted = p.Pass
	}
	size := 0.0
	switch {
	case accepted && l.proves(l.claims.suboptimality()): // whatever messages lack: no check is needed
		p.Check = checkProgress{Purpose: checkConvergence, Certain: true}
		return l.endCheck()
	case accepted && l.claims.worthChecking(1):
		l.claims.watch()
		l.startCheck(checkConvergence)
		p.Check.Watched = l.holds.convexNumbers
		return false, nil
	case accepted:
		size = l.auto.advance(l.model.Weights, l.sums.gradient)
		l.notePromise(size)
	case undecided:
		l.messages.settle()
	}
	l.messages.damp(undecided || l.holds.certified && size == 0) // if certified, weights stay where a step is refused
	report.residual = p.Pass.Residual                            // of all visits of the pass
	return false, l.endIteration(allBlocks, size, report)
}

// smallPromises is how many steps in a row have to promise little before a run ends by that. Steps gain a part of what
// is left: on 12 photographs 54 was promised where 200 were left. So they may promise promisedPart of Settings.Gap.
const smallPromises, promisedPart = 3, 0.1

// notePromise counts, where nothing bounds the objective from below, steps in a row that promise no more than may be
// left. Three of them end a run: by the quadratic model that steps come from, the point is as good as stationary. It
// counts none where states begin at a saddle, as no label tells them apart, near which steps promise little.
func (l *learner) notePromise(size float64) {
	if size != 0 && l.settings.unlabelled == nil && !(l.holds.certified && l.problem.L2 > 0) {
		l.countPromise(l.auto.descent.promise())
	}
}
