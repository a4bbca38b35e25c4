package job

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// Doneness estimates how much of a training is done, and the time left. The zero value with Settings is at the start.
type Doneness struct {
	Settings learn.Settings

	gradient, bound fall    // norms of the gradient, and bounds on what is left to gain
	errors          fall    // distances from the optimum in standard errors
	objective       float64 // the first
	started         float64 // seconds at the first event: not zero for a resumed run
	seen            bool

	elapsed, limit float64 // seconds since, and the share of the nearest limit, ...
	total          float64 // ... in all seconds
	left, whole    float64 // of the way to the end by convergence or proof, in logarithms
	latest         float64 // end that was forecast, in seconds
}

// Stops are the settings that end a run, as its folder has them.
func (c *Config) Stops() learn.Settings {
	number := func(name string) float64 { v, _ := c.Options[name].Value.(float64); return v }
	s := learn.Settings{MaxIterations: int(number("max-iter")), MaxPasses: number("max-passes"), Gap: number("gap"),
		GradientTolerance: number("tol"), RelativeTolerance: number("rtol")}
	if most, ok := c.Options["max-time"].Value.(string); ok {
		s.MaxTime, _ = time.ParseDuration(most) // of a text that is none there is no forecast
	}
	asked := func(name string) bool { o := c.Options[name]; return o.Value != nil && o.Source != SourceDefault }
	switch {
	case slices.ContainsFunc([]string{"tol", "rtol", "gap"}, asked):
	case asked("model"):
		s.ErrorShare = errorsOfCouplings
	case !asked("errors"):
		s.Proof = proofForPredictions
	}
	return s
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

// way is how far a goal is, and was at first, in logarithms; 0 where there is no way.
func (f *fall) way(goal float64) (left, whole float64) {
	if !(f.first > goal) || !(goal > 0) {
		return 0, 0
	}
	return max(0, math.Log(f.least/goal)), math.Log(f.first / goal)
}

// share is how much of a way is done; 1 where there is none.
func share(left, whole float64) float64 {
	if whole == 0 {
		return 1
	}
	return 1 - left/whole
}

// Of takes note of an event and returns the share of the work that is done, from 0 to 1: the nearest of the limits,
// and the lesser of the ways of gradient and bound to what convergence asks for.
func (d *Doneness) Of(e learn.Event) float64 {
	s := d.Settings.Resolved()
	if !d.seen {
		d.seen, d.started, d.objective = true, e.Elapsed.Seconds(), e.Objective
	}
	d.gradient.to(e.GradientNorm)
	d.bound.to(e.Suboptimality)
	d.elapsed, d.limit, d.left, d.whole = e.Elapsed.Seconds()-d.started, 0, 0, 0
	consider := func(have, want float64) {
		if want > 0 {
			d.limit = min(1, max(d.limit, have/want))
		}
	}
	consider(float64(e.Iteration), float64(s.MaxIterations))
	if s.MaxPasses != (learn.Settings{}).Resolved().MaxPasses || 2*e.Pass > s.MaxPasses { // hardly any comes to that one
		consider(e.Pass, s.MaxPasses)
	}
	d.total = e.Elapsed.Seconds()
	consider(d.total, s.MaxTime.Seconds())
	done := d.limit
	if goal := max(s.GradientTolerance, s.RelativeTolerance*d.gradient.first); goal > 0 {
		d.left, d.whole = d.gradient.way(goal)
		done = max(done, min(share(d.left, d.whole), share(d.bound.way(s.Gap*(1+math.Abs(e.Objective))))))
	}
	d.errors.to(e.OfErrors)
	if left, whole := d.errors.way(s.ErrorShare); whole > 0 {
		d.left, d.whole = left, whole
		done = max(done, share(left, whole))
	}
	enough := s.Proof * (d.objective - e.Objective)
	if alone := &d.Settings; alone.Gap > 0 && alone.GradientTolerance == 0 && alone.RelativeTolerance == 0 {
		enough = s.Gap * (1 + math.Abs(e.Objective))
	}
	if enough > 0 { // which ends a training long before the gradient does
		if d.left, d.whole = d.bound.way(enough); d.whole > 0 {
			done = max(done, share(d.left, d.whole))
		}
	}
	return max(0, done)
}

// Nothing is forecast before half of the way, in logarithms, as the first steps gain most, and a training looks several
// times as fast as it is. Later what was left took once to five times the forecast, or half of the time till then
// where a bound hardly fell at last (TestTimeLeft has the courses of trainings).
const evidence, lateFactor, latePart = 0.5, 5, 0.5

// forecast is in how many seconds a training ends, at the soonest and at the latest, and what a limit allows; infinite
// where too little is known. The latest end does not move away, unless it was wrong.
func (d *Doneness) forecast() (soon, late, most float64) {
	const tooEarly = 0.02 // of a limit, for a rate
	soon, late, most = math.Inf(1), math.Inf(1), math.Inf(1)
	if d.whole > 0 && share(d.left, d.whole) >= evidence {
		soon = d.elapsed * d.left / (d.whole - d.left)
		end := d.elapsed + max(lateFactor*soon, latePart*d.elapsed)
		if d.latest = min(d.latest, end); d.latest <= d.elapsed+soon {
			d.latest = end // it was wrong
		}
		late = d.latest - d.elapsed
	}
	if d.limit >= tooEarly {
		most = d.total * (1 - d.limit) / d.limit
	}
	return soon, late, most
}

// Left tells what time is left, "" where too little is known.
func (d *Doneness) Left() string {
	soon, late, most := d.forecast()
	switch late = min(late, most); {
	case math.IsInf(late, 1):
		return ""
	case soon < late:
		return fmt.Sprintf("%s to %s left", duration(soon), duration(late))
	}
	return fmt.Sprintf("at most %s left", duration(late))
}

// duration writes seconds roughly.
func duration(seconds float64) string {
	switch {
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 100*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}
