package job

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/learn"
)

const (
	// leastLabels is how many known labels folds take. With more than mostLabels, or more than
	// mostPairs of states on edges, all candidates would take longer than minutes in all folds: one
	// fold tells enough, and features and prior stay. With more than largestPairs edges are learned.
	leastLabels, mostLabels, mostPairs, largestPairs = 2 * mostFolds, 2000, 1 << 20, 1 << 24
	// leastSigned is how many tell whether neighbours without features are alike or differ. That has to make labels e
	// times as likely, which is leastEvidence: by standard errors alone eight labels took a ring of classes, where
	// neighbours are alike, for another now and then.
	leastSigned, leastEvidence = 4, 1
	// mostOfMost is mostLabels where labels of most nodes are known, and learning takes seconds.
	mostOfMost = 500
	// mostKnown is the share of known labels up to which the others are taken for what is to be
	// predicted from these, as the folds are.
	mostKnown = 0.9
	// togetherPairs is for how many pairs of states on edges it is tried to learn these with nodes: more would take
	// longer than all other candidates.
	togetherPairs = 1 << 17
)

// openEdges decides, where options and data leave it open how edges are made, whether folds of labels choose it, or,
// of labels that are too few, and nodes without features, what is justified. It says so. Where labels of most nodes are
// known, edges that are learned must be compared, as they are what is usual.
func (p *Prepared) openEdges() string {
	if !p.hides() {
		return ""
	}
	few, bare := p.fewLabels(), p.bare()
	switch alone := p.Group == nil || p.Group.Size() == 1; {
	case !few && (p.triesTogether() || p.mostHidden() && p.made(edgesMoments)):
		if p.choosing = alone; p.choosing {
			return ""
		}
		return fmt.Sprintf("labels are hidden: one process would choose by folds of labels how edges are made, "+
			"and %d learn them together; compare with {no-edges}", p.Group.Size())
	case !few || !bare || !p.mostHidden() || !p.made(edgesBalanced):
		return ""
	case alone && !p.large() && len(comparedLabels(p.Problem.Data[0])) >= leastSigned:
		p.choosing = true // between neighbours that are alike and those that differ, no more
		return ""
	}
	chosen := Candidate{Edges: justified(p.Problem.Data[0])}
	if p.asked.Prior == 0 && !p.asked.givesL2() {
		chosen.Prior, p.Options.Prior = evenPrior, evenPrior
		p.Problem.L2 = p.Options.l2(sampleCount(p.Problem.Data))
	}
	p.Options.Edges = chosen.Edges.String()
	return fmt.Sprintf("few labels: %d are too few to choose by, neighbours are taken to be alike, as far as degrees and "+
		"the number of states justify, and classes to be equally frequent: %s", len(knownLabels(p.Problem.Data[0])), chosen)
}

// fewLabels reports that labels are too few to choose strengths of edges by.
func (p *Prepared) fewLabels() bool {
	labels := len(comparedLabels(p.Problem.Data[0]))
	return labels < leastLabels || p.bare() && labels < 2*leastLabels // ten chose worse (results/README.md)
}

// made reports whether a rule could make weights of edges.
func (p *Prepared) made(rule string) bool {
	return len(carriers(&p.Problem.Model.Schema, p.Set.Instances, rule)) > 0
}

// hides reports whether labels of one network are hidden, and options leave it open how edges are made.
// Types of nodes without a label can be learned by their edges alone. Rules know no features of edges
// but their weight, so that where there are some, edges must be learned too, and not take longer than minutes.
func (p *Prepared) hides() bool {
	o, data := &p.Options, p.Problem.Data
	asksHow := cmp.Or(p.asked.Method, learn.Auto) != learn.Auto || p.asked.Cut != (learn.Cut{}) || o.Together != 0 ||
		o.Order != orderCyclic || o.Step != autoStep || o.InnerSweeps != 0 || o.InnerTolerance != 0
	if o.Edges != edgesAuto || asksHow || p.Initial != nil || o.Physics != "" || o.Errors != errorsNone ||
		len(data) != 1 || len(data[0].Samples()) != 1 || p.knownShare() > mostKnown ||
		slices.ContainsFunc(p.labels().of, func(counts []int) bool { return slices.Max(counts) == 0 }) {
		return false
	}
	pairs := pairsOf(data[0])
	featured := slices.ContainsFunc(p.Problem.Model.Schema.EdgeTypes,
		func(t crf.EdgeType) bool {
			return t.Features > 1 && (t.Features > 2 || weightColumn(&t) < 0) || t.Copies > 0
		})
	return pairs <= togetherPairs || pairs <= largestPairs && !featured
}

// triesTogether reports whether edges that are learned with nodes are compared: where that takes no
// more than seconds, and begins with node features alone.
func (p *Prepared) triesTogether() bool {
	return pairsOf(p.Problem.Data[0]) <= togetherPairs && p.everyStateSeen()
}

// large reports whether one fold, and the candidates that cost least, are all there is time for.
func (p *Prepared) large() bool {
	in, most := p.Problem.Data[0], mostLabels
	if !p.mostHidden() {
		most = mostOfMost
	}
	return len(knownLabels(in)) > most || pairsOf(in) > mostPairs
}

// pairsOf counts the pairs of states of all edges.
func pairsOf(in *crf.Instance) (n int) {
	u, v := in.Graph.Ends()
	for e := range u {
		n += in.States(u[e]) * in.States(v[e])
	}
	return n
}

// fewLabels is the share of known labels below which node weights are learned without
// edges first. With hidden labels the objective is not convex. Without edges it is, and at
// its optimum tight bounds are exact: a run from there ends no higher.
const fewLabels = 0.5

// featuresFirst reports whether weights begin with those of node features alone. Every state needs a label: without
// edges nothing tells apart the others, which would begin at a saddle.
func (p *Prepared) featuresFirst() bool {
	return p.mostHidden() && p.everyStateSeen() &&
		slices.ContainsFunc(p.Problem.Model.Schema.NodeTypes, func(t crf.NodeType) bool { return t.Features > 0 })
}

// mostHidden reports whether edges are learned, of nodes most of whose labels are hidden.
func (p *Prepared) mostHidden() bool { return p.knownShare() < fewLabels }

// knownShare is the share of labels that are known of networks whose edges are learned with
// weights of nodes, if only of their bias; 1 where none are.
func (p *Prepared) knownShare() float64 {
	o := &p.Options
	if p.Initial != nil || o.NoEdges || o.Method.Local() && o.Method != learn.Exact {
		return 1
	}
	edges := 0
	for _, in := range p.Problem.Data {
		edges += in.Graph.NumEdges()
	}
	labels := p.labels()
	if all := labels.known + labels.hidden; edges > 0 && all > 0 {
		return float64(labels.known) / float64(all)
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
	started := time.Now()
	fitted, err := p.fitWithoutEdges(ctx, featuresPasses, time.Duration(choiceShare*float64(p.Settings.MaxTime)),
		p.Settings.Group)
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
	p.Problem.Model, p.alone = fitted.Model, fitted.Model
	p.spend(time.Since(started))
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

// fewestPasses without edges bring node weights near what they come to, and mostPasses there, to compare with.
const fewestPasses, mostPasses = 10, 100

// withoutEdges returns a model of the same features without edges, on the scale that is learned with, to compare a
// training with: what that began with, what a rule gave edges to, or one of as many passes, which take a small part
// of the time of passes with edges.
func (p *Prepared) withoutEdges(ctx context.Context, r *Result) (*crf.Model, error) {
	if p.alone == nil {
		passes := min(mostPasses, max(fewestPasses, math.Ceil(r.Passes)))
		fitted, err := p.fitWithoutEdges(ctx, passes, time.Duration(evaluationShare*float64(p.Options.MaxTime)), nil)
		if err != nil {
			return nil, err
		}
		p.alone = fitted.Model
	}
	return p.alone, nil
}

// census counts labels.
type census struct {
	of            [][]int // [node type][copy of untied weights, and state]
	known, hidden int
}

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

// everyStateSeen reports whether all states of all types of nodes have a label.
func (p *Prepared) everyStateSeen() bool {
	for a, counts := range p.labels().of {
		seen := make([]bool, len(p.Problem.Model.Schema.NodeTypes[a].States))
		for at, n := range counts {
			seen[at%len(seen)] = seen[at%len(seen)] || n > 0
		}
		if slices.Contains(seen, false) {
			return false
		}
	}
	return true
}
