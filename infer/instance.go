package infer

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph/partition"
)

// Beliefs are the node marginals of one instance under a model.
type Beliefs struct {
	// Node holds τ_s(i) at Node[NodeAt[s]+i]; NodeAt has nodes+1 entries.
	Node   []float64
	NodeAt []int
	// Labels are the states of largest belief; the smaller number wins a tie.
	Labels  []int32
	Outcome bp.Outcome
}

// Of returns the belief of node s over its states.
func (b *Beliefs) Of(s int) []float64 { return b.Node[b.NodeAt[s]:b.NodeAt[s+1]] }

// Predictor infers instances one after another with the same model, reusing its
// scratch. Use one per goroutine.
type Predictor struct {
	Model    *crf.Model
	Counting func(*crf.Instance) (*bp.Counting, error)
	Limits   bp.Limits

	workspace bp.Workspace
}

// Predict infers the node marginals of an instance. clamp, if not nil, gives the
// states of nodes to hold fixed and −1 for the others.
func (p *Predictor) Predict(ctx context.Context, in *crf.Instance, clamp []int32) (*Beliefs, error) {
	r, err := p.infer(ctx, in, clamp)
	if err != nil {
		return nil, err
	}
	return collect(r.net, r.state, r.outcome), nil
}

// inferred is where the inference of an instance ended. Its potentials are in the
// predictor's workspace until the next.
type inferred struct {
	net     *bp.Net
	state   *bp.State
	whole   *partition.Partition // of the nodes that are free
	outcome bp.Outcome
}

func (p *Predictor) infer(ctx context.Context, in *crf.Instance, clamp []int32) (*inferred, error) {
	counting, err := p.Counting(in)
	if err != nil {
		return nil, err
	}
	net, err := bp.NewNet(in.Graph, in.Cards(), counting, clamp)
	if err != nil {
		return nil, err
	}
	whole := partition.Whole(in.Graph)
	if clamp != nil {
		free := make([]bool, len(clamp))
		for s, y := range clamp {
			free[s] = y < 0
		}
		whole = whole.Restrict(free)
	}
	block := &whole.Blocks[0]
	p.Model.Ground(&p.workspace.Potentials, in, block)
	if err := p.workspace.Prepare(net, block); err != nil {
		return nil, err
	}
	r := &inferred{net: net, state: bp.NewState(net), whole: whole}
	if r.outcome, err = p.workspace.Iterate(ctx, net, r.state, block, p.Limits); err != nil {
		return nil, err
	}
	return r, nil
}

func collect(net *bp.Net, state *bp.State, outcome bp.Outcome) *Beliefs {
	b := &Beliefs{NodeAt: make([]int, 1, len(net.Card)+1), Labels: make([]int32, len(net.Card)), Outcome: outcome}
	for s, k := range net.Card {
		at := len(b.Node)
		b.Node = append(b.Node, make([]float64, k)...)
		net.Belief(b.Node[at:], state, int32(s))
		b.Labels[s] = largest(b.Node[at:])
		b.NodeAt = append(b.NodeAt, len(b.Node))
	}
	return b
}

func largest(belief []float64) int32 {
	best, at := math.Inf(-1), 0
	for i, x := range belief {
		if x > best {
			best, at = x, i
		}
	}
	return int32(at)
}
