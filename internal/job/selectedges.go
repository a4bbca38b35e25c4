package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/runfolder"
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
	// choiceHops is the largest number that is tried: further neighbours add little, and
	// fill sparse features.
	choiceHops = 2
	// Priors are tried from the default, in steps of 2, as long as each is better. Wider ones are
	// not: few labels often take them by chance (results/README.md).
	leastPrior, mostPrior = 1. / 64, 4.
	// Strengths are tried from what is justified in steps of √2, as far as each is better. Powers of
	// beliefs are such steps from 1, whose logarithm has a normal prior of deviation powerDeviation.
	leastStrength, mostStrength = 1. / 64, 16.
	powerSteps, powerDeviation  = 6, 0.5
	// togetherPasses bounds learning of edges and nodes at once, in folds and then with all
	// labels: what was measured is what is learned. It is tried for up to togetherPairs of
	// states on edges: more would take longer than all other candidates.
	togetherPasses, togetherPairs = 500, 1 << 17
	leastProbability              = 1e-12 // of a label, lest one be all of the loss
)

// open reports whether something is chosen by data that are held out.
func (p *Prepared) open() bool { return p.choosing || p.Options.AutoL2 }

// chooses reports whether options and data leave it open how edges are made, and labels of one
// network are hidden. Where most are known, that must be to compare with what is usual.
func (p *Prepared) chooses() bool { return p.choosesByGraph() && p.constantEdges() }

// constantEdges reports whether edges have the constant feature that rules give weights.
func (p *Prepared) constantEdges() bool {
	return len(constantColumns(&p.Problem.Model.Schema, p.Problem.Data, edgesMoments)) > 0
}

// choosesByGraph reports it without a look at features. Several processes learn edges together, unless
// that is worse than node features alone as a rule, and quick for one.
func (p *Prepared) choosesByGraph() bool {
	return p.leavesOpen() && (p.Group == nil || p.Group.Size() == 1 || p.mostHidden() && !p.large())
}

// leavesOpen is choosesByGraph for one process.
func (p *Prepared) leavesOpen() bool {
	return p.hides() && !p.tooFew() && (p.mostHidden() || p.triesTogether())
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
		slices.ContainsFunc(p.statesSeen(), func(of []bool) bool { return !slices.Contains(of, true) }) {
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

func knownLabels(in *crf.Instance) (known []int32) {
	for s, y := range in.Samples()[0] {
		if y != crf.Unobserved {
			known = append(known, int32(s))
		}
	}
	return known
}

// comparedLabels are the nodes whose labels are held out by turns: a state that has one label
// alone keeps it, as nothing would tell of the state without.
func comparedLabels(in *crf.Instance) []int32 {
	labels, known := in.Samples()[0], knownLabels(in)
	count := map[[2]int32]int{} // of node type and state
	of := func(s int32) [2]int32 { return [2]int32{int32(in.NodeType(s)), labels[s]} }
	for _, s := range known {
		count[of(s)]++
	}
	return slices.DeleteFunc(known, func(s int32) bool { return count[of(s)] < 2 })
}

// divide makes the folds: the first evaluation set against all data, or else parts of the data against the
// others, which are instances, samples of a single one, or labels of a single sample.
func (c *selection) divide() error {
	data := c.p.Problem.Data
	if !c.p.Options.AutoL2 {
		return c.divideLabels()
	}
	if sets := c.p.Evaluations; len(sets) > 0 {
		c.metric, c.folds = "log_loss on "+sets[0].Name, []fold{{data: data, held: sets[0]}}
		return nil
	}
	samples, what, n, parts := data[0].Samples(), "instances", min(mostFolds, len(data)), [][]int32(nil)
	if n == 1 {
		what, n = "samples", min(mostFolds, len(samples))
	}
	if n == 1 {
		parts = dealLabels(data[0], c.p.Options.Seed)
		what, n = "labels", len(parts)
	}
	if n < 2 {
		return usagef("{l2=auto}: with one label a state there is nothing to hold out; " +
			"give labelled data with {eval!--eval NAME=PATH}")
	}
	c.metric = fmt.Sprintf("log_loss by %d folds of %s", n, what)
	for k := range n {
		var err error
		f := fold{data: slices.Clone(data[:1])}
		if what == "instances" {
			var held []*crf.Instance
			f.data, held = part(data, k, n)
			f.held, err = NewEvaluation("fold", c.p.Set, held)
		} else {
			left, held := part(samples, k, n)
			f.held = &Evaluation{Name: "fold", Set: c.p.Set, Instances: data, Labels: [][][]int32{held}}
			if what == "labels" {
				known, count := slices.Clone(samples[0]), make([]bool, len(samples[0]))
				for _, s := range parts[k] {
					known[s], count[s] = crf.Unobserved, true
				}
				left = [][]int32{known}
				f.held.Labels[0], f.held.Held, f.held.Count = samples, left, [][]bool{count}
			}
			f.data[0], err = relabelled(data[0], left)
		}
		if err == nil {
			err = f.held.Check()
		}
		if err != nil {
			return option.Errorf("{l2=auto}, fold %d: %w", k+1, err)
		}
		c.folds = append(c.folds, f)
	}
	return nil
}

// part holds out the kth of n parts.
func part[T any](all []T, k, n int) (left, held []T) {
	for i, x := range all {
		if i%n == k {
			held = append(held, x)
		} else {
			left = append(left, x)
		}
	}
	return left, held
}

// divideLabels makes folds of labels to choose edges by.
func (c *selection) divideLabels() error {
	in := c.p.Problem.Data[0]
	c.known = comparedLabels(in)
	parts := dealLabels(in, c.p.Options.Seed)
	if c.p.large() {
		held := slices.Sorted(slices.Values(parts[0]))
		compared := slices.DeleteFunc(slices.Clone(c.known), func(s int32) bool {
			_, found := slices.BinarySearch(held, s)
			return !found
		})
		if len(compared) >= leastLabels { // fewer of one fold would tell nothing
			parts, c.known = parts[:1], compared
		}
	}
	c.divideBy(in, parts)
	return nil
}

// divideBy makes folds of which each holds out some nodes.
func (c *selection) divideBy(in *crf.Instance, parts [][]int32) {
	for _, held := range parts {
		f := fold{left: slices.Clone(in.Samples()[0])}
		for _, s := range held {
			if i, compared := slices.BinarySearch(c.known, s); compared {
				f.number = append(f.number, i)
				f.left[s] = crf.Unobserved
			}
		}
		c.folds = append(c.folds, f)
	}
	c.metric = fmt.Sprintf("log_loss by %d folds of %d labels", len(c.folds), len(c.known))
	if len(c.folds) == 1 {
		c.metric = fmt.Sprintf("log_loss by one fold of %d labels", len(c.known))
	}
}

// dealLabels divides the nodes with labels of a single sample into up to mostFolds parts: shuffled, and
// dealt out anew for each state, so that every part has its share of all states, and what is left of a
// few labels is as balanced as all are.
func dealLabels(in *crf.Instance, seed uint64) [][]int32 {
	labels, known := in.Samples()[0], knownLabels(in)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	parts, dealt := make([][]int32, mostFolds), map[[2]int]int{}
	for _, s := range known {
		state := [2]int{in.NodeType(s), int(labels[s])}
		parts[dealt[state]%mostFolds] = append(parts[dealt[state]%mostFolds], s)
		dealt[state]++
	}
	return slices.DeleteFunc(parts, func(part []int32) bool { return len(part) == 0 })
}

// relabelled is the instance with other labels.
func relabelled(in *crf.Instance, labels [][]int32) (*crf.Instance, error) {
	spec := in.Spec()
	spec.Labels = labels
	return crf.NewInstance(in.Schema(), spec)
}

// place is where candidates have their data.
type place struct {
	hops  int
	scale string
}

// hopped are data with means over some hops: the network with its edges, on its scale.
type hopped struct {
	schema crf.Schema
	in     *crf.Instance
	fitted map[float64][]*crf.Model // by prior: of each fold, without edges
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
		if ok, err := c.prepare(ctx, hops); err != nil || !ok {
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
		delete(c.data, place{hops: hops}) // its memory is needed for the next
	}
	return finalists, nil
}

// kinds are what climbs begin with, by the weights of edges: what is usual, then the simplest first.
func (c *selection) kinds(first bool) (kinds []string) {
	schema, data, rule := &c.p.Problem.Model.Schema, []*crf.Instance{c.p.networks()[0]}, c.p.justified()
	of := func(name string, strength float64) {
		if len(constantColumns(schema, data, name)) > 0 {
			kinds = append(kinds, edgeRule{name: name, strength: strength}.String())
		}
	}
	switch {
	case first && c.p.mostHidden() && c.p.bare():
		kinds = append(kinds, rule.String())
	case first && !c.p.mostHidden():
		kinds = append(kinds, edgesTogether)
	}
	kinds = append(kinds, noEdges)
	of(edgesPotts, rule.strength)
	of(edgesPotts, -rule.strength)
	of(edgesMoments, rule.strength)
	if c.p.triesTogether() {
		kinds = append(kinds, edgesTogether)
	}
	return kinds
}

// climb takes steps of strength and prior from a candidate, as long as one is better; nil: neighbours
// that differ are worse than node features alone.
func (c *selection) climb(ctx context.Context, from Candidate, alone *trial) (*trial, error) {
	best, err := c.try(ctx, from)
	if err == nil && alone != nil && best.rule().strength < 0 && best.score() >= alone.score() {
		return nil, nil
	}
	moves := []struct{ strength, prior float64 }{{1, 2}, {1, .5}, {math.Sqrt2, 1}, {1 / math.Sqrt2, 1}}
	switch {
	case from.Edges == edgesTogether && from.Hops == c.p.Set.Recipe.Hops: // the others take long
		moves = moves[:1]
	case from.Edges == edgesTogether || err == nil && best.rule().power != 0:
		moves = nil
	}
	for moved := err == nil && len(moves) > 0; moved; {
		moved = false
		for _, by := range moves {
			for !c.late() {
				rule, next := best.rule(), best.Candidate
				rule.strength *= by.strength
				next.Prior *= by.prior
				size := math.Abs(rule.strength)
				outside := by.prior == 1 && (!rule.makes() || size < leastStrength || size > mostStrength)
				if outside || by.prior != 1 && (next.Prior < leastPrior || next.Prior > mostPrior || c.p.large()) {
					break
				}
				rule.strength = rounded(rule.strength, 2)
				next.Edges = rule.String()
				t, err := c.try(ctx, next)
				if err != nil {
					return nil, err
				}
				if t.score() >= best.score() {
					break
				}
				best, moved = t, true
			}
		}
	}
	return best, err
}

// prepare makes data with means over hops; false where they would take too much memory, or
// are not to be had.
func (c *selection) prepare(ctx context.Context, hops int) (bool, error) {
	set := c.p.Set
	if hops > set.Recipe.Hops {
		if !c.p.HopsOpen || !set.CanAverage() || c.late() {
			return false, nil
		}
		var err error
		set, err = set.Averaged(ctx, hops, c.p.Options.Memory)
		for _, e := range c.p.Evaluations {
			if err == nil {
				_, err = e.averaged(ctx, set, c.p.Options.Memory)
			}
		}
		if errors.As(err, new(*memory.Error)) || errors.Is(err, errOtherFeatures) {
			c.run.watch.note("means over %d hops were not tried: %v", hops, err)
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	in := set.Instances[0]
	if c.p.Options.Standardise {
		scale, err := standardise.Of(ctx, &set.Schema, set.Instances, c.p.Options.Threads)
		if err == nil {
			scale, err = onScale(scale, c.p.Options.Scale)
		}
		if err == nil && scale != nil {
			in, err = scale.Instance(in, nil)
		}
		if err != nil {
			return false, err
		}
	}
	c.data[place{hops: hops}] = &hopped{schema: set.Schema, in: in, fitted: map[float64][]*crf.Model{}}
	return true, nil
}

// averaged is the evaluation on data with means over as many hops as a set has.
func (e *Evaluation) averaged(ctx context.Context, like *dataset.Set, allowed int64) (*Evaluation, error) {
	set, err := e.Set.Averaged(ctx, like.Recipe.Hops, allowed)
	if err != nil {
		return nil, err
	}
	if set.Schema.NodeTypes[0].Features != like.Schema.NodeTypes[0].Features {
		return nil, errOtherFeatures
	}
	own := *e
	own.Set, own.Instances = set, set.Instances
	return &own, nil
}

// errOtherFeatures: means over hops leave nodes of an evaluation set, and none of the training, without features.
var errOtherFeatures = errors.New("the nodes of an evaluation set have other features")

// tryEdges learns from the labels of each fold, and predicts those that are held out.
func (c *selection) tryEdges(ctx context.Context, t *trial) (*trial, error) {
	data := c.data[place{t.Hops, t.Scale}]
	models, err := c.fit(ctx, data, t.Prior)
	if err == nil && t.Edges == edgesTogether {
		models, err = c.fitTogether(ctx, data, t.Prior, models)
	}
	if err != nil {
		return nil, err
	}
	t.Hit = make([]bool, len(c.known))
	logs := make([][]float64, len(c.known))
	err = c.eachFold(ctx, func(k int) error { return c.predict(ctx, t, logs, data, models[k], &c.folds[k]) })
	for _, hit := range t.Hit {
		if hit {
			t.Accuracy++
		}
	}
	t.Accuracy /= runfolder.Float(len(t.Hit))
	if err != nil {
		return nil, err
	}
	return c.temper(*t, logs), nil
}

// eachFold works on the folds with several threads.
func (c *selection) eachFold(ctx context.Context, do func(k int) error) error {
	errs := make([]error, len(c.folds))
	if err := parallel.Each(ctx, len(c.folds), c.p.Options.Threads, func(k int) { errs[k] = do(k) }); err != nil {
		return err
	}
	if ctx.Err() != nil { // some are not learned to their end
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// temper gives a trial the power of beliefs, and the losses, with which its score is smallest.
func (c *selection) temper(t trial, logs [][]float64) (best *trial) {
	in, labels := c.p.Problem.Data[0], c.p.Problem.Data[0].Samples()[0]
	middle, steps := cmp.Or(t.rule().power, 1), powerSteps
	if t.Scale != "" || !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	for step := -steps; step <= steps; step++ {
		next := t
		next.Power = rounded(middle*math.Pow(math.Sqrt2, float64(step)), 2)
		next.Losses = make([]float64, len(logs))
		for i, of := range logs {
			s := c.known[i]
			sum := 0.0
			for _, x := range of {
				sum += math.Exp(next.Power * (x - of[labels[s]]))
			}
			next.Losses[i] = min(math.Log(sum), -math.Log(leastProbability))
			if weights := c.p.Problem.ClassWeights; weights != nil {
				next.Losses[i] *= weights[in.NodeType(s)][labels[s]]
			}
		}
		if best == nil || next.score() < best.score() {
			best = &next
		}
	}
	return best
}

// fit learns node weights without edges from the labels of each fold.
func (c *selection) fit(ctx context.Context, data *hopped, prior float64) ([]*crf.Model, error) {
	if models := data.fitted[prior]; models != nil {
		return models, nil
	}
	settings := learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance, MaxPasses: choicePasses,
		Memory: -1}
	models := make([]*crf.Model, len(c.folds))
	err := c.eachFold(ctx, func(k int) error {
		m, err := crf.NewModel(data.schema)
		if err != nil {
			return err
		}
		in, err := labelledAlone(data.in, c.folds[k].left)
		if err == nil {
			models[k], err = c.learn(ctx, learn.Problem{Model: m, Data: []*crf.Instance{in}}, prior, settings)
		}
		return err
	})
	if err == nil {
		data.fitted[prior] = models
	}
	return models, err
}

// fitTogether learns edges and nodes at once from the labels of each fold, beginning with the
// nodes.
func (c *selection) fitTogether(ctx context.Context, data *hopped, prior float64, nodes []*crf.Model) ([]*crf.Model,
	error) {
	s, models := c.p.Settings, make([]*crf.Model, len(c.folds))
	s.Threads, s.Resume, s.MaxPasses = 1, nil, c.p.asked.togetherPasses()
	s.Step = nil // the automatic one: each fold has its own
	if c.p.Options.MaxTime > 0 {
		s.MaxTime = max(time.Millisecond, c.left(len(c.folds)))
	}
	return models, c.eachFold(ctx, func(k int) error {
		in, err := relabelled(data.in, [][]int32{c.folds[k].left})
		if err == nil {
			problem := learn.Problem{Model: nodes[k], Data: []*crf.Instance{in}, Counting: c.p.Problem.Counting}
			models[k], err = c.learn(ctx, problem, prior, s)
		}
		return err
	})
}

// togetherPasses is what bounds learning of edges and nodes at once, where that is chosen.
func (o *Options) togetherPasses() float64 { return cmp.Or(o.MaxPasses, togetherPasses) }

// learn learns from a fold, with a prior; 0: that of the options.
func (c *selection) learn(ctx context.Context, p learn.Problem, prior float64, s learn.Settings) (*crf.Model, error) {
	o := c.p.Options
	o.Prior = cmp.Or(prior, o.Prior)
	p.L2, p.ClassWeights = o.l2(p.Data[0].Weight()), c.p.Problem.ClassWeights
	fitted, err := learn.Fit(ctx, p, s)
	if err != nil {
		return nil, err
	}
	return fitted.Model, nil
}

// foldLimits bound the inference of folds: labels hardly change any more, at a few percent of the cost.
var foldLimits = infer.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// predict predicts the labels of a fold that were held out, given the others, and puts the logarithms of
// beliefs into logs.
func (c *selection) predict(
	ctx context.Context, t *trial, logs [][]float64, data *hopped, m *crf.Model, part *fold,
) error {
	in, rule, numbers := data.in, t.rule(), c.p.Problem.Counting
	if t.Edges == noEdges {
		in, numbers = in.WithoutEdges(), nil
	}
	in, err := relabelled(in, [][]int32{part.left})
	if err == nil && t.Edges != noEdges {
		m, err = rule.of(ctx, m, []*crf.Instance{in}, c.p.scale)
	}
	if err != nil {
		return err
	}
	w := infer.Predictor{Model: m, Counting: numbers, Limits: foldLimits}
	if len(c.folds) == 1 {
		w.Threads = c.p.Options.Threads
	}
	beliefs, err := w.Predict(ctx, in, part.left)
	if err != nil {
		return err
	}
	labels := c.p.Problem.Data[0].Samples()[0]
	for _, i := range part.number {
		s := c.known[i]
		t.Hit[i] = beliefs.Labels[s] == labels[s]
		for _, p := range beliefs.Of(int(s)) {
			logs[i] = append(logs[i], math.Log(max(leastProbability, p)))
		}
	}
	return nil
}
