package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Method is one way to learn, as the figures name it.
type Method struct {
	Name   string       `json:"name"`
	Method learn.Method `json:"method"`
	// Blocks is D, for BBPL.
	Blocks int `json:"blocks,omitempty"`
	// Sweeps bounds the sweeps of an iteration and Tolerance is the residual at which
	// its inference counts as converged; see learn.Settings.
	Sweeps    int     `json:"inner_sweeps"`
	Tolerance float64 `json:"inner_tolerance"`
	Order     string  `json:"order,omitempty"`
	// LBFGS replaces fixed steps by those of gonum's L-BFGS, and Auto by automatic ones.
	LBFGS bool `json:"lbfgs,omitempty"`
	Auto  bool `json:"auto,omitempty"`
}

// orderRandom is Method.Order where blocks are picked at random.
const orderRandom = "random"

// Names of the methods.
const (
	nameFull   = "full BP"
	nameInner  = "inner-dual"
	nameBBPL   = "BBPL"
	nameLBFGS  = "L-BFGS"
	nameRandom = "BBPL, random order"
	// nameCommon is appended to the name of a method that runs at the common step.
	nameCommon = " (common step)"
)

const (
	// toConvergence is the limit on sweeps of an inference that is meant to converge, the one of the authors' code.
	toConvergence = 300
	// innerTolerance is when it has, for full BP and BBPL alike: the weights move messages by more than that in an
	// iteration, so that a smaller one costs sweeps and saves no iterations: results/README.md.
	innerTolerance = 1e-3
	// neverTolerance makes k sweeps mean k.
	neverTolerance = 1e-12
	// lbfgsTolerance is that of the inference behind L-BFGS, whose line search compares objectives.
	lbfgsTolerance = 1e-7
	// paperBlocks is D of the paper's convergence figures.
	paperBlocks = 20
)

func fullBP() Method {
	return Method{Name: nameFull, Method: learn.Full, Sweeps: toConvergence, Tolerance: innerTolerance}
}

func innerDual() Method {
	return Method{Name: nameInner, Method: learn.InnerDual, Sweeps: 1, Tolerance: innerTolerance}
}

func bbpl(blocks int) Method {
	return Method{Name: nameBBPL, Method: learn.BBPL, Blocks: blocks, Sweeps: toConvergence, Tolerance: innerTolerance}
}

func lbfgs() Method {
	return Method{Name: nameLBFGS, Method: learn.Full, Sweeps: 1000, Tolerance: lbfgsTolerance, LBFGS: true}
}

// paperMethods are the three that the paper compares.
func paperMethods() []Method { return []Method{fullBP(), innerDual(), bbpl(paperBlocks)} }

// variants are BBPL in random order and, the paper's future work, with k sweeps per visit.
func variants() []Method {
	random := bbpl(paperBlocks)
	random.Name, random.Order = nameRandom, orderRandom
	all := []Method{random}
	for _, k := range []int{1, 2, 5} {
		m := bbpl(paperBlocks)
		m.Name, m.Sweeps, m.Tolerance = sweepsName(k), k, neverTolerance
		all = append(all, m)
	}
	return all
}

// sweepsName is how BBPL with k sweeps a visit is called.
func sweepsName(k int) string { return fmt.Sprintf("BBPL, k = %d", k) }

// gradientCost is what a gradient pass, with the grounding and the exponentials that go with it, is taken to cost in
// message passes where a single number is needed to choose a step by: about what both take on machines with vector
// units. Figures show the two apart.
const gradientCost = 2

// Distances at which a run is looked at: levelsPerDecade to each power of ten, from 1 downward.
const levelsPerDecade = 6

// levelDistance returns ‖θ−θ*‖/‖θ*‖ of level j.
func levelDistance(j int) float64 { return math.Pow(10, -float64(j)/levelsPerDecade) }

// Effort is what a run has taken so far.
type Effort struct {
	Iterations int `json:"iterations"`
	// Passes and Gradients count message work and gradients, with their grounding, in whole networks.
	Passes    float64 `json:"passes"`
	Gradients float64 `json:"gradient_passes"`
	// Seconds are those of the study's clock: see stopwatch.
	Seconds float64 `json:"seconds"`
}

// work is the single number.
func (e Effort) work() float64 { return e.Passes + gradientCost*e.Gradients }

// add counts an iteration, with its share of a gradient.
func (e *Effort) add(iteration learn.Event, seconds, gradient float64) {
	*e = Effort{iteration.Iteration, iteration.Pass, e.Gradients + gradient, seconds}
}

// Level is the first iteration of a run within a distance of the optimum.
type Level struct {
	Distance float64 `json:"distance"`
	Effort
	// Objective is the exact L there; NaN where it was not computed.
	Objective runfolder.Float `json:"objective"`

	theta []float64
}

// Trace is how one run went.
type Trace struct {
	Name string  `json:"name"`
	Step float64 `json:"step"` // fixed step; 0 for L-BFGS
	// Levels are those that the run reached, one after the other.
	Levels   []Level `json:"levels"`
	Effort           // of all of it
	Distance float64 `json:"distance"` // at the end
	// Diverged says how a run went wrong, if it did.
	Diverged string `json:"diverged,omitempty"`
}

// level returns that of a distance, which must be a power of ten; ok is false if the run did not reach it.
func (t *Trace) level(distance float64) (l Level, ok bool) {
	for _, l := range t.Levels {
		if l.Distance <= distance*(1+1e-9) {
			return l, true
		}
	}
	return Level{}, false
}

// limits end a run.
type limits struct {
	distance float64 // reached
	work     float64 // spent
	stall    float64 // gradient passes since the distance was twice as large; 0: no limit
	alone    bool    // no other run is made meanwhile: see stopwatch
}

// tooFar is the distance, relative to that of the start, from which a run is given
// up: one that comes back from there is not the fastest.
const tooFar = 3

// runner is one run on its way.
type runner struct {
	trace   *Trace
	method  Method
	star    []float64
	limits  limits
	shares  []float64 // [blocks] part of a gradient pass that a visit is
	weights bool      // those of levels are kept
	// half is the distance at which the run goes on, and since the gradient passes when that was set.
	half, since float64
}

// run learns with a method, and a fixed step if that is its rule, until the limits. A run
// that diverges is a trace that says so.
func (b *bench) run(
	ctx context.Context, m Method, step float64, star []float64, lim limits, weights bool,
) (*Trace, error) {
	r := &runner{
		trace: &Trace{Name: m.Name, Step: step}, method: m, star: star, limits: lim, shares: []float64{1},
		weights: weights, half: 0.5,
	}
	settings := learn.Settings{Seed: b.spec.Seed}
	part, err := b.cut(m, &settings)
	if err != nil {
		return nil, err
	}
	if part != nil {
		r.shares = gradientShares(part)
	}
	r.trace.Gradients = floats.Sum(r.shares) // of the weights that the run starts with
	rule, end := m.rule(step)
	defer end()
	_, diverged, err := iterate(ctx, b.problem, m, rule, settings, lim.alone, r.record)
	if diverged != "" {
		r.trace.Diverged = diverged
	}
	return r.trace, err
}

// rule is the step rule of a method, and what has to be called at the end.
func (m Method) rule(step float64) (rule learn.StepRule, end func()) {
	switch {
	case m.LBFGS:
		quasi := &quasiNewton{}
		return quasi, quasi.close
	case m.Auto:
		return nil, func() {}
	}
	return fixed(step), func() {}
}

// iterate learns with a method until record, which is told of every iteration and the
// seconds so far, says that the run is done. A run that diverges is no error.
func iterate(
	ctx context.Context, p learn.Problem, m Method, rule learn.StepRule, s learn.Settings, alone bool,
	record func(e learn.Event, seconds float64) (done bool),
) (r *learn.Result, diverged string, err error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := stopwatch{alone: alone}
	s.Method, s.InnerSweeps, s.InnerTolerance = m.Method, m.Sweeps, m.Tolerance
	s.RandomOrder, s.Step = m.Order == orderRandom, watch.on(rule)
	if m.Method == learn.InnerDual {
		s.InnerSweeps = 0
	}
	// The recorder decides when to stop: no claim of convergence, no checks.
	s.GradientTolerance, s.MaxPasses = math.SmallestNonzeroFloat64, math.MaxFloat64
	s.Recorder = func(e learn.Event) error {
		if e.Check {
			return nil
		}
		if record(e, watch.pause()) {
			cancel()
		}
		watch.goOn()
		return nil
	}
	r, err = learn.Fit(inner, p, s)
	var failure *learn.DivergedError
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case errors.As(err, &failure):
		return r, failure.Error(), nil
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", m.Name, err)
	}
	return r, "", nil
}

// fit is learn.Fit, except that an interrupted run is an error.
func fit(ctx context.Context, p learn.Problem, s learn.Settings) (*learn.Result, error) {
	r, err := learn.Fit(ctx, p, s)
	if err == nil && r.Status == learn.Interrupted {
		return nil, context.Cause(ctx)
	}
	return r, err
}

// gradientShares returns what part of a gradient over whole networks the visit of each block is, where all are cut into
// as many: learn counts it so, but tells at the end of a run only. An edge between two blocks is computed in both, so
// that together they are more than one.
func gradientShares(parts ...*partition.Partition) []float64 {
	shares := make([]float64, len(parts[0].Blocks))
	whole := 0
	for _, p := range parts {
		whole += p.Elements()
		for i := range p.Blocks {
			shares[i] += float64(p.Blocks[i].Elements())
		}
	}
	for i := range shares {
		shares[i] /= float64(whole)
	}
	return shares
}

// record takes an iteration and reports whether the run is done.
func (r *runner) record(e learn.Event, seconds float64) (done bool) {
	t := r.trace
	share := 1.0 // of a step of all blocks together
	if e.Block >= 0 {
		share = r.shares[e.Block]
	}
	t.add(e, seconds, share)
	t.Distance = numeric.RelativeDistance(e.Theta, r.star)
	for j := len(t.Levels); t.Distance <= levelDistance(j); j++ {
		l := Level{Distance: levelDistance(j), Effort: t.Effort, Objective: runfolder.Float(math.NaN())}
		if r.weights {
			l.theta = slices.Clone(e.Theta)
		}
		t.Levels = append(t.Levels, l)
		if j > 100*levelsPerDecade {
			break // the optimum itself
		}
	}
	if t.Distance <= r.half {
		r.half, r.since = t.Distance/2, t.Gradients
	}
	ended := r.method.LBFGS && e.Step == 0 // its line search finds nothing better
	stalled := r.limits.stall > 0 && t.Gradients-r.since > r.limits.stall
	if ended || stalled || t.Distance <= r.limits.distance*(1+1e-9) || t.work() > r.limits.work {
		return true
	}
	guarded := r.method.LBFGS || r.method.Auto // steps go back by themselves where they went too far
	if !guarded && !(t.Distance <= tooFar) {
		t.Diverged = fmt.Sprintf("‖θ−θ*‖ grew to %.3g times that of the start by iteration %d", t.Distance, e.Iteration)
		return true
	}
	return false
}
