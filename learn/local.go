package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// localLearner is a run of limited-memory BFGS (Nocedal 1980) on an objective of
// local terms, or the likelihood,
//
//	L(θ̃) = (1/N) Σ_n terms of sample n + (l2/2)‖θ̃‖²,
//
// which has its exact gradient at the price of one pass over the data, without
// messages, and is convex unless the likelihood sums over missing labels. So there are no blocks, nothing is stale, and no check is
// needed. An iteration is one step of the weights; a pass is one evaluation of
// objective and gradient.
type localLearner struct {
	course           // with the weights θ of the last iteration
	total    float64 // N, the sum of the samples' weights
	rounding float64 // gradient norm below which there is nothing but rounding

	value      float64   // L at the weights of the last iteration
	gradient   []float64 // [weights] ∇L there
	direction  []float64
	trial      *crf.Model // weights to evaluate
	trialSlope []float64  // [weights] ∇L at the trial weights
	curvature  *quasiNewton
	lanczos    *lanczos

	plans   map[*crf.Instance]*exact.Plan // of Exact
	terms   map[*crf.Instance][]weightedLabels
	whole   map[*graph.Graph]*partition.Partition
	pool    *parallel.Pool[[]*crf.Instance]
	workers []ground.LocalObjective
	parts   []localPart // [instances of a chunk]
}

// localPart is what one instance adds to objective and gradient.
type localPart struct {
	value    float64
	gradient []float64
}

// instancesPerChunk bounds how many instances' gradients are kept before they are
// added up, in the order of the instances, whatever thread computed them.
const instancesPerChunk = 16

func fitLocal(ctx context.Context, p *Problem, s *Settings, began time.Time) (*Result, error) {
	l, err := newLocalLearner(p, s)
	if err != nil {
		return nil, err
	}
	defer l.pool.Close()
	if s.Resume != nil {
		if err := l.restore(s.Resume); err != nil {
			return nil, err
		}
		s.Resume = nil // it was copied: let the memory go
	}
	return l.run(ctx, began)
}

// newLocalLearner makes a run. More memory than the settings allow is a *MemoryError,
// before any of it is taken.
func newLocalLearner(p *Problem, s *Settings) (*localLearner, error) {
	l, err := planLocal(p, s)
	if err != nil {
		return nil, err
	}
	m := l.memory()
	if err := m.Within(s.Memory); err != nil {
		return nil, err
	}
	m.makeWay()
	l.allocate()
	return l, nil
}

// planLocal decides what the sizes of a run depend on.
func planLocal(p *Problem, s *Settings) (l *localLearner, err error) {
	if err := countable(p.Model); err != nil {
		return nil, err
	}
	p = p.joined(s)
	l = &localLearner{course: planCourse(p, s), total: totalWeight(p.given().Data), parts: make([]localPart, min(instancesPerChunk, len(p.Data)))}
	if s.Method == Exact {
		l.plans, err = planLikelihood(p.Data)
	}
	return l, err
}

// allocate takes the memory of the run.
func (l *localLearner) allocate() {
	p, s, size := l.problem, l.settings, l.model.Layout.Size
	l.course.allocate()
	l.trial, l.gradient, l.direction, l.trialSlope = p.Model.Clone(), make([]float64, size), make([]float64, size), make([]float64, size)
	l.whole = map[*graph.Graph]*partition.Partition{}
	l.curvature = newQuasiNewton(size, func(dst, g []float64) { copy(dst, g) })
	l.lanczos = newLanczos(l.curvature)
	for i := range l.parts {
		l.parts[i].gradient = make([]float64, size)
	}
	for _, in := range p.Data {
		if l.whole[in.Graph] == nil {
			l.whole[in.Graph] = partition.Whole(in.Graph)
		}
	}
	if s.Method == Exact {
		l.terms = map[*crf.Instance][]weightedLabels{}
		for _, in := range p.Data {
			l.terms[in] = p.terms(in)
		}
	}
	for range s.Threads {
		l.workers = append(l.workers, l.objective())
	}
	sums := labelSums{model: l.model, problem: p, total: l.total, adder: adder{each: serially}, adjoints: []*ground.Adjoint{{}}}
	statistics := sums.observed()
	l.rounding = roundingShare * math.Sqrt(simd.Dot(statistics, statistics))
	l.pool = parallel.NewPool(s.Threads, l.evaluateInstance) // last: its goroutines run until it is closed
}

// memory lists what allocate and evaluate take.
func (l *localLearner) memory() *Memory {
	p, s, size := l.problem, l.settings, l.model.Layout.Size
	m := &Memory{}
	l.course.memory(m)
	const vectors = 5 // trial, gradient, direction, trialSlope and statistics
	m.Add("gradients", float64(vectors+len(l.parts))*doubleBytes*float64(size), "%d vectors of %d weights × 8 bytes", vectors+len(l.parts), size)
	quasiNewtonMemory(m, float64(size), min(s.MaxPasses, s.mostIterations()))
	scratch, lists := 0.0, 0.0
	seen := map[*graph.Graph]bool{}
	for _, in := range p.Data {
		nodes, edges := float64(in.Graph.NumNodes()), float64(in.Graph.NumEdges())
		if !seen[in.Graph] {
			// Of, Nodes, Order and InStart, Edges, and In, InEdge and InSource of both directions.
			seen[in.Graph], lists = true, lists+indexBytes*(4*nodes+7*edges)
		}
		if plan := l.plans[in]; plan != nil {
			scratch = max(scratch, likelihoodBytes(p, in, plan))
		} else {
			scratch = max(scratch, ground.LocalBytes(&p.Model.Layout, in, s.Method == Piecewise))
		}
	}
	p.joinedMemory(m)
	m.Add("blocks and indices", lists, "lists of nodes and edges of %d graphs", len(seen))
	threads := float64(min(s.Threads, len(l.parts)))
	name := "potentials"
	if s.Method == Exact {
		name = "tables of elimination"
	}
	m.Add(name, threads*scratch, "those of the largest network, for %.0f threads", threads)
	return m
}

// objective returns the objective of the method, with scratch for one goroutine.
func (l *localLearner) objective() ground.LocalObjective {
	switch l.settings.Method {
	case Exact:
		return &exactLikelihood{plans: l.plans, terms: l.terms}
	case Piecewise:
		return &ground.Piecewise{ClassWeights: l.problem.ClassWeights}
	}
	return &ground.PseudoLikelihood{ClassWeights: l.problem.ClassWeights}
}

// evaluateInstance is the part of an evaluation that one goroutine does.
func (l *localLearner) evaluateInstance(chunk *[]*crf.Instance, worker, i int) {
	in := (*chunk)[i]
	part := &l.parts[i]
	clear(part.gradient)
	part.value = l.workers[worker].Add(part.gradient, l.trial, in, &l.whole[in.Graph].Blocks[0], in.Weight()/l.total)
}

// evaluate returns L at the trial weights, and its gradient in l.trialSlope.
func (l *localLearner) evaluate() (value float64) {
	l.trial.Layout.Symmetrise(l.trial.Weights) // without what rounding has left
	for i, w := range l.trial.Weights {
		value += l.problem.L2 / 2 * w * w
		l.trialSlope[i] = l.problem.L2 * w
	}
	for chunk := range slices.Chunk(l.problem.Data, len(l.parts)) {
		l.pool.Run(chunk, len(chunk))
		for i := range chunk {
			value += l.parts[i].value
			addTo(l.trialSlope, l.parts[i].gradient)
		}
	}
	l.trial.Layout.Symmetrise(l.trialSlope)
	l.progress.Passes++
	l.progress.GradientPasses++
	return value
}

// accept makes the trial weights those of the run.
func (l *localLearner) accept(value float64) {
	l.value = value
	copy(l.model.Weights, l.trial.Weights)
	copy(l.gradient, l.trialSlope)
	l.progress.Objective, l.progress.GradientNorm = value, math.Sqrt(simd.Dot(l.gradient, l.gradient))
}

// errStopped says that a line search was given up because the run has to end.
var errStopped = errors.New("learn: stopped")

// run counts the seconds since started.
func (l *localLearner) run(ctx context.Context, started time.Time) (*Result, error) {
	before := l.progress.Seconds
	clock := func() { l.progress.Seconds = before + time.Since(started).Seconds() }
	if l.progress.Passes == 0 {
		if err := l.begin(); err != nil {
			return nil, err
		}
	}
	var nextCheckpoint time.Time
	for {
		clock()
		if l.ended(ctx) {
			if l.leaveSaddle(ctx) {
				continue
			}
			return l.finish()
		}
		if now := time.Now(); now.After(nextCheckpoint) || l.settings.checkpointNow() {
			if err := l.checkpoint(); err != nil {
				return nil, err
			}
			nextCheckpoint = time.Now().Add(l.settings.checkpointPause(time.Since(now)))
		}
		passes := l.progress.Passes
		step, err := l.iterate(ctx)
		clock()
		switch {
		case errors.Is(err, errStopped):
			l.progress.Passes, l.progress.GradientPasses = passes, passes // the state is that of the last iteration
			l.progress.Status, l.progress.Reason = Interrupted, "interrupted"
			return l.finish()
		case err != nil:
			return nil, err
		case step == 0:
			l.progress.Status = ObjectiveFlat
			l.progress.Reason = fmt.Sprintf("the line search finds no smaller objective than %.10g: what is left of it is rounding", l.value)
			if sub, gap := l.suboptimality(), l.settings.Gap*(1+math.Abs(l.value)); sub > gap {
				l.progress.Reason += "; " + tooFar(sub, gap, l.progress.GradientNorm, l.problem.L2, l.rounding)
			}
			return l.finish()
		}
		event := Event{Iteration: l.progress.Iterations, Instance: -1, Block: -1, Step: step, Objective: l.progress.Objective, GradientNorm: l.progress.GradientNorm, Suboptimality: l.suboptimality(), Residual: math.NaN()}
		if err := l.course.evaluate(&event); err != nil {
			return nil, err
		}
		clock()
		if err := l.record(event); err != nil {
			return nil, err
		}
	}
}

// begin evaluates at the weights of the start.
func (l *localLearner) begin() error {
	value := l.evaluate()
	l.accept(value)
	l.progress.First, l.progress.FirstObjective, l.progress.LastObjective = l.progress.GradientNorm, value, value
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return &DivergedError{Reason: fmt.Sprintf("the objective at the initial weights is %v: they, or the features, are too large, or a label is forbidden", value)}
	}
	if !(l.progress.First <= math.MaxFloat64) {
		return &DivergedError{Reason: fmt.Sprintf("the norm of the gradient at the initial weights is %v: the features are too large to be squared; scale them to about 1", l.progress.First)}
	}
	return l.record(Event{Instance: -1, Block: -1, Check: true, Objective: value, GradientNorm: l.progress.GradientNorm, Suboptimality: l.suboptimality()})
}

// ended reports whether the run is over, and sets why.
func (l *localLearner) ended(ctx context.Context) bool {
	tolerance := max(l.settings.GradientTolerance, l.settings.RelativeTolerance*l.progress.First, l.rounding)
	sub, gap := l.suboptimality(), l.settings.Gap*(1+math.Abs(l.progress.Objective))
	rests := l.progress.GradientNorm <= l.rounding
	switch {
	case l.progress.GradientNorm <= tolerance && l.progress.GradientNorm <= math.MaxFloat64 && (!(sub > gap) || rests):
		l.progress.Status, l.progress.Reason = stationary(l.convex()), fmt.Sprintf("gradient norm %.3g ≤ %.3g", l.progress.GradientNorm, tolerance)
		switch {
		case sub <= gap:
			l.progress.Reason += fmt.Sprintf(", suboptimality %.3g ≤ %.3g", sub, gap)
		case sub > gap: // rounding leaves no smaller gradient
			l.progress.Status = ObjectiveFlat
			l.progress.Reason += fmt.Sprintf("; %s", tooFar(sub, gap, l.progress.GradientNorm, l.problem.L2, l.rounding))
		case l.convex():
			l.progress.Reason += ", and l2 is 0: nothing bounds how far the optimum is"
		}
	case ctx.Err() != nil:
		l.progress.Status, l.progress.Reason = Interrupted, "interrupted"
	default:
		l.progress.Status, l.progress.Reason = l.settings.limitReached(&l.progress, 0)
	}
	return l.progress.Status != ""
}

// suboptimality returns how far above the smallest objective the weights are at most, as the
// objective is at least as curved as its regulariser; NaN where that is not known.
func (l *localLearner) suboptimality() float64 {
	l2 := l.problem.L2
	if !l.convex() || l2 == 0 {
		return math.NaN()
	}
	return l.progress.GradientNorm*l.progress.GradientNorm/(2*l2) + roundingShare*math.Abs(l.progress.Objective)
}

// iterate makes one step of L-BFGS and returns its length along the direction, 0
// where no step makes the objective smaller.
func (l *localLearner) iterate(ctx context.Context) (step float64, err error) {
	l.curvature.direct(l.direction, l.gradient)
	first := 1.0
	if l.curvature.pairs == 0 {
		first = min(1, 1/math.Sqrt(simd.Dot(l.gradient, l.gradient))) // no scale is known yet: a step of length 1
	}
	search := lineSearch{value: l.value, slope: -simd.Dot(l.direction, l.gradient)}
	search.along = func(t float64) (value, slope float64, err error) {
		if ctx.Err() != nil {
			return 0, 0, errStopped
		}
		for i, d := range l.direction {
			l.trial.Weights[i] = l.model.Weights[i] - t*d
		}
		value = l.evaluate()
		return value, -simd.Dot(l.direction, l.trialSlope), nil
	}
	step, value, err := search.run(first)
	switch {
	case err != nil:
		return 0, err
	case step == 0 && l.curvature.pairs > 0:
		l.curvature.reset(1) // what was learned of the curvature may be at fault
		return l.iterate(ctx)
	case step == 0:
		return 0, nil
	}
	s, y := l.curvature.next()
	for i, w := range l.trial.Weights {
		s[i], y[i] = w-l.model.Weights[i], l.trialSlope[i]-l.gradient[i]
	}
	l.curvature.store()
	l.progress.Change, l.progress.LastObjective = math.Abs(value-l.value), value
	l.accept(value)
	l.progress.Iterations++
	return step, nil
}

// finish makes the result and saves the state.
func (l *localLearner) finish() (*Result, error) {
	if err := l.checkpoint(); err != nil {
		return nil, err
	}
	r := l.result(l.progress.Status)
	r.Gradient, r.Residual, r.InferenceConverged, r.StateBytes = l.gradient, 0, true, l.stateBytes()
	r.Convex, r.Suboptimality = l.convex(), l.suboptimality()
	return r, nil
}

// convex reports whether the objective is: the methods without a likelihood leave terms of
// missing labels out.
func (l *localLearner) convex() bool {
	return l.settings.Method != Exact || !anyHidden(l.problem.Data)
}

// stateBytes is the memory of the optimiser and of the gradients.
func (l *localLearner) stateBytes() int64 {
	vectors := len(l.parts) + 4 + 2*pairsKept
	return int64(8 * vectors * l.model.Layout.Size)
}
