package job

import (
	"math"

	"github.com/blockbp/blockbp/learn"
)

// Done estimates how much of a training is done, from 0 to 1: the nearest of its limits,
// and the way of the gradient's logarithm to its tolerance. first is the norm of the
// gradient at the start.
func Done(e learn.Event, s learn.Settings, first float64) float64 {
	s = s.Resolved()
	done := 0.0
	consider := func(have, want float64) {
		if want > 0 {
			done = max(done, have/want)
		}
	}
	consider(float64(e.Iteration), float64(s.MaxIterations))
	consider(e.Pass, s.MaxPasses)
	consider(e.Elapsed.Seconds(), s.MaxTime.Seconds())
	if goal := max(s.GradientTolerance, s.RelativeTolerance*first); goal > 0 && e.GradientNorm > 0 && first > goal {
		consider(math.Log(first/e.GradientNorm), math.Log(first/goal))
	}
	return min(1, max(0, done))
}
