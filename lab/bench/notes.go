package bench

import (
	"fmt"
	"strings"
)

const (
	// muchDisturbed is the disturbance from which on numbers should not be trusted.
	muchDisturbed = 0.1
	// slightSpeedup is the speed-up of several threads below which it is not the
	// program that is measured: other work takes the cores, or they are not there.
	slightSpeedup = 1.2
)

// explained says where the numbers are.
const explained = "What the numbers mean: docs/explanation/performance.md"

// Notes say what a reader of the numbers should know.
func (s *Speed) Notes() []string {
	notes := disturbanceNotes(s.Disturbance)
	for _, t := range s.Threads {
		if t.Threads > 1 && (t.Speedup < slightSpeedup || s.Disturbance > muchDisturbed) {
			notes = append(notes, fmt.Sprintf("the speed-up of %d threads, %.2f times, needs as many idle cores to be one of the program: what else ran took a part of them, or the network is too small to share", t.Threads, t.Speedup))
			break
		}
	}
	if !s.Ceilings.CachesKnown {
		notes = append(notes, "the system does not tell the sizes of the caches; usual ones are assumed, and the names of levels may be wrong")
	}
	for _, what := range s.Left {
		notes = append(notes, fmt.Sprintf("left out %s, more than a quarter of the memory that is available", what))
	}
	return notes
}

// Notes say what a reader of the numbers should know.
func (s *Scale) Notes() []string {
	notes := disturbanceNotes(s.Disturbance)
	for _, what := range s.Left {
		notes = append(notes, "left out "+what)
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

// Summary ends what people read, after so many seconds of measuring.
func (s *Scale) Summary(seconds float64) string {
	var b strings.Builder
	for _, g := range s.Growth {
		fmt.Fprintf(&b, "%s, %d to %d nodes: ns per edge largest/smallest %.2f, time per iteration largest/smallest %.2f\n",
			g.KindText(), g.FromNodes, g.ToNodes, g.NsRatio, g.IterationRatio)
	}
	fmt.Fprintf(&b, "%.0f s in all\n%s", seconds, explained)
	return b.String()
}
