package job

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

const (
	// leastLabels is how many known labels folds take. With more than mostLabels, or more than
	// mostPairs of states on edges, all candidates would take longer than minutes in all folds: one
	// fold tells enough, and features and prior stay. With more than largestPairs edges are learned.
	leastLabels, mostLabels, mostPairs, largestPairs = 2 * mostFolds, 2000, 1 << 20, 1 << 24
	// mostOfMost is mostLabels where labels of most nodes are known, and learning takes seconds.
	mostOfMost = 500
	// mostKnown is the share of known labels up to which the others are taken for what is to be
	// predicted from these, as the folds are.
	mostKnown = 0.9
	// choiceHops is the largest number that is tried: further neighbours add little, and fill sparse features.
	choiceHops = 2
	// Priors are tried from the default, in steps of 2, as long as each is better. Wider ones are
	// not: few labels often take them by chance (results/README.md).
	leastPrior, mostPrior = 1. / 64, 4.
	// Strengths are tried from what is justified in steps of √2, as far as each is better.
	leastStrength, mostStrength = 1. / 64, 16.
	// togetherPairs is for how many pairs of states on edges it is tried to learn these with nodes: more would take
	// longer than all other candidates.
	togetherPairs = 1 << 17
)

// open reports whether something is chosen by data that are held out.
func (p *Prepared) open() bool { return p.choosing || p.Options.AutoL2 }

// chooses reports whether folds of labels choose how edges are made. Several processes learn them together.
func (p *Prepared) chooses() bool { return p.leavesOpen() && (p.Group == nil || p.Group.Size() == 1) }

// leavesOpen reports whether options and data leave it open how edges are made, which have the constant feature that
// rules give weights, and labels of one network are hidden. Where most are known, edges that are learned must be
// compared, as they are what is usual.
func (p *Prepared) leavesOpen() bool {
	return p.hides() && !p.tooFew() && (p.mostHidden() || p.triesTogether()) &&
		len(constantColumns(&p.Problem.Model.Schema, p.Problem.Data, edgesMoments)) > 0
}

// tooFew reports whether labels are too few for folds. Without features they need twice as many: ten
// chose strengths that were worse than what is justified (results/README.md).
func (p *Prepared) tooFew() bool {
	labels := len(comparedLabels(p.Problem.Data[0]))
	return labels < leastLabels || labels < 2*leastLabels && p.bare()
}

// hides reports whether labels of one network are hidden, and options leave it open how edges are made.
// Types of nodes without a label can be learned by their edges alone. Rules know no features of edges
// but their weight, so that where there are some, edges must be learned too, and not take longer than minutes.
func (p *Prepared) hides() bool {
	o, data, how := &p.Options, p.Problem.Data, p.asked
	asksHow := cmp.Or(how.Method, learn.Auto) != learn.Auto || how.Cut != (learn.Cut{}) || how.Together != 0 ||
		cmp.Or(how.Order, orderCyclic) != orderCyclic || cmp.Or(how.Step, autoStep) != autoStep ||
		how.InnerSweeps != 0 || how.InnerTolerance != 0
	if o.Edges != edgesAuto || asksHow || p.Initial != nil || o.Physics != "" || o.Errors != errorsNone || o.AutoL2 ||
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

// overEdges tries every kind of edges over each number of hops, and takes the best of each.
func (c *selection) overEdges(ctx context.Context) (finalists []*trial, err error) {
	at, given := Candidate{}, c.p.Set.Recipe.Hops
	if c.p.asked.Prior == 0 && !c.p.asked.givesL2() {
		at.Prior = 1
	}
	most, prior := max(given, choiceHops), at.Prior
	if c.p.large() {
		most = given
	}
	for hops := given; hops <= most; hops++ {
		in, err := c.network(ctx, hops)
		if err == nil && in != nil {
			err = c.divide([]*crf.Instance{in})
		}
		if err != nil || in == nil {
			return finalists, err
		}
		alone := (*trial)(nil)
		at.Hops, at.Prior = hops, prior
		for _, edges := range c.kinds(hops == given) {
			if at.Edges = edges; len(finalists) > 0 && c.late() {
				break
			}
			found, err := c.climb(ctx, at, alone)
			if errors.As(err, new(*learn.DivergedError)) || err == nil && (found == nil || slices.Contains(finalists, found)) {
				continue
			}
			if err != nil {
				return nil, err
			}
			switch {
			case edges == noEdges:
				alone, at.Prior = found, found.Prior
			case c.usual == nil && hops == given && len(finalists) == 0:
				c.usual = found
			}
			c.tell(found)
			finalists = append(finalists, found)
		}
	}
	return finalists, nil
}

// kinds are what climbs begin with, by the weights of edges: what is usual, then the simplest first.
func (c *selection) kinds(first bool) (kinds []string) {
	schema, data, strength := &c.p.Problem.Model.Schema, []*crf.Instance{c.p.networks()[0]}, 0.0
	for _, coupling := range couplings(data[0], c.p.scale) {
		strength += coupling / float64(data[0].Graph.NumEdges())
	}
	strength = rounded(strength, 2)
	of := func(name string, strength float64) {
		if len(constantColumns(schema, data, name)) > 0 {
			kinds = append(kinds, edgeRule{name: name, strength: strength}.String())
		}
	}
	switch {
	case first && c.p.mostHidden() && c.p.bare():
		kinds = append(kinds, justified.String())
	case first && !c.p.mostHidden():
		kinds = append(kinds, edgesTogether)
	}
	kinds = append(kinds, noEdges)
	of(edgesPotts, strength)
	of(edgesPotts, -strength)
	of(edgesMoments, strength)
	if c.p.triesTogether() {
		kinds = append(kinds, edgesTogether)
	}
	return kinds
}

// climb takes steps of strength and prior from a candidate, as long as one is better; nil: neighbours
// that differ are worse than node features alone.
func (c *selection) climb(ctx context.Context, from Candidate, alone *trial) (*trial, error) {
	best, err := c.try(ctx, from)
	if err != nil || alone != nil && best.rule.strength < 0 && best.score() >= alone.score() {
		return nil, err
	}
	moves := []struct{ strength, prior float64 }{{1, 2}, {1, .5}, {math.Sqrt2, 1}, {1 / math.Sqrt2, 1}}
	switch {
	case from.Edges == edgesTogether && from.Hops == c.p.Set.Recipe.Hops: // the others take long
		moves = moves[:1]
	case from.Edges == edgesTogether || best.rule.power != 0:
		moves = nil
	}
	for i, idle := 0, 0; idle < len(moves) && !c.late(); {
		by, rule, next := moves[i], best.rule, best.Candidate
		rule.strength = rounded(rule.strength*by.strength, 2)
		next.Prior, next.Edges = next.Prior*by.prior, rule.String()
		size := math.Abs(best.rule.strength) * by.strength
		outside := by.prior == 1 && (!rule.makes() || size < leastStrength || size > mostStrength) ||
			by.prior != 1 && (next.Prior < leastPrior || next.Prior > mostPrior || c.p.large())
		t := best
		if !outside {
			if t, err = c.try(ctx, next); err != nil {
				return nil, err
			}
		}
		if t.score() < best.score() {
			best, idle = t, 0
		} else {
			i, idle = (i+1)%len(moves), idle+1
		}
	}
	return best, nil
}

// network makes the network with means over hops; nil where they would take too much memory, or are not to be had.
func (c *selection) network(ctx context.Context, hops int) (*crf.Instance, error) {
	if hops == c.p.Set.Recipe.Hops {
		return c.p.networks()[0], nil
	}
	if !c.p.HopsOpen || !c.p.Set.CanAverage() || c.late() {
		return nil, nil
	}
	task, err := c.p.Task.averaged(ctx, hops, c.p.Options.Memory)
	if errors.As(err, new(*memory.Error)) || errors.Is(err, errOtherFeatures) {
		c.watch.note("means over %d hops were not tried: %v", hops, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !c.p.Options.Standardise {
		return task.Set.Instances[0], nil
	}
	measured, err := standardise.Measure(ctx, &task.Set.Schema, task.Set.Instances, c.p.Options.Threads)
	if err != nil {
		return nil, err
	}
	scale, err := onScale(measured.Map(), c.p.Options.Scale)
	if err != nil || scale == nil {
		return task.Set.Instances[0], err
	}
	return scale.Instance(task.Set.Instances[0], nil)
}

// averaged is the task with means over so many hops.
func (t Task) averaged(ctx context.Context, hops int, allowed int64) (Task, error) {
	sets := t.Evaluations
	var err error
	if t.Set, err = t.Set.Averaged(ctx, hops, allowed); err != nil {
		return t, err
	}
	t.Evaluations = nil
	for _, e := range sets {
		own := *e
		if own.Set, err = e.Set.Averaged(ctx, hops, allowed); err != nil {
			return t, err
		}
		if own.Set.Schema.NodeTypes[0].Features != t.Set.Schema.NodeTypes[0].Features {
			return t, errOtherFeatures
		}
		own.Instances = own.Set.Instances
		t.Evaluations = append(t.Evaluations, &own)
	}
	return t, nil
}

// errOtherFeatures: means over hops leave nodes of an evaluation set, and none of the training, without features.
var errOtherFeatures = errors.New("the nodes of an evaluation set have other features")
