package bp

import "time"

// Phase is a part of the work on a block.
type Phase uint8

// The phases, in their order.
const (
	PhaseGround   Phase = iota // potentials from weights and features
	PhaseExp                   // tables divided by ρ and exponentiated
	PhaseSweep                 // messages and beliefs of nodes
	PhaseGradient              // beliefs of edges and their products with the features
	NumPhases     = iota
)

// String returns the name of the phase: ground, exp, sweep or gradient.
func (p Phase) String() string {
	return [NumPhases]string{"ground", "exp", "sweep", "gradient"}[p]
}

// PhaseTimes adds up the time that each phase takes, for measuring. It is of one goroutine.
// A nil *PhaseTimes adds nothing and costs next to nothing.
type PhaseTimes struct {
	Spent [NumPhases]time.Duration
	// Count is how often the clock was read at the end of each phase. A reading takes
	// tens of nanoseconds, which are in Spent.
	Count [NumPhases]int

	origin time.Time     // of the clock
	began  time.Duration // of the phase at hand, since origin
}

// Begin begins a phase: what came before is of none.
func (t *PhaseTimes) Begin() {
	if t == nil {
		return
	}
	if t.origin.IsZero() {
		t.origin = time.Now()
	}
	t.began = time.Since(t.origin)
}

// End ends a phase, which it names, and begins the next.
func (t *PhaseTimes) End(p Phase) {
	if t == nil {
		return
	}
	now := time.Since(t.origin)
	t.Spent[p] += now - t.began
	t.Count[p]++
	t.began = now
}
