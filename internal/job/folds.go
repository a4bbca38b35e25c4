package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/learn"
)

const (
	// mostFolds bounds the folds of cross-validation.
	mostFolds = 5
	// Fits of folds end at choiceTolerance of the first norm of the gradient, or after choicePasses, or, of edges
	// that are learned with nodes, after togetherPasses: the loss hardly changes any more.
	choiceTolerance, choicePasses, togetherPasses = 1e-4, 600, 500
	// raceFolds that a candidate is behind a rival in are hardly caught up with.
	raceFolds = 2
)

// foldLimits bound the inference of folds where edges are chosen: labels hardly change, at a few percent of the cost.
var foldLimits = infer.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// guess is what a model says of a label that is held out, which counts so much.
type guess struct {
	beliefs          []float64
	label, likeliest int32
	weight           float64
}

// predictions are what each fold holds out, predicted given the others by what is learned of these; none where
// raceFolds fall behind a rival, if there is one: the others are spared, with any number of threads.
func (c *selection) predictions(ctx context.Context, of Candidate, rival *trial) ([]guess, error) {
	errs, guesses, threads := make([]error, len(c.folds)), make([][]guess, len(c.folds)), 1
	if len(c.folds) == 1 {
		threads = c.p.Options.Threads
	}
	race, stop := context.WithCancel(ctx)
	defer stop()
	behind, left := false, atomic.Int32{}
	left.Store(raceFolds)
	err := parallel.Each(race, len(c.folds), c.p.Options.Threads, func(k int) {
		guesses[k], errs[k] = c.predict(race, k, of, threads)
		if k < raceFolds && left.Add(-1) == 0 && rival != nil && errors.Join(errs[:raceFolds]...) == nil &&
			fallsBehind(c.judge(of, slices.Concat(guesses[:raceFolds]...)), rival) {
			behind = true
			stop()
		}
	})
	if behind {
		return nil, nil
	}
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
		rule.put(m, carriers(&m.Schema, c.p.Set.Instances, rule.name), learned, c.p.Problem.ClassWeights, f.data)
	}
	if rule.name == edgesBalanced {
		f.Instances = allBalanced(f.Instances)
	}
	err = w.each(ctx, &f.Evaluation, false, func(i int, p prediction) error {
		in := f.Instances[i]
		for _, s := range knownLabels(in) {
			g := guess{slices.Clone(p.beliefs.Of(int(s))), in.Samples()[0][s], p.beliefs.Labels[s], 1}
			if weights := c.p.Problem.ClassWeights; weights != nil {
				g.weight = weights[in.NodeType(s)][g.label]
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
	problem.L2 = o.l2(f.data)
	if m = f.nodes[o.Prior]; m == nil {
		alone := problem
		alone.Counting, alone.Loss = nil, 0
		alone.Data, alone.Model = onlyNodes(f.data), instances.Must(crf.NewModel(problem.Model.Schema))
		m, err = modelOf(learn.Fit(ctx, alone, learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance,
			MaxPasses: choicePasses, Memory: -1}))
		if ctx.Err() == nil { // else they are half learned
			f.nodes[o.Prior] = m
		}
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
	fit, stop := context.WithCancel(ctx) // where a check begins, as of a claim, true or not: folds need no proof
	ends := func() {}
	s.Recorder = func(learn.Event) error { ends = stop; return nil }
	s.Checking = func(int, float64) { ends() }
	defer stop()
	return modelOf(learn.Fit(fit, problem, s))
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
func (c *selection) divide(raw, scaled []*crf.Instance) {
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
			f.Instances, f.data = withLabels(f.Instances, in, held), withLabels(f.data, scaled[i], known)
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
}

// withLabels adds an instance with other labels, if any of them is known.
func withLabels(all []*crf.Instance, in *crf.Instance, labels []int32) []*crf.Instance {
	if !slices.ContainsFunc(labels, func(y int32) bool { return y != crf.Unobserved }) {
		return all
	}
	return append(all, relabelled(in, [][]int32{labels}, nil))
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
func relabelled(in *crf.Instance, labels [][]int32, weights []float64) *crf.Instance {
	spec := in.Spec()
	spec.Labels, spec.SampleWeights = labels, weights
	return instances.Must(crf.NewInstance(in.Schema(), spec))
}
