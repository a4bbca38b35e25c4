package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
)

// Evaluator computes the exact objective and gradient at given weights, by
// inference over the whole network. Messages are kept from one call to the next,
// so that nearby weights cost little. It is for judging a run, not part of one.
type Evaluator struct{ l *learner }

// Exact is what an Evaluator finds at some weights.
type Exact struct {
	Objective    float64 // L of (8)
	GradientNorm float64 // ‖∇L‖₂
	Converged    bool    // whether the messages settled
	Residual     float64
}

// NewEvaluator prepares the evaluation of a problem on a number of threads.
func NewEvaluator(p Problem, threads int) (*Evaluator, error) {
	s := Settings{Method: InnerDual, Threads: threads, Step: &Fixed{Alpha: 1}}.withDefaults()
	if err := s.validateResolved(&p); err != nil {
		return nil, err
	}
	l, err := newLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	return &Evaluator{l}, nil
}

// At evaluates at weights, laid out like crf.Model.Weights.
func (e *Evaluator) At(weights []float64) (Exact, error) {
	l := e.l
	if len(weights) != len(l.model.Weights) {
		return Exact{}, fmt.Errorf("learn: %d weights, the model has %d", len(weights), len(l.model.Weights))
	}
	copy(l.model.Weights, weights)
	l.startCheck(checkInitial)
	for l.at.Check.Active {
		if _, err := l.checkStep(); err != nil {
			return Exact{}, err
		}
	}
	c := &l.at.Check
	return Exact{l.at.Objective, l.at.GradientNorm, c.Residual <= l.checkTolerance(), c.Residual}, nil
}

// Gradient returns ∇L at the weights of the last call of At; valid until the
// next.
func (e *Evaluator) Gradient() []float64 { return e.l.gradient }

// Model returns the model that the evaluator works on, for names and layout.
func (e *Evaluator) Model() *crf.Model { return e.l.model }

// Close ends the evaluator's goroutines.
func (e *Evaluator) Close() { e.l.pool.close() }
