package infer

import (
	"context"
	"errors"
	"math"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/mrf"
)

// eliminate is the method Exact.
func (o *Options) eliminate(ctx context.Context, n *mrf.Network, marginals bool) (*Result, error) {
	given, err := condition(n, o.Evidence)
	if err != nil {
		return nil, err
	}
	plan := newPlan(given.Network, o.Method, mostOperations, o.Memory)
	bytes := plan.PartitionBytes
	if marginals {
		bytes = plan.Bytes
	}
	got, err := plan.Run(ctx, marginals)
	switch {
	case errors.Is(err, ErrZero) && !marginals:
		got = &exact.Answer{LogZ: math.Inf(-1)}
	case errors.Is(err, ErrZero) && o.Method == "":
		if _, located := o.propagate(ctx, n, marginals); errors.Is(located, ErrZero) {
			return nil, located // which often says where
		}
		return nil, err
	case err != nil:
		return nil, err
	case math.IsNaN(got.LogZ) || math.IsInf(got.LogZ, 1):
		return nil, wrongValue(got.LogZ)
	}
	r := exactResult(Exact, got.LogZ)
	r.Width, r.Bytes, r.Operations = plan.Width, bytes, plan.Operations
	if marginals {
		r.Marginals = given.Marginals(got.Marginals)
	}
	return r, nil
}
