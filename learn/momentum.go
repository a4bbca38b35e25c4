package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/spill"
)

// Whole passes over messages that crawl, such as those of strongly coupled pictures, have momentum, as
// sweeps of predictions do (package bp): from where the pass before began, messages and beliefs go on.
// F is convex in weights and messages together, so momentum goes on where weights move; where messages
// go back, or F rises at the same weights, it begins anew. Where some c_s is negative there is none: messages circle
// in directions that F hardly feels. Small problems move messages together with weights (response) instead.

// passMomentum bounds β while messages lag. Later they go round loops on which no belief depends, ever slower.
// overRelaxed is the damping of sweeps (results/README.md). Visits of Algorithm 2 can circle for ever with it.
const passMomentum, overRelaxed = 0.7, -0.3

// copies reports whether whole passes remember messages: they do where these are not solved for.
func (l *learner) copies() bool { return !l.forests && !l.isSmall() }

// gathers reports whether whole passes gather momentum.
func (l *learner) gathers() bool { return l.copies() && l.monotone }

// beginWholePass moves messages and beliefs on from where the pass before began.
func (l *learner) beginWholePass() {
	p := &l.progress
	if !l.gathers() {
		return
	}
	still := l.passesHere() > 1 || p.Check.Active && p.Check.Passes > 1
	if still && p.Upper > p.Pass.StartUpper+meritRounding*(1+math.Abs(p.Pass.StartUpper)) {
		p.Pass.Momentum = 0
	}
	p.Pass.StartUpper = p.Upper
	l.makeCopies()
	beta := bp.Momentum(p.Pass.Momentum + 1)
	if !(p.Pass.Residual <= lagging) {
		beta = min(passMomentum, beta)
	}
	p.Pass.Momentum++
	l.ranks.pieces(func(u *unit, at piece) {
		x, before := at.of(u.state.LogMessage, u.state.LogBelief), at.of(u.passStart.halves(u))
		if p.Pass.Momentum == 1 {
			copy(before, x)
			return
		}
		simd.Extrapolate(x, before, beta)
	})
}

// messageCopy has the messages of a unit, and after them its beliefs, as they were.
type messageCopy []float64

func (c messageCopy) halves(u *unit) (messages, beliefs []float64) {
	return c[:u.net.Messages()], c[u.net.Messages():]
}

// makeCopies takes the memory of the copies: of the beginning of the pass before, and of saveMessages.
func (l *learner) makeCopies() {
	if !l.copies() || l.units[0].passStart != nil {
		return
	}
	for _, u := range l.units {
		n := u.net.Messages() + u.net.Beliefs()
		if u.passStart = spill.Zeros[float64](l.space, n); l.auto != nil {
			u.acceptedState = spill.Zeros[float64](l.space, n)
		}
	}
}

// leftAccepted reports that the messages at hand are no longer those which restoreMessages goes back to: a pass has
// begun since, or has left open whether F has fallen.
func (l *learner) leftAccepted() bool {
	p := &l.progress
	return !p.Check.Active && (p.Pass.Next > 0 || l.passesHere() > 0)
}

// saveMessages copies messages and beliefs for restoreMessages, which goes back to them. Where linear response moves
// messages along a line both do nothing.
func (l *learner) saveMessages() {
	if !l.copies() {
		return
	}
	l.makeCopies()
	l.ranks.pieces(func(u *unit, at piece) {
		copy(at.of(u.acceptedState.halves(u)), at.of(u.state.LogMessage, u.state.LogBelief))
	})
}

// restoreMessages goes back to the messages and beliefs of the accepted weights.
func (l *learner) restoreMessages() {
	if !l.copies() {
		return
	}
	l.progress.Pass.Momentum = 0
	l.ranks.pieces(func(u *unit, at piece) {
		copy(at.of(u.state.LogMessage, u.state.LogBelief), at.of(u.acceptedState.halves(u)))
	})
}

// resetMessages goes back to those of a run that begins.
func (l *learner) resetMessages() {
	l.progress.Pass.Momentum = 0
	for _, u := range l.units {
		u.state.Reset(u.net)
	}
}

// copiesMade is how many makeCopies makes.
func (l *learner) copiesMade() float64 {
	if l.auto != nil && l.copies() {
		return 2
	}
	return float64(oneIf(l.gathers()))
}
