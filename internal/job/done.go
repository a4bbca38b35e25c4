package job

import (
	"math"

	"github.com/blockbp/blockbp/learn"
)

// Doneness estimates how much of a training is done. The zero value with Settings is at the
// start of one.
type Doneness struct {
	Settings learn.Settings

	// Norms of the gradient and bounds on what is left to gain: the first, and the smallest.
	gradient, bound fall
	objective       float64 // the first
}

// fall is a quantity that a training brings down, about as a geometric series.
type fall struct{ first, least float64 }

func (f *fall) to(x float64) {
	switch {
	case !(x > 0) || math.IsInf(x, 0):
	case f.first == 0:
		f.first, f.least = x, x
	default:
		f.least = min(f.least, x)
	}
}

// share is how much of the way to a goal is done, in logarithms; 1 where there is no way.
func (f *fall) share(goal float64) float64 {
	if !(f.first > goal) || !(goal > 0) {
		return 1
	}
	return math.Log(f.first/f.least) / math.Log(f.first/goal)
}

// Of takes note of an event and returns the share of the work that is done, from 0 to 1:
// the nearest of the limits, and the lesser of the ways of gradient and
// bound to what convergence asks for.
func (d *Doneness) Of(e learn.Event) float64 {
	s := d.Settings.Resolved()
	d.gradient.to(e.GradientNorm)
	d.bound.to(e.Suboptimality)
	done := 0.0
	consider := func(have, want float64) {
		if want > 0 {
			done = max(done, have/want)
		}
	}
	consider(float64(e.Iteration), float64(s.MaxIterations))
	consider(e.Pass, s.MaxPasses)
	consider(e.Elapsed.Seconds(), s.MaxTime.Seconds())
	if goal := max(s.GradientTolerance, s.RelativeTolerance*d.gradient.first); goal > 0 {
		done = max(done, min(d.gradient.share(goal), d.bound.share(s.Gap*(1+math.Abs(e.Objective)))))
	}
	if d.objective == 0 {
		d.objective = e.Objective
	}
	if goal := s.Proof * (d.objective - e.Objective); goal > 0 && d.bound.first > 0 {
		done = max(done, d.bound.share(goal))
	}
	return min(1, max(0, done))
}
