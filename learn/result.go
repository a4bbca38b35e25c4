package learn

import (
	"fmt"
	"time"

	"github.com/blockbp/blockbp/crf"
)

// Status says why a run ended.
type Status string

// The ways a run ends. Only Converged and StationaryPoint make a claim, after a check of the whole network or a proof:
// that the gradient is as small as was asked for or, by Settings.Proof, Gap or ErrorShare, that the optimum is near
// enough, or steps promise no more. Converged: Result.Convex is set, and the weights are near the optimum.
// StationaryPoint need not be the best of several, or is where steps promise no more.
const (
	Converged       Status = "converged"
	StationaryPoint Status = "stationary_point"
	ObjectiveFlat   Status = "objective_change" // what is left to gain is rounding, or too little to tell
	IterationLimit  Status = "iteration_limit"
	PassLimit       Status = "pass_limit"
	TimeLimit       Status = "time_limit"
	EarlyStopped    Status = "early_stop"
	Interrupted     Status = "interrupted"
)

// Stationary reports a run that ended with a claim about its weights, Converged or StationaryPoint, not by a limit.
func (s Status) Stationary() bool { return s == Converged || s == StationaryPoint }

// limited reports whether a limit ended the run.
func (s Status) limited() bool { return s == IterationLimit || s == PassLimit || s == TimeLimit }

// stationary is the status of a run whose gradient, or proof, is as was asked for.
func stationary(convex bool) Status {
	if convex {
		return Converged
	}
	return StationaryPoint
}

// Result is what a run ended with.
type Result struct {
	// Model has the final weights: of a run that a limit ended the best that the step rule knows of, if it keeps any.
	Model *crf.Model
	// Best is the model of the best evaluation where EarlyStop was set, nil where it was not and before the first one.
	Best      *crf.Model
	BestValue float64 // of the metric
	// Status says why the run ended.
	Status Status
	// Reason is the inequality that ended the run, with its numbers.
	Reason string

	// Objective is L of (8), and GradientNorm ‖∇L‖₂, at the final weights. Where Checked they are exact, up to what
	// messages that still change by Residual leave unknown; else they are running estimates.
	Objective    float64
	GradientNorm float64
	// Gradient is ∇L of that norm, laid out like Model.Weights; nil where a run went back to the
	// weights of the start, and had no time to infer them again.
	Gradient []float64
	// FirstGradientNorm is ‖∇L‖₂ at the start.
	FirstGradientNorm float64
	// Checked: the whole network was inferred at the final weights.
	Checked bool
	// Residual is the largest change of a log-message or log-belief in the last pass of that check, taken over the first
	// sweep of every block: later sweeps of a visit see less than the whole network. InferenceConverged says that what
	// messages still change does not matter to Status: it was small enough, or a proof bounds what is left. NaN and false
	// where not Checked; 0 and true for methods without inference.
	Residual           float64
	InferenceConverged bool
	// Gap is the primal–dual gap of that inference, summed over instances: with labels
	// missing, over the network and over what is known of it. NaN where not Checked and
	// where no dual applies: counting numbers that are neither Facts.Dual nor Facts.Certified.
	Gap float64
	// Suboptimality is an upper bound of how far Objective is above the smallest there is: Objective is then an upper
	// bound of L, and the rest is proved by consistent beliefs. Methods without inference have ‖∇L‖²/(2 l2). NaN where
	// not Checked and where no bound exists: see Gap, and Convex.
	Suboptimality float64
	// Convex is false where the objective may have several optima: unobserved
	// labels, or counting numbers that are not provably convex.
	Convex bool

	// Unsettled says where the messages of that check changed the most, "" where InferenceConverged and where not Checked:
	// "block 3 of instance x". Damping is the weight that old messages came to have, where they circled. Separable: there
	// is no optimum.
	Unsettled string
	Damping   float64
	Separable bool
	// Seeded names the node types with states that no label tells apart. Their weights began at small random numbers, by
	// Settings.Seed, where all weights were zero: those that treat such states alike are a saddle of the objective.
	Seeded []string
	// AtStart: a limit ended the run with the weights that it began with, as no better ones
	// were found, or no step was made before.
	AtStart bool

	Iterations int // visits with a step and, in descent, whole passes
	// Passes is the message work done, in whole-network sweeps; CheckPasses is the part of it spent on checks.
	// GradientPasses counts gradients, checks' included, by the nodes and edges of the whole network: with blocks a pass
	// is more than one, as a cut edge is computed in both of its blocks.
	Passes, CheckPasses, GradientPasses float64
	// Seconds is the time of the run, before an interruption too, with what evaluations, recorders and checkpoints took;
	// CheckSeconds is the part of it spent on checks.
	Seconds, CheckSeconds float64
	StateBytes            int64 // messages, beliefs and contributions
}

// Event is what Settings.Recorder is told after each iteration, and after each check.
type Event struct {
	Iteration int           // so far, as in Result; 0: the check of the start
	Pass      float64       // message work so far, in whole-network sweeps
	Elapsed   time.Duration // as of the last block visit
	Block     int           // the first of those visited together; −1: all, in a whole pass
	// Objective is the saddle value −⟨θ,w̄⟩ + ⟨θ,τ⟩ + Σ cH(τ) + (l2/2)‖θ‖² at the
	// weights before the step and the current, partly stale, beliefs: it costs
	// nothing extra and equals L at convergence. After a whole pass it is F, an upper bound where one is known.
	Objective    float64
	GradientNorm float64 // of the aggregated, partly stale, gradient
	Step         float64 // size, as the rule reports it; 0: none, or one was refused, and a shorter one may follow
	// Suboptimality is as in Result, NaN where it is not known at the moment.
	Suboptimality float64
	// OfErrors is about how far the weights are from the optimum, in standard errors, in the mean of squares: with N
	// samples, √(2N (L − L*)/weights), L − L* being what the last step promised. It may be ten times too small, as few
	// curvatures are known. Of methods without blocks, +Inf before it is known; 0 of others.
	OfErrors float64
	Sweeps   int     // over this block, the largest number over instances; of a check, its whole passes
	Residual float64 // of the last of them, the largest; of a check, as in Result
	// Theta are the weights after the step; read-only and only during the call.
	Theta []float64
	// Eval holds the values of Settings.Evaluate, nil in most iterations.
	Eval map[string]float64
	// Check is set on the event that ends a check of the whole network; its Objective and GradientNorm are then exact.
	Check bool
}

// DivergedError reports a run that got worse instead of better, or met a number it could not go on with.
type DivergedError struct {
	Iteration int
	Instance  string // where one is known
	Block     int
	Reason    string
}

// Error implements error.
func (e *DivergedError) Error() string {
	where := fmt.Sprintf("iteration %d, block %d", e.Iteration, e.Block)
	if e.Instance != "" {
		where += ", instance " + e.Instance
	}
	return fmt.Sprintf("diverged at %s: %s", where, e.Reason)
}
