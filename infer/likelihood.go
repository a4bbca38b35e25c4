package infer

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/partition"
)

// Likelihood says how probable labels are under a model, summed over samples.
type Likelihood struct {
	// NegativeLog is −Σ log p(labels | held labels, features) in nats, up to what
	// Bound says; +Inf where the model forbids them.
	NegativeLog float64
	// Bound compares NegativeLog with the true value: Upper where log Z is bounded from above and every label is known,
	// Exact, or None where it is an approximation, such as the difference of two bounds.
	Bound counting.Bound
	// Labels is the number of labels in all of this.
	Labels int64
}

// Merge adds what was found of other samples.
func (l *Likelihood) Merge(o *Likelihood) {
	if o.Labels == 0 {
		return
	}
	if l.Labels == 0 {
		*l = *o
		return
	}
	l.NegativeLog += o.NegativeLog
	l.Labels += o.Labels
	switch {
	case l.Bound == o.Bound:
	case l.Bound == counting.None || o.Bound == counting.None:
		l.Bound = counting.None
	default:
		l.Bound = counting.Upper
	}
}

// Assess predicts an instance, as Predict does, and says how probable the labels of its samples are. clamp holds
// labels, or is nil; count says which of the others are compared, nil: all. Labels of samples that are held, or not
// counted, are not compared. Labels that do not exist, and held states that the model forbids, are a *crf.Error.
func (p *Predictor) Assess(
	ctx context.Context, in *crf.Instance, clamp []int32, samples [][]int32, count []bool,
) (*Beliefs, *Likelihood, error) {
	defer runtime.KeepAlive(in) // and with it the files that its features lie in
	if n := in.Graph.NumNodes(); count != nil && len(count) != n {
		return nil, nil, fmt.Errorf("infer: count has %d entries, want one for each of %d nodes", len(count), n)
	}
	r, beliefs, err := p.predict(ctx, in, clamp)
	if err != nil {
		return nil, nil, err
	}
	logZ, bound, err := p.logZ(ctx, r, in, clamp)
	if err != nil {
		return nil, nil, err
	}
	total := &Likelihood{}
	for i, labels := range samples {
		if err := in.CheckSample(i, labels); err != nil {
			return nil, nil, err
		}
		given, compared := join(clamp, labels, count)
		if compared == 0 {
			continue
		}
		joint, exact, err := p.logJoint(ctx, in, given)
		if err != nil {
			return nil, nil, err
		}
		one := &Likelihood{NegativeLog: logZ - joint, Bound: bound, Labels: compared}
		if !exact {
			one.Bound = counting.None // the difference of two values
		}
		total.Merge(one)
	}
	return beliefs, total, nil
}

// join returns the labels that are held or compared, and the number of the latter.
func join(clamp, labels []int32, count []bool) (given []int32, compared int64) {
	given = make([]int32, len(labels))
	for s, y := range labels {
		switch {
		case clamp != nil && clamp[s] >= 0:
			given[s] = clamp[s]
		case y >= 0 && (count == nil || count[s]):
			given[s] = y
			compared++
		default:
			given[s] = crf.Unobserved
		}
	}
	return given, compared
}

// logJoint returns log Σ exp of the scores of all joint states with the given labels: exact where every node has one.
func (p *Predictor) logJoint(
	ctx context.Context, in *crf.Instance, given []int32,
) (value float64, exact bool, err error) {
	if !slices.Contains(given, crf.Unobserved) {
		return p.score(in, given), true, nil
	}
	r, err := p.infer(ctx, in, given)
	if err != nil {
		return 0, false, err
	}
	value, bound, err := p.logZ(ctx, r, in, given)
	return value, bound == counting.Exact, err
}

// score returns the score of the labels that are given.
func (p *Predictor) score(in *crf.Instance, labels []int32) float64 {
	p.potential.Ground(p.Model, in, &partition.Whole(in.Graph).Blocks[0])
	return p.potential.LogScore(in, labels)
}

// logZ returns the log-partition function where an inference ended, with what is clamped, and how it compares with
// the truth. Where only a fixed point has a proof it goes on from there.
func (p *Predictor) logZ(
	ctx context.Context, r *inferred, in *crf.Instance, clamp []int32,
) (float64, counting.Bound, error) {
	if r.exact != nil {
		return r.exact.LogZ, counting.Exact, nil
	}
	facts := r.net.Counting.Facts
	upper := facts.Certified && facts.Bound == counting.Upper // a dual value bounds at any messages
	if !upper && facts.Bound != counting.None && r.outcome.Residual > provenTolerance {
		var err error
		limits := bp.Limits{Tolerance: provenTolerance, MaxSweeps: p.Limits.Resolved().MaxSweeps, Accelerated: true}
		if r.outcome, err = p.workspace.Iterate(ctx, r.net, r.state, r.block, limits); err != nil {
			return 0, counting.None, err
		}
	}
	values, err := p.workspace.Evaluate(r.net, r.state, r.block, false)
	if err != nil {
		return 0, counting.None, err
	}
	value, bound := valueAndBound(facts, values, newOutcome(r.outcome))
	if independent(r.net) {
		bound = counting.Exact
	}
	if clamp != nil {
		value += p.score(in, clamp)
	}
	return value, bound, nil
}

// independent reports whether the free energy is that of nodes without edges, which
// no counting numbers make inexact but those of the nodes.
func independent(net *bp.Net) bool {
	return net.Graph.NumEdges() == 0 && !slices.ContainsFunc(net.Counting.Node, func(c float64) bool { return c != 1 })
}
