package learn

import (
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/internal/simd"
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

// clock times a run, and forecasts what its end will take.
type clock struct {
	*trainingRun
	began     time.Time // of the run, or when it would have begun in one go; zero: it does not run
	passBegan float64   // seconds of the run when the whole pass at work began; 0: before the run was resumed
}

// start begins to time a run that has gone on since then, and some seconds before.
func (c *clock) start(since time.Time) {
	c.began = since.Add(-time.Duration(c.progress.Seconds * float64(time.Second)))
}

// beginPass and endPass are told when a whole pass begins and ends, and how many times as long the next one may take:
// a third more after one without sweeps, which take about a quarter of a pass.
func (c *clock) beginPass() { c.passBegan = c.seconds() }

func (c *clock) endPass(times float64) {
	if c.passBegan > 0 {
		c.progress.PassSeconds = times * (c.seconds() - c.passBegan)
	}
}

// seconds is how long the run has taken until now, in all processes the same: what it decides they do together.
func (c *clock) seconds() float64 {
	if c.began.IsZero() { // it does not run
		return c.progress.Seconds
	}
	return c.settings.team.Number(time.Since(c.began).Seconds())
}

// longestSave of a limit of time is the most that a state may take.
const longestSave = 0.1

// savesInTime reports that a limit of time leaves a state. One that takes more than longestSave of the time there was
// is left out, unless the settings ask for states: training is what the time is for.
func (l *learner) savesInTime() bool {
	return l.settings.CheckpointEvery > 0 || l.savingSeconds() <= longestSave*l.settings.MaxTime.Seconds()
}

// outOfTime reports that another pass of the check would end later than a run may.
func (c *clock) outOfTime() bool {
	longest := c.settings.longest()
	return longest > 0 && c.seconds()+c.progress.PassSeconds >= longest
}

// savingSeconds is what a checkpoint of the moment may take.
func (l *learner) savingSeconds() float64 {
	if l.settings.Checkpoint == nil {
		return 0
	}
	return float64(l.stateBytes(l.savedParts().copies())) / assumedSaving
}

// firstPause returns how long the first checkpoint waits: it is due at once where saving takes little time.
func (l *learner) firstPause() time.Duration {
	pause := time.Duration(pausePerSave * l.savingSeconds() * float64(time.Second))
	if l.settings.CheckpointEvery > 0 || pause < shortestPause {
		return 0
	}
	return min(pause, longestPause)
}

// Bounds of the time between checkpoints where the user names none: often, if saving takes a small part of the run.
const (
	pausePerSave  = 100 // times the time that saving took
	shortestPause = time.Second
	longestPause  = 10 * time.Minute
)

// assumedSaving is how many bytes of a state are taken to be saved in a second, whatever those before have taken: disks
// take small states faster, and one of 2.5 GB came to 2.4e8.
const assumedSaving = 2e8

// checkpointPause returns how long to wait after a checkpoint that took so long.
func (s *Settings) checkpointPause(took time.Duration) time.Duration {
	if every := s.CheckpointEvery; every > 0 {
		return every
	}
	return min(max(pausePerSave*took, shortestPause), longestPause)
}

// overTime and overSeconds are how much longer than its limit a run may take for its end, as a share or, where that is
// more, in seconds. Reading data and the report come on top: a process is to end within a tenth of the limit, and 2
// seconds, more.
const overTime, overSeconds = 0.07, 1.0

// longest returns how long a run may take, with its end; 0: as long as it takes.
func (s *Settings) longest() float64 {
	limit := s.limit().Seconds()
	if limit == 0 {
		return 0
	}
	return limit + max(overTime*limit, overSeconds)
}

// limitReached returns the status and the inequality that end the run, or nothing: those of a limit, of early stopping,
// or of steps that promise little, which endRun confirms or withdraws; its end takes so many seconds. But for these,
// and the limit of time, it depends on the state alone, so that a resumed run ends where the first one did unless its
// limits were raised.
func (s *Settings) limitReached(p *progress, end float64) (Status, string) {
	switch {
	case p.SmallPromises >= smallPromises && p.Promised <= s.allowedPromise(p):
		return StationaryPoint, fmt.Sprintf("the last %d steps promise at most %.2g, where %s may be left", smallPromises,
			p.Promised, s.allowedText(p))
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

// limit is MaxTime but for what is reserved.
func (s *Settings) limit() time.Duration {
	if s.Reserve == nil {
		return s.MaxTime
	}
	return max(s.MaxTime/2, s.MaxTime-s.Reserve())
}

// latest returns when learning has to end, in the time of the run, for an end of so many seconds.
func (s *Settings) latest(end float64) time.Duration {
	// A limit near the longest duration has no share more: only what is shorter is a duration.
	if seconds := s.longest() - end; seconds < s.limit().Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	return s.limit()
}

// timeIsOver is limitReached for the limit of time.
func (s *Settings) timeIsOver(p *progress) (Status, string) {
	with, limit := "", s.limit().Seconds()
	if p.Seconds < limit {
		with = ", with another pass,"
	}
	if left := s.MaxTime.Seconds() - limit; left > 0 {
		with += fmt.Sprintf(" and %.2g for what follows", left)
	}
	return TimeLimit, fmt.Sprintf("seconds %.4g%s ≥ limit %.4g", p.Seconds, with, s.MaxTime.Seconds())
}

// startFinalCheck is for a run that a limit ended, at the weights that it ends with. The order matters. First the state
// is saved, before any weights move: a longer run goes on from there, and not from the final check. Then it is asked
// what is known of the weights to end with, while the pass at work and its values are still those of descent. Only then
// weights go back to the accepted ones. A pass at these which a limit of time has cut short becomes the first of the
// check, which startCheck would begin anew.
func (l *learner) startFinalCheck() error {
	p := &l.progress
	if p.Status != TimeLimit || l.savesInTime() {
		if err := l.checkpoint(); err != nil {
			return err
		}
	} else {
		p.Reason += fmt.Sprintf("; the state at the end, to resume from, was not saved, as that takes about %.2g seconds: "+
			"a time between checkpoints asks for it", l.savingSeconds())
	}
	known, was := p.Status == TimeLimit && l.knowsAccepted(), p.Pass
	finishes := p.Status == TimeLimit && l.canFinishPass()
	l.takeAccepted()
	if known {
		l.takeAcceptedValues()
		return nil
	}
	l.startCheck(checkFinal)
	if finishes {
		p.Pass.Next, p.Pass.Current, p.Pass.WorstAt, p.Pass.Infeasible = was.Next, was.Current, was.WorstAt, was.Infeasible
	}
	return nil
}

// takeAccepted goes back to the accepted weights of the automatic rule, where those at hand are of a step that it may
// yet refuse. Weights whose claim is being checked stay. At a limit of time there may be no time for a second final
// check (fallBack): the first one is at the weights of the smallest F.
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

// takeAcceptedValues begins a final check that needs no pass: its values are of the pass that accepted the weights.
func (l *learner) takeAcceptedValues() {
	p, d := &l.progress, l.auto.descent
	l.messages.restore()
	copy(l.sums.gradient, d.originGradient)
	p.Pass, p.Upper, p.Objective = p.Accepted, d.value, d.value
	p.GradientNorm = math.Sqrt(simd.Dot(l.sums.gradient, l.sums.gradient))
	p.Check = checkProgress{Active: true, Purpose: checkFinal, AtHand: true}
}

// knowsAccepted reports that the pass which accepted the origin of descent's line has found all that a final check of
// it would: so a limit of time ends a run at once. Small problems, and forests, have the time to check.
func (l *learner) knowsAccepted() bool {
	if !l.holds.convexNumbers || !l.auto.descends() || !l.messages.keepsCopies() || !l.auto.descent.onLine() {
		return false // of other numbers a final check infers from scratch
	}
	d := l.auto.descent
	return d.slope < 0 && (!l.holds.bounded || d.lowestPoint == d.originPoint)
}

// canFinishPass reports that a whole pass is at work which a limit of time leaves to the final check, as its first: the
// run ends with the weights of this pass.
func (l *learner) canFinishPass() bool {
	_, end := l.weightsToEndWith(TimeLimit)
	return l.auto.descends() && !l.progress.Check.Active && l.progress.Pass.Next > 0 && l.holds.convexNumbers &&
		end == l.progress.Point
}

// endSeconds is what the end of the run will take, at least: a checkpoint and a pass, of the final check or, where that
// has nothing to find, the one that may begin; or the rest of the pass at work.
func (l *learner) endSeconds() float64 {
	seconds := 0.0
	switch at := l.progress.Pass.Next; {
	case at > 0 && l.canFinishPass():
		seconds = l.progress.PassSeconds * float64(len(l.schedule.wholePass)-at) / float64(len(l.schedule.wholePass))
	case at == 0 || !l.knowsAccepted():
		seconds = l.progress.PassSeconds
	}
	if l.savesInTime() {
		seconds += l.savingSeconds()
	}
	return seconds
}

// endRun ends a run after its last check, or goes back to better weights, which are checked in turn.
func (l *learner) endRun() (done bool, err error) {
	p := &l.progress
	l.boundByLowest()
	wentBack := l.fallBack()
	switch {
	case wentBack && p.Point == startPoint && l.clock.outOfTime():
		l.recall()
	case wentBack:
		l.startCheck(checkFinal)
		return false, nil
	}
	if p.Status == StationaryPoint { // by what steps promise
		elsewhere := l.elsewhere()
		if elsewhere {
			p.Reason += "; but inference from scratch finds another fixed point than the one that steps have followed"
		}
		if p.FellBack || elsewhere || l.claims.unknownOfClamped() > p.ofObjective(closedGap) {
			p.Status = ObjectiveFlat
		}
		return true, l.record(l.checkEvent())
	}
	missing := l.claims.whyNotConverged()
	if missing == "" && p.Status.limited() && l.holds.convex {
		p.Reason += "; all is within the tolerances, and a few passes more would claim convergence"
	}
	if missing != "" {
		p.Reason += "; " + missing
		if p.Iterations > 0 && p.Point == startPoint {
			p.Reason += "; no better weights than those of the start were found"
		}
	}
	return true, l.record(l.checkEvent())
}

// boundByLowest takes the smallest F that was found at these weights for the objective: messages that a refused step
// has led away do not come back to it within the passes of a final check.
func (l *learner) boundByLowest() {
	p := &l.progress
	if least := l.least(); least < p.Upper && p.Point == l.auto.descent.lowestPoint {
		p.Pass.Gap = max(0, p.Pass.Gap-(p.Upper-least))
		p.Upper, p.Objective = least, least
	}
}

// least returns the smallest F of accepted weights, where F bounds the objective.
func (l *learner) least() float64 {
	if !l.holds.bounded || !l.auto.descends() {
		return math.Inf(1)
	}
	return l.auto.descent.least
}

// elsewhere reports that the last check has come to another fixed point of inference than the one that steps have
// followed, as their objectives show. Where there may be several, messages of a check begin from scratch.
func (l *learner) elsewhere() bool {
	left := max(0, l.settings.allowedGap(&l.progress)) + l.slack(min(l.progress.Pass.Residual, lagging))
	return !l.holds.convexNumbers && math.Abs(l.progress.Objective-l.auto.descent.value) > left
}

// fallBack goes back, where a limit ended the run at weights that are worse, to those of the smallest F, and from
// weights that are worse than the start to the start itself. It reports whether it did.
func (l *learner) fallBack() bool {
	p := &l.progress
	switch least := l.least(); {
	case p.Objective > least+l.slack() && !p.FellBack && !l.clock.outOfTime() && p.Point != l.auto.descent.lowestPoint:
		copy(l.model.Weights, l.auto.descent.lowest)
		p.Point = l.auto.descent.lowestPoint
		return true
	case l.auto == nil || p.Objective <= p.FirstObjective+l.slack() || p.Point == startPoint:
		return false
	}
	copy(l.model.Weights, l.problem.Model.Weights)
	p.Point, p.FellBack = startPoint, true
	return true
}

// recall takes the values of the start from its own check: the run has no time for another.
func (l *learner) recall() {
	p := &l.progress
	p.Objective, p.GradientNorm, p.Upper, l.recalled = p.FirstObjective, p.FirstNorm, math.NaN(), true
	p.Pass.Residual, p.Pass.Gap, p.Check.Certain = p.FirstResidual, math.NaN(), true
}
