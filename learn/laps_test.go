package learn

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/bp"
)

// TestLaps: every visit is in the laps, and a run with them goes as without.
func TestLaps(t *testing.T) {
	for kind, p := range problems(t) {
		for _, precision := range []bp.Precision{bp.Double, bp.Single} {
			s := Settings{MaxIterations: 7, Precision: precision, GradientTolerance: 1e-300}
			plain := fit(t, p, s)
			s.Laps = &bp.Laps{}
			timed := fit(t, p, s)
			if !sameBits(plain, timed) {
				t.Errorf("%s, %v: laps change the result", kind, precision)
			}
			for phase, spent := range s.Laps.Spent {
				if s.Laps.Count[phase] == 0 || spent < 0 {
					t.Errorf("%s, %v: %d laps of %v took %v", kind, precision, s.Laps.Count[phase], bp.Phase(phase), spent)
				}
			}
			s.Threads = 2
			if err := s.Validate(&p); err == nil || !strings.Contains(err.Error(), "Threads is 1 with Laps") {
				t.Errorf("laps on two threads: %v", err)
			}
		}
	}
}

// TestLapsOfIteration: an iteration ends a lap of sweeps, and one of the gradient, for
// every block and unit that it visits.
func TestLapsOfIteration(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: 3, nodeDim: 2, edgeDim: 2, l2: 1})
	laps := &bp.Laps{}
	s := Settings{Assign: tiles(2, 3), Together: 2, GradientTolerance: 1e-300, Laps: laps}
	s = s.withDefaults()
	l := must(newLearner(&p, &s))
	defer l.pool.close()
	for l.at.Check.Active {
		if _, err := l.checkStep(); err != nil {
			t.Fatal(err)
		}
	}
	before := laps.Count
	for range l.perPass() {
		if err := l.iterate(); err != nil {
			t.Fatal(err)
		}
	}
	visits := 6 * len(l.bundles[0].units)
	if got := [2]int{laps.Count[bp.PhaseSweep] - before[bp.PhaseSweep], laps.Count[bp.PhaseGradient] - before[bp.PhaseGradient]}; got != [2]int{visits, visits} {
		t.Errorf("%d laps of sweeps and gradient in a pass, want %d of each", got, visits)
	}
}
