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
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/standardise"
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
	// little, and where all are, the loss alone falls with any strength.
	unseenMistakes = 0.5
)

// trial is what came of one candidate. Edges are those before labels are asked for a power of beliefs.
type trial struct {
	Candidate
	power  float64   // of beliefs, with which the score is smallest
	losses []float64 // of each label that was held out
	// surprise is the mean loss of these, were each another than the likeliest.
	surprise float64
}

// shown is the candidate for a reader, with the power that was found.
func (t *trial) shown(err float64) Candidate {
	c := t.Candidate
	c.Edges.power = t.power
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
// of the weights of features, have the others.
func (t *trial) penalty() float64 {
	half, steps := t.Edges.strength/2, math.Log(t.power/cmp.Or(t.Edges.power, 1))/powerDeviation
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
	tried   map[Candidate]*trial
	started time.Time

	// What candidates at hand learn from: data with features as they are, the scale that they are learned on, the folds,
	// and models of their nodes without edges, by the prior.
	raw   []*crf.Instance
	scale *standardise.Map
	folds []fold
	nodes map[float64][]*crf.Model
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
	guesses, err := c.predict(ctx, of)
	if err != nil {
		return nil, err
	}
	steps := powerSteps
	if of.Scale != "" || !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	accuracy, best := 0., (*trial)(nil)
	for _, g := range guesses {
		if g.label == g.likeliest {
			accuracy += 1 / float64(len(guesses))
		}
	}
	for i := -steps; i <= steps; i++ {
		t := &trial{Candidate: of}
		t.power = rounded(cmp.Or(of.Edges.power, 1) * math.Pow(math.Sqrt2, float64(i)))
		for _, g := range guesses {
			loss, surprise := g.tempered(t.power)
			if t.losses = append(t.losses, loss); steps > 0 {
				t.surprise += surprise / float64(len(guesses))
			}
		}
		if best == nil || t.score() < best.score() {
			best = t
		}
	}
	if math.IsNaN(best.loss()) {
		return nil, fmt.Errorf("%s gives no loss that is a number", of)
	}
	c.tried[of], best.Accuracy = best, runfolder.Float(accuracy)
	return best, nil
}

// learn learns with the settings of a candidate from what each fold leaves. Where edges are chosen, nodes are learned
// without them first.
func (c *selection) learn(ctx context.Context, of Candidate) (models []*crf.Model, err error) {
	o := c.p.Options
	o.Prior, o.Epsilon = cmp.Or(of.Prior, o.Prior), 0 // nodes by themselves are learned by likelihood
	if models = c.nodes[o.Prior]; models == nil {
		zero, err := crf.NewModel(c.p.Problem.Model.Schema)
		if err != nil {
			return nil, err
		}
		alone := learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance, MaxPasses: choicePasses, Memory: -1}
		if models, err = c.fit(ctx, &o, alone, slices.Repeat([]*crf.Model{zero}, len(c.folds)), true); err != nil {
			return nil, err
		}
		c.nodes[o.Prior] = models
	}
	if of.Edges != together {
		return models, nil
	}
	s := c.p.Settings
	s.Resume, s.Threads, s.MaxPasses = nil, c.inside(), cmp.Or(c.p.asked.MaxPasses, togetherPasses)
	return c.fit(ctx, &o, s, models, false)
}

// fit learns from what each fold leaves, beginning with its model: the nodes alone, or the network.
func (c *selection) fit(ctx context.Context, o *Options, s learn.Settings, from []*crf.Model, alone bool) (
	models []*crf.Model, err error) {
	models = make([]*crf.Model, len(c.folds))
	return models, c.eachFold(ctx, func(k int) (err error) {
		own, problem := s, c.p.Problem
		problem.Data, problem.Model = c.folds[k].data, from[k]
		if alone {
			problem.Counting, problem.Loss = nil, 0
			problem.Data, err = onlyNodes(problem.Data)
		} else if own.Step, err = learn.ParseStep(o.Step); o.MaxTime > 0 { // a rule of steps is of one run
			own.MaxTime = max(time.Millisecond, c.left(len(c.folds)-k)) // an equal part, and a first candidate in any case
		}
		if err != nil {
			return err
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
	err := parallel.Each(ctx, len(errs), max(1, c.p.Options.Threads/c.inside()), func(k int) { errs[k] = do(k) })
	return errors.Join(cmp.Or(err, context.Cause(ctx)), errors.Join(errs...)) // where it ended, some are not learned
}

// foldLimits bound the inference of folds where edges are chosen: labels hardly change any more, at a few percent of
// the cost.
var foldLimits = infer.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// guess is what a model says of a label that is held out, which counts so much.
type guess struct {
	beliefs          []float64
	label, likeliest int32
	weight           float64
}

// predict predicts what each fold holds out, given the others, by what is learned of these.
func (c *selection) predict(ctx context.Context, of Candidate) (all []guess, err error) {
	models, err := c.learn(ctx, of)
	if err != nil {
		return nil, err
	}
	rule, guesses := of.Edges, make([][]guess, len(c.folds))
	err = c.eachFold(ctx, func(k int) (err error) {
		f, m := c.folds[k], original(models[k], c.scale)
		w := c.p.inference(m, foldLimits)
		if w.Threads = c.inside(); rule.makes() && rule.strength == 0 {
			f.Instances, w.Counting = withoutEdges(f.Instances), nil
		} else if rule.makes() {
			rule.put(m, carriers(&m.Schema, c.raw, rule.name), models[k], f.data)
		}
		if rule.name == edgesBalanced {
			if f.Instances, err = allBalanced(f.Instances); err != nil {
				return err
			}
		}
		return w.each(ctx, &f.Evaluation, false, func(i int, p prediction) error {
			in := f.Instances[i]
			for s, y := range in.Samples()[0] {
				if y == crf.Unobserved {
					continue
				}
				g := guess{slices.Clone(p.beliefs.Of(s)), y, p.beliefs.Labels[s], 1}
				if weights := c.p.Problem.ClassWeights; weights != nil {
					g.weight = weights[in.NodeType(int32(s))][y]
				}
				guesses[k] = append(guesses[k], g)
			}
			return nil
		})
	})
	return slices.Concat(guesses...), err
}

// tempered is what a label loses that is predicted by a power of beliefs, and what it would lose were the others than
// the likeliest right by turns.
func (g *guess) tempered(power float64) (loss, surprise float64) {
	const least = leastProbability
	own, most := math.Log(max(least, g.beliefs[g.label])), -math.Log(least)
	sum, others := 0.0, 0.0
	for a, x := range g.beliefs {
		x = math.Exp(power * (math.Log(max(least, x)) - own))
		if sum += x; int32(a) != g.likeliest {
			others += x
		}
	}
	ratio := sum * float64(len(g.beliefs)-1) / max(others, least)
	return g.weight * min(math.Log(sum), most), g.weight * min(math.Log(max(1, ratio)), most)
}

// rounded has two digits of a number: what is told is what is used.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	if err != nil {
		panic("job: " + err.Error()) // what was formatted can be read
	}
	return y
}

// manyInstances are enough for folds of whole ones; of fewer, each holds out labels.
const manyInstances = 2*mostFolds - 1

// fold holds out labels: models are learned from data, on the scale, and predict those of an evaluation.
type fold struct {
	data []*crf.Instance
	Evaluation
}

// divide makes the folds of instances that are learned from on a scale: of whole ones, or of labels where these are
// few. In large networks one of them is all there is time for, where edges are chosen, unless it has so few labels
// that it would tell nothing.
func (c *selection) divide(raw, scaled []*crf.Instance, scale *standardise.Map) (err error) {
	c.raw, c.scale, c.folds, c.nodes = raw, scale, nil, map[float64][]*crf.Model{}
	parts, n, how := dealt(raw, c.p.Options.Seed), 0, ""
	for k := 0; k < mostFolds && how == ""; k++ {
		var f fold
		for i, in := range raw {
			known, held := slices.Clone(in.Samples()[0]), slices.Repeat([]int32{crf.Unobserved}, in.Graph.NumNodes())
			for s, y := range known {
				if y != crf.Unobserved && parts[i][s] == k {
					known[s], held[s] = crf.Unobserved, y
					n++
				}
			}
			if f.Instances, err = withLabels(f.Instances, in, held); err == nil && anyKnown(held) {
				f.Held = append(f.Held, known)
			}
			if err == nil {
				f.data, err = withLabels(f.data, scaled[i], known)
			}
			if err != nil {
				return err
			}
		}
		if len(f.Instances) > 0 && len(f.data) > 0 {
			c.folds = append(c.folds, f)
		}
		if k == 0 && c.p.choosing && c.p.large() && n >= leastLabels {
			how = "one fold"
		}
	}
	if len(c.folds) < 2 && how == "" {
		c.folds = nil
	}
	what := "instances"
	if len(raw) < manyInstances {
		what = fmt.Sprintf("%d labels", n)
	}
	c.metric = fmt.Sprintf("log_loss by %s of %s", cmp.Or(how, fmt.Sprintf("%d folds", len(c.folds))), what)
	return nil
}

// withLabels adds an instance with other labels, if any of them is known.
func withLabels(all []*crf.Instance, in *crf.Instance, labels []int32) ([]*crf.Instance, error) {
	if !anyKnown(labels) {
		return all, nil
	}
	in, err := relabelled(in, [][]int32{labels}, nil)
	return append(all, in), err
}

func anyKnown(labels []int32) bool {
	return slices.ContainsFunc(labels, func(y int32) bool { return y != crf.Unobserved })
}

// dealt is the fold, of mostFolds, that holds out each label; −1: none. Many instances take turns. The labels of few
// that are compared are shuffled, and dealt out anew for each state, so that every fold has its share of all states,
// and what is left of a few labels is as balanced as all are.
func dealt(data []*crf.Instance, seed uint64) [][]int {
	parts, dealt, known := make([][]int, len(data)), map[[2]int]int{}, [][2]int32(nil)
	for i, in := range data {
		if parts[i] = slices.Repeat([]int{i % mostFolds}, in.Graph.NumNodes()); len(data) >= manyInstances {
			continue
		}
		for s := range parts[i] {
			parts[i][s] = -1
		}
		for _, s := range comparedLabels(in) {
			known = append(known, [2]int32{int32(i), s})
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	for _, l := range known {
		in := data[l[0]]
		state := [2]int{in.NodeType(l[1]), int(in.Samples()[0][l[1]])}
		parts[l[0]][l[1]] = dealt[state] % mostFolds
		dealt[state]++
	}
	return parts
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
