package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// Beliefs are the node marginals of one instance under a model.
type Beliefs struct {
	// Node holds τ_s(i) at Node[NodeAt[s]+i]; NodeAt has nodes+1 entries.
	Node   []float64
	NodeAt []int
	// Labels are the states of largest belief; the smaller number wins a tie. With
	// Predictor.Joint they are a most probable joint state instead.
	Labels []int32
	// Joint is what is known of that state; nil without Predictor.Joint.
	Joint *State
	Outcome
}

// Of returns the belief of node s over its states.
func (b *Beliefs) Of(s int) []float64 { return b.Node[b.NodeAt[s]:b.NodeAt[s+1]] }

// Predictor infers instances one after another with the same model, reusing its
// scratch. Use one per goroutine. All fields but Model may be left zero.
type Predictor struct {
	Model *crf.Model
	// Counting makes the counting numbers of each graph; nil: counting.Convex.
	Counting counting.Func
	// Limits of belief propagation; zeros: the defaults.
	Limits Limits
	// Settled, above 0, ends belief propagation also where beliefs are settled: as far as the
	// changes of the last sweeps tell, none changes by more than that in all that could
	// follow, and at most one label in a thousand does. See Outcome.Left.
	Settled float64
	// Truncated, above 0, makes exactly so many plain sweeps, whatever Limits and Settled say: those that weights were
	// trained for by learn.Truncated.
	Truncated int
	// Joint asks for a most probable joint state as labels, and says when the search for it ends, as in MostProbable;
	// nil: the states of largest belief, node by node.
	Joint *Limits
	// Exact asks for elimination of variables in the place of belief propagation, for
	// every instance whose tables take no more than 64 MiB, and on which the counting
	// numbers are not exact. It does not iterate: of its Outcome, Sweeps are 0.
	Exact bool
	// Temperature T makes beliefs τ_s(i) proportional to τ_s(i)^(1/T), node by node: above 1
	// they are less sure of themselves. It changes neither labels nor likelihoods. 0 is 1.
	Temperature float64
	// Threads is how many goroutines belief propagation on a large network may take; 0: 1. Results do not depend on it.
	Threads int

	workspace bp.Workspace
	whole     *partition.Partition // of the network before
	state     bp.State
	potential ground.Potentials
}

// Predict infers the node marginals of an instance. clamp, if not nil, gives the states of nodes to hold fixed and −1
// for the others; states that do not exist, or that the model forbids, are a *crf.Error. A negative Temperature is an
// *OptionError, and an instance, or weights, of another schema than the model's are an error, too.
func (p *Predictor) Predict(ctx context.Context, in *crf.Instance, clamp []int32) (*Beliefs, error) {
	_, b, err := p.predict(ctx, in, clamp)
	return b, err
}

func (p *Predictor) predict(ctx context.Context, in *crf.Instance, clamp []int32) (*inferred, *Beliefs, error) {
	defer runtime.KeepAlive(in) // and with it the files that its features lie in
	if !ground.SameShape(in.Schema(), &p.Model.Schema) || len(p.Model.Weights) != p.Model.Layout.Size {
		return nil, nil, errors.New("infer: the instance, or the weights, are made for another schema than the model's")
	}
	if !(p.Temperature >= 0) || math.IsInf(p.Temperature, 0) {
		return nil, nil, &OptionError{"Temperature", fmt.Sprintf("it is %v, want a number above 0, or 0", p.Temperature)}
	}
	if err := in.CheckHeld(&p.Model.Schema, clamp); err != nil {
		return nil, nil, err
	}
	r, err := p.infer(ctx, in, clamp)
	if err != nil {
		return nil, nil, err
	}
	b, err := p.beliefs(ctx, r, in, clamp)
	return r, b, err
}

// inferred is where the inference of an instance ended. Its potentials, messages and beliefs
// are in the predictor's scratch until the next.
type inferred struct {
	net     *bp.Net
	state   *bp.State
	block   *partition.Block // of the nodes that are free
	outcome bp.Outcome
	exact   *exact.Answer // instead of all of this
	node    []int32       // nodes of the instance in the order in which they were laid out for this, or nil
}

// exactBytes bounds the tables of elimination for an instance: what they take, and the
// time that goes with it, is no surprise then.
const exactBytes = 64 << 20

// eliminate infers exactly. It returns nil where that would take too much.
func (p *Predictor) eliminate(ctx context.Context, in *crf.Instance, clamp []int32) (*inferred, error) {
	given, err := condition(ground.Condition(p.Model, in).Network(), evidenceOf(clamp))
	if err != nil {
		return nil, err
	}
	plan := newPlan(given.Network, "", exactBytes, exactBytes)
	if plan.Check(plan.Bytes) != nil {
		return nil, nil
	}
	answer, err := plan.Run(ctx, true)
	if err != nil {
		return nil, err
	}
	answer.Marginals = given.Marginals(answer.Marginals)
	return &inferred{exact: answer}, nil
}

func (p *Predictor) infer(ctx context.Context, in *crf.Instance, clamp []int32) (r *inferred, err error) {
	given, held, node := in, clamp, []int32(nil)
	if p.Truncated == 0 { // sweeps of which count by the order
		in = in.LaidOut()
	}
	if in != given {
		_, node, _ = in.Graph.Given()
		clamp = numeric.Pick(clamp, node)
		defer func() {
			if e := (*bp.NumericalError)(nil); errors.As(err, &e) {
				e.Node, e.Edge = in.Graph.Known(e.Node, e.Edge)
			}
		}()
	}
	numbers, err := p.Counting.Of(in.Graph)
	if err != nil {
		return nil, err
	}
	if p.Exact && numbers.Facts.Bound != counting.Exact { // where they are, messages are quicker
		if r, err := p.eliminate(ctx, given, held); r != nil || err != nil {
			return r, err
		}
	}
	net, err := bp.NewNet(in.Graph, in.Cards(), numbers, clamp)
	if err != nil {
		return nil, err
	}
	// Where sweeps have momentum, or no node has two neighbours, the order does not matter. Pictures of one size share a
	// graph.
	coloured := numbers.Facts.Dual && p.Truncated == 0 && in.Graph.NumNodes() >= bp.ManyNodes
	if p.whole == nil || p.whole.Graph != in.Graph || p.whole.Coloured != coloured {
		if p.whole = partition.Whole(in.Graph); coloured {
			p.whole = partition.Coloured(in.Graph)
		}
	}
	whole := p.whole
	if clamp != nil {
		whole = whole.Restrict(numeric.Map(clamp, func(y int32) bool { return y < 0 }))
	}
	block := &whole.Blocks[0]
	p.workspace.Potentials.Reserve(ground.RoomOf(&p.Model.Layout, in, block))
	if err := p.workspace.Ground(p.Model, in, net, nil, block); err != nil {
		return nil, err
	}
	p.state.Fit(net)
	r = &inferred{net: net, state: &p.state, block: block, node: node}
	limits := p.Limits.accelerated()
	if p.Truncated > 0 {
		r.outcome.Sweeps = p.Truncated
		r.outcome.Residual, err = p.workspace.Trace(ctx, net, r.state, block, p.Truncated, nil)
		r.outcome.Converged = err == nil // no more is asked for
		return r, err
	}
	limits.Beliefs, p.workspace.Threads = p.Settled, p.Threads
	if r.outcome, err = p.workspace.Iterate(ctx, net, r.state, block, limits); err != nil {
		return nil, err
	}
	return r, nil
}

// beliefs collects what was inferred, and decodes it as is asked for.
func (p *Predictor) beliefs(ctx context.Context, r *inferred, in *crf.Instance, clamp []int32) (*Beliefs, error) {
	b := r.collect()
	b.temper(p.Temperature)
	if p.Joint == nil || ctx.Err() != nil {
		return b, nil
	}
	var err error
	if b.Joint, err = mostProbable(ctx, ground.Condition(p.Model, in), clamp, *p.Joint); err != nil {
		return nil, err
	}
	for s, x := range b.Joint.States {
		b.Labels[s] = int32(x)
	}
	return b, nil
}

// mostProbable finds a most probable joint state of p in which the nodes that are held keep their states.
func mostProbable(ctx context.Context, p *mrf.Pairwise, held []int32, limits Limits) (*State, error) {
	o := Options{Limits: limits, Evidence: evidenceOf(held)}
	if len(o.Evidence) == 0 {
		return o.solve(ctx, p.Network(), p, nil)
	}
	return o.mostProbable(ctx, p.Network())
}

// evidenceOf are the states of nodes that are held, where the others have −1.
func evidenceOf(held []int32) map[int]int {
	evidence := map[int]int{}
	for s, y := range held {
		if y >= 0 {
			evidence[s] = int(y)
		}
	}
	return evidence
}

func (r *inferred) collect() *Beliefs {
	b := &Beliefs{NodeAt: []int{0}, Outcome: newOutcome(r.outcome)}
	if r.exact != nil {
		b.Node, b.Converged = slices.Concat(r.exact.Marginals...), true
		for s, marginal := range r.exact.Marginals {
			b.NodeAt = append(b.NodeAt, b.NodeAt[s]+len(marginal))
		}
	} else {
		b.NodeAt = slices.Grow(b.NodeAt, len(r.net.Card))
		for s, k := range r.net.Card {
			b.NodeAt = append(b.NodeAt, b.NodeAt[s]+int(k))
		}
		b.Node = make([]float64, b.NodeAt[len(r.net.Card)])
		r.net.NodeBeliefs(b.Node, r.state)
		if r.node != nil {
			b.reorder(r.node)
		}
	}
	b.Labels = make([]int32, len(b.NodeAt)-1)
	for s := range b.Labels {
		b.Labels[s] = int32(max(0, slices.Index(b.Of(s), slices.Max(b.Of(s)))))
	}
	return b
}

// reorder puts beliefs of a graph that was laid out into the order of its nodes as they were given.
func (b *Beliefs) reorder(node []int32) {
	laid, place := *b, make([]int, len(node))
	for i, s := range node {
		place[s] = i
	}
	b.Node, b.NodeAt = make([]float64, 0, len(laid.Node)), []int{0}
	for _, i := range place {
		b.Node = append(b.Node, laid.Of(i)...)
		b.NodeAt = append(b.NodeAt, len(b.Node))
	}
}

// temper raises the beliefs of every node to the power 1/temperature, and normalises them. Order
// within a node stays, and so do beliefs of 0 and 1.
func (b *Beliefs) temper(temperature float64) {
	if temperature == 0 || temperature == 1 {
		return
	}
	for s := range b.Labels {
		belief := b.Of(s)
		largest, sum := slices.Max(belief), 0.0
		for i, p := range belief {
			belief[i] = math.Exp(math.Log(p/largest) / temperature)
			sum += belief[i]
		}
		for i := range belief {
			belief[i] /= sum
		}
	}
}
