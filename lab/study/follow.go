package study

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/learn"
)

// follower is the paper's Algorithm 2 on a small model, written out: learn.Fit keeps no pairwise beliefs, and the
// theorems are about all of τ_t. A test holds its weights against learn.Fit.
type follower struct {
	problem     learn.Problem
	in          *crf.Instance
	model       *crf.Model // weights θ_t
	net         *bp.Net
	part, whole *partition.Partition
	space       bp.Workspace
	limits      bp.Limits // of every inference
	// state is that of the blocks, exact that of full inference at every θ_t.
	state, exact *bp.State
	adjoint      ground.Adjoint
	tau, star    []float64 // τ_t and τ*_t: nodes, then edges
	nodeAt       []int
	edgeAt       []int
	data         []float64 // [weights] w̄
	gradient     []float64
	unsettled    int // inferences that did not converge
}

const (
	// followTolerance is the residual of every inference here, so small that rounding is all that is left.
	followTolerance = 1e-13
	followSweeps    = 2000
	// unsettledResidual is that of an inference that has more than rounding left.
	unsettledResidual = 1e-11
)

func newFollower(p learn.Problem, part *partition.Partition) (*follower, error) {
	in := p.Data[0]
	f := &follower{problem: p, in: in, model: p.Model.Clone(), part: part, whole: partition.Whole(in.Graph)}
	numbers, err := p.Counting.Of(in.Graph)
	if err != nil {
		return nil, err
	}
	if f.net, err = bp.NewNet(in.Graph, in.Cards(), numbers, nil); err != nil {
		return nil, err
	}
	f.state, f.exact = bp.NewState(f.net), bp.NewState(f.net)
	f.limits = bp.Limits{Tolerance: followTolerance, MaxSweeps: followSweeps, Outward: true}
	size := 0
	for s := range in.Graph.NumNodes() {
		f.nodeAt = append(f.nodeAt, size)
		size += in.States(int32(s))
	}
	f.nodeAt = append(f.nodeAt, size)
	for e := range in.Graph.NumEdges() {
		f.edgeAt = append(f.edgeAt, size)
		size += f.model.Layout.Edge[in.EdgeType(int32(e))].States
	}
	f.edgeAt = append(f.edgeAt, size)
	f.tau, f.star = make([]float64, size), make([]float64, size)
	f.data, f.gradient = make([]float64, len(f.model.Weights)), make([]float64, len(f.model.Weights))
	samples := in.Samples()
	for _, labels := range samples {
		f.adjoint.AddChange(f.data, f.model, in, ground.Whole(in), nil, labels, 1/float64(len(samples)))
	}
	// Before the first iteration the beliefs are those of θ_0.
	if err := f.infer(f.tau, f.state, &f.whole.Blocks[0]); err != nil {
		return nil, err
	}
	return f, nil
}

// infer iterates a block to convergence at the current weights and writes its beliefs in their places in tau.
func (f *follower) infer(tau []float64, state *bp.State, block *partition.Block) error {
	f.space.Potentials.Ground(f.model, f.in, block)
	if err := f.space.Prepare(f.net, block); err != nil {
		return err
	}
	outcome, err := f.space.Iterate(context.Background(), f.net, state, block, f.limits)
	if err != nil {
		return err
	}
	if !(outcome.Residual <= unsettledResidual) {
		f.unsettled++
	}
	for p, s := range block.Nodes {
		f.space.NodeBeliefs(tau[f.nodeAt[s]:f.nodeAt[s+1]], f.net, state, block, p, p+1)
	}
	for q, e := range block.Edges {
		if _, err := f.space.EdgeBelief(tau[f.edgeAt[e]:f.edgeAt[e+1]], f.net, state, block, q); err != nil {
			return err
		}
	}
	return nil
}

// aggregate sets the gradient (9), M τ − w̄ + l2 θ.
func (f *follower) aggregate() { f.gradientOf(f.gradient, f.tau) }

// gradientOf writes M τ − w̄ + l2 θ for any beliefs into dst.
func (f *follower) gradientOf(dst, tau []float64) {
	for i, w := range f.model.Weights {
		dst[i] = f.problem.L2*w - f.data[i]
	}
	for s := range f.in.Graph.NumNodes() {
		f.adjoint.AddNodes(dst, f.model, f.in, []int32{int32(s)}, tau[f.nodeAt[s]:f.nodeAt[s+1]])
	}
	f.adjoint.ReleaseAll(dst, f.model, f.in)
	for e := range f.in.Graph.NumEdges() {
		f.adjoint.AddEdges(dst, f.model, f.in, []int32{int32(e)}, tau[f.edgeAt[e]:f.edgeAt[e+1]])
	}
}

// Moment is what theorem 1 speaks of, at one iteration.
type Moment struct {
	Theta float64 `json:"theta"` // ‖θ_t − θ*‖
	Tau   float64 `json:"tau"`   // ‖τ_t − τ*_t‖
	// Before is ‖τ_{t−1} − τ*_t‖, so that 1 − Tau/Before is the contraction c of Assumption 1.
	Before float64 `json:"before"`
}

// contraction returns c, and false where τ was exact to within rounding before, so that there was nothing to contract.
func (m Moment) contraction() (c float64, ok bool) {
	const rounding = 1e-9
	return 1 - m.Tau/m.Before, m.Before > rounding
}

// follow makes so many iterations with a step on ∇L, in cyclic order, from zero weights.
func (f *follower) follow(ctx context.Context, star []float64, step float64, iterations int) ([]Moment, error) {
	moments := make([]Moment, 0, iterations)
	for t := range iterations {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := f.infer(f.star, f.exact, &f.whole.Blocks[0]); err != nil {
			return nil, fmt.Errorf("full inference at iteration %d: %w", t, err)
		}
		m := Moment{Theta: floats.Distance(f.model.Weights, star, 2), Before: floats.Distance(f.tau, f.star, 2)}
		if err := f.infer(f.tau, f.state, &f.part.Blocks[t%len(f.part.Blocks)]); err != nil {
			return nil, fmt.Errorf("block inference at iteration %d: %w", t, err)
		}
		m.Tau = floats.Distance(f.tau, f.star, 2)
		moments = append(moments, m)
		f.aggregate()
		floats.AddScaled(f.model.Weights, -step, f.gradient)
		if !(m.Theta < math.MaxFloat64) {
			return nil, fmt.Errorf("the weights became %v at iteration %d: the step %.3g is too large", m.Theta, t, step)
		}
	}
	return moments, nil
}
