package learn

import "time"

// worthSaving reports a state that may replace the checkpoint before it: at the end of a pass that did not go wrong, or
// while a claim of convergence is checked. A final check is not saved: a longer run goes on from the state before it.
func (l *learner) worthSaving() bool {
	if c := &l.progress.Check; c.Active {
		return c.Purpose == checkConvergence
	}
	if l.descends() {
		return l.progress.Pass.Next == 0 && l.auto.descent.passesHere == 0
	}
	return l.progress.Worse == 0 && l.progress.Iterations%l.perPass() == 0
}

// Bounds of the time between checkpoints where the user names none: often, as long
// as saving takes but a small part of the run.
const (
	pausePerSave  = 100 // in terms of the time that saving took
	shortestPause = time.Second
	longestPause  = 10 * time.Minute
)

// checkpointPause returns how long to wait after a checkpoint that took so long.
func (s *Settings) checkpointPause(took time.Duration) time.Duration {
	if every := s.CheckpointEvery; every > 0 {
		return every
	}
	return min(max(pausePerSave*took, shortestPause), longestPause)
}

// assumedSaving is how many bytes a second a checkpoint takes, before one was made.
const assumedSaving = 5e8

// savingSeconds is what a checkpoint may take.
func (l *learner) savingSeconds() float64 {
	if l.settings.Checkpoint == nil {
		return 0
	}
	return float64(l.stateBytes()) / assumedSaving
}

// firstPause returns how long the first checkpoint waits: it is due at once, as long as that
// is a small part of what would be lost.
func (l *learner) firstPause() time.Duration {
	pause := time.Duration(pausePerSave * l.savingSeconds() * float64(time.Second))
	if l.settings.CheckpointEvery > 0 || pause < shortestPause {
		return 0
	}
	return min(pause, longestPause)
}

func (l *learner) checkpoint() error {
	if l.settings.Checkpoint == nil {
		return nil
	}
	l.readApart(false)
	defer l.readApart(true)
	return l.ranks.save(l.settings.Checkpoint)
}
