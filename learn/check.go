package learn

import "math"

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
	// Certain: the answer stays the same whatever messages are still expected to change (claims.decide), or a proof holds
	// whatever they do. The answer may be that a claim is refuted: then learning goes on.
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
		l.auto.descent.takeVisitsPass(l.model.Weights, l.sums.gradient, true)
	}
	return false, nil
}

// renewOrigin gives descent the gradient and F that a check has found at the origin: how these have changed is due to
// messages, and would otherwise pass for curvature.
func (l *learner) renewOrigin() {
	if l.auto != nil && l.auto.descent.began {
		l.auto.descent.renewOrigin(l.sums.gradient, l.progress.Upper)
	}
}

func (l *learner) checkEvent() Event {
	return Event{Block: allBlocks, Check: true, Suboptimality: l.claims.suboptimality(), Sweeps: l.progress.Check.Passes,
		Residual: l.progress.Pass.Residual}
}
