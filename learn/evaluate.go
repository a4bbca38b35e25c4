package learn

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/bp"
)

// Evaluator computes the objective and its gradient at given weights, by inference over the whole network. Messages are
// kept from one call to the next, so that nearby weights cost little. It is for judging a run, not part of one. One
// goroutine at a time may use it.
type Evaluator struct{ l *learner }

const (
	// evaluatorTolerance is the residual that an Evaluator asks for. It has to serve objectives that are compared with an
	// optimum known to ten digits and more, so it does not depend on the tolerance of any run.
	evaluatorTolerance = 1e-10
	// evaluatorSweeps bounds the sweeps of one evaluation.
	evaluatorSweeps = 1000
)

// NewEvaluator prepares the evaluation of a problem on a number of threads.
func NewEvaluator(p Problem, threads int) (*Evaluator, error) {
	// One block: a visit is inference over everything.
	s := Settings{Method: InnerDual, Threads: threads, Step: &fixedStep{alpha: 1}}.Resolved()
	if err := s.validate(&p); err != nil {
		return nil, err
	}
	l, err := newLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	return &Evaluator{l}, nil
}

// At evaluates at weights, laid out like crf.Model.Weights, of which symmetric types have the mean of both ways round.
// Of the result it sets Objective, GradientNorm, Gap, Suboptimality, Gradient, Residual, the largest change of a
// log-message or log-belief in the last sweep, and InferenceConverged. Numbers are exact up to what such changes leave
// unknown; where the messages have not settled, they belong to beliefs that contradict each other, and another call
// goes on from there. Gradient is valid until the next call. Weights that no inference can work with are a
// *DivergedError.
func (e *Evaluator) At(weights []float64) (*Result, error) {
	l := e.l
	if len(weights) != len(l.model.Weights) {
		return nil, fmt.Errorf("learn: %d weights, the model has %d", len(weights), len(l.model.Weights))
	}
	copy(l.model.Weights, weights)
	l.model.Layout.Symmetrise(l.model.Weights)
	report, err := l.visitBlocks(visit{
		kind: consistentVisit, blocks: l.schedule.stepPass[0],
		limits: bp.Limits{Tolerance: evaluatorTolerance, MaxSweeps: evaluatorSweeps},
	})
	if err != nil {
		return nil, err
	}
	if err := l.endWholePass(); err != nil {
		return nil, err
	}
	p := &l.progress
	x := &Result{Objective: p.Objective, GradientNorm: p.GradientNorm, Gap: p.Pass.Gap,
		Suboptimality: l.claims.suboptimality(), Gradient: l.sums.gradient, Residual: report.residual,
		InferenceConverged: report.converged}
	if math.IsNaN(x.Objective) || math.IsInf(x.Objective, 0) {
		return nil, &DivergedError{Reason: fmt.Sprintf("the objective at these weights is %v: they, or the features, are "+
			"too large", x.Objective)}
	}
	return x, nil
}

// Close ends the evaluator's goroutines.
func (e *Evaluator) Close() { e.l.pool.Close() }
