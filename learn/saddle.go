package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/lbfgs"
)

// A small gradient is no minimum where the objective is not convex. So before a stationary
// point is claimed, the smallest curvature there is estimated (lbfgs.Lanczos). From a saddle the
// weights leave along it, to the side where the objective is lower, and learning goes on.

// probe begins to look for a saddle where convergence is about to be claimed, if there can
// be one. It reports whether it did.
func (l *learner) probe() bool {
	const least = (lbfgs.Products + 1) * 2 * wholeSweeps // of the passes that it takes
	if l.lanczos == nil || l.convex || l.fewHidden() || !l.lanczos.Due(l.progress.Upper) ||
		l.progress.Passes+least > l.settings.MaxPasses {
		return false
	}
	z := l.auto.saddles()
	if z == nil {
		return false
	}
	z.Begin(l.model.Weights, l.gradient, l.apart, l.progress.Upper, lbfgs.ProductStep*math.Sqrt(l.variables))
	l.probeNext()
	return true
}

// fewHidden reports, of problems that are not small, that hardly any label is hidden, and numbers are convex. Then the
// objective curves down only along features that are nearly all of nodes without labels, and to look for these takes as
// long as learning.
func (l *learner) fewHidden() bool {
	const few = 0.05
	return !l.isSmall() && l.convexNumbers && l.settings.unlabelled == nil &&
		instances.HiddenShare(l.problem.Data) <= few
}

// probeNext infers at the next point.
func (l *learner) probeNext() {
	l.lanczos.Point(l.model.Weights)
	l.startCheck(checkCurvature)
	l.progress.WatchedHere = false
}

// endProbe leaves the saddle that was found, or goes back, to make the claim.
func (l *learner) endProbe(leaves bool) {
	z := l.lanczos
	if leaves {
		z.Point(l.model.Weights)
		l.auto.restart(l.model.Weights, z.Theta(), z.Value(), false)
		l.progress.SmallPromises, l.progress.Promised = 0, 0
	} else {
		copy(l.model.Weights, z.Theta())
		l.startCheck(checkConvergence)
		l.progress.Check.Again = true
		z.Stay()
	}
	l.progress.WatchedHere = false
}

// abandonProbe goes back to where the curvature was to be measured, if it was.
func (l *learner) abandonProbe() {
	if c := &l.progress.Check; c.Active && c.Purpose == checkCurvature {
		copy(l.model.Weights, l.lanczos.Theta())
	}
}
