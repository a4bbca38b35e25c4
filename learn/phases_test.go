package learn

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPhaseTimes: every visit is in the times, and a run with them goes as without.
func TestPhaseTimes(t *testing.T) {
	for kind, p := range problems(t) {
		s := Settings{MaxIterations: 7, GradientTolerance: 1e-300}
		plain := fit(t, p, s)
		s.PhaseTimes = &PhaseTimes{}
		timed := fit(t, p, s)
		if !sameBits(plain, timed) {
			t.Errorf("%s: times change the result", kind)
		}
		for phase, spent := range s.PhaseTimes.Spent {
			if s.PhaseTimes.Count[phase] == 0 || spent < 0 {
				t.Errorf("%s: %d phases %d took %v", kind, s.PhaseTimes.Count[phase], phase, spent)
			}
		}
		s.Threads = 2
		if err := s.Validate(&p); err == nil || !strings.Contains(err.Error(), "Threads is 1 with PhaseTimes") {
			t.Errorf("times on two threads: %v", err)
		}
	}
}

// TestPhaseTimesOfIteration: an iteration has a phase of sweeps, and one of the gradient, for
// every block and unit that it visits.
func TestPhaseTimesOfIteration(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: 3, nodeDim: 2, edgeDim: 2, l2: 1})
	times := &PhaseTimes{}
	s := Settings{Assign: tiles(2, 3), Together: 2, GradientTolerance: 1e-300, PhaseTimes: times}
	s = must(s.resolve(&p))
	l := must(newLearner(&p, &s))
	defer l.pool.Close()
	for l.progress.Check.Active {
		if _, err := l.visitInPass(); err != nil {
			t.Fatal(err)
		}
	}
	before := times.Count
	for range l.perPass() {
		oracle.OK(t, l.iterate())
	}
	visits := 6 * len(l.units)
	if got := [2]int{times.Count[phaseSweep] - before[phaseSweep], times.Count[phaseGradient] - before[phaseGradient]}; got != [2]int{visits, visits} {
		t.Errorf("%d sweeps and gradients in a pass, want %d of each", got, visits)
	}
}
