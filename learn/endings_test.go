package learn

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestResumeWantsItsStatistics: means that were given are a part of the problem, as data are.
func TestResumeWantsItsStatistics(t *testing.T) {
	p := problems(t)["untied"]
	p.Statistics = slices.Clone(blockLearner(t, &p).sums.data)
	var state *State
	keep := func(s *State) error { state = s.clone(); return nil }
	fit(t, p, Settings{Assign: blocksOf(4), MaxIterations: 12, Checkpoint: keep})
	p.Statistics = slices.Clone(p.Statistics)
	p.Statistics[0] /= 2
	_, err := Fit(t.Context(), p, Settings{Method: BBPL, Assign: blocksOf(4), MaxIterations: 13, Resume: state})
	if !errors.Is(err, ErrState) {
		t.Errorf("with other means: %v", err)
	}
}

// TestLowestIsChecked: a run that goes back to its lowest weights checks these, though time is over by then: the values
// of the start's check are those of the start.
func TestLowestIsChecked(t *testing.T) {
	p := problems(t)["plain"]
	s := Settings{Method: BBPL, Assign: blocksOf(4), MaxTime: 100 * time.Second}.Resolved()
	asked := 0
	s.Reserve = func() time.Duration { asked++; return time.Duration(min(asked-1, 1)) * 100 * time.Second }
	l := must(newLearner(&p, &s))
	defer l.close()
	at, d := &l.progress, l.auto.descent
	d.began, d.least, d.lowestPoint = true, 1, 3
	at.Objective, at.Upper, at.FirstObjective, at.Point, at.PassSeconds, at.Status = 50, 50, 40, 5, 80, TimeLimit
	at.Check.Purpose = checkFinal
	if done := must(l.endRun()); done || l.recalled || !at.Check.Active || at.Point != 3 {
		t.Errorf("ended: %v, with values of the start: %v, at point %d", done, l.recalled, at.Point)
	}
}

// TestFinalCheckKeepsInfeasible: a final check that finishes a pass knows that a block visited before had no feasible
// beliefs, which prove nothing.
func TestFinalCheckKeepsInfeasible(t *testing.T) {
	p := problems(t)["plain"]
	s := Settings{Method: BBPL, Assign: blocksOf(4), MaxTime: time.Hour}.Resolved()
	l := must(newLearner(&p, &s))
	defer l.close()
	for l.progress.Check.Active || !l.auto.descends() || l.progress.Pass.Next != 1 {
		if l.progress.Check.Active || l.auto.descends() {
			must(l.visitInWholePass())
		} else {
			oracle.OK(t, l.iterate())
		}
	}
	d := l.auto.descent
	copy(l.model.Weights, d.origin)
	copy(d.lowest, d.origin)
	d.least, d.alpha, d.lowestPoint, l.progress.Point = 1, 0, d.originPoint, d.originPoint
	l.progress.Pass.Infeasible, l.progress.Status = true, TimeLimit
	oracle.OK(t, l.startFinalCheck())
	if at := l.progress.Pass; at.Next != 1 || !at.Infeasible {
		t.Errorf("at visit %d, infeasible: %v", at.Next, at.Infeasible)
	}
}
