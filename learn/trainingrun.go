package learn

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/runstate"
)

// trainingRun is what every run has: what it is of, and where it stands.
type trainingRun struct {
	problem  *Problem
	settings *Settings
	model    *crf.Model // the weights θ that move
	progress progress
	best     *crf.Model // of the best evaluation so far
	worksOn  []trait    // what tells the data, blocks and numbers of runs apart; nil until it is needed: see identify
}

// progress is where a run stands: with the weights, messages and contributions, all that a resumed run needs.
type progress struct {
	Iterations   int
	Sweeps       float64 // what results, events and MaxPasses call passes; with a local objective, evaluations of it
	CheckSweeps  float64 // those of them that checks made
	Gradients    float64
	Seconds      float64 // the run has taken so far, before it was resumed, too
	CheckSeconds float64
	PassSeconds  float64 // that a whole pass takes, as the last one has

	FirstNorm      float64 // ‖∇L‖₂ at the start
	FirstObjective float64
	FirstResidual  float64 // of the inference there
	Objective      float64
	GradientNorm   float64
	Upper          float64 // F, or what endWholePass puts in its place; NaN: blocks were visited at different weights
	Lower          float64 // bound of the smallest objective, at first that of known labels, 0, or of means, −∞
	SmallPromises  int     // steps in a row that promised little
	Promised       float64 // the most that one of these promised
	Point          point   // of the weights at hand
	Worse          int     // pass ends in a row above the first objective
	LastCheck      int
	FailedChecks   int
	FellBack       bool // to the start, in the final checks

	NextEvaluation float64 // when it is due, in Sweeps
	BestValue      float64 // of the metric of early stopping
	SinceBest      int     // evaluations

	// MessageDamping is the damping of sweeps, for inference that need not converge without, and Circling what decides it.
	MessageDamping float64
	Circling       circling

	Pass     passState
	Accepted passState // of the pass that accepted the origin of descent's line
	Check    checkProgress
	Status   Status
	Reason   string
}

// point says which weights there are: those of the start, those of the n-th step that descent has accepted, n > 0, or
// those of a step that nothing has judged.
type point int

const (
	startPoint point = 0
	unjudged   point = -1
)

// planTrainingRun has the model itself: allocate makes a copy of it.
func planTrainingRun(p *Problem, s *Settings) *trainingRun {
	unknown := math.NaN()
	c := &trainingRun{
		problem: p, settings: s, model: p.Model,
		progress: progress{FirstNorm: unknown, FirstObjective: unknown, BestValue: unknown, Upper: unknown},
	}
	if p.Statistics != nil {
		c.progress.Lower = math.Inf(-1)
	}
	return c
}

func (c *trainingRun) allocate() { c.model = c.model.Clone() }

// noteStart takes the values of the moment for those at the initial weights.
func (c *trainingRun) noteStart() error {
	p := &c.progress
	p.FirstNorm, p.FirstObjective = p.GradientNorm, p.Objective
	if math.IsNaN(p.Objective) || math.IsInf(p.Objective, 0) {
		return &DivergedError{Reason: fmt.Sprintf("the objective at the initial weights is %v: they, or the features, are "+
			"too large, or a label is forbidden", p.Objective)}
	}
	if !(p.FirstNorm <= math.MaxFloat64) {
		return &DivergedError{Reason: fmt.Sprintf("the norm of the gradient at the initial weights is %v: the "+
			"features are too large to be squared; scale them to about 1", p.FirstNorm)}
	}
	return nil
}

// evaluate calls Settings.Evaluate when it is due and looks at early stopping.
func (c *trainingRun) evaluate(e *Event) error {
	s, p := c.settings, &c.progress
	if s.Evaluate == nil || p.Sweeps < p.NextEvaluation {
		return nil
	}
	values, err := s.Evaluate(c.model)
	if err != nil || values == nil { // there is no time for it now
		return err
	}
	p.NextEvaluation = p.Sweeps + s.EvaluateEvery
	e.Eval = values
	if s.EarlyStop == nil {
		return nil
	}
	value, ok := values[s.EarlyStop.Metric]
	if !ok {
		return fmt.Errorf("learn: early stopping wants the metric %q, which no evaluation gives", s.EarlyStop.Metric)
	}
	better := value > p.BestValue
	if s.EarlyStop.Minimise {
		better = value < p.BestValue
	}
	// Any number is better than a NaN, and a NaN is only better than no value yet.
	if better || c.best == nil || math.IsNaN(p.BestValue) && !math.IsNaN(value) {
		p.BestValue, p.SinceBest, c.best = value, 0, c.model.Clone()
		return nil
	}
	p.SinceBest++
	return nil
}

// record tells the recorder, if there is one, of an event, with where the run stands.
func (c *trainingRun) record(e Event) error {
	if c.settings.Recorder == nil {
		return nil
	}
	p := &c.progress
	e.Iteration, e.Objective, e.GradientNorm = p.Iterations, p.Objective, p.GradientNorm
	e.Pass, e.Theta, e.Elapsed = p.Sweeps, c.model.Weights, time.Duration(p.Seconds*float64(time.Second))
	return c.settings.Recorder(e)
}

// ruleName begins the names of what a step rule has in a checkpoint.
const ruleName = "step"

// state is what a checkpoint has of the run, given what a rule goes on from and other slices.
func (c *trainingRun) state(worksOn []trait, random []byte, rule any, others []runstate.Array) (*State, error) {
	p := &c.progress
	recorded := p.Iterations
	if p.Check.Active && p.Check.Purpose == checkInitial {
		recorded = -1
	}
	out := runstate.Saved{Iteration: recorded, Run: map[string]string{}, Random: random, HasBest: c.best != nil}
	for _, t := range c.traits(worksOn) {
		out.Run[t.name] = t.is
	}
	var arrays []runstate.Array
	var err error
	if out.Progress, _, err = runstate.Encode("", p); err != nil {
		return nil, err
	}
	if out.Rule, arrays, err = runstate.Encode(ruleName, rule); err != nil {
		return nil, err
	}
	kept, err := runstate.New(out, c.allArrays(append(arrays, others...)))
	return &State{Iteration: recorded, saved: kept}, err
}

// allArrays begins the list of the slices of a state with the weights, also the best ones, and leaves out empty ones.
func (c *trainingRun) allArrays(others []runstate.Array) []runstate.Array {
	a := []runstate.Array{{Name: "weights", Values: c.model.Weights}}
	if c.best != nil {
		a = append(a, runstate.Array{Name: "best", Values: c.best.Weights})
	}
	return slices.DeleteFunc(append(a, others...), func(a runstate.Array) bool { return a.Len() == 0 })
}

// restoreProgress takes the progress of a saved state of the same run, and what its rule has beside slices.
func (c *trainingRun) restoreProgress(state *State, worksOn []trait, rule any) (*runstate.Saved, error) {
	in, err := state.saved.Parse()
	if err != nil {
		return nil, err
	}
	if err := c.sameRun(in, worksOn); err != nil {
		return nil, err
	}
	if err := in.Rule.Decode(ruleName, rule); err != nil {
		return nil, err
	}
	return in, in.Progress.Decode("", &c.progress)
}

// restoreArrays fills what a rule goes on from, and all slices.
func (c *trainingRun) restoreArrays(in *runstate.Saved, state *State, rule any, others []runstate.Array) error {
	_, arrays, err := runstate.Encode(ruleName, rule)
	if err != nil {
		return err
	}
	if in.HasBest {
		c.best = c.model.Clone()
	}
	return state.saved.Fill(c.allArrays(append(arrays, others...)))
}

// result is what the progress tells of a run that has ended.
func (c *trainingRun) result(status Status) *Result {
	p := &c.progress
	c.model.Layout.Symmetrise(c.model.Weights) // without what rounding has left
	return &Result{
		Model: c.model, Best: c.best, BestValue: p.BestValue, Status: status, Reason: p.Reason,
		Objective: p.Objective, GradientNorm: p.GradientNorm, FirstGradientNorm: p.FirstNorm,
		Checked: status != Interrupted, Gap: math.NaN(), Suboptimality: math.NaN(), Residual: math.NaN(),
		AtStart:    status.limited() && c.best == nil && p.Point == startPoint,
		Seeded:     c.settings.unlabelled.Types(&c.model.Schema),
		Iterations: p.Iterations, Passes: p.Sweeps, CheckPasses: p.CheckSweeps, GradientPasses: p.Gradients,
		Seconds: p.Seconds, CheckSeconds: p.CheckSeconds,
	}
}

// ofObjective is a share of 1 + |L|, relatively to which gaps are measured.
func (p *progress) ofObjective(share float64) float64 { return share * (1 + math.Abs(p.Objective)) }

// allowedGap is how much of the objective may be left where that alone ends a run; 0: that ends none.
func (s *Settings) allowedGap(p *progress) float64 {
	if s.gapAlone {
		return p.ofObjective(s.Gap)
	}
	return s.Proof * (p.FirstObjective - p.Objective)
}

// allowedPromise is what a step may promise at most to count among those that end a run (notePromise).
func (s *Settings) allowedPromise(p *progress) float64 {
	if s.gapAlone {
		return promisedPart * s.allowedGap(p)
	}
	return s.allowedGap(p)
}

func (s *Settings) allowedText(p *progress) string {
	if s.gapAlone {
		return fmt.Sprintf("%.3g", s.allowedGap(p))
	}
	return fmt.Sprintf("%.3g, %v of what was gained", s.allowedGap(p), s.Proof)
}

// proves reports that a suboptimality is small enough to end the run, whatever gradient and messages lack.
func (c *trainingRun) proves(suboptimality float64) bool {
	allowed := c.settings.allowedGap(&c.progress)
	return allowed > 0 && suboptimality <= allowed
}

func (c *trainingRun) proofText(suboptimality float64) string {
	return fmt.Sprintf("suboptimality %.3g ≤ %s", suboptimality, c.settings.allowedText(&c.progress))
}

// sizes counts what the run works on.
func (c *trainingRun) sizes(blocks int, stateBytes int64) *Sizes {
	sizes := &Sizes{Instances: len(c.problem.given().Data), Weights: c.model.Layout.Size, Blocks: blocks,
		StateBytes: stateBytes}
	sizes.Nodes, sizes.Edges = instances.Size(c.problem.Data)
	return sizes
}

// traits say what a run works on (worksOn, which is given) and how: no run that differs in them can go on from a state
// to the same bytes. A trait that only one of two runs has, as the seed of an order, is no difference. A new setting
// that decides the course of a run belongs here or, where a resumed run may have another, in everyOption.
func (c *trainingRun) traits(worksOn []trait) []trait {
	s := c.settings
	step, order := s.Step.String(), "cyclic"
	if s.Method.Local() {
		step = "l-bfgs"
	}
	if s.RandomOrder {
		order = "random"
	}
	all := append([]trait{
		{"method", string(s.Method)}, {"step", step}, {"order", order},
		{"blocks together", fmt.Sprint(s.Together)}, {"l2", fmt.Sprint(c.problem.L2)},
		{"loss", fmt.Sprint(c.problem.Loss)},
		{"inner sweeps", fmt.Sprint(s.InnerSweeps)}, {"inner tolerance", fmt.Sprint(s.InnerTolerance)},
	}, worksOn...)
	if s.EarlyStop != nil {
		all = append(all, trait{"early stopping by", s.EarlyStop.Metric})
	}
	if s.RandomOrder || s.unlabelled != nil {
		all = append(all, trait{"the seed", fmt.Sprint(s.Seed)})
	}
	return all
}

// sameRun refuses a state of another run.
func (c *trainingRun) sameRun(in *runstate.Saved, worksOn []trait) error {
	for _, t := range c.traits(worksOn) {
		if was, ok := in.Run[t.name]; ok && was != t.is {
			return runstate.Errorf("it was written with %s %s, this run has %s; use the same, or start a new run",
				t.name, was, t.is)
		}
	}
	return nil
}

// countPromise counts a step among those in a row that promise little, or begins to count anew.
func (c *trainingRun) countPromise(promise float64) {
	p := &c.progress
	allowed, most := c.settings.allowedPromise(p), max(p.Promised, promise)
	switch {
	case allowed == 0:
	case most >= 0 && most <= allowed:
		p.SmallPromises, p.Promised = p.SmallPromises+1, most
	default:
		p.SmallPromises, p.Promised = 0, 0
	}
}

// trait is something that a run is of, in words.
type trait struct{ name, is string }
