package learn

import "github.com/blockbp/blockbp/internal/bp"

// stalling follows the residuals from pass to pass.
//
// Where inference ascends no dual, messages may circle for ever, and a visit of a
// sweep or two is too short to notice. While the weights move they move messages
// too, but not by a large residual, in pass after pass. Where a step rule holds
// them, because its gradients make no sense, any residual that does not fall is the
// messages' own doing. They are damped from then on.
type stalling struct {
	Passes     int // since the residual was smallest
	Iterations int
	Moved      bool    // the weights, in this pass
	Current    float64 // largest residual of this pass so far
	Smallest   float64 // of the passes; 0: none yet
}

// circling is a change of a log-message that weights on their way to an optimum do
// not go on making.
const circling = 1.0

// longStall is how many passes may bring no smaller residual where it is below
// circling: slow messages have it rise for a while, too.
const longStall = 40

// mostWhileMoving bounds the damping that moving weights can bring about: heavier
// damping is for messages that circle where nothing drives them.
const mostWhileMoving = 0.5

// watchMessages takes note of an iteration, which may have moved the weights, and the
// residual of the first sweep of its visit.
func (l *learner) watchMessages(moved bool, residual float64) {
	if l.ascends {
		return
	}
	s := &l.progress.Stalling
	s.Current, s.Moved = larger(s.Current, residual), s.Moved || moved
	if s.Iterations++; s.Iterations < l.perPass() {
		return
	}
	patience := fewPasses
	if s.Current < circling {
		patience = longStall
	}
	switch {
	case s.Smallest == 0 || s.Current < s.Smallest || s.Moved && s.Current < circling:
		s.Smallest, s.Passes = s.Current, 0
	case s.Passes+1 < patience:
		s.Passes++
	default:
		if !s.Moved || l.progress.Damping < mostWhileMoving {
			l.progress.Damping = bp.MoreDamping(l.progress.Damping)
		}
		s.Smallest, s.Passes = 0, 0
	}
	if s.Moved && l.certified && l.inWholePasses() {
		s.Smallest, s.Passes = 0, 0 // messages set out anew
	}
	s.Current, s.Iterations, s.Moved = 0, 0, false
}
