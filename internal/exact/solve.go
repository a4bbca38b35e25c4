package exact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Settings choose the method and its limits. The zero value works.
type Settings struct {
	Method Method // "" means Auto
	// Memory is the number of bytes that Exact may use for tables; 0 means
	// DefaultLimit.
	Memory int64
	// Operations bounds the work of elimination by Auto; 0 means a second or so.
	Operations float64
	// Limits are those of TRWS.
	Limits Limits
	// Planned, if not nil, is called with the forecast of Exact before it starts.
	Planned func(*Plan)
}

// cheapOperations is the work up to which Auto chooses elimination unless it is told
// otherwise: a second or so.
const cheapOperations = 2e8

// Solve finds a most probable joint state. TRWS, on which Auto falls back, need
// not find an optimal one: see Result. If ctx ends, TRWS returns what it has so
// far, and Exact the error of ctx.
func (p *Problem) Solve(ctx context.Context, s Settings) (*Result, error) {
	switch s.Method {
	case Exact:
		plan, err := NewPlan(p.network)
		if err != nil {
			return nil, err
		}
		return eliminate(ctx, plan, s)
	case Cut:
		return p.MinimumCut()
	case TRWS:
		return p.Sequential(ctx, s.Limits)
	case Auto, "":
		return p.solveByFirst(ctx, s)
	}
	return nil, fmt.Errorf("mpe: method %q, want auto, cut, exact or trws", s.Method)
}

// solveByFirst is the method Auto.
func (p *Problem) solveByFirst(ctx context.Context, s Settings) (*Result, error) {
	var (
		unsuited *NotSubmodularError
		wide     *TooWideError
	)
	if r, err := p.MinimumCut(); !errors.As(err, &unsuited) {
		return r, err
	}
	plan, err := NewPlanWithin(p.network, cmp.Or(s.Operations, cheapOperations))
	if err != nil {
		return nil, err
	}
	if r, err := eliminate(ctx, plan, s); !errors.As(err, &wide) {
		return r, err
	}
	return p.Sequential(ctx, s.Limits)
}

// eliminate is the method Exact.
func eliminate(ctx context.Context, plan *Plan, s Settings) (*Result, error) {
	plan.Limit = s.Memory
	if s.Planned != nil {
		s.Planned(plan)
	}
	best, err := plan.Maximize(ctx)
	if errors.Is(err, ErrZeroPartition) {
		return nil, ErrZero
	}
	if err != nil {
		return nil, err
	}
	return &Result{
		Method: Exact, States: best.States, Energy: -best.LogScore, LowerBound: -best.LogScore,
		Optimal: true, Converged: true,
	}, nil
}
