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

// Laps adds up the time that each phase takes, for measuring. It is of one goroutine.
// A nil *Laps adds nothing and costs next to nothing.
type Laps struct {
	Spent [NumPhases]time.Duration
	// Count is how often the clock was read to end a lap of each phase. A reading takes
	// tens of nanoseconds, which are in Spent.
	Count [NumPhases]int

	origin time.Time     // of the clock
	began  time.Duration // of the lap at hand, since origin
}

// Begin begins a lap: what came before is of no phase.
func (l *Laps) Begin() {
	if l == nil {
		return
	}
	if l.origin.IsZero() {
		l.origin = time.Now()
	}
	l.began = time.Since(l.origin)
}

// End ends a lap, which was spent on a phase, and begins the next.
func (l *Laps) End(p Phase) {
	if l == nil {
		return
	}
	now := time.Since(l.origin)
	l.Spent[p] += now - l.began
	l.Count[p]++
	l.began = now
}
