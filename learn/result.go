package learn

import (
	"fmt"
	"time"

	"github.com/blockbp/blockbp/crf"
)

// Status says why a run ended.
type Status string

// The ways a run ends. Only Converged claims an optimum, and only after a check
// of the whole network at the final weights.
const (
	Converged      Status = "converged"
	ObjectiveFlat  Status = "objective_change" // stopped by ObjectiveTolerance
	IterationLimit Status = "iteration_limit"
	PassLimit      Status = "pass_limit"
	TimeLimit      Status = "time_limit"
	EarlyStopped   Status = "early_stop"
	Interrupted    Status = "interrupted"
)

// Result is what a run ended with.
type Result struct {
	Model *crf.Model
	// Best is the model of the best evaluation where EarlyStop was set, else nil.
	Best   *crf.Model
	Status Status
	// Reason is the inequality that ended the run, with its numbers.
	Reason string

	// Objective is L of (8), and GradientNorm ‖∇L‖₂, at the final weights. They
	// are exact up to Residual where Checked, else running estimates.
	Objective    float64
	GradientNorm float64
	// FirstGradientNorm is ‖∇L‖₂ at the start.
	FirstGradientNorm float64
	// Checked: the whole network was inferred at the final weights.
	Checked bool
	// Residual is the largest change of a log-message in the last sweep of that
	// check, and InferenceConverged whether it was small enough.
	Residual           float64
	InferenceConverged bool
	// Gap is the primal–dual gap of that inference, summed as in the objective;
	// NaN where no dual applies (some c_s < 0, or unobserved labels).
	Gap float64
	// Convex is false where the objective may have several optima: unobserved
	// labels, or counting numbers that are not provably convex.
	Convex bool

	Iterations int
	// Passes is the message work done, in whole-network sweeps; CheckPasses is
	// the part of it spent on checks, GradientPasses the whole-network gradient
	// computations.
	Passes, CheckPasses, GradientPasses float64
	Seconds                             float64
	CheckSeconds                        float64
	StateBytes                          int64 // messages, beliefs and contributions
}

// Event is what a Recorder sees after each iteration.
type Event struct {
	Iteration int
	Pass      float64 // message work so far, in whole-network sweeps
	Elapsed   time.Duration
	Instance  int // −1: all
	Block     int
	// Objective is the saddle value −⟨θ,w̄⟩ + ⟨θ,τ⟩ + Σ cH(τ) + (l2/2)‖θ‖² at the
	// weights before the step and the current, partly stale, beliefs: it costs
	// nothing extra and equals L at convergence.
	Objective    float64
	GradientNorm float64 // of the aggregated, partly stale, gradient
	Step         float64
	Sweeps       int     // over this block
	Residual     float64 // of the last of them
	// Theta are the weights after the step; read-only and only during the call.
	Theta []float64
	// Eval holds the values of Settings.Evaluate, nil in most iterations.
	Eval map[string]float64
	// Check is set on the event that ends a check of the whole network; its
	// Objective and GradientNorm are then exact.
	Check bool
}

// Recorder observes a run. An error ends the run.
type Recorder interface {
	Record(Event) error
}

// RecorderFunc makes a function a Recorder.
type RecorderFunc func(Event) error

// Record calls f.
func (f RecorderFunc) Record(e Event) error { return f(e) }

// DivergedError reports a run that got worse instead of better, or met a number
// it could not go on with.
type DivergedError struct {
	Iteration int
	Instance  string // where one is known
	Block     int
	Reason    string
	Err       error // *bp.NumericalError, or nil
}

// Error implements error.
func (e *DivergedError) Error() string {
	where := fmt.Sprintf("iteration %d, block %d", e.Iteration, e.Block)
	if e.Instance != "" {
		where += ", instance " + e.Instance
	}
	return fmt.Sprintf("diverged at %s: %s", where, e.Reason)
}

// Unwrap returns the numerical error behind it, if any.
func (e *DivergedError) Unwrap() error { return e.Err }
