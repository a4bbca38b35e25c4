package learn

import "github.com/blockbp/blockbp/internal/bp"

// Where inference ascends no dual, messages may circle for ever, and a visit of a sweep or two is too short to notice.
// While the weights move they move messages too, but not by a large residual, in pass after pass. While the weights
// stay, messages alone are the cause of a residual that does not fall. They are damped from then on.

// circling is what tells, from pass to pass, that messages do.
type circling struct {
	Passes   int     // since the residual was smallest
	Smallest float64 // 0: none yet
}

// mostWhileMoving bounds the damping of messages while weights move: heavier damping is for messages that circle while
// weights stay.
const mostWhileMoving = 0.5

// dampMessages damps messages that circle, after a pass in which weights stayed or moved.
func (l *learner) dampMessages(weightsStay bool) {
	if l.monotone {
		return
	}
	s, residual := &l.progress.Circling, l.progress.Pass.Residual
	switch moving := !weightsStay && (residual < lagging || l.certified); {
	case s.Smallest == 0 || residual < s.Smallest || moving:
		s.Smallest, s.Passes = residual, 0
	case s.Passes+1 < fewPasses:
		s.Passes++
	default:
		if weightsStay || l.progress.MessageDamping < mostWhileMoving {
			l.progress.MessageDamping = bp.MoreDamping(l.progress.MessageDamping)
		}
		*s = circling{}
	}
}
