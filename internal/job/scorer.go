package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

const (
	// mostFolds bounds the folds of cross-validation.
	mostFolds = 5
	// Fits of folds end at choiceTolerance of the first norm of the gradient, or after choicePasses, or, of edges
	// that are learned with nodes, after togetherPasses: the loss hardly changes any more.
	choiceTolerance, choicePasses, togetherPasses = 1e-4, 600, 500
	// Powers of beliefs are so many steps of √2 to either side, whose logarithm has a normal prior of deviation
	// powerDeviation. The probability of a label is no smaller than the least one, lest it be all of the loss.
	powerSteps, powerDeviation, leastProbability = 6, 0.5, 1e-12
	// unseenMistakes is how many labels more, all wrong, candidates are charged with: few that are right prove
	// no certainty. It is the half of Krichevsky and Trofimov (1981).
	unseenMistakes = 0.5
)

// trial is what came of one candidate. Edges are those before labels are asked for a power of beliefs.
type trial struct {
	Candidate
	rule     edgeRule  // of Edges
	power    float64   // of beliefs, with which the score is smallest
	losses   []float64 // of each label that was held out
	surprise float64   // the mean loss of these, were each another than the likeliest
}

// shown is the candidate for a reader, with the power that was found.
func (t *trial) shown(err float64) Candidate {
	c, rule := t.Candidate, t.rule
	if rule.power = t.power; t.Edges != "" {
		c.Edges = rule.String()
	}
	c.Loss, c.Error = runfolder.Float(t.loss()), runfolder.Float(err)
	return c
}

func (t *trial) loss() float64 {
	sum := 0.0
	for _, x := range t.losses {
		sum += x
	}
	return sum / float64(len(t.losses))
}

// score is what trials are compared by.
func (t *trial) score() float64 { return t.loss() + t.penalty() }

// penalty is a label's share of what unseen mistakes cost, and of three normal priors. Weights have one of deviation 1:
// they are half of a rule's strength on either side of their middle. The logarithms of the power, and of the deviation
// of the weights of features, have the others. Where all labels that were held out are right, the loss alone falls with
// any strength.
func (t *trial) penalty() float64 {
	half, steps := t.rule.strength/2, math.Log(t.power/cmp.Or(t.rule.power, 1))/powerDeviation
	wider := math.Log(cmp.Or(t.Prior, 1)) / powerDeviation
	if t.Prior == evenPrior { // no deviation of weights: there are none
		wider = 0
	}
	return ((half*half+steps*steps+wider*wider)/2 + unseenMistakes*t.surprise) / float64(len(t.losses))
}

// apart is the mean difference of the scores of a and b, and its standard error.
func apart(a, b *trial) (mean, err float64) {
	n, squares := float64(len(a.losses)), 0.0
	for i, x := range a.losses {
		mean += (x - b.losses[i]) / n
	}
	for i, x := range a.losses {
		d := x - b.losses[i] - mean
		squares += d * d
	}
	return mean + a.penalty() - b.penalty(), math.Sqrt(squares / max(1, n-1) / n)
}

// selection is a choice under way.
type selection struct {
	p       *Prepared
	watch   Watch
	metric  string
	folds   []fold // of the features at hand
	tried   map[Candidate]*trial
	started time.Time
	nodes   map[float64][]*crf.Model // models of these without edges, by the prior
	// usual stays, unless another is surely better: it is what is learned where no label is hidden, with
	// labels of most nodes, or, without features, what fewer labels have. nil: there is none.
	usual *trial
}

func (p *Prepared) newSelection(watch Watch) *selection {
	return &selection{p: p, watch: watch, tried: map[Candidate]*trial{}, started: time.Now()}
}

// late reports whether the time for the choice is over.
func (c *selection) late() bool { return c.p.Options.MaxTime > 0 && c.left(1) <= 0 }

// left is the nth part of the time that is left for the choice.
func (c *selection) left(n int) time.Duration {
	all := time.Duration(choiceShare * float64(c.p.Options.MaxTime))
	return (all - time.Since(c.started)) / time.Duration(n)
}

// try learns from what each fold leaves, and predicts what it holds out, or remembers what came of that. Of the
// powers of beliefs the trial has the one with the smallest score.
func (c *selection) try(ctx context.Context, of Candidate) (*trial, error) {
	of.Accuracy = 0 // it may begin with that of another
	if t := c.tried[of]; t != nil {
		return t, nil
	}
	rule, err := parseEdges(cmp.Or(of.Edges, edgesTogether))
	if err != nil {
		return nil, err
	}
	models, err := c.learn(ctx, of)
	if err != nil {
		return nil, err
	}
	steps := powerSteps
	if of.Scale != "" || !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	folds := make([][]trial, len(c.folds)) // of each the same powers
	if err := c.eachFold(ctx, func(k int) error {
		for i := -steps; i <= steps; i++ {
			power := rounded(cmp.Or(rule.power, 1)*math.Pow(math.Sqrt2, float64(i)), 2)
			folds[k] = append(folds[k], trial{Candidate: of, rule: rule, power: power})
		}
		return c.predict(ctx, folds[k], models[k], &c.folds[k])
	}); err != nil {
		return nil, err
	}
	var best *trial
	for i := range folds[0] {
		t := &trial{Candidate: of, rule: rule, power: folds[0][i].power}
		for k := range folds {
			t.losses = append(t.losses, folds[k][i].losses...)
			t.Accuracy += folds[k][i].Accuracy
			if steps > 0 {
				t.surprise += folds[k][i].surprise
			}
		}
		t.surprise /= float64(len(t.losses))
		t.Accuracy /= runfolder.Float(len(t.losses))
		if best == nil || t.score() < best.score() {
			best = t
		}
	}
	if math.IsNaN(best.loss()) {
		return nil, fmt.Errorf("%s gives no loss that is a number", of)
	}
	c.tried[of] = best
	return best, nil
}

// learn learns with the settings of a candidate from what each fold leaves. Where edges are chosen, nodes are learned
// without them first.
func (c *selection) learn(ctx context.Context, of Candidate) (models []*crf.Model, err error) {
	o, s := c.p.Options, c.p.Settings
	s.Resume, s.Threads = nil, c.inside()
	o.Prior = cmp.Or(of.Prior, o.Prior)
	if models = c.nodes[o.Prior]; models == nil {
		zero, err := crf.NewModel(*c.folds[0].data[0].Schema())
		if err != nil {
			return nil, err
		}
		alone := learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance, MaxPasses: choicePasses, Memory: -1}
		if models, err = c.fit(ctx, &o, alone, slices.Repeat([]*crf.Model{zero}, len(c.folds)), true); err != nil {
			return nil, err
		}
		c.nodes[o.Prior] = models
	}
	if of.Edges == edgesTogether {
		s.MaxPasses = cmp.Or(c.p.asked.MaxPasses, togetherPasses)
		return c.fit(ctx, &o, s, models, false)
	}
	return models, nil
}

// fit learns from what each fold leaves, beginning with its model: the nodes alone, or the network.
func (c *selection) fit(ctx context.Context, o *Options, s learn.Settings, from []*crf.Model, alone bool) (
	models []*crf.Model, err error) {
	models = make([]*crf.Model, len(c.folds))
	return models, c.eachFold(ctx, func(k int) (err error) {
		own, problem := s, c.p.Problem
		problem.Data, problem.Model = c.folds[k].data, from[k]
		if alone {
			problem.Counting = nil
			problem.Data, err = onlyNodes(problem.Data)
		} else {
			own.Step, err = learn.ParseStep(o.Step) // a rule of steps is of one run
		}
		if err != nil {
			return err
		}
		if !alone && o.MaxTime > 0 { // an equal part of what is left, and a first candidate in any case
			own.MaxTime = max(time.Millisecond, c.left(len(c.folds)-k))
		}
		problem.L2 = o.l2(sampleCount(problem.Data))
		fitted, err := learn.Fit(ctx, problem, own)
		if err == nil {
			models[k] = fitted.Model
		}
		return err
	})
}

// inside is how many threads work on one fold: one, unless there is one fold.
func (c *selection) inside() int {
	if len(c.folds) == 1 {
		return c.p.Options.Threads
	}
	return 1
}

// eachFold works on the folds with several threads.
func (c *selection) eachFold(ctx context.Context, do func(k int) error) error {
	errs := make([]error, len(c.folds))
	at := func(k int) { errs[k] = do(k) }
	if err := parallel.Each(ctx, len(c.folds), max(1, c.p.Options.Threads/c.inside()), at); err != nil {
		return err
	}
	if ctx.Err() != nil { // some are not learned to their end
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// foldLimits bound the inference of folds where edges are chosen: labels hardly change any more, at a few percent of
// the cost.
var foldLimits = infer.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// predict predicts what a fold holds out, given the others, for trials that have the same model and other powers of
// beliefs: of each the losses of its labels, how many are right, and the sum of what they would lose if they were not.
func (c *selection) predict(ctx context.Context, trials []trial, m *crf.Model, f *fold) (err error) {
	held, w, of := *f.held, c.p.inference(m, foldLimits), &trials[0]
	w.Threads = c.inside()
	if of.Edges == noEdges {
		w.Counting, held.Instances = nil, Instances(&dataset.Set{Instances: held.Instances}, true)
	} else {
		if w.Model, err = of.rule.of(ctx, m, f.data, c.p.scale); err != nil {
			return err
		}
		if of.rule.name == edgesBalanced {
			held.Instances = slices.Clone(held.Instances)
			for i, in := range held.Instances {
				if held.Instances[i], err = balanced(in, c.p.scale); err != nil {
					return err
				}
			}
		}
	}
	return w.each(ctx, &held, false, func(i int, p prediction) error {
		_, beliefs, _ := held.compared(i, p.beliefs)
		for s, y := range held.labels(i) {
			weight := 1.0
			if weights := c.p.Problem.ClassWeights; weights != nil {
				weight = weights[held.Instances[i].NodeType(int32(s))][y]
			}
			for j := range trials {
				t := &trials[j]
				loss, surprise := tempered(beliefs.Of(s), y, beliefs.Labels[s], t.power)
				t.losses, t.surprise = append(t.losses, weight*loss), t.surprise+weight*surprise
				if beliefs.Labels[s] == y {
					t.Accuracy++
				}
			}
		}
		return nil
	})
}

// tempered is what a label loses that is predicted by a power of beliefs, of which one is the largest, and what it
// would lose were the others right by turns.
func tempered(beliefs []float64, label, likeliest int32, power float64) (loss, surprise float64) {
	const least = leastProbability
	own, most := math.Log(max(least, beliefs[label])), -math.Log(least)
	sum, others := 0.0, 0.0
	for a, x := range beliefs {
		x = math.Exp(power * (math.Log(max(least, x)) - own))
		if sum += x; int32(a) != likeliest {
			others += x
		}
	}
	ratio := sum * float64(len(beliefs)-1) / max(others, least)
	return min(math.Log(sum), most), min(math.Log(max(1, ratio)), most)
}

// rounded has so many digits of a number: what is told is what is used.
func rounded(x float64, digits int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		panic("job: " + err.Error()) // what was formatted can be read
	}
	return y
}

// manyInstances are enough for folds of whole ones; of fewer, each holds out labels.
const manyInstances = 2*mostFolds - 1

// fold is a part of the data to learn from, and another to predict.
type fold struct {
	data []*crf.Instance
	held *Evaluation
}

// divide makes the folds: parts of the data against the others, which are instances, or labels of few of them.
func (c *selection) divide(data []*crf.Instance) error {
	c.folds, c.nodes = nil, map[float64][]*crf.Model{}
	what := "instances"
	if len(data) >= manyInstances {
		for k := range mostFolds {
			c.add(part(data, k))
		}
	} else {
		n, err := c.holdOut(data)
		if err != nil {
			return err
		}
		what = fmt.Sprintf("%d labels", n)
	}
	c.metric = fmt.Sprintf("log_loss by %d folds of %s", len(c.folds), what)
	if len(c.folds) == 1 {
		c.metric = "log_loss by one fold of " + what
	}
	return nil
}

// part holds out the kth of mostFolds parts.
func part(all []*crf.Instance, k int) (left []*crf.Instance, held *Evaluation) {
	held = &Evaluation{}
	for i, in := range all {
		if i%mostFolds == k {
			held.Instances = append(held.Instances, in)
		} else {
			left = append(left, in)
		}
	}
	return left, held
}

// add adds a fold, unless it has no label to predict.
func (c *selection) add(data []*crf.Instance, held *Evaluation) {
	held.Set = &dataset.Set{Schema: *data[0].Schema()}
	for i := len(held.Labels); i < len(held.Instances); i++ {
		held.Labels = append(held.Labels, held.Instances[i].Samples())
	}
	if held.labelled() > 0 {
		c.folds = append(c.folds, fold{data, held})
	}
}

// holdOut adds folds of the labels of single samples, of which it returns the number. In large networks one of them
// is all there is time for, where edges are chosen, unless it has so few labels that it would tell nothing.
func (c *selection) holdOut(data []*crf.Instance) (n int, err error) {
	parts := dealLabels(data, c.p.Options.Seed)
	if c.p.choosing && c.p.large() && len(parts[0]) >= leastLabels {
		parts = parts[:1]
	} else if len(parts) < 2 {
		return 0, nil
	}
	for _, part := range parts {
		left, held := slices.Clone(data), &Evaluation{Instances: data}
		for i, in := range data {
			known, count := slices.Clone(in.Samples()[0]), make([]bool, in.Graph.NumNodes())
			for _, label := range part {
				if label.instance == i {
					known[label.node], count[label.node] = crf.Unobserved, true
					n++
				}
			}
			if left[i], err = relabelled(in, [][]int32{known}, nil); err != nil {
				return 0, err
			}
			held.Held, held.Count = append(held.Held, known), append(held.Count, count)
		}
		c.add(left, held)
	}
	return n, nil
}

// label is one of a single sample.
type label struct {
	instance int
	node     int32
}

// dealLabels divides the labels that are compared into up to mostFolds parts: shuffled, and dealt out anew for each
// state, so that every part has its share of all states, and what is left of a few labels is as balanced as all are.
func dealLabels(data []*crf.Instance, seed uint64) [][]label {
	var known []label
	for i, in := range data {
		for _, s := range comparedLabels(in) {
			known = append(known, label{i, s})
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	parts, dealt := make([][]label, mostFolds), map[[2]int]int{}
	for _, l := range known {
		in := data[l.instance]
		state := [2]int{in.NodeType(l.node), int(in.Samples()[0][l.node])}
		parts[dealt[state]%mostFolds] = append(parts[dealt[state]%mostFolds], l)
		dealt[state]++
	}
	return slices.DeleteFunc(parts, func(part []label) bool { return len(part) == 0 })
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

func knownLabels(in *crf.Instance) (known []int32) {
	for s, y := range in.Samples()[0] {
		if y != crf.Unobserved {
			known = append(known, int32(s))
		}
	}
	return known
}

// relabelled is the instance with other samples, of these weights.
func relabelled(in *crf.Instance, labels [][]int32, weights []float64) (*crf.Instance, error) {
	spec := in.Spec()
	spec.Labels, spec.SampleWeights = labels, weights
	return crf.NewInstance(in.Schema(), spec)
}
