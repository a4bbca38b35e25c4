package learn

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/partition"
)

// Sizes says what a run needs, before it is started.
type Sizes struct {
	Instances   int     `json:"instances"`
	Nodes       int     `json:"nodes"`
	Edges       int     `json:"edges"`
	Weights     int     `json:"weights"`
	Blocks      int     `json:"blocks"`
	CutFraction float64 `json:"cut_fraction"` // of the first instance
	StateBytes  int64   `json:"state_bytes"`
	// SecondsPerPass extrapolates timed visits of an excerpt of the first block, and
	// timed steps. 0: even an excerpt would take too much memory.
	SecondsPerPass float64 `json:"seconds_per_pass"`
}

const (
	// mostForExcerpt bounds the memory, in bytes, that timing visits takes, and what timing steps takes. Scratch that is
	// as large as a picture, however small the excerpt, comes on top.
	mostForExcerpt = 20 << 20
	// sweepsToSettle is about how many sweeps a visit makes that is not told how many.
	sweepsToSettle = 6
	// stepsTimed are made together, as one may take less than the clock resolves.
	stepsTimed = 4
	// mostRead is how many bytes of features are read between two visits: more than most caches hold.
	mostRead = 32 << 20
	// excerptNumbers is the room of an excerpt (instances.NewExcerpt).
	excerptNumbers = 1 << 20
	// fastEnough is how long each timing goes on.
	fastEnough = 20 * time.Millisecond
)

// Measure reports the size of a run as Fit would set it up. It times a small part of the
// work and takes none of the memory of the run: see Forecast.
func Measure(p Problem, settings Settings) (*Sizes, error) {
	s, err := settings.resolve(&p)
	if err != nil {
		return nil, err
	}
	if s.Method.Local() {
		return measureLocal(&p, &s)
	}
	l, err := planLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	if err := l.memory().Within(s.Memory); err != nil {
		return nil, err
	}
	sizes := l.sizes(l.blocks, l.stateBytes())
	sizes.CutFraction = l.units[0].part.Quality().CutFraction
	sizes.SecondsPerPass, err = l.secondsPerPass()
	return sizes, err
}

// secondsPerPass times visits of an excerpt, with all sweeps that a run makes, and steps.
func (l *learner) secondsPerPass() (float64, error) {
	limits := l.innerLimits()
	limits.MaxSweeps, limits.Tolerance = min(limits.MaxSweeps, sweepsToSettle), -1 // none is left out
	x, s, err := l.planExcerpt()
	if err != nil {
		return 0, err
	}
	rule := s.Step
	s.Step = &fixedStep{alpha: 1} // takes no memory
	if x.memory().Bytes > mostForExcerpt+int64(float64(s.Threads)*x.largestRoom().MapBytes()) {
		return 0, nil
	}
	if err := x.allocate(); err != nil {
		return 0, err
	}
	defer x.pool.Close()
	visits, err := l.timed(func() error {
		_, err := x.visitBlocks(visit{bundle: x.bundles[0], blocks: x.schedule[0].blocks, limits: limits, contribute: true})
		return err
	})
	if err != nil {
		return 0, err
	}
	steps, err := l.timeSteps(x, rule)
	return (visits*l.work(limits.MaxSweeps, l.blocks)/x.work(limits.MaxSweeps, 1) + steps*float64(l.perPass())) / float64(limits.MaxSweeps), err
}

// planExcerpt plans a run on an excerpt of the first block, as many times as threads have something to do at a time.
func (l *learner) planExcerpt() (*learner, *Settings, error) {
	u := l.units[0]
	filled := slices.IndexFunc(u.part.Blocks, func(b partition.Block) bool { return len(b.Nodes) > 0 })
	jobs := 0
	for _, t := range l.schedule {
		jobs += len(t.blocks) * len(l.bundles[t.bundle].units)
	}
	threads := max(1, min(l.settings.Threads, jobs/len(l.schedule)))
	x, err := instances.NewExcerpt(u.in, u.part.Blocks[filled].Nodes, excerptNumbers/float64(threads), func(s int32) bool { return int(u.part.Of[s]) == filled })
	if err != nil {
		return nil, nil, err
	}
	p, s := &Problem{Model: x.Model, L2: l.problem.L2}, *l.settings
	s.Spill = ""
	x.Model.Weights = make([]float64, x.Model.Layout.Size)
	p.Data, s.Threads = slices.Repeat([]*crf.Instance{x.Instance}, threads), threads
	p.Counting = func(*graph.Graph) (*counting.Numbers, error) { return x.Restrict(u.net.Counting), nil }
	s.Assign = func(*crf.Instance) ([]int32, int, error) { return x.Of, 2, nil }
	s.Together, s.Pairs, s.PhaseTimes, s.Resume, s.MaxPasses, s.Group = 1, false, nil, nil, 1, nil
	plan, err := planLearner(p, &s)
	return plan, &s, err
}

// timeSteps times steps of a rule on the weights of an excerpt. What a step takes grows with
// the weights; a rule that takes much memory counts for nothing.
func (l *learner) timeSteps(x *learner, rule StepRule) (seconds float64, err error) {
	takes := &Memory{}
	x.stepMemory(takes, rule)
	if takes.Bytes > mostForExcerpt {
		return 0, nil
	}
	p := x.stepProblem()
	p.PerPass, p.Hessian = max(p.PerPass, l.perPass()), nil
	if err := rule.Start(p); err != nil {
		return 0, err
	}
	if r := rule.Recovery(); r != nil {
		defer r.forget()
	}
	seconds, err = l.timed(func() error {
		for range stepsTimed {
			x.estimate()
			rule.Step(x.model.Weights, x.gradient)
		}
		return nil
	})
	return seconds / stepsTimed * float64(l.model.Layout.Size) / float64(x.model.Layout.Size), err
}

// measureLocal is Measure for a local objective.
func measureLocal(p *Problem, s *Settings) (*Sizes, error) {
	l, err := planLocal(p, s)
	if err != nil {
		return nil, err
	}
	if err := l.memory().Within(s.Memory); err != nil {
		return nil, err
	}
	sizes := l.sizes(1, l.stateBytes())
	if s.Method == Exact {
		sizes.SecondsPerPass, err = l.secondsOfLikelihood()
		return sizes, err
	}
	in := p.Data[0]
	first := make([]int32, min(in.Graph.NumNodes(), excerptNumbers))
	for i := range first {
		first[i] = int32(i)
	}
	threads := min(s.Threads, l.objective.Together())
	x, err := instances.NewExcerpt(in, first, excerptNumbers/float64(threads), func(int32) bool { return true })
	if err != nil {
		return nil, err
	}
	layout := &x.Model.Layout
	bytes := ground.LocalBytes(layout, x.Instance, s.Method == Piecewise) + doubleBytes*float64(layout.Size)
	if float64(threads)*bytes > mostForExcerpt {
		return sizes, nil
	}
	x.Model.Weights = make([]float64, layout.Size)
	some := local.Objective{Kind: l.objective.Kind, Model: x.Model, Data: slices.Repeat([]*crf.Instance{x.Instance}, threads), Total: 1}
	some.Allocate(threads)
	defer some.Close()
	gradient := make([]float64, layout.Size)
	seconds, err := l.timed(func() error {
		some.Evaluate(gradient, x.Model.Weights)
		return nil
	})
	work := 0.0
	for _, in := range p.Data {
		work += localWork(&p.Model.Layout, in)
	}
	sizes.SecondsPerPass = seconds * work / (float64(threads) * localWork(layout, x.Instance))
	return sizes, err
}

// secondsOfLikelihood times the instance that takes the least, at weights of zero. Others take as much longer as
// elimination has more entries to compute. It is 0 where even that instance takes much memory.
func (l *localLearner) secondsOfLikelihood() (float64, error) {
	size, work := l.model.Layout.Size, 0.0
	least := l.problem.Data[0]
	for _, in := range l.problem.Data {
		of := l.objective.Operations(in)
		if work += of; of < l.objective.Operations(least) {
			least = in
		}
	}
	if l.objective.Bytes(least)+2*doubleBytes*float64(size) > mostForExcerpt {
		return 0, nil
	}
	zero, gradient := *l.model, make([]float64, size)
	zero.Weights = make([]float64, size)
	objective, whole := l.objective.Worker(), &partition.Whole(least.Graph).Blocks[0]
	seconds, err := l.timed(func() error {
		objective.Add(gradient, &zero, least, whole, 1)
		return nil
	})
	return seconds * work / (l.objective.Operations(least) * float64(min(l.settings.Threads, l.objective.Together()))), err
}

// timing is a machine.Task that measures as in a run, where much else is read from one visit of a block to the next.
type timing struct {
	data []*crf.Instance
	do   func() error
	left int     // bytes still to be read
	sum  float64 // keeps the compiler from leaving reads out
}

// Run implements machine.Task.
func (t *timing) Run() (seconds float64, err error) {
	t.left = mostRead
	for _, in := range t.data {
		for _, f := range instances.Features(in) {
			t.read(f.Data())
		}
	}
	started := time.Now()
	err = t.do()
	return time.Since(started).Seconds(), err
}

// read brings features into the caches, and what was there out of them.
func (t *timing) read(f *crf.FeatureData) {
	readThrough(t, f.Double, 8)
	readThrough(t, f.Single, 4)
	readThrough(t, f.Bins, 4)
	readThrough(t, f.Value, 8)
}

func readThrough[T float64 | float32 | int32](t *timing, x []T, size int) {
	const line = 64 // bytes
	for ; len(x) > 0 && t.left > 0; t.left -= line {
		t.sum += float64(x[0])
		x = x[min(len(x), line/size):]
	}
}

// timed returns the mean of what calls take, after one that is not counted.
func (c *course) timed(do func() error) (seconds float64, err error) {
	timings, err := machine.Interleave(context.Background(), machine.Rounds{Least: 3, Budget: fastEnough}, &timing{data: c.problem.Data, do: do})
	if err != nil {
		return 0, err
	}
	return timings[0].Mean, nil
}

// Work in multiplications per joint state of an edge: of its table and its belief, beside
// two for every feature, and of a message.
const beliefWork, messageWork = 4.0, 4.0

// work returns about how many multiplications one visit of each of the first blocks takes, with so many sweeps.
func (l *learner) work(sweeps, blocks int) (work float64) {
	for _, u := range l.units {
		for x := range u.part.Blocks[:min(blocks, len(u.part.Blocks))] {
			b := &u.part.Blocks[x]
			joint := func(e int32) float64 { return float64(l.model.Layout.Edge[u.in.EdgeType(e)].States) }
			for _, e := range b.Edges {
				work += joint(e) * (beliefWork + 2*float64(l.usedFeatures(e, u.in)))
			}
			for _, q := range b.InEdge {
				work += joint(b.Edges[q]) * messageWork * float64(sweeps)
			}
			for _, s := range b.Nodes {
				work += nodeWork(&l.model.Layout, u.in, s)
			}
		}
	}
	return work
}

func nodeWork(layout *crf.Layout, in *crf.Instance, s int32) float64 {
	span := &layout.Node[in.NodeType(s)]
	return float64(span.States) * (beliefWork + 2*float64(span.Features))
}

// localWork returns about how many multiplications an instance takes in an evaluation of a local objective.
func localWork(layout *crf.Layout, in *crf.Instance) (work float64) {
	for s := range int32(in.Graph.NumNodes()) {
		work += nodeWork(layout, in, s)
	}
	for e := range int32(in.Graph.NumEdges()) {
		span := &layout.Edge[in.EdgeType(e)]
		work += float64(span.States) * (beliefWork + 2*float64(max(1, span.Features)))
	}
	return math.Max(1, work)
}
