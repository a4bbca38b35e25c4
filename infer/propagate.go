package infer

import (
	"context"
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// fixedPoint is where belief propagation on a network with explicit tables ended, with the marginals of all its nodes.
type fixedPoint struct {
	Result
	net       *bp.Net
	state     *bp.State
	block     *partition.Block
	workspace bp.Workspace
}

// provenTolerance is the residual at which the free energy of the beliefs counts as that of the fixed point, which is
// what bounds are proved of: a value is then off by little more than rounding.
const provenTolerance = 1e-8

// propagate runs convex belief propagation on the whole network until the residual is at most limits.Tolerance in a
// sweep after the first, from constant messages and uniform beliefs.
//
// An iteration that ends unconverged, or because ctx ended, is no error: see Outcome. Non-finite potentials are a
// *bp.NumericalError, and contradictory hard zeros, where they are found, ErrZero. They may stay unfound, above all
// on graphs with loops; the answer is then a bound, or an approximation, like others.
func propagate(
	ctx context.Context, p *mrf.Pairwise, counting *counting.Numbers, limits Limits,
) (*fixedPoint, error) {
	net, err := bp.NewNet(p.Graph, p.Card, counting, nil)
	if err != nil {
		return nil, err
	}
	if math.IsInf(p.Constant, -1) {
		return nil, zeroAt(errConstant)
	}
	r := &fixedPoint{Result: Result{Method: Propagation, Counting: counting}, net: net, state: bp.NewState(net),
		block: &partition.Whole(p.Graph).Blocks[0]}
	m := p.Graph.NumEdges()
	r.workspace.Potentials = ground.Potentials{ // Prepare exponentiates tables in place
		Node: slices.Clone(p.Node), NodeAt: p.NodeAt, Table: slices.Clone(p.Edge), EdgeAt: p.EdgeAt[:m], NumTables: m,
		Forbidding: true,
	}
	if err := r.workspace.Prepare(net, r.block); err != nil {
		return nil, explain(err, p)
	}
	r.workspace.Threads = limits.threads
	outcome, err := r.workspace.Iterate(ctx, net, r.state, r.block, limits.accelerated())
	if err != nil {
		return nil, explain(err, p)
	}
	values, err := r.workspace.Evaluate(net, r.state, r.block, true)
	if err != nil {
		return nil, explain(err, p)
	}
	r.Outcome, r.Gap = newOutcome(outcome), math.NaN()
	r.Stationary = outcome.Converged && !counting.Facts.Convex
	r.LogZ, r.Bound = valueAndBound(counting.Facts, values, r.Outcome)
	if counting.Facts.Certified {
		r.Gap = r.LogZ - values.Primal
	}
	if r.LogZ += p.Constant; math.IsNaN(r.LogZ) || math.IsInf(r.LogZ, 0) || r.Gap < -1e-3*(1+math.Abs(r.LogZ)) {
		return nil, wrongValue(r.LogZ) // no beliefs have more than a bound
	}
	for s, k := range p.Card {
		r.Marginals = append(r.Marginals, make([]float64, k))
		net.Belief(r.Marginals[s], r.state, int32(s))
	}
	return r, nil
}

// valueAndBound returns what a log-partition function is taken to be, and how it compares with the truth: the dual
// value, which bounds at all messages but those stuck where beliefs contradict each other, or that of a fixed point.
func valueAndBound(facts counting.Facts, v bp.Values, outcome Outcome) (logZ float64, bound counting.Bound) {
	bound = facts.Bound
	if stuck := !outcome.Converged && outcome.Residual == 0 && outcome.Sweeps > 0; facts.Certified && !stuck {
		if bound == counting.Exact && !outcome.Converged {
			bound = counting.Upper
		}
		return v.Dual, bound
	}
	if !outcome.Converged || outcome.Residual > provenTolerance {
		bound = counting.None
	}
	return v.FreeEnergy, bound
}
