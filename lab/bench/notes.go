package bench

import "fmt"

const (
	// muchDisturbed is the disturbance from which on numbers should not be trusted.
	muchDisturbed = 0.1
)

// explained says where the numbers are.
const explained = "What the numbers mean: lab/README.md"

// Notes say what a reader of the numbers should know.
func (s *Speed) Notes() []string {
	notes := disturbanceNotes(s.Disturbance)
	if !s.Ceilings.CachesKnown {
		notes = append(notes, "the system does not tell the sizes of the caches; usual ones are assumed, and the names of levels may be wrong")
	}
	for _, what := range s.Left {
		notes = append(notes, fmt.Sprintf("left out %s, more than a quarter of the memory that is available", what))
	}
	return notes
}

func disturbanceNotes(disturbance float64) []string {
	if disturbance <= muchDisturbed {
		return nil
	}
	return []string{fmt.Sprintf("the median repetition of a measurement took %.0f %% longer than the best: something else uses this machine, or its clock changes; for numbers to keep, run again when it is idle", 100*disturbance)}
}

// Summary ends what people read, after so many seconds of measuring.
func (s *Speed) Summary(seconds float64) string {
	return fmt.Sprintf("%.3g million messages per second; a whole iteration is %.3g times as fast as in plain Go; %.0f s in all\n%s",
		s.MessagesPerS/1e6, s.SpeedupVsPlainGo, seconds, explained)
}
