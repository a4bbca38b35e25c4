package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/spill"
)

// learner is a run in progress.
type learner struct {
	trainingRun
	unitSet
	blocks  int     // D
	samples float64 // N of (8): the sum of the samples' weights

	data      []float64  // [weights] M w̄, with the observed parts of partly observed samples
	links     float64    // mean number of edges per sample
	magnitude float64    // norm of M w̄, as if hidden labels were state 0
	reference []float64  // [weights] Σ M w(y) of the labellings of the upper bound; it may be data
	total     []float64  // [weights] (1/N) Σ M τ, of nodes and edges, cut and untied ones too
	moments   []float64  // sums of the beliefs of tied types, the part of F, and Σ c H(τ)
	gradient  []float64  // [weights]
	watched   []float64  // [weights] the gradient at the pass end before, in a check
	tied      []crf.Span // of nodes, tiedNodes of them, then of edges
	tiedNodes int

	stride, cutStride      int   // lengths of a contribution, and of what is kept of a cut edge
	nodeMoment, edgeMoment []int // [types] offset in a contribution, −1 if untied
	sweepWork              float64
	gradientWork           float64
	variables              float64 // mean number of variables per sample
	guarantees                     // of inference and the objective, at any weights

	// schedule is a pass of Algorithm 2, with a step after each visit. whole is a whole pass at the same weights, which
	// visits as many blocks at a time as share no edge.
	schedule, whole []blockSet
	position        int // of schedule, in this iteration

	auto *auto // Settings.Step, if steps are automatic; nil: they are not

	clock time.Time // when the run began, or would have in one go
	// stopped ends visits between two sweeps. It is of a run that saves no state: the state
	// there could not be resumed to the same bytes. nil: visits are finished.
	stopped context.Context
	// paceFrom is the first visit, once it is timed, or the start: that visit tells little of
	// others, as it is the first to touch much of the memory.
	paceFrom    pace
	paced       bool
	passBegan   float64 // seconds of the run when the whole pass at work began; NaN: not here
	passSeconds float64 // seconds that the last one with sweeps has taken
	recalled    bool    // the values are those of the start's check: see recall

	response *linear.Response // nil: the problem is not small, see isSmall

	ranks   *ranks
	pool    *parallel.Pool[visit]
	workers []*worker
	// edgesTogether is how many edges' beliefs are computed in one call.
	edgesTogether int
	results       []jobResult
	mostResults   int // of which so many are kept

	parts   parts
	space   *spill.Space // of what is kept between visits; nil: it is in memory
	splitOf []float64    // [jobs of all blocks] what splits add to the bound

	source *rand.PCG
	random *rand.Rand
}

// newLearner makes a run. More memory than the settings allow is a *MemoryError, before any of it is taken.
func newLearner(p *Problem, s *Settings) (*learner, error) {
	l, err := planLearner(p, s)
	if err != nil {
		return nil, err
	}
	m := l.memory()
	if err := m.Within(s.Memory); err != nil {
		return nil, err
	}
	m.makeWay()
	return l, l.allocate()
}

// planLearner decides on everything that the sizes of a run depend on. What it makes
// grows with the numbers of nodes and edges alone: the model may be without weights.
func planLearner(p *Problem, s *Settings) (*learner, error) {
	if err := countable(p.Model); err != nil {
		return nil, err
	}
	p = p.joined(s)
	l := &learner{trainingRun: planTrainingRun(p, s), samples: instances.TotalWeight(p.given().Data)}
	var err error
	if l.units, err = buildUnits(p, s, l.samples); err != nil {
		return nil, err
	}
	l.blocks = len(l.units[0].partition.Blocks)
	l.edgesTogether = edgesTogether(l.model)
	l.layOut()
	l.measureWork()
	l.guarantees = l.findGuarantees()
	if a, ok := s.Step.(interface{ automatic() *auto }); ok {
		l.auto = a.automatic()
		l.response = l.newResponse()
	}
	return l, nil
}

// allocate takes the memory of the run, and begins it.
func (l *learner) allocate() (err error) {
	s := l.settings
	l.pool = parallel.NewPool(s.Threads, l.visitJob) // its goroutines run until it is closed
	l.ranks = newRanks(l, distributed.NewTeam(nil))
	if l.dealt() {
		l.ranks = newRanks(l, s.team)
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if err := l.sameEverywhere(); err != nil {
		return err
	}
	if err := l.makeSpace(); err != nil {
		return err
	}
	l.trainingRun.allocate()
	l.makeRoom()
	l.splitOf = make([]float64, l.splitRoom())
	l.makeWorkers()
	return l.begin()
}

// begin makes everything what it is before the first iteration, which is a check of the weights of the start.
func (l *learner) begin() error {
	s := l.settings
	l.source = rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15)
	l.random = rand.New(l.source)
	l.addLabels()
	l.passBegan = math.NaN()
	l.startCheck(checkInitial)
	l.progress.Check.Uniform = l.startsUniform()
	if l.isSmall() {
		l.response.Allocate(l.model, func(i int) *bp.State { return l.units[i].state })
	}
	if err := s.Step.Start(StepProblem{
		Model: l.model, L2: l.problem.L2, Variables: l.variables,
		Objective: func() float64 { return l.progress.Objective }, run: l,
	}); err != nil {
		return err
	}
	l.readApart(true)
	return nil
}

// isSmall reports a problem whose messages and weights answer to each other by the solution of a linear system (linear
// response), which larger ones have no time for.
func (l *learner) isSmall() bool { return l.response != nil }

// dealt reports whether blocks are dealt over processes, where there are several: each solves the linear systems of
// small problems by itself.
func (l *learner) dealt() bool { return !l.isSmall() }

// startsUniform reports whether all weights are zero and nothing is forbidden or has a loss, so
// that constant messages and uniform beliefs already are the exact inference.
func (l *learner) startsUniform() bool {
	if l.model.Layout.Masked || l.problem.Loss > 0 {
		return false
	}
	for _, w := range l.model.Weights {
		if w != 0 {
			return false
		}
	}
	return true
}

// layOut decides what a contribution looks like, and what is visited together.
func (l *learner) layOut() {
	layout := &l.model.Layout
	l.stride = layout.TiedSize
	place := func(spans []crf.Span) []int {
		var at []int
		for _, span := range spans {
			if span.Untied {
				at = append(at, -1)
				continue
			}
			at = append(at, l.stride)
			l.stride += span.States
			l.tied = append(l.tied, span)
		}
		return at
	}
	l.nodeMoment = place(layout.Node)
	l.tiedNodes = len(l.tied)
	l.edgeMoment = place(layout.Edge)
	l.stride += 2 // the part of the upper bound, and the entropy
	l.cutStride = l.numbersPerCutEdge()
	l.placeCutEdges()
	l.divideUnits(l.stride)
	l.schedule, l.whole = l.blockSets(l.settings.Together), l.blockSets(l.blocks)
	l.planParts()
	l.orderJobs(l.schedule)
	l.orderJobs(l.whole)
	l.planResults()
}

// makeRoom allocates the vectors over all weights and the contributions, and what units remember.
func (l *learner) makeRoom() {
	layout := &l.model.Layout
	l.total, l.gradient, l.watched = make([]float64, layout.Size), make([]float64, layout.Size),
		make([]float64, layout.Size)
	l.moments = make([]float64, l.stride-layout.TiedSize)
	l.contribution = spill.Zeros[float64](l.space, l.blocks*l.stride)
	for _, u := range l.units {
		u.allocate(layout, l.space, l.cutNumbers(u))
	}
	l.ranks.begin()
	l.makeResults()
	l.parts.allocate(l.stride)
}

// mostBeliefs returns how many numbers the beliefs are that are computed together.
func (l *learner) mostBeliefs() int {
	layout := &l.model.Layout
	return max(l.edgesTogether*largestTable(allSpans(layout)), ground.RowsPerBatch*largestTable(layout.Node))
}

// measureWork finds what one sweep, and one gradient, over everything costs where it is
// not cut. In a whole pass a message into a node is sent in one block, but a cut edge is grounded and
// enters the gradient in two: visiting all blocks is more than one gradient. Visits with a step send messages out of
// their block as well, and so make more than one sweep in a pass.
func (l *learner) measureWork() {
	for _, u := range l.units {
		for i := range u.partition.Blocks {
			l.sweepWork += float64(u.partition.Blocks[i].Work())
		}
		l.gradientWork += float64(u.partition.Elements())
		if u.isFree() {
			for s := range int32(u.in.Graph.NumNodes()) {
				l.variables += u.nodeWeight(s)
			}
			l.links += u.weight * float64(u.in.Graph.NumEdges())
		}
	}
}

// passWork returns about how many multiplications a pass of iterations takes: those of
// features with weights and beliefs, and of tables in two sweeps in two directions.
func (l *learner) passWork() (work float64) {
	const products = 4
	edges := l.model.Layout.Edge
	counts := make([][]int, len(l.units))
	l.each(len(l.units), func(_, i int) {
		u := l.units[i]
		counts[i] = make([]int, len(edges))
		for b := range u.partition.Blocks {
			for _, e := range u.partition.Blocks[b].Edges {
				counts[i][u.in.EdgeType(e)]++
			}
		}
	})
	for i, u := range l.units {
		for t, n := range counts[i] {
			work += float64(n) * float64(edges[t].States) * float64(products+2*ground.UsedFeatures(&l.model.Layout, u.in, t))
		}
	}
	return work
}

// meanBeliefs writes the mean belief of every type: uniform for untied types and for types without elements.
func (l *learner) meanBeliefs(dst []float64) {
	at := 0
	mean := func(moment, states int) {
		out := dst[at:][:states]
		at += states
		total := 0.0
		if moment >= 0 {
			copy(out, l.moments[moment-l.model.Layout.TiedSize:][:states])
			for i := range out {
				out[i] = max(out[i], 0)
				total += out[i]
			}
		}
		for i := range out {
			if total > 0 {
				out[i] /= total
			} else {
				out[i] = 1 / float64(states)
			}
		}
	}
	for t, span := range l.model.Layout.Node {
		mean(l.nodeMoment[t], span.States)
	}
	for t, span := range l.model.Layout.Edge {
		mean(l.edgeMoment[t], span.States)
		span.Symmetrise(dst[at-span.States : at])
	}
}

// locate turns an error of inference into one that names instance, block and iteration, and the likely cause.
func (l *learner) locate(err error, u *unit, block int) error {
	var numerical *bp.NumericalError
	if !errors.As(err, &numerical) {
		return err
	}
	cause := l.remedy()
	if why := l.impossible(u); why != "" {
		cause = why
	} else if l.progress.Iterations == 0 {
		cause = "the initial weights or the features are at fault"
	}
	return &DivergedError{Iteration: l.progress.Iterations, Instance: u.in.Name, Block: block,
		Reason: fmt.Sprintf("%v; %s", numerical, cause)}
}

// mostSweeps returns about how many sweeps the limits of the run allow.
func (l *learner) mostSweeps() float64 {
	return min(l.settings.MaxPasses, l.settings.mostIterations()/float64(l.perPass()))
}

// countable refuses a model whose weights, or one of whose tables, are so many that
// arithmetic with them would overflow.
func countable(m *crf.Model) error {
	const most = 1 << 40 // bytes
	bytes, name, reason := ground.Largest(&m.Schema)
	if bytes <= most {
		return nil
	}
	item := MemoryItem{Name: name, Bytes: memory.Whole(bytes), Reason: reason}
	return &MemoryError{Needed: item.Bytes, Allowed: most, Items: []MemoryItem{item}}
}

// stateBytes is the memory of messages, beliefs and contributions. A plan knows it too.
func (l *learner) stateBytes() int64 {
	bytes := 8 * l.blocks * l.stride
	for _, u := range l.units {
		bytes += u.net.Bytes() + 8*(l.model.Layout.UntiedSize+l.cutNumbers(u))
	}
	return int64(bytes)
}
