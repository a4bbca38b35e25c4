package bp

import (
	"fmt"
	"testing"
	"time"
)

// TestLaps: grounding a block ends a lap per batch of edges for each of its two
// phases, and one for the nodes; what they take is no more than there was.
func TestLaps(t *testing.T) {
	for _, binned := range []bool{false, true} {
		c := newPrecisionCase(t, 3, 0.3, binned)
		for _, p := range []Precision{Double, Single} {
			laps := &Laps{}
			w, silent := Workspace{Precision: p, Laps: laps}, Workspace{Precision: p}
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
			if laps.Spent[PhaseGround] < 0 || laps.Spent[PhaseExp] < 0 || laps.Spent[PhaseGround]+laps.Spent[PhaseExp] > took {
				t.Errorf("binned %t, %v: laps of %v in %v", binned, p, laps.Spent, took)
			}
			expCount := want
			if binned && p == Single {
				expCount += len(c.part.Blocks) // tables are rounded once for all
			}
			if got := [NumPhases]int{want, expCount}; laps.Count != got {
				t.Errorf("binned %t, %v: %v laps, want %v", binned, p, laps.Count, got)
			}
			last := &c.part.Blocks[len(c.part.Blocks)-1]
			if err := silent.Ground(c.model, c.in, c.net, last); err != nil {
				t.Fatal(err)
			}
			for q, e := range last.Edges {
				n := c.net.pairStates(e)
				if a, b := fmt.Sprint(w.values(int32(q), n)), fmt.Sprint(silent.values(int32(q), n)); a != b {
					t.Fatalf("binned %t, %v: with laps the table of edge %d is %s, without %s", binned, p, e, a, b)
				}
			}
		}
	}
}

// TestLapsBetween: time between End and Begin is of no phase.
func TestLapsBetween(t *testing.T) {
	var none *Laps
	none.Begin()
	none.End(PhaseSweep) // adds nothing, to nothing
	l := &Laps{}
	l.Begin()
	l.End(PhaseSweep)
	time.Sleep(2 * time.Millisecond)
	gap := time.Since(l.origin) - l.began
	l.Begin()
	l.End(PhaseGradient)
	if total := l.Spent[PhaseSweep] + l.Spent[PhaseGradient]; total+gap > time.Since(l.origin) || l.Count != [NumPhases]int{0, 0, 1, 1} {
		t.Errorf("laps %v, %v, beside a gap of %v", l.Spent, l.Count, gap)
	}
	names := ""
	for p := range Phase(NumPhases) {
		names += p.String() + " "
	}
	if names != "ground exp sweep gradient " {
		t.Errorf("phases are named %s", names)
	}
}
