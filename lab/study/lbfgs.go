package study

import (
	"errors"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/blockbp/blockbp/learn"
)

// quasiNewton is gonum's L-BFGS as a step rule of learn's loop. With full inference in every iteration, which starts
// from the messages of the one before, the loop gives the objective and its gradient; the optimiser says where to
// evaluate them next. So time and passes are counted as for the other methods. An iteration is an evaluation, those of
// the line search included.
type quasiNewton struct {
	value    func() float64
	asked    chan []float64
	answered chan evaluation
	quit     chan struct{}
	ended    chan struct{}
}

// evaluation is L and ∇L.
type evaluation struct {
	value    float64
	gradient []float64
}

// String implements learn.StepRule.
func (q *quasiNewton) String() string { return "l-bfgs" }

// Guarded says that the line search refuses steps that make things worse, so that
// a larger objective on the way proves no divergence.
func (q *quasiNewton) Guarded() bool { return true }

// State implements learn.StepRule. A run with this rule cannot be resumed.
func (q *quasiNewton) State() any { return nil }

var errQuit = errors.New("study: the run has ended")

// Start implements learn.StepRule: the optimiser runs in a goroutine of its own, until close.
func (q *quasiNewton) Start(p learn.StepProblem) error {
	q.value = p.Objective
	q.asked, q.answered = make(chan []float64), make(chan evaluation)
	q.quit, q.ended = make(chan struct{}), make(chan struct{})
	start := slices.Clone(p.Model.Weights)
	go func() {
		defer close(q.ended)
		q.optimise(start)
	}()
	<-q.asked // the weights of the start, where the loop begins anyway
	return nil
}

// optimise minimises, asking for one evaluation at a time.
func (q *quasiNewton) optimise(start []float64) {
	var present []float64
	var last evaluation
	evaluate := func(x []float64) evaluation {
		if !slices.Equal(present, x) {
			present = append(present[:0], x...)
			select {
			case q.asked <- slices.Clone(x):
			case <-q.quit:
				return last
			}
			select {
			case last = <-q.answered:
			case <-q.quit:
			}
		}
		return last
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return evaluate(x).value },
		Grad: func(gradient, x []float64) { copy(gradient, evaluate(x).gradient) },
		Status: func() (optimize.Status, error) {
			select {
			case <-q.quit:
				return optimize.Failure, errQuit
			default:
				return optimize.NotTerminated, nil
			}
		},
	}
	// It ends by close, or when its line search finds nothing better to within
	// rounding: either way there is nothing to report.
	_, _ = optimize.Minimize(problem, start, &optimize.Settings{Converger: optimize.NeverTerminate{}}, &optimize.LBFGS{})
}

// Step implements learn.StepRule.
func (q *quasiNewton) Step(theta, gradient []float64) float64 {
	select {
	case q.answered <- evaluation{q.value(), slices.Clone(gradient)}:
	case <-q.ended:
		return 0
	}
	select {
	case x := <-q.asked:
		copy(theta, x)
		return 1
	case <-q.ended:
		return 0
	}
}

// close ends the optimiser.
func (q *quasiNewton) close() {
	if q.quit != nil {
		close(q.quit)
		<-q.ended
	}
}
