package learn

import "github.com/blockbp/blockbp/internal/bp"

// Where inference ascends no dual, messages may circle for ever, and a visit of a sweep or two is too short to notice.
// While the weights move they move messages too, but not by a large residual, in pass after pass. Where weights are
// held, any residual that does not fall is the messages' own doing. They are damped from then on.

// stalling follows the residuals from pass to pass.
type stalling struct {
	Passes   int     // since the residual was smallest
	Smallest float64 // 0: none yet
}

// mostWhileMoving bounds the damping that moving weights can bring about: heavier damping is for messages that circle
// where nothing drives them.
const mostWhileMoving = 0.5

// dampCircling takes note of a pass, in which weights were held or not.
func (l *learner) dampCircling(held bool) {
	if l.monotone {
		return
	}
	s, residual := &l.progress.Stalling, l.progress.Pass.Residual
	switch moving := !held && (residual < lagging || l.certified); {
	case s.Smallest == 0 || residual < s.Smallest || moving:
		s.Smallest, s.Passes = residual, 0
	case s.Passes+1 < fewPasses:
		s.Passes++
	default:
		if held || l.progress.Damping < mostWhileMoving {
			l.progress.Damping = bp.MoreDamping(l.progress.Damping)
		}
		*s = stalling{}
	}
}
