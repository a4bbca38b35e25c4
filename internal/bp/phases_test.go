package bp

import (
	"fmt"
	"testing"
	"time"
)

// TestPhaseTimes: grounding a block ends a lap per batch of edges for each of its two
// phases, and one for the nodes; what they take is no more than there was.
func TestPhaseTimes(t *testing.T) {
	for _, binned := range []bool{false, true} {
		c := newPrecisionCase(t, 3, 0.3, binned)
		for _, p := range []Precision{Double, Single} {
			times := &PhaseTimes{}
			w, silent := Workspace{Precision: p, Times: times}, Workspace{Precision: p}
			want := 0
			started := time.Now()
			for i := range c.part.Blocks {
				block := &c.part.Blocks[i]
				if err := w.Ground(c.model, c.in, c.net, block); err != nil {
					t.Fatal(err)
				}
				want++
				if !binned {
					want += (len(block.Edges) + 23) / 24
				}
			}
			took := time.Since(started)
			if times.Spent[PhaseGround] < 0 || times.Spent[PhaseExp] < 0 || times.Spent[PhaseGround]+times.Spent[PhaseExp] > took {
				t.Errorf("binned %t, %v: times of %v in %v", binned, p, times.Spent, took)
			}
			expCount := want
			if binned && p == Single {
				expCount += len(c.part.Blocks) // tables are rounded once for all
			}
			if got := [NumPhases]int{want, expCount}; times.Count != got {
				t.Errorf("binned %t, %v: %v phases, want %v", binned, p, times.Count, got)
			}
			last := &c.part.Blocks[len(c.part.Blocks)-1]
			if err := silent.Ground(c.model, c.in, c.net, last); err != nil {
				t.Fatal(err)
			}
			for q, e := range last.Edges {
				n := c.net.pairStates(e)
				if a, b := fmt.Sprint(w.values(int32(q), n)), fmt.Sprint(silent.values(int32(q), n)); a != b {
					t.Fatalf("binned %t, %v: with times the table of edge %d is %s, without %s", binned, p, e, a, b)
				}
			}
		}
	}
}

// TestPhaseTimesBetween: time between End and Begin is of no phase.
func TestPhaseTimesBetween(t *testing.T) {
	var none *PhaseTimes
	none.Begin()
	none.End(PhaseSweep) // adds nothing, to nothing
	l := &PhaseTimes{}
	l.Begin()
	l.End(PhaseSweep)
	time.Sleep(2 * time.Millisecond)
	gap := time.Since(l.origin) - l.began
	l.Begin()
	l.End(PhaseGradient)
	if total := l.Spent[PhaseSweep] + l.Spent[PhaseGradient]; total+gap > time.Since(l.origin) || l.Count != [NumPhases]int{0, 0, 1, 1} {
		t.Errorf("times %v, %v, beside a gap of %v", l.Spent, l.Count, gap)
	}
	names := ""
	for p := range Phase(NumPhases) {
		names += p.String() + " "
	}
	if names != "ground exp sweep gradient " {
		t.Errorf("phases are named %s", names)
	}
}
