package job

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/learn"
)

// fewLabels is the share of known labels up to which node weights are learned without
// edges first. With hidden labels the objective is not convex. Without edges it is, and at
// its optimum tight bounds are exact: a run from there ends no higher.
const fewLabels = 0.5

// featuresFirst reports whether weights begin with those of node features alone. Every state needs a label: without
// edges nothing tells apart the others, which would begin at a saddle.
func (p *Prepared) featuresFirst() bool {
	return p.mostHidden() && p.everyStateSeen() &&
		slices.ContainsFunc(p.Problem.Model.Schema.NodeTypes, func(t crf.NodeType) bool { return t.Features > 0 })
}

// mostHidden reports whether edges are learned, of nodes of whose labels half or more are hidden.
func (p *Prepared) mostHidden() bool { return p.knownShare() <= fewLabels }

// knownShare is the share of labels that are known of networks whose edges are learned with
// weights of nodes, if only of their bias; 1 where none are.
func (p *Prepared) knownShare() float64 {
	o := &p.Options
	if p.Initial != nil || o.NoEdges || o.Method.Local() && o.Method != learn.Exact {
		return 1
	}
	joined := func(in *crf.Instance) bool { return in.Graph.NumEdges() > 0 }
	if slices.ContainsFunc(p.Problem.Data, joined) {
		return p.labels().share()
	}
	return 1
}

// featuresPasses bounds the passes of the fit without edges: node weights are about there by then. The limits of the
// run do not count, so that a run that goes on after one has begun where one in one go does.
const featuresPasses = 500

// beginWithFeatures learns node weights without edges, and begins the training there, where
// that is wanted. A run that goes on learns them again: it is compared with them.
func (r *run) beginWithFeatures(ctx context.Context) error {
	p := r.p
	if !p.featuresFirst() {
		return nil
	}
	m, err := modelOf(p.fitWithoutEdges(ctx, featuresPasses, time.Duration(choiceShare*float64(r.left(learningShare))),
		p.Settings.Group))
	interrupted := ctx.Err() != nil
	if g := p.Settings.Group; g != nil {
		interrupted = g.Any(interrupted)
	}
	if interrupted {
		return r.interrupted("while node weights were learned without edges")
	}
	if err != nil {
		return err
	}
	p.Problem.Model, p.alone = m, m
	return nil
}

// fitWithoutEdges learns node weights without edges.
func (p *Prepared) fitWithoutEdges(ctx context.Context, passes float64, limit time.Duration,
	group learn.Group) (*learn.Result, error) {
	problem := p.Problem
	problem.Counting, problem.Data = nil, withoutEdges(p.Problem.Data)
	s := learn.Settings{Threads: p.Settings.Threads, Memory: p.Settings.Memory, Seed: p.Settings.Seed,
		MaxPasses: passes, MaxTime: limit, Group: group}
	s, _, err := s.Choose(&problem)
	if err != nil {
		return nil, err
	}
	return learn.Fit(ctx, problem, s)
}

// modelOf is the model of a result, if there is one.
func modelOf(r *learn.Result, err error) (*crf.Model, error) {
	if err != nil {
		return nil, err
	}
	return r.Model, nil
}

// fewestPasses without edges bring node weights near what they come to, and mostPasses there, to compare with.
const fewestPasses, mostPasses = 10, 100

// withoutEdges returns a model of the same features without edges, on the scale that is learned with, to compare a
// training with: what that began with, what a rule gave edges to, or one of as many passes, which take a small part
// of the time of passes with edges; nil, with a note, where --max-time would end it before that.
func (r *run) withoutEdges(ctx context.Context, passes float64) (_ *crf.Model, err error) {
	p := r.p
	if p.alone != nil || r.hurried {
		return p.alone, nil
	}
	limit, least := r.left(0), time.Duration(evaluationShare/2*float64(p.Options.MaxTime))
	var fitted *learn.Result
	if limit >= least && r.took.compares(p.Options.MaxTime) {
		fitted, err = p.fitWithoutEdges(ctx, min(mostPasses, max(fewestPasses, math.Ceil(passes))), limit/2, nil)
	}
	if err == nil && (fitted == nil || fitted.Status == learn.TimeLimit) {
		r.hurried = true
		p.tell(r.watch, "{max-time} left no time to train a model without edges to compare with; {no-edges} trains it alone")
		return nil, nil
	}
	p.alone, err = modelOf(fitted, err)
	return p.alone, err
}

// census counts labels.
type census struct {
	of            [][]int // [node type][copy of untied weights, and state]
	known, hidden int
}

// share is that of known labels; 1 of none.
func (c *census) share() float64 { return 1 - float64(c.hidden)/float64(max(1, c.known+c.hidden)) }

// labelsOf counts the labels of data.
func labelsOf(types []crf.NodeType, data []*crf.Instance) *census {
	c := &census{of: make([][]int, len(types))}
	for a, t := range types {
		c.of[a] = make([]int, max(1, t.Copies)*len(t.States))
	}
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				if y == crf.Unobserved {
					c.hidden++
					continue
				}
				c.known++
				a := in.NodeType(int32(s))
				if types[a].Copies > 0 {
					y += int32(in.NodeRow(int32(s)) * len(types[a].States))
				}
				c.of[a][y]++
			}
		}
	}
	return c
}

// labels counts those that are learned from.
func (p *Prepared) labels() *census {
	return labelsOf(p.Problem.Model.Schema.NodeTypes, p.Problem.Data)
}

// ofStates counts the labels of each state of the a-th type of nodes.
func (c *census) ofStates(a int, t crf.NodeType) []int {
	counts := make([]int, len(t.States))
	for at, n := range c.of[a] {
		counts[at%len(counts)] += n
	}
	return counts
}

// everyStateSeen reports whether all states of all types of nodes have a label.
func (p *Prepared) everyStateSeen() bool {
	known := p.labels()
	for a, t := range p.Problem.Model.Schema.NodeTypes {
		if slices.Min(known.ofStates(a, t)) == 0 {
			return false
		}
	}
	return true
}
