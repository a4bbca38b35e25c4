package learn

import (
	"github.com/blockbp/blockbp/internal/bp"
)

// A run in single precision goes over to double precision, for good, where its
// rounding could decide something: near the optimum, where the gradient is a small
// difference of large sums.
const (
	// singleShare of the first gradient norm, and singleRounding of the norm of the
	// data's statistics M w̄, as of data without hidden labels, are the gradient norms down to which single precision
	// serves: rounding leaves some 1e-8 to 1e-7 of the latter.
	singleShare    = 1e-4
	singleRounding = 1e-6
	// singlePasses bounds how long single precision may take to come there.
	singlePasses = 200.0
)

// precision returns that of an iteration.
func (l *learner) precision() bp.Precision {
	if l.progress.Refined {
		return bp.Double
	}
	return l.settings.precision()
}

// precision is what a run begins with.
func (s *Settings) precision() bp.Precision {
	if s.SinglePrecision {
		return bp.Single
	}
	return bp.Double
}

// refine decides, after an estimate of the gradient, whether to go over to double
// precision.
func (l *learner) refine() {
	if l.progress.Refined || !l.settings.SinglePrecision {
		return
	}
	norm := l.progress.GradientNorm
	large := norm > singleShare*l.progress.First && norm > singleRounding*l.magnitude
	l.progress.Refined = !large || l.progress.FailedChecks > 0 || l.progress.Passes-l.progress.CheckPasses > singlePasses
}
