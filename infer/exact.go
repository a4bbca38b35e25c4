package infer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/mrf"
)

// mostOperations bounds the work of an elimination that nobody asked for by name: ten
// seconds on one core of 2026 for marginals, and a few for log Z.
const mostOperations = 1e9

// elimination is a network, given evidence, with a plan for the elimination of its
// variables.
type elimination struct {
	*exact.Plan
	given *mrf.Conditioned
}

// newElimination plans an elimination whose tables may take some bytes; 0: what package
// exact allows, and is available. The search for an order gives up beyond the given operations; 0: never.
func newElimination(n *mrf.Network, evidence map[int]int, operations float64, bytes int64) (*elimination, error) {
	c, err := condition(n, evidence)
	if err != nil {
		return nil, err
	}
	var plan *exact.Plan
	if operations == 0 {
		plan, err = exact.NewPlan(c.Network)
	} else {
		plan, err = exact.NewPlanWithin(c.Network, operations)
	}
	if err != nil {
		return nil, err
	}
	plan.Limit = tableBytes(bytes)
	return &elimination{plan, c}, nil
}

// tableBytes is what tables may take: what was asked for, or what package exact allows, and is available.
func tableBytes(asked int64) int64 {
	return cmp.Or(asked, min(exact.DefaultLimit, memory.Allowed(0)))
}

// tooWide says why a plan was not followed, where err says that it was too wide; else "".
func tooWide(err error, plan *exact.Plan) string {
	var wide *exact.TooWideError
	switch {
	case !errors.As(err, &wide):
		return ""
	case wide.LowerBound:
		return fmt.Sprintf("by the orders of variables that were looked at, exact inference computes more than %.1e "+
			"entries of tables, over an induced width of %d or more", plan.Operations, wide.Width)
	}
	return fmt.Sprintf("exact inference would take %s of memory, over an induced width of %d",
		memory.Text(float64(wide.Bytes)), wide.Width)
}

// bestThatFits is Exact, or else Propagation with the reason.
func (o Options) bestThatFits(ctx context.Context, n *mrf.Network, marginals bool) (*Result, error) {
	e, err := newElimination(n, o.Evidence, mostOperations, o.Memory)
	if err != nil {
		return nil, err
	}
	r, err := o.eliminate(ctx, e, marginals)
	why := tooWide(err, e.Plan)
	if why == "" && !(marginals && errors.Is(err, ErrZero)) {
		return r, err
	}
	o.Method = Propagation
	byPropagation, failed := o.propagate(ctx, n, marginals)
	switch {
	case why == "" && errors.Is(failed, ErrZero):
		return nil, failed // which often says where
	case why == "":
		return nil, err
	case failed != nil:
		return nil, failed
	}
	byPropagation.NotExact = why
	return byPropagation, nil
}

// eliminate is the method Exact.
func (o *Options) eliminate(ctx context.Context, e *elimination, marginals bool) (*Result, error) {
	if z := sizesOf(e.given.Network); marginals {
		if err := tooMuch("the marginals of all variables", z.marginals(), o.Memory, z.reason()); err != nil {
			return nil, err
		}
	}
	bytes := e.PartitionBytes
	if marginals {
		bytes = e.Bytes
	}
	o.forecast(e.Plan, bytes)
	got, err := e.Run(ctx, marginals)
	if err != nil {
		return nil, classified(err)
	}
	if math.IsNaN(got.LogZ) || math.IsInf(got.LogZ, 1) {
		return nil, tooLarge(got.LogZ)
	}
	r := exactResult(Exact, got.LogZ)
	r.Width, r.Bytes, r.Operations = e.Width, bytes, e.Operations
	if marginals {
		r.Marginals = e.given.Marginals(got.Marginals)
	}
	return r, nil
}

// forecast tells what elimination will take, where it is within the limit.
func (o *Options) forecast(plan *exact.Plan, bytes int64) {
	if o.Forecast != nil && plan.Check(bytes) == nil {
		o.Forecast(plan.Width, bytes, plan.Operations)
	}
}

// sampler prepares independent draws.
func (e *elimination) sampler(ctx context.Context) (*exact.Sampler, error) {
	s, err := e.Sampler(ctx)
	switch {
	case err != nil:
		return nil, classified(err)
	case math.IsNaN(s.LogZ) || math.IsInf(s.LogZ, 0):
		return nil, tooLarge(s.LogZ)
	}
	return s, nil
}
