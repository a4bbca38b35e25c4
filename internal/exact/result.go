package exact

import (
	"fmt"
	"math"
)

// Result is a joint state and what is known about it.
type Result struct {
	// States[v] is the state of variable v.
	States []int
	// Energy is −Σ_f LogTable_f of it, natural logarithms: finite.
	Energy float64
	// LowerBound is at most the energy of every joint state, up to rounding.
	LowerBound float64
	// Optimal says that no joint state has a smaller energy, up to rounding.
	Optimal bool
	// Converged says that more sweeps would hardly raise the bound. Methods that do not iterate have converged.
	Converged bool
	// Sweeps over all nodes, forward and backward ones counted apart; 0 where the method does not iterate.
	Sweeps int
}

// Gap returns Energy − LowerBound, at least 0: the most by which the energy can be above the smallest one.
func (r *Result) Gap() float64 { return max(0, r.Energy-r.LowerBound) }

// NotFoundError says that no joint state of positive probability was found,
// although there may be some: finding one can be as hard as anything.
type NotFoundError struct {
	Sweeps   int
	Violated int // factors that are zero in the best state found
}

// Error implements error.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no joint state of positive probability was found in %d sweeps: in the best one %d factors are "+
		"zero; try the method exact, or more sweeps", e.Sweeps, e.Violated)
}

// score is the value of a joint state, or of one variable's state given the others: how many factors are zero, and
// the sum of the others' logarithms, and of their sizes.
type score struct {
	zeros     int
	sum, size float64
}

// add takes a factor's logarithm into account.
func (s *score) add(x float64) {
	if math.IsInf(x, -1) {
		s.zeros++
		return
	}
	s.sum += x
	s.size += math.Abs(x)
}

// above reports whether s is better than o by more than slack: fewer zeros count more than any sum.
func (s score) above(o score, slack float64) bool {
	return s.zeros < o.zeros || s.zeros == o.zeros && s.sum > o.sum+slack
}
