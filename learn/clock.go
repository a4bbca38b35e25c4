package learn

import "time"

// clock times a run, and forecasts what its end will take.
type clock struct {
	*trainingRun
	began time.Time // of the run, or when it would have begun in one go; zero: it does not run
	// paceFrom is the first visit, once it is timed, or the start: that visit tells little of
	// others, as it is the first to touch much of the memory.
	paceFrom    pace
	paced       bool
	passBegan   float64 // seconds of the run when the whole pass at work began; NaN: not here
	passSeconds float64 // seconds that the last one with sweeps has taken
	stateBytes  int64
}

// pace is how far a run has come in which time: work is sweeps and gradients.
type pace struct{ seconds, work float64 }

// start begins to time a run that has gone on since then, and some seconds before.
func (c *clock) start(since time.Time) {
	c.began = since.Add(-time.Duration(c.progress.Seconds * float64(time.Second)))
	c.paced, c.paceFrom = false, c.pace()
}

// seconds is how long the run has taken until now, in all processes the same: what it decides they do together.
func (c *clock) seconds() float64 {
	if c.began.IsZero() { // it does not run
		return c.progress.Seconds
	}
	return c.settings.team.Number(time.Since(c.began).Seconds())
}

func (c *clock) pace() pace {
	return pace{c.seconds(), c.progress.Sweeps + c.progress.Gradients}
}

// wholePassSeconds is what a whole pass takes, as the last one has, if there was one.
func (c *clock) wholePassSeconds() float64 {
	if c.passSeconds > 0 {
		return c.passSeconds
	}
	if now, from := c.pace(), c.paceFrom; now.work > from.work {
		// A sweep takes about as long as what follows sweeps; a checked one somewhat longer.
		return (wholeSweeps + 1) * (now.seconds - from.seconds) / (now.work - from.work)
	}
	return 0
}

// savesInTime reports that a limit of time leaves a state. One that takes more than longestSave of the time there was
// is left out, unless the settings ask for states: training is what the time is for.
func (c *clock) savesInTime() bool {
	return c.settings.CheckpointEvery > 0 || c.savingSeconds() <= longestSave*c.settings.MaxTime.Seconds()
}

// outOfTime reports that another pass of the check would end later than a run may.
func (c *clock) outOfTime() bool {
	longest := c.settings.longest()
	return longest > 0 && c.seconds()+c.wholePassSeconds() >= longest
}

// savingSeconds is what a checkpoint may take.
func (c *clock) savingSeconds() float64 {
	if c.settings.Checkpoint == nil {
		return 0
	}
	return float64(c.stateBytes) / assumedSaving
}

// firstPause returns how long the first checkpoint waits: it is due at once, as long as that
// is a small part of what would be lost.
func (c *clock) firstPause() time.Duration {
	pause := time.Duration(pausePerSave * c.savingSeconds() * float64(time.Second))
	if c.settings.CheckpointEvery > 0 || pause < shortestPause {
		return 0
	}
	return min(pause, longestPause)
}

// Bounds of the time between checkpoints where the user names none: often, as long
// as saving takes but a small part of the run.
const (
	pausePerSave  = 100 // in terms of the time that saving took
	shortestPause = time.Second
	longestPause  = 10 * time.Minute
)

// assumedSaving is how many bytes a second a checkpoint takes, before one was made.
const assumedSaving = 5e8

// checkpointPause returns how long to wait after a checkpoint that took so long.
func (s *Settings) checkpointPause(took time.Duration) time.Duration {
	if every := s.CheckpointEvery; every > 0 {
		return every
	}
	return min(max(pausePerSave*took, shortestPause), longestPause)
}
