package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/simd"
)

// localLearner is a run of limited-memory BFGS (Nocedal 1980) on an objective that has its exact gradient at the
// price of one pass over the data, without messages. So there are no blocks, nothing is stale, and no check is
// needed. An iteration is one step of the weights; a pass is one evaluation of objective and gradient.
type localLearner struct {
	*trainingRun // with the weights θ of the last iteration
	objective    local.Objective
	steps        *lbfgs.Minimiser // of the same weights
	rounding     float64          // the norm of a gradient that rounding alone may leave: see roundingShare
}

func fitLocal(ctx context.Context, p *Problem, s *Settings, began time.Time) (*Result, error) {
	l, err := newLocalLearner(p, s)
	if err != nil {
		return nil, err
	}
	defer l.objective.Close()
	if s.Resume != nil {
		if err := l.restore(s.Resume); err != nil {
			return nil, err
		}
		s.Resume = nil // it was copied: let the memory go
	}
	return l.run(ctx, began)
}

// newLocalLearner makes a run. More memory than the settings allow is a *MemoryError, before any of it is taken.
func newLocalLearner(p *Problem, s *Settings) (*localLearner, error) {
	l, err := planLocal(p, s)
	if err != nil {
		return nil, err
	}
	if err := l.memory().makeWay(s.Memory); err != nil {
		return nil, err
	}
	l.allocate()
	return l, nil
}

// planLocal decides what the sizes of a run depend on.
func planLocal(p *Problem, s *Settings) (l *localLearner, err error) {
	if err := countable(p.Model); err != nil {
		return nil, err
	}
	p = p.joined(s)
	l = &localLearner{trainingRun: planTrainingRun(p, s), objective: local.Objective{
		Kind: local.Kind(s.Method), Model: p.Model, Data: p.Data, ClassWeights: p.ClassWeights, L2: p.L2,
		Counting: p.Counting, Sweeps: s.InnerSweeps, Statistics: p.Statistics, Total: instances.TotalWeight(p.given().Data),
	}}
	return l, l.objective.Plan(math.Inf(1))
}

// allocate takes the memory of the run.
func (l *localLearner) allocate() {
	l.trainingRun.allocate()
	l.steps = lbfgs.NewMinimiser(&l.objective, l.model.Weights)
	sums := instances.Labels{Model: l.model, Data: instances.FewSamples(l.problem.Data), Total: l.objective.Total,
		ClassWeights: l.problem.ClassWeights, Adder: instances.Adder{Each: parallel.Serially},
		Adjoints: []*ground.Adjoint{{}}}
	statistics := sums.Observed()
	l.rounding = roundingShare * math.Sqrt(simd.Dot(statistics, statistics))
	l.objective.Allocate(l.settings.Threads) // last: its goroutines run until it is closed
}

// take copies what the minimiser has found into the progress of the run.
func (l *localLearner) take() {
	p, s := &l.progress, l.steps
	p.Objective, p.GradientNorm = s.Value, math.Sqrt(simd.Dot(s.Gradient, s.Gradient))
	p.Sweeps, p.Gradients = s.Evaluations, s.Evaluations
}

// run is the loop of such a run. Its seconds are those since started.
func (l *localLearner) run(ctx context.Context, started time.Time) (*Result, error) {
	p, before := &l.progress, l.progress.Seconds
	clock := func() { p.Seconds = before + time.Since(started).Seconds() }
	if p.Sweeps == 0 {
		if err := l.begin(); err != nil {
			return nil, err
		}
	}
	var nextCheckpoint time.Time
	for {
		clock()
		if p.Status != "" || l.ended(ctx) {
			if again, err := l.fill(); err != nil {
				return nil, err
			} else if again {
				continue
			}
			return l.finish()
		}
		if now := time.Now(); now.After(nextCheckpoint) {
			if err := l.checkpoint(); err != nil {
				return nil, err
			}
			nextCheckpoint = time.Now().Add(l.settings.checkpointPause(time.Since(now)))
		}
		step, err := l.steps.Step(ctx)
		l.take()
		clock()
		switch {
		case err != nil:
			p.Status, p.Reason = Interrupted, "interrupted"
			return l.finish()
		case step == 0:
			p.Status = ObjectiveFlat
			p.Reason = fmt.Sprintf("the line search finds no smaller objective than %.10g: what is left of it is rounding",
				p.Objective)
			if sub, gap := l.suboptimality(), p.ofObjective(l.settings.Gap); sub > gap {
				p.Reason += "; " + tooFar(sub, gap, p.GradientNorm, l.problem.L2, l.rounding)
			}
			continue
		}
		p.Iterations++
		p.Point = unjudged
		if l.settings.Method == Truncated {
			l.countPromise(l.steps.Promised)
		}
		event := Event{Block: allBlocks, Step: step, Residual: math.NaN(), Suboptimality: l.suboptimality(),
			OfErrors: l.ofErrors()}
		if err := l.trainingRun.evaluate(&event); err != nil {
			return nil, err
		}
		clock()
		if err := l.record(event); err != nil {
			return nil, err
		}
	}
}

// begin notes the objective at the weights of the start.
func (l *localLearner) begin() error {
	if _, err := l.objective.Fill(l.model.Weights); err != nil {
		return err
	}
	l.steps.Begin()
	l.take()
	if err := l.noteStart(); err != nil {
		return err
	}
	return l.record(Event{Block: allBlocks, Check: true, Suboptimality: l.suboptimality(), OfErrors: l.ofErrors()})
}

// ended reports whether the run is over, and sets why.
func (l *localLearner) ended(ctx context.Context) bool {
	p := &l.progress
	tolerance := max(l.settings.GradientTolerance, l.settings.RelativeTolerance*p.FirstNorm, l.rounding)
	sub, gap, rests := l.suboptimality(), p.ofObjective(l.settings.Gap), p.GradientNorm <= l.rounding
	switch {
	case p.GradientNorm <= tolerance && p.GradientNorm <= math.MaxFloat64 && (!(sub > gap) || rests):
		p.Status, p.Reason = stationary(l.convex()), fmt.Sprintf("gradient norm %.3g ≤ %.3g", p.GradientNorm, tolerance)
		switch {
		case sub <= gap:
			p.Reason += fmt.Sprintf(", suboptimality %.3g ≤ %.3g", sub, gap)
		case sub > gap: // rounding leaves no smaller gradient
			p.Status = ObjectiveFlat
			p.Reason += fmt.Sprintf("; %s", tooFar(sub, gap, p.GradientNorm, l.problem.L2, l.rounding))
		case l.convex():
			p.Reason += ", and l2 is 0: nothing bounds how far the optimum is"
		}
	case l.proves(sub):
		p.Status, p.Reason = stationary(l.convex()), l.proofText(sub)
	// Without a regulariser there may be no optimum.
	case l.ofErrors() < l.settings.ErrorShare && l.problem.L2 > 0 && (l.convex() || l.objective.Filled != nil):
		p.Status, p.Reason = stationary(l.convex()), fmt.Sprintf("the last step promised to bring "+
			"weights nearer by about %.2g of their standard errors, ≤ %v", l.ofErrors(), l.settings.ErrorShare)
	case ctx.Err() != nil:
		p.Status, p.Reason = Interrupted, "interrupted"
	default:
		p.Status, p.Reason = l.settings.limitReached(p, p.Seconds/p.Sweeps) // for another pass
	}
	return p.Status != ""
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

// ofErrors is Event.OfErrors, infinite where it is not known.
func (l *localLearner) ofErrors() float64 {
	return math.Sqrt(2 * l.objective.Total * l.steps.Promised / float64(l.model.Layout.Size))
}

// fill fills hidden labels in again where the weights have come to rest. It reports whether they moved on since.
func (l *localLearner) fill() (again bool, err error) {
	if p := &l.progress; p.Status.Stationary() || p.Status == ObjectiveFlat {
		if again, err = l.objective.Fill(l.model.Weights); again {
			p.Status, p.Reason = "", ""
			l.steps.Begin()
			l.take()
		}
	}
	return again, err
}

// finish makes the result and saves the state.
func (l *localLearner) finish() (*Result, error) {
	if err := l.checkpoint(); err != nil {
		return nil, err
	}
	r := l.result(l.progress.Status)
	r.Gradient, r.Residual, r.InferenceConverged = l.steps.Gradient, 0, true
	r.StateBytes = l.stateBytes()
	r.Convex, r.Suboptimality = l.convex(), l.suboptimality()
	return r, nil
}

// convex reports whether the objective is: the methods without a likelihood leave terms of missing labels out, unless
// they fill them in. Beliefs after a number of sweeps are no convex function of the weights.
func (l *localLearner) convex() bool {
	hidden := l.settings.Method.sums() && instances.AnyHidden(l.problem.Data)
	return l.settings.Method != Truncated && !hidden && l.objective.Filled == nil
}

// stateBytes is the memory of the optimiser and of the gradients.
func (l *localLearner) stateBytes() int64 {
	return int64(8 * (l.objective.Together() + 4 + 2*lbfgs.Kept) * l.model.Layout.Size)
}

// checkpoint saves the state of the last iteration.
func (l *localLearner) checkpoint() error {
	if l.settings.Checkpoint == nil {
		return nil
	}
	state, err := l.state(l.identify(), nil, l.steps.State(), l.arrays())
	if err != nil {
		return err
	}
	return l.settings.Checkpoint(state)
}

func (l *localLearner) arrays() []runstate.Array {
	return []runstate.Array{{Name: "gradient", Values: l.steps.Gradient}, {Name: "filled", Values: l.objective.Filled}}
}

// restore puts a saved state in the place of the fresh one.
func (l *localLearner) restore(state *State) error {
	in, err := l.restoreProgress(state, l.identify(), l.steps.State())
	if err != nil {
		return err
	}
	if l.progress.Iterations < 0 || !(l.progress.Sweeps >= 1) {
		return runstate.Errorf("%d iterations and %v passes: the file is damaged", l.progress.Iterations, l.progress.Sweeps)
	}
	if err := l.restoreArrays(in, state, l.steps.State(), l.arrays()); err != nil {
		return err
	}
	l.steps.Value, l.steps.Evaluations = l.progress.Objective, l.progress.Sweeps
	l.progress.Status, l.progress.Reason = "", ""
	if err := cmp.Or(l.steps.Validate(), l.objective.Refill()); err != nil {
		return runstate.Errorf("%v", err)
	}
	return nil
}

// identify tells data and class weights apart. There are no blocks, and counting numbers play a part in Truncated
// alone.
func (l *localLearner) identify() []trait {
	if l.worksOn == nil {
		l.worksOn = []trait{{"data", digestProblem(l.problem)}}
		if l.settings.Method == Truncated {
			l.worksOn = append(l.worksOn, traitOf(l.objective.Numbers()))
		}
	}
	return l.worksOn
}
