package learn

import (
	"fmt"
	"time"
)

// A run ends at a limit of iterations, passes or time, by early stopping, or where steps promise little. Limits of time
// are the hardest, as a run has to end *within* the time, with weights whose objective is known:
//
//   - What an end takes is taken off the time at first (latest, endSeconds of check.go): a state to resume from, if it
//     is saved at all (savesInTime), and a whole pass for the final check.
//   - Where the accepted weights are known with all that a check would find (knowsAccepted), no pass is needed. Where a
//     whole pass is at work at the weights to end with, it is finished in place of a new one (canFinishPass).
//   - If the final check finds that the weights are worse than others, those are checked in turn, if there is time
//     (outOfTime), and else taken with the values of their own check (recall).

// clock times a run, and forecasts what its end will take.
type clock struct {
	*trainingRun
	began      time.Time // of the run, or when it would have begun in one go; zero: it does not run
	passBegan  float64   // seconds of the run when the whole pass at work began; 0: before the run was resumed
	stateBytes int64     // that a checkpoint writes
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
func (c *clock) savesInTime() bool {
	return c.settings.CheckpointEvery > 0 || c.savingSeconds() <= longestSave*c.settings.MaxTime.Seconds()
}

// outOfTime reports that another pass of the check would end later than a run may.
func (c *clock) outOfTime() bool {
	longest := c.settings.longest()
	return longest > 0 && c.seconds()+c.progress.PassSeconds >= longest
}

// savingSeconds is what a checkpoint may take.
func (c *clock) savingSeconds() float64 {
	if c.settings.Checkpoint == nil {
		return 0
	}
	return float64(c.stateBytes) / assumedSaving
}

// firstPause returns how long the first checkpoint waits: it is due at once where saving takes little time.
func (c *clock) firstPause() time.Duration {
	pause := time.Duration(pausePerSave * c.savingSeconds() * float64(time.Second))
	if c.settings.CheckpointEvery > 0 || pause < shortestPause {
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

// assumedSaving is how many bytes of a state are taken to be saved in a second, whatever those before have taken.
const assumedSaving = 5e8

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
