package infer

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// fixedPoint is where belief propagation on a network with explicit tables ended.
type fixedPoint struct {
	Result
	network   *mrf.Pairwise
	net       *bp.Net
	state     *bp.State
	whole     *partition.Partition
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
	r := &fixedPoint{Result: Result{Method: Propagation, Counting: counting}, network: p, net: net,
		state: bp.NewState(net), whole: partition.Whole(p.Graph)}
	block := &r.whole.Blocks[0]
	if err := r.load(); err != nil {
		return nil, explain(err, p)
	}
	r.workspace.Threads = limits.threads
	outcome, err := r.workspace.Iterate(ctx, net, r.state, block, limits.resolved())
	if err != nil {
		return nil, explain(err, p)
	}
	r.Outcome = newOutcome(outcome)
	r.Stationary = outcome.Converged && !counting.Facts.Convex
	values, err := r.workspace.Evaluate(net, r.state, block, true)
	if err != nil {
		return nil, explain(err, p)
	}
	r.judge(values)
	if math.IsNaN(r.LogZ) || math.IsInf(r.LogZ, 0) {
		return nil, tooLarge(r.LogZ)
	}
	return r, nil
}

// load copies the tables into the workspace, which exponentiates them in place.
func (r *fixedPoint) load() error {
	pot := &r.workspace.Potentials
	pot.Node = append(pot.Node[:0], r.network.Node...)
	pot.NodeAt = append(pot.NodeAt[:0], r.network.NodeAt...)
	pot.Table = append(pot.Table[:0], r.network.Edge...)
	pot.EdgeAt, pot.TableID = pot.EdgeAt[:0], pot.TableID[:0]
	block := &r.whole.Blocks[0]
	for q, e := range block.Edges {
		pot.EdgeAt = append(pot.EdgeAt, r.network.EdgeAt[e])
		pot.TableID = append(pot.TableID, int32(q))
	}
	pot.NumTables, pot.Forbidding = len(block.Edges), true
	return r.workspace.Prepare(r.net, block)
}

// judge turns the values into an answer that claims no more than is known.
func (r *fixedPoint) judge(v bp.Values) {
	r.LogZ, r.Bound = judge(r.Counting.Facts, v, r.Outcome)
	r.Gap = math.NaN()
	if r.Counting.Facts.Certified {
		r.Gap = r.LogZ - v.Primal
	}
	r.LogZ += r.network.Constant
}

// judge returns what a log-partition function is taken to be, and how it compares with the truth:
// the dual value, which bounds at any messages, or that of a fixed point.
func judge(facts counting.Facts, v bp.Values, outcome Outcome) (logZ float64, bound counting.Bound) {
	bound = facts.Bound
	if facts.Certified {
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

// nodeMarginals returns the belief of every node over its states.
func (r *fixedPoint) nodeMarginals() [][]float64 {
	marginals := make([][]float64, len(r.network.Card))
	for s := range marginals {
		marginals[s] = make([]float64, r.network.Card[s])
		r.net.Belief(marginals[s], r.state, int32(s))
	}
	return marginals
}
