package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/spill"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// Task is what a training works on.
type Task struct {
	Set *dataset.Set // labelled
	// Owned: nobody else uses Set, and Prepare may change its features to save memory.
	Owned bool
	// Initial is a model of the same kind of data to start from; nil: weights of zero.
	Initial *Model
	// Reference has the weights that the run's distance is measured to; nil: none.
	Reference *Model
	// Evaluations are compared with now and then, and at the end.
	Evaluations []*Evaluation
	// HopsOpen: features may be replaced by means over neighbourhoods, as dataset.Options.Hops
	// does, where data are such that the choice is by folds of labels.
	HopsOpen bool
	// Group is several processes that train together, each with all of the data; nil: this one
	// alone. Process 0 calls Train, the others Follow.
	Group learn.Group
	// Began is when the work did, for --max-time and Summary.TotalSeconds; zero: with Prepare.
	Began time.Time
}

// with is the task with other data: what do makes of each set.
func (t Task) with(do func(*dataset.Set) (*dataset.Set, error)) (Task, error) {
	sets, err := t.Evaluations, error(nil)
	t.Evaluations = nil
	t.Set, err = do(t.Set)
	for i := 0; i < len(sets) && err == nil; i++ {
		own := *sets[i]
		if own.Set, err = do(own.Set); err == nil {
			own.Instances = own.Set.Instances
			t.Evaluations = append(t.Evaluations, &own)
		}
	}
	return t, err
}

// Prepared is a training on which everything is decided and checked.
type Prepared struct {
	Task
	Options  Options // with their defaults
	Problem  learn.Problem
	Settings learn.Settings // without what observes a run: Train adds that
	Memory   *learn.Memory  // that the learner takes
	// Notes say what was assumed of data, what was chosen, which choices will not do what they seem to, and what is wrong
	// with data or settings; result and report repeat them.
	Notes []string

	// Selection says which edges stay, nil: all.
	Selection *EdgeSelection
	// Choice says why the method is what it is, "" where it was asked for.
	Choice string

	// rule makes the weights of edges, which carriers have. Where it does, Problem has no edges; networks have, on the
	// same scale. Counting numbers to infer with are numbers in any case.
	rule     edgeRule
	carriers map[int][]carrier
	networks []*crf.Instance
	numbers  counting.Func

	asked  Options     // as they were given
	grid   []Candidate // of which folds of labels choose one, where something is left open; else nil
	choice *Choice     // that was made, or nil

	// space has counting numbers and copies of features in files, where Options.Spill is set.
	space *spill.Space

	scale *standardise.Map // of the features in Problem; nil: they are as they are
	// hidden says what is done about missing values of samples, or is "".
	hidden string

	// alone is learned without edges, to begin a training with or to compare one with, or nil.
	alone     *crf.Model
	cuts      []cut.Cut // of each network, for BBPL
	earlyStop *learn.EarlyStop
}

// Prepare makes a problem of options and task, and checks all that can be checked
// before anything is computed or written.
func Prepare(ctx context.Context, o Options, t Task) (*Prepared, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	o.Counting = o.countingFor(t.Set, t.Initial)
	p := &Prepared{Options: o, Settings: o.Settings, asked: *o.asked}
	if p.Selection, err = o.selectEdges(ctx, &t); err != nil {
		return nil, err
	}
	p.Task, p.Began = t, cmp.Or(t.Began, time.Now())
	p.priorOfSites()
	o = p.Options
	if o.Spill != "" {
		p.space = &spill.Space{Folder: o.Spill}
	}
	for _, step := range []func() error{
		func() (err error) {
			p.Problem, err = o.problem(ctx, &t, p.space)
			p.numbers = p.Problem.Counting
			return err
		},
		func() error {
			said, err := p.openEdges(ctx)
			p.note(said)
			return err
		},
		p.makeEdges, p.suits, p.deal,
		func() error {
			r, size := t.Reference, p.Problem.Model.Layout.Size
			if r != nil && len(r.Model.Weights) != size {
				return dataf("%s: the model has %d weights, the one to be learned %d", r.Path, len(r.Model.Weights), size)
			}
			return nil
		},
		func() error { return p.physics(ctx) },
		func() error {
			err := p.standardise(ctx) // which may narrow the prior
			p.Problem.L2 = p.Options.l2(p.Problem.Data)
			return err
		},
		func() error { // pseudo-likelihood has no use for numbers, which all pairs of many sites take long to make
			if p.Options.Method == learn.Pseudo {
				return nil
			}
			return checkCounting(ctx, p.Problem.Data, p.Problem.Counting)
		},
		p.separate, p.choose, p.cut, p.checkLabels,
		func() (err error) {
			p.Problem.ClassWeights, err = classWeights(&p.Options, t.Set.Schema.NodeTypes, p.Problem.Data)
			return err
		},
		p.checkMemory, p.evaluations,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p.noteAll()
	return p, nil
}

// evaluations decides what the evaluation sets are for.
func (p *Prepared) evaluations() (err error) {
	o, sets := &p.Options, p.Evaluations
	if len(sets) == 0 && o.EvaluateEvery > 0 {
		return usagef("{eval-every} is not used without {eval!--eval NAME=PATH}")
	}
	p.earlyStop, err = earlyStop(o.EarlyStop, sets)
	if err == nil && p.earlyStop == nil && o.MaxTime > 0 && len(sets) > 0 && p.Settings.Group == nil { // see keepBest
		p.earlyStop = &learn.EarlyStop{Metric: "log_loss@" + sets[0].Name, Patience: math.MaxInt, Minimise: true}
	}
	return err
}

// note adds what there is to say; "" is nothing.
func (p *Prepared) note(texts ...string) {
	p.Notes = append(p.Notes, slices.DeleteFunc(texts, func(text string) bool { return text == "" })...)
}

// noteAll says what is known once all is decided.
func (p *Prepared) noteAll() {
	p.note(slices.Concat(p.hints(), learnedFrom(p.Set, p.Evaluations), p.Set.Notes(), noOptimum(p.Problem))...)
	if p.featuresFirst() && p.grid == nil {
		p.note("{note=hidden}most labels are hidden: weights begin with those of node features alone; compare with " +
			"{no-edges}")
	}
	if o := &p.Options; o.Loss != "" {
		p.note("{loss}: beliefs are no probabilities, but serve labels alone")
	}
	p.note(p.hidden, p.Selection.note())
}

// Close gives the files of Options.Spill back. Problem must not be used any more.
func (p *Prepared) Close() { p.space.Close() }

// standardise puts features on one scale, if that is wanted, and weights to begin with. Where statistics are of numbers
// n of observations, N in the median, their feature is √(n/N): so l2 ‖w‖², of weights w on this scale, is l2 N/n ‖θ‖²,
// and the prior is that of n observations.
func (p *Prepared) standardise(ctx context.Context) (err error) {
	if counts := p.Set.MeansWeights; counts != nil {
		own := make([]float64, len(counts))
		p.Problem.Statistics = slices.Clone(p.Problem.Statistics)
		for i, n := range counts {
			own[i] = math.Sqrt(n)
			p.Problem.Statistics[i] *= own[i]
		}
		p.scale = standardise.Own(&p.Problem.Model.Schema, own)
	} else if o, known := &p.Options, p.labels().share(); o.Physics != "" && o.Method == learn.Pseudo && o.Prior > 0 &&
		known < fewLabels && cmp.Or(p.asked.Errors, errorsNone) == errorsNone {
		if p.scale, err = p.narrowPrior(ctx, known); err != nil {
			return err
		}
	} else if p.Options.Standardise {
		each, err := standardise.Measure(ctx, &p.Problem.Model.Schema, p.Problem.Data, p.Options.Threads)
		if err == nil {
			err = p.chooseScale(ctx, each)
		}
		if err == nil {
			p.scale, err = onScale(each, p.Options.Scale)
		}
		if err != nil {
			return err
		}
	}
	if p.scale == nil {
		if strings.HasPrefix(p.Options.Scale, scaleOne) {
			p.note(fmt.Sprintf("{scale=%s} has no effect, as no features of nodes are standardised", p.Options.Scale))
		}
		return nil
	}
	if !p.Owned || p.grid != nil || p.Options.Spill != "" || !p.scale.InPlace(p.Problem.Data) {
		if p.Problem.Data, err = onto(ctx, p.scale, p.Problem.Data, p.space); err != nil {
			return err
		}
	}
	if p.Initial != nil {
		m := p.Problem.Model.Clone()
		p.scale.Standard(m.Weights, m.Weights, &m.Layout)
		p.Problem.Model = m
	}
	return nil
}

// original returns a model that was learned on a scale with the weights for features as they are.
func original(m *crf.Model, scale *standardise.Map) *crf.Model {
	c := m.Clone()
	scale.Original(c.Weights, c.Weights, &c.Layout)
	return c
}

// original returns a model that was learned with the weights for features as they are, and the edges of the rule.
func (p *Prepared) original(m *crf.Model) *crf.Model {
	if p.scale == nil && !p.rule.makes() {
		return m
	}
	c := original(m, p.scale)
	p.rule.put(c, p.carriers, m, p.Problem.ClassWeights, p.networks)
	return c
}

// problem is what the learner is to minimise, with counting numbers in a space, if there is one.
func (o *Options) problem(ctx context.Context, t *Task, space *spill.Space) (learn.Problem, error) {
	problem := learn.Problem{Data: Instances(t.Set, o.NoEdges), Statistics: t.Set.Means}
	if o.Loss != "" {
		problem.Loss = 1 / o.epsilon()
	}
	var err error
	numbers := o.Counting
	if o.Method == learn.Exact {
		numbers = countingBeside // of evaluations for which exact inference takes too much
	}
	if t.Initial != nil && !slices.Contains(counting.Names, numbers) {
		problem.Counting, err = t.Initial.Counting(ctx, "")
	} else {
		problem.Counting, err = Counting(ctx, numbers, o.Seed)
	}
	if err != nil {
		return problem, err
	}
	if space != nil {
		problem.Counting = spilled(problem.Counting, space)
	}
	if t.Initial != nil {
		problem.Model = t.Initial.Model
		return problem, nil
	}
	if err = t.Set.Schema.Validate(); err != nil {
		return problem, err
	}
	// Without weights: they may be more than fit into memory.
	problem.Model = &crf.Model{Schema: t.Set.Schema, Layout: t.Set.Schema.Layout()}
	return problem, nil
}

// checkMemory forecasts the memory of the training, refuses one that is not valid or would take more than it may,
// and makes the weights, if they are to begin with zeros.
func (p *Prepared) checkMemory() (err error) {
	if p.Memory, err = learn.Forecast(p.Problem, p.Settings); err != nil {
		if wrong := p.Settings.Validate(&p.Problem); wrong != nil {
			return usagef("%w", wrong)
		}
		return err
	}
	if err := p.Memory.Within(p.Settings.Memory); err != nil {
		return err
	}
	if p.Initial == nil {
		p.Problem.Model, err = crf.NewModel(p.Set.Schema)
	}
	return err
}

// CheckTraining refuses data of which a training, with the choices of a user who makes none, would take more memory
// than it may, as Options.Memory has it. The features of the set may be changed.
func CheckTraining(ctx context.Context, set *dataset.Set, allowed int64) error {
	o := Options{Settings: learn.Settings{Memory: allowed}, Scale: scaleEach}
	_, err := Prepare(ctx, o, Task{Set: set, Owned: true})
	if ctx.Err() != nil || errors.As(err, new(*memory.Error)) || errors.As(err, new(*learn.MemoryError)) {
		return err
	}
	return nil // of others nothing can be learned, such as data without labels
}

// suits refuses data that neither a loss nor a proof is of, before anything is chosen by them.
func (p *Prepared) suits() error {
	o, names := &p.Options, map[string]bool{}
	for i, in := range p.Problem.Data {
		for k, labels := range in.Samples() {
			if (o.Loss != "" || o.WriteProof) && slices.Contains(labels, crf.Unobserved) || o.Loss != "" && k > 0 {
				return dataf("%s has hidden labels or several samples, of which {loss} and {proof} are not: "+
					"label all nodes once, or leave the option out", option.Instance(i, in.Name))
			}
		}
		if names[in.Name] = true; len(names) <= i && o.WriteProof {
			return dataf("two instances are named %s, and {proof} tells them by their names: rename one", in.Name)
		}
	}
	return nil
}

// choose decides on the method, where that is left to the data.
func (p *Prepared) choose() (err error) {
	if p.Choice != "" {
		return nil // it is decided
	}
	if p.Settings, p.Choice, err = p.Settings.Choose(&p.Problem); err != nil {
		return usagef("%w", err)
	}
	p.Options.Method, p.Options.Cut = p.Settings.Method, p.Settings.Cut
	return nil
}

// MethodText is the method, and how it was chosen.
func (p *Prepared) MethodText() string {
	if p.Choice == "" {
		return p.Options.methodName()
	}
	return fmt.Sprintf("%s → %s: %s", learn.Auto, p.Options.Method, p.Choice)
}

// cut decides how the networks are cut into blocks.
func (p *Prepared) cut() error {
	if p.Options.Method != learn.BBPL {
		return nil
	}
	var together int
	var err error
	if p.cuts, together, err = cut.Cut(p.Settings.Cut).Resolve(p.Problem.Model, p.Problem.Data, cut.Cache()); err != nil {
		return usagef("%w", err)
	}
	p.Settings.Together = cmp.Or(p.Settings.Together, together)
	return nil
}

// checkLabels refuses data with nothing to learn from.
func (p *Prepared) checkLabels() error {
	for i, in := range p.Problem.Data {
		if len(in.Samples()) == 0 {
			return dataf("%s has no labels to learn from", option.Instance(i, in.Name))
		}
	}
	if p.labels().known == 0 {
		return dataf("every label of every instance is unobserved (−1): there is nothing to learn from")
	}
	return nil
}

// later is about what code and stacks take that come into memory as the program trains, and then plots and the report.
const later = 3 << 20

// Forecast says how much memory the process will have taken when it has trained and reported: what it has now, with
// the data, and what is still to come, or what reading the data took, where that is more.
func (p *Prepared) Forecast() *learn.Memory {
	reading, measured := memory.PeakMemory()
	m := &learn.Memory{}
	m.Add("program and data", float64(memory.GiveBack()), "as they lie in memory now")
	for _, item := range p.Memory.Items {
		m.AddItem(item)
	}
	if p.space != nil {
		const name = "counting numbers and scaled features"
		m.AddItem(learn.MemoryItem{Name: name, Bytes: p.space.Bytes, Reason: "as they lie there now", Spilled: true})
	}
	beside := 0.0                     // the learner
	for _, e := range p.Evaluations { // as many instances at a time as there are threads
		w := p.inference(p.Problem.Model, infer.Limits{})
		if _, most, err := w.largest(e.Instances); err == nil { // else predicting will say why
			beside = max(beside, most*float64(min(p.Options.Threads, len(e.Instances))))
		}
	}
	m.Add("predictions", beside, "whole networks, on each thread (%d): evaluations beside the learner", p.Options.Threads)
	m.Add("garbage and report", later+memory.MostGarbage(float64(m.Bytes)), "what is not collected yet, code and plots")
	if beyond := reading - m.Bytes; measured && beyond > 0 {
		m.Add("reading the data", float64(beyond), "it took more than learning will: %s", Mebibytes(reading))
	}
	return m
}

// spilled returns what makes the same counting numbers in a space, which has to be there for as long as they.
func spilled(make counting.Func, space *spill.Space) counting.Func {
	var lock sync.Mutex
	moved := map[*counting.Numbers]bool{}
	return func(g *graph.Graph) (*counting.Numbers, error) {
		lock.Lock()
		defer lock.Unlock()
		c, err := make(g)
		if err != nil || moved[c] {
			return c, err
		}
		lists, bytes := []*[]float64{&c.Node, &c.Edge, &c.Split, &c.Rho}, int64(0)
		for _, list := range lists {
			bytes += spill.Room[float64](len(*list))
		}
		if err := space.Reserve(bytes); err != nil {
			return nil, err
		}
		for _, list := range lists {
			*list = spill.Copy(space, *list)
		}
		moved[c] = true
		return c, nil
	}
}
