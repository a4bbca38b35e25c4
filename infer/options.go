package infer

import (
	"cmp"
	"fmt"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/memory"
)

// Options say how LogPartition, Marginals and MostProbable infer. The zero value
// works; options of other methods than the chosen one are not looked at.
type Options struct {
	Method Method
	// Evidence are the states of observed variables.
	Evidence map[int]int
	// Query are the variables of which Marginals gives proved bounds, Result.Lower and Upper, in the place of all
	// marginals: by Exact, or where that does not suit by the method "walks".
	Query []int
	// Limits of Propagation and TRWS.
	Limits Limits
	// Counting makes the counting numbers of Propagation; nil: tree-reweighted ones, by Seed. The graph that it is given
	// has a node for each variable without evidence, one for each factor of more than two of them, and an edge for each
	// pair that shares a factor.
	Counting counting.Func
	// Lift makes Propagation send one message for all nodes that a symmetry of the network makes say the same: see
	// Result.Classes. Tree-reweighted numbers are made even, which loosens the bound a little.
	Lift bool
	// Memory is how many bytes inference may take; 0: four fifths of what the machine has
	// available, and of Exact 2 GiB for its tables.
	Memory int64
	// Seed of everything random.
	Seed uint64
	// Threads of Propagation on large networks; 0: 1. Results do not depend on it.
	Threads int

	operations float64 // most of an elimination that MostProbable chooses; 0: a second or so
}

func (o Options) withDefaults() Options {
	if o.Method == "" && o.Query == nil && (o.Counting != nil || o.Lift) {
		o.Method = Propagation
	}
	o.Threads = cmp.Or(o.Threads, 1)
	return o
}

// validate names the first option that cannot be used.
func (o *Options) validate() error {
	for _, c := range []struct {
		name  string
		value int
	}{{"Threads", o.Threads}, {"Memory", int(o.Memory)}} {
		if c.value < 0 {
			return &OptionError{c.name, fmt.Sprintf("it is %d, want a number that is not negative; 0 is the default", c.value)}
		}
	}
	return checkThreads(o.Threads)
}

// checkThreads refuses more threads than this machine has a use for.
func checkThreads(threads int) error {
	if problem := memory.ThreadsProblem(threads); problem != "" {
		return &OptionError{"Threads", fmt.Sprintf("it is %d, %s", threads, problem)}
	}
	return nil
}

// Limits say when an iteration ends.
type Limits struct {
	// Tolerance is what a sweep may still change where the iteration has converged: of belief propagation the largest
	// change of a log-message or log-belief, of TRW-S the share of its size by which the bound must rise in 20 sweeps to
	// go on. 0: 1e-10, of TRW-S 1e-9. Below 0 an iteration ends by MaxSweeps alone.
	Tolerance float64
	// MaxSweeps bounds the sweeps over the network; 0: 10,000, of TRW-S 4000. Below 0 no sweep is made, but one by TRW-S.
	MaxSweeps int

	threads int // of sweeps over a large network; 0: 1
}

// Resolved returns the limits with the defaults of all methods but TRW-S in the place of zeros.
func (l Limits) Resolved() Limits {
	l.Tolerance, l.MaxSweeps = cmp.Or(l.Tolerance, 1e-10), cmp.Or(l.MaxSweeps, 10000)
	return l
}

func (l Limits) accelerated() bp.Limits {
	l = l.Resolved()
	return bp.Limits{Tolerance: l.Tolerance, MaxSweeps: l.MaxSweeps, Accelerated: true}
}

// Outcome tells how an iteration ended.
type Outcome struct {
	// Converged says that the last sweep changed no more than Limits.Tolerance. Methods that do not iterate have
	// converged. It does not say that there is no better solution: see Result.Stationary.
	Converged bool
	// Sweeps over the network; 0 where the method does not iterate.
	Sweeps int
	// Residual is what the last sweep changed, as Limits.Tolerance measures it.
	Residual float64
	// Damping is the weight of the old message in the last sweep of belief propagation.
	Damping float64
	// Left of Predictor.Settled is by how much a belief is expected to change in all sweeps
	// that could follow, and Unsure how many nodes may come to another label: +Inf and all
	// nodes where nothing can be said, 0 at a fixed point and where it was not asked for.
	Left   float64
	Unsure int
}

func newOutcome(o bp.Outcome) Outcome {
	return Outcome{Converged: o.Converged, Sweeps: o.Sweeps, Residual: o.Residual, Damping: o.Damping, Left: o.Left,
		Unsure: o.Unsure}
}
