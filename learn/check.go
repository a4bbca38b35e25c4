package learn

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// A check infers the whole network with the weights held still: whole passes of a few sweeps, each of which renews
// gradient, upper and lower bound (bound.go), until what messages can still change of these alters no answer. It runs
// block by block like learning itself, so that it can be interrupted and resumed.

type checkPurpose string

const (
	checkInitial     checkPurpose = "initial"     // the exact gradient to start from
	checkConvergence checkPurpose = "convergence" // before claiming convergence
	checkFinal       checkPurpose = "final"       // of a run that a limit ended
)

// checkProgress is where a check stands.
type checkProgress struct {
	Active  bool
	Purpose checkPurpose
	Passes  int // whole ones
	// Uniform: all weights are zero, so that the messages of a start are those of the weights, and no sweep is made.
	Uniform   bool
	Uncoupled bool // no edge has a weight: plain sweeps settle messages at once, and others would take many
	// AtHand: the check needs no pass, as the pass that accepted the weights has found all values.
	AtHand bool
	// Decided: the last pass has answered what the check is for (claims.decide).
	Decided bool
	// Certain: the answer would be the same if messages changed the gradient by twice as much as they are expected to, or
	// a proof holds whatever they do. The answer may be that a claim is refuted: then learning goes on.
	Certain bool
	// Watched: claims.watched is the gradient of the pass before, at the same weights.
	Watched bool
	// Change and LastChange are those of the gradient, in the last pass and in the one before it.
	Change     float64
	LastChange float64
	// Left is by how much messages may still change the gradient, with a factor of safety.
	Left float64
	// LastResidual is the residual of the pass before the last.
	LastResidual float64
}

const (
	// fewPasses, doubled after each claim that failed, and maxCheckPasses bound the check of a claim: where its messages
	// do not settle learning goes on, which settles them, too. The check of a run that a limit ended has fewPasses, or
	// finalShare of those of the run if that is more, as somebody waits for its end. Messages are damped after fewPasses
	// without a smaller residual (damp), and 2·fewPasses are enough at the start if F is certified (decide).
	maxCheckPasses = 300
	fewPasses      = 10
	finalShare     = 0.1
	// unknownShare of the gradient's norm is what may be left unknown of it at the start and the end of a run. A claim has
	// to hold with safetyFactor times as much as seems to be left.
	unknownShare, safetyFactor = 0.05, 2
	// slowestSettling and fastestSettling bound the factor per pass by which changes of the
	// gradient shrink, as it is used: two changes in a row say little of those to come.
	slowestSettling, fastestSettling = 0.995, 0.3
	// stillResidual is the largest change of a message with which convergence is claimed where no dual value tells how
	// far messages are from where they settle.
	stillResidual = 1e-6
	// closedGap is the gap, relatively to 1 + |L|, with which convergence is claimed where sweeps need not lower the dual
	// value, and with which the first and the last check of a run end.
	closedGap = 1e-6
)

// startCheck begins a check at the weights of the moment. Where inference may have several fixed points, a claim is
// about the one that anybody finds from scratch, not about the one that messages followed the weights to.
func (l *learner) startCheck(purpose checkPurpose) {
	if purpose != checkInitial && !l.holds.convexNumbers {
		l.messages.reset()
		l.progress.MessageDamping = 0
	}
	// Where a limit ends the run in the check of a claim, the final check is at the same weights, and goes on watching.
	last, unknown := &l.progress.Check, math.NaN()
	watched := l.holds.convexNumbers && last.Active && last.Purpose == checkConvergence && last.Watched
	l.progress.Check = checkProgress{
		Active: true, Purpose: purpose, Watched: watched, Change: unknown, LastChange: unknown, LastResidual: unknown,
	}
	pass := &l.progress.Pass
	pass.Next, pass.Residual, pass.Current, pass.Infeasible, pass.Gap = 0, unknown, 0, false, unknown
	l.progress.Circling = circling{}
}

// endCheckPass counts a whole pass of a check, which ends where it has decided, or lasts too long.
func (l *learner) endCheckPass() (done bool, err error) {
	c := &l.progress.Check
	c.Passes++
	l.messages.damp(true)
	l.claims.decide()
	if c.Decided || c.Passes >= l.claims.maxCheckPasses() {
		return l.endCheck()
	}
	if l.settings.Checking != nil {
		l.settings.Checking(c.Passes, l.progress.Pass.Residual)
	}
	if c.Purpose != checkInitial {
		l.messages.settle()
	}
	if c.Purpose == checkFinal && l.clock.outOfTime() {
		return l.endCheck()
	}
	if status, reason := l.settings.limitReached(&l.progress, l.endSeconds()); status == PassLimit || status == TimeLimit {
		switch {
		case c.Purpose == checkInitial && status == TimeLimit:
			return l.endCheck()
		case c.Purpose == checkConvergence:
			l.progress.Status, l.progress.Reason = status, reason // the check takes longer than the run may
			return false, l.startFinalCheck()
		}
	}
	return false, nil
}

// startFinalCheck is for a run that a limit ended, at the weights that it ends with. The order matters. First the state
// is saved, before any weights move: a longer run goes on from there, and not from the final check. Then it is asked
// what is known of the weights to end with, while the pass at work and its values are still those of descent. Only then
// weights go back to the accepted ones. A pass at these which a limit of time has cut short becomes the first of the
// check, which startCheck would begin anew.
func (l *learner) startFinalCheck() error {
	p := &l.progress
	if p.Status != TimeLimit || l.clock.savesInTime() {
		if err := l.checkpoint(); err != nil {
			return err
		}
	} else {
		p.Reason += fmt.Sprintf("; the state at the end, to resume from, was not saved, as that takes about %.2g seconds: "+
			"a time between checkpoints asks for it", l.clock.savingSeconds())
	}
	known, pass := p.Status == TimeLimit && l.knowsAccepted(), p.Pass
	finishes := p.Status == TimeLimit && l.canFinishPass()
	l.takeAccepted()
	if known {
		l.takeAcceptedValues()
		return nil
	}
	l.startCheck(checkFinal)
	if finishes {
		p.Pass.Next, p.Pass.Current, p.Pass.WorstAt = pass.Next, pass.Current, pass.WorstAt
	}
	return nil
}

// takeAcceptedValues begins a final check that needs no pass: its values are of the pass that accepted the weights.
func (l *learner) takeAcceptedValues() {
	p, d := &l.progress, l.auto.descent
	l.messages.restore()
	copy(l.sums.gradient, d.originGradient)
	p.Pass, p.Upper, p.Objective = p.Accepted, d.value, d.value
	p.GradientNorm = math.Sqrt(simd.Dot(l.sums.gradient, l.sums.gradient))
	p.Check = checkProgress{Active: true, Purpose: checkFinal, AtHand: true}
}

// endCheck ends a check, and decides by its purpose how the run goes on.
func (l *learner) endCheck() (done bool, err error) {
	c, p := &l.progress.Check, &l.progress
	c.Active, c.Uncoupled = false, false
	p.LastCheck = p.Iterations
	switch c.Purpose {
	case checkInitial:
		return false, l.endInitialCheck()
	case checkConvergence:
		return l.claimOrGoOn()
	}
	return l.endRun()
}

// endInitialCheck takes the exact values at the initial weights.
func (l *learner) endInitialCheck() error {
	l.progress.FirstResidual = l.progress.Pass.Residual
	if err := l.noteStart(); err != nil {
		return err
	}
	l.renewOrigin()
	return l.record(l.checkEvent())
}

// claimOrGoOn claims convergence where nothing is missing, and else goes on.
func (l *learner) claimOrGoOn() (done bool, err error) {
	p := &l.progress
	if err := l.record(l.checkEvent()); err != nil {
		return false, err
	}
	if l.claims.whyNotConverged() == "" {
		p.Status, p.Reason = stationary(l.holds.convex), l.claims.claimText()
		return true, l.checkpoint()
	}
	p.FailedChecks++
	l.renewOrigin()
	switch {
	case l.auto.descends():
		p.Accepted = p.Pass
		l.auto.advance(l.model.Weights, l.sums.gradient)
	case l.auto != nil: // the check has visited every block at these weights
		l.auto.incremental.begin(l.model.Weights)
	}
	return false, nil
}

// endRun ends a run after its last check, or goes back to better weights, which are checked in turn.
func (l *learner) endRun() (done bool, err error) {
	p := &l.progress
	l.boundByLowest()
	wentBack := l.fallBack()
	switch {
	case wentBack && l.clock.outOfTime():
		l.recall()
	case wentBack:
		l.startCheck(checkFinal)
		return false, nil
	}
	if p.Status == StationaryPoint { // by what steps promise
		elsewhere := l.elsewhere()
		if elsewhere {
			p.Reason += "; but inference from scratch finds another fixed point than the one that steps have followed"
		}
		if p.FellBack || elsewhere || l.claims.unknownOfClamped() > p.ofObjective(closedGap) {
			p.Status = ObjectiveFlat
		}
		return true, l.record(l.checkEvent())
	}
	missing := l.claims.whyNotConverged()
	if missing == "" && p.Status.limited() && l.holds.convex {
		p.Reason += "; all is within the tolerances, and a few passes more would claim convergence"
	}
	if missing != "" {
		p.Reason += "; " + missing
		if p.Iterations > 0 && p.Point == startPoint {
			p.Reason += "; no better weights than those of the start were found"
		}
	}
	return true, l.record(l.checkEvent())
}

// renewOrigin gives descent the gradient and F that a check has found at the origin: how these have changed is due to
// messages, and would otherwise pass for curvature.
func (l *learner) renewOrigin() {
	if l.auto != nil && l.auto.descent.began {
		l.auto.descent.renewOrigin(l.sums.gradient, l.progress.Upper)
	}
}

// takeAccepted goes back to the accepted weights of the automatic rule, where those at hand are of a step that it may
// yet refuse. Weights whose claim is being checked stay. At a limit of time there may be no time for a second final
// check (fallBack): the first one is at the weights of the smallest F.
func (l *learner) takeAccepted() {
	if c := &l.progress.Check; c.Active && c.Purpose == checkConvergence {
		return
	}
	weights, at := l.weightsToEndWith(l.progress.Status)
	copy(l.model.Weights, weights)
	l.progress.Point = at
}

// weightsToEndWith are those that takeAccepted goes back to, or those at hand.
func (l *learner) weightsToEndWith(status Status) ([]float64, point) {
	if l.auto == nil {
		return l.model.Weights, l.progress.Point
	}
	d := l.auto.descent
	if status == TimeLimit && !math.IsInf(l.least(), 1) {
		return d.lowest, d.lowestPoint
	}
	if d.onLine() {
		return d.origin, d.originPoint
	}
	return l.model.Weights, l.progress.Point
}

// knowsAccepted reports that the pass which accepted the origin of descent's line has found all that a final check of
// it would: so a limit of time ends a run at once. Small problems, and forests, have the time to check.
func (l *learner) knowsAccepted() bool {
	if !l.holds.convexNumbers || !l.auto.descends() || !l.messages.keepsCopies() || !l.auto.descent.onLine() {
		return false // of other numbers a final check infers from scratch
	}
	d := l.auto.descent
	return d.slope < 0 && (!l.holds.bounded || d.lowestPoint == d.originPoint)
}

// canFinishPass reports that a whole pass is at work which a limit of time leaves to the final check, as its first: the
// run ends with the weights of this pass.
func (l *learner) canFinishPass() bool {
	_, end := l.weightsToEndWith(TimeLimit)
	return l.auto.descends() && !l.progress.Check.Active && l.progress.Pass.Next > 0 && l.holds.convexNumbers &&
		end == l.progress.Point
}

// endSeconds is what the end of the run will take, at least: a checkpoint and a pass, of the final check or, where that
// has nothing to find, the one that may begin; or the rest of the pass at work.
func (l *learner) endSeconds() float64 {
	seconds := 0.0
	switch at := l.progress.Pass.Next; {
	case at > 0 && l.canFinishPass():
		seconds = l.progress.PassSeconds * float64(len(l.schedule.wholePass)-at) / float64(len(l.schedule.wholePass))
	case at == 0 || !l.knowsAccepted():
		seconds = l.progress.PassSeconds
	}
	if l.clock.savesInTime() {
		seconds += l.clock.savingSeconds()
	}
	return seconds
}

// boundByLowest takes the smallest F that was found at these weights for the objective: messages that a refused step
// has led away do not come back to it within the passes of a final check.
func (l *learner) boundByLowest() {
	p := &l.progress
	if least := l.least(); least < p.Upper && p.Point == l.auto.descent.lowestPoint {
		p.Pass.Gap = max(0, p.Pass.Gap-(p.Upper-least))
		p.Upper, p.Objective = least, least
	}
}

// least returns the smallest F of accepted weights, where F bounds the objective.
func (l *learner) least() float64 {
	if !l.holds.bounded || !l.auto.descends() {
		return math.Inf(1)
	}
	return l.auto.descent.least
}

// elsewhere reports that the last check has come to another fixed point of inference than the one that steps have
// followed, as their objectives show. Where there may be several, messages of a check begin from scratch.
func (l *learner) elsewhere() bool {
	left := max(0, l.settings.allowedGap(&l.progress)) + l.slack(min(l.progress.Pass.Residual, lagging))
	return !l.holds.convexNumbers && math.Abs(l.progress.Objective-l.auto.descent.value) > left
}

// fallBack goes back, where a limit ended the run at weights that are worse, to those of the smallest F, and from
// weights that are worse than the start to the start itself. It reports whether it did.
func (l *learner) fallBack() bool {
	p := &l.progress
	switch least := l.least(); {
	case p.Objective > least+l.slack() && !p.FellBack && !l.clock.outOfTime() && p.Point != l.auto.descent.lowestPoint:
		copy(l.model.Weights, l.auto.descent.lowest)
		p.Point = l.auto.descent.lowestPoint
		return true
	case l.auto == nil || p.Objective <= p.FirstObjective+l.slack() || p.Point == startPoint:
		return false
	}
	copy(l.model.Weights, l.problem.Model.Weights)
	p.Point, p.FellBack = startPoint, true
	return true
}

// recall takes the values of the start from its own check: the run has no time for another.
func (l *learner) recall() {
	p := &l.progress
	p.Objective, p.GradientNorm, p.Upper, l.recalled = p.FirstObjective, p.FirstNorm, math.NaN(), true
	p.Pass.Residual, p.Pass.Gap, p.Check.Certain = p.FirstResidual, math.NaN(), true
}

func (l *learner) checkEvent() Event {
	return Event{Block: allBlocks, Check: true, Suboptimality: l.claims.suboptimality(), Sweeps: l.progress.Check.Passes,
		Residual: l.progress.Pass.Residual}
}
