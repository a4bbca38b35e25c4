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

// trial is a candidate with what came of it, and with the power of beliefs that has the smallest score.
type trial struct {
	Candidate
	asked    Candidate // without that power
	losses   []float64 // of each label that was held out
	surprise float64   // the mean loss of these, were each another than the likeliest
}

// score is what trials are compared by.
func (t *trial) score() float64 { return float64(t.Loss) + t.penalty() }

// byScore compares trials.
func byScore(a, b *trial) int { return cmp.Compare(a.score(), b.score()) }

// penalty is a label's share of what unseen mistakes cost, and of three normal priors. Weights have one of deviation 1:
// they are half of a rule's strength on either side of their middle. The logarithms of the power, and of the deviation
// of the weights of features, have the others.
func (t *trial) penalty() float64 {
	half, steps := t.Edges.strength/2, math.Log(t.Edges.power/cmp.Or(t.asked.Edges.power, 1))/powerDeviation
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

	// What candidates at hand learn from: features as seen has them, the scale that they are learned on, the folds.
	seen  Candidate
	scale *standardise.Map
	folds []fold
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
func (c *selection) try(ctx context.Context, of Candidate) (best *trial, err error) {
	if c.tried[of] != nil {
		return c.tried[of], nil
	}
	guesses, err := c.predictions(ctx, of)
	if err != nil {
		return nil, err
	}
	steps, n := powerSteps, float64(len(guesses))
	if of.Scale != "" || !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	for i := -steps; i <= steps; i++ {
		t, sum := &trial{Candidate: of, asked: of}, 0.
		t.Edges.power = rounded(cmp.Or(of.Edges.power, 1) * math.Pow(math.Sqrt2, float64(i)))
		for _, g := range guesses {
			loss, surprise := g.tempered(t.Edges.power)
			if t.losses, sum = append(t.losses, loss), sum+loss; steps > 0 {
				t.surprise += surprise / n
			}
			if g.label == g.likeliest {
				t.Accuracy += runfolder.Float(1 / n)
			}
		}
		if t.Loss = runfolder.Float(sum / n); best == nil || t.score() < best.score() {
			best = t
		}
	}
	if math.IsNaN(float64(best.Loss)) {
		return nil, fmt.Errorf("%s gives no loss that is a number", of)
	}
	c.tried[of] = best
	return best, nil
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

// predictions are what each fold holds out, predicted given the others by what is learned of these.
func (c *selection) predictions(ctx context.Context, of Candidate) ([]guess, error) {
	errs, guesses, threads := make([]error, len(c.folds)), make([][]guess, len(c.folds)), 1
	if len(c.folds) == 1 {
		threads = c.p.Options.Threads
	}
	err := parallel.Each(ctx, len(c.folds), c.p.Options.Threads, func(k int) {
		guesses[k], errs[k] = c.predict(ctx, k, of, threads)
	})
	err = errors.Join(cmp.Or(err, context.Cause(ctx)), errors.Join(errs...)) // where it ended, some are not learned
	return slices.Concat(guesses...), err
}

// predict predicts what a fold holds out.
func (c *selection) predict(ctx context.Context, k int, of Candidate, threads int) (guesses []guess, err error) {
	f, rule := c.folds[k], of.Edges
	learned, err := c.learn(ctx, k, of, threads)
	if err != nil {
		return nil, err
	}
	m := original(learned, c.scale)
	w := c.p.inference(m, foldLimits)
	if w.Threads = threads; rule.makes() && rule.strength == 0 {
		f.Instances, w.Counting = withoutEdges(f.Instances), nil
	} else if rule.makes() {
		rule.put(m, carriers(&m.Schema, c.p.Set.Instances, rule.name), learned, f.data)
	}
	if rule.name == edgesBalanced {
		if f.Instances, err = allBalanced(f.Instances); err != nil {
			return nil, err
		}
	}
	err = w.each(ctx, &f.Evaluation, false, func(i int, p prediction) error {
		in := f.Instances[i]
		for s, y := range in.Samples()[0] {
			if y == crf.Unobserved {
				continue
			}
			g := guess{slices.Clone(p.beliefs.Of(s)), y, p.beliefs.Labels[s], 1}
			if weights := c.p.Problem.ClassWeights; weights != nil {
				g.weight = weights[in.NodeType(int32(s))][y]
			}
			guesses = append(guesses, g)
		}
		return nil
	})
	return guesses, err
}

// learn learns with the settings of a candidate from what a fold leaves: nodes by themselves, and then, where edges are
// learned, the network from there.
func (c *selection) learn(ctx context.Context, k int, of Candidate, threads int) (m *crf.Model, err error) {
	f, o, s := c.folds[k], c.p.Options, c.p.Settings
	o.Prior, o.Epsilon = cmp.Or(of.Prior, o.Prior), 0 // nodes by themselves are learned by likelihood
	problem := c.p.Problem
	problem.L2 = o.l2(sampleCount(f.data))
	if m = f.nodes[o.Prior]; m == nil {
		alone := problem
		alone.Counting, alone.Loss = nil, 0
		if alone.Data, err = onlyNodes(f.data); err == nil {
			alone.Model, err = crf.NewModel(problem.Model.Schema)
		}
		if err == nil {
			m, err = modelOf(learn.Fit(ctx, alone, learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance,
				MaxPasses: choicePasses, Memory: -1}))
		}
		f.nodes[o.Prior] = m
	}
	if err != nil || of.Edges != together {
		return m, err
	}
	problem.Data, problem.Model = f.data, m
	s.Resume, s.Threads, s.MaxPasses = nil, threads, cmp.Or(c.p.asked.MaxPasses, togetherPasses)
	if s.Step, err = learn.ParseStep(o.Step); err != nil { // a rule of steps is of one run
		return nil, err
	}
	if o.MaxTime > 0 { // an equal part, and a first candidate in any case
		s.MaxTime = max(time.Millisecond, c.left(len(c.folds)-k))
	}
	return modelOf(learn.Fit(ctx, problem, s))
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
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64) // what was formatted can be read
	return y
}

// manyInstances are enough for folds of whole ones; of fewer, each holds out labels.
const manyInstances = 2*mostFolds - 1

// fold holds out labels: models are learned from data, on the scale, and predict those of an evaluation.
type fold struct {
	data  []*crf.Instance
	nodes map[float64]*crf.Model // learned without edges, by the prior
	Evaluation
}

// divide makes the folds of instances that are learned from scaled: of whole ones, or of labels where these are few. In
// large networks one of them is all there is time for, where edges are chosen, unless it has so few labels
// that it would tell nothing.
func (c *selection) divide(raw, scaled []*crf.Instance) (err error) {
	c.folds = nil
	parts, n, how := dealt(raw, c.p.Options.Seed), 0, ""
	for k := 0; k < mostFolds && how == ""; k++ {
		f := fold{nodes: map[float64]*crf.Model{}}
		for i, in := range raw {
			known, held := slices.Clone(in.Samples()[0]), slices.Repeat([]int32{crf.Unobserved}, in.Graph.NumNodes())
			for s, y := range known {
				if y != crf.Unobserved && parts[i][s] == k {
					known[s], held[s] = crf.Unobserved, y
					n++
				}
			}
			if f.Instances, err = withLabels(f.Instances, in, held); err == nil {
				f.data, err = withLabels(f.data, scaled[i], known)
			}
			if err != nil {
				return err
			}
			if len(f.Held) < len(f.Instances) {
				f.Held = append(f.Held, known)
			}
		}
		if len(f.Instances) > 0 && len(f.data) > 0 {
			c.folds = append(c.folds, f)
		}
		if k == 0 && c.p.grid != nil && c.p.large() && n >= leastLabels {
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
	if !slices.ContainsFunc(labels, func(y int32) bool { return y != crf.Unobserved }) {
		return all, nil
	}
	in, err := relabelled(in, [][]int32{labels}, nil)
	return append(all, in), err
}

// dealt is the fold, of mostFolds, that holds out each label; −1: none. Many instances take turns. The labels of few
// that are compared are shuffled, and dealt out anew for each state, so that every fold has its share of all states,
// and what is left of a few labels is as balanced as all are.
func dealt(data []*crf.Instance, seed uint64) [][]int {
	parts, dealt, known := make([][]int, len(data)), map[[2]int]int{}, [][2]int32(nil)
	for i, in := range data {
		part, compared := i%mostFolds, []int32(nil)
		if len(data) < manyInstances {
			part, compared = -1, comparedLabels(in)
		}
		parts[i] = slices.Repeat([]int{part}, in.Graph.NumNodes())
		for _, s := range compared {
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
