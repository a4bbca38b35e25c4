package learn

import (
	"fmt"
	"math"
	"time"
)

// A run ends at a limit of iterations, passes or time, by early stopping, or where steps promise little. Limits of time
// are the hardest, as a run has to end *within* the time, with weights whose objective is known:
//
//   - What an end takes is taken off the time at first (latest, endSeconds): a state to resume from, if it is saved at
//     all (savesInTime), and a whole pass for the final check.
//   - Where the accepted weights are known with all that a check would find (knowsAccepted), no pass is needed. Where a
//     whole pass is at work at the weights to end with, it is finished in place of a new one (canFinishPass).
//   - If the final check finds that the weights are worse than others, those are checked in turn, if there is time
//     (outOfTime), and else taken with the values of their own check (recall).

// endSeconds is what the end of the run will take, at least: a checkpoint and a pass, of the final check or, where that
// has nothing to find, the one that may begin; or the rest of the pass at work.
func (l *learner) endSeconds() float64 {
	seconds := 0.0
	switch at := l.progress.Pass.Next; {
	case at > 0 && l.canFinishPass():
		seconds = l.clock.wholePassSeconds() * float64(len(l.whole)-at) / float64(len(l.whole))
	case at == 0 || !l.knowsAccepted():
		seconds = l.clock.wholePassSeconds()
	}
	if l.clock.savesInTime() {
		seconds += l.clock.savingSeconds()
	}
	return seconds
}

// overTime and overSeconds are how much longer than its limit a run may take for its end, as a
// share or, where that is more, in seconds. Reading data and the report come on top: a process
// is to end within a tenth of the limit, and 2 seconds, more.
const overTime, overSeconds = 0.07, 1.0

// longest returns how long a run may take, with its end; 0: as long as it takes.
func (s *Settings) longest() float64 {
	limit := s.MaxTime.Seconds()
	if limit == 0 {
		return 0
	}
	return limit + max(overTime*limit, overSeconds)
}

// takeAccepted goes back to the accepted weights of the automatic rule, where those at hand are of a step that it may
// yet refuse. Weights for which convergence is about to be claimed stay. At a limit of time the final
// check may be the only one (fallBack), and is at the weights of the smallest F.
func (l *learner) takeAccepted() {
	if c := &l.progress.Check; c.Active && c.Purpose == checkConvergence {
		return
	}
	weights, at := l.weightsToEndWith(l.progress.Status)
	copy(l.model.Weights, weights)
	l.progress.Point = at
}

// weightsToEndWith are those that takeAccepted goes back to, or those at hand.
func (l *learner) weightsToEndWith(status Status) ([]float64, point) {
	if l.auto == nil {
		return l.model.Weights, l.progress.Point
	}
	d := l.auto.descent
	if status == TimeLimit && !math.IsInf(l.least(), 1) {
		return d.lowest, d.lowestPoint
	}
	if d.onLine() {
		return d.origin, d.originPoint
	}
	return l.model.Weights, l.progress.Point
}

// canFinishPass reports that a whole pass is at work which a limit of time leaves to the final check, as its first: the
// run ends with the weights of this pass.
func (l *learner) canFinishPass() bool {
	_, end := l.weightsToEndWith(TimeLimit)
	return l.auto.descends() && !l.progress.Check.Active && l.progress.Pass.Next > 0 && l.convexNumbers &&
		end == l.progress.Point
}

// limitReached returns the status and the inequality that end the run, or nothing: those of a limit, of early stopping,
// or of steps that promise little, which endRun confirms or withdraws; its end takes so many seconds. But for these,
// and the limit of time, it depends on the state alone, so that a resumed run ends where the first one did unless its
// limits were raised.
func (s *Settings) limitReached(p *progress, end float64) (Status, string) {
	switch {
	case p.SmallPromises >= smallPromises && p.Promised <= s.enoughPromised(p):
		return StationaryPoint, fmt.Sprintf("the last %d steps promise at most %.2g, where %s may be left", smallPromises,
			p.Promised, s.enoughText(p))
	case s.EarlyStop != nil && p.SinceBest >= s.EarlyStop.Patience:
		return EarlyStopped, fmt.Sprintf("%s did not improve on %.6g for %d evaluations ≥ patience %d",
			s.EarlyStop.Metric, p.BestValue, p.SinceBest, s.EarlyStop.Patience)
	case s.MaxIterations > 0 && p.Iterations >= s.MaxIterations:
		return IterationLimit, fmt.Sprintf("iterations %d ≥ limit %d", p.Iterations, s.MaxIterations)
	case p.Sweeps >= s.MaxPasses:
		return PassLimit, fmt.Sprintf("passes %.4g ≥ limit %.4g", p.Sweeps, s.MaxPasses)
	case s.MaxTime > 0 && p.Seconds >= s.latest(end).Seconds():
		return s.timeIsOver(p)
	}
	return "", ""
}

// latest returns when learning has to end, in the time of the run, for an end of so many seconds.
func (s *Settings) latest(end float64) time.Duration {
	// A limit near the longest duration has no share more: only what is shorter is a duration.
	if seconds := s.longest() - end; seconds < s.MaxTime.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	return s.MaxTime
}

// timeIsOver is limitReached for the limit of time.
func (s *Settings) timeIsOver(p *progress) (Status, string) {
	with := ""
	if p.Seconds < s.MaxTime.Seconds() {
		with = ", with another pass,"
	}
	return TimeLimit, fmt.Sprintf("seconds %.4g%s ≥ limit %.4g", p.Seconds, with, s.MaxTime.Seconds())
}

// knowsAccepted reports that the pass which accepted the origin of descent's line has found all that a final check of
// it would: so a limit of time ends a run at once. Small problems have the time to check.
func (l *learner) knowsAccepted() bool {
	if !l.convexNumbers || !l.auto.descends() || !l.messages.copies() || !l.auto.descent.onLine() {
		return false // of other numbers a final check infers from scratch
	}
	d := l.auto.descent
	return d.slope < 0 && (!l.bounded || d.lowestPoint == d.originPoint)
}
