package infer

import (
	"cmp"
	"context"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/mrf"
)

// State is a joint state and what is known of it.
type State struct {
	// Method is what found it.
	Method Method
	// NotExact says why elimination was not taken, where the best method that fits is TRWS.
	NotExact string
	// States[v] is the state of variable v.
	States []int
	// Energy is minus the sum of the natural logarithms of its factors, and LowerBound at most that of every joint
	// state, up to rounding. Gap is their difference, at least 0.
	Energy, LowerBound, Gap float64
	// Optimal says that no joint state has a smaller energy, up to rounding.
	Optimal bool
	// Converged says that more sweeps would hardly raise the bound, and Sweeps counts
	// forward and backward ones apart: 0 where the method does not iterate.
	Converged bool
	Sweeps    int
}

// MostProbable finds a most probable joint state of a network, given evidence (MAP, or MPE). TRWS need not find an
// optimal one: see State. It uses Method, Evidence, Limits and Memory of the options.
//
// Errors are *OptionError, ErrZero, and ErrUnsuited; that TRWS found no state of positive probability, though there may
// be some; and potentials that overflow. If ctx ends, TRWS returns what it has so far, and Exact the error of ctx.
func MostProbable(ctx context.Context, n *mrf.Network, o Options) (*State, error) {
	o.operations = mostOperations
	return o.mostProbable(ctx, n)
}

// mostProbable is MostProbable, within o.operations.
func (o *Options) mostProbable(ctx context.Context, n *mrf.Network) (*State, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c, err := condition(n, o.Evidence)
	if err != nil {
		return nil, err
	}
	return o.solve(ctx, c.Network, nil, c)
}

// solve finds a most probable state of n, of which p is the pairwise form, if it is there, and which is that of c, if
// there is evidence.
func (o *Options) solve(ctx context.Context, n *mrf.Network, p *mrf.Pairwise, c *mrf.Conditioned) (*State, error) {
	state := func(method Method, r *exact.Result, err error) (*State, error) {
		if err != nil {
			return nil, err
		}
		if c != nil {
			r.States = c.States(r.States)
		}
		return &State{Method: method, States: r.States, Energy: r.Energy, LowerBound: r.LowerBound, Gap: r.Gap(),
			Optimal: r.Optimal, Converged: r.Converged, Sweeps: r.Sweeps}, nil
	}
	s, notExact, err := follow(o.Method, TRWS, func() (*State, error) {
		r, err := newPlan(n, o.Method, cmp.Or(o.operations, quickOperations), o.Memory).Maximize(ctx)
		return state(Exact, r, err)
	}, func() (*State, error) {
		z := sizesOf(n)
		bytes := z.network() + double*(z.messages+z.states)
		if err := tooMuch("inference by trws", bytes, o.Memory, z.reason()); err != nil {
			return nil, err
		}
		r, err := exact.Sequential(ctx, n, p, o.Limits.Tolerance, o.Limits.MaxSweeps)
		return state(TRWS, r, err)
	})
	if err != nil {
		return nil, err
	}
	s.NotExact = notExact
	return s, nil
}
