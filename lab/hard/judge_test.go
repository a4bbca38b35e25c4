package hard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/lab/study"
	"github.com/blockbp/blockbp/learn"
)

// What the suite asks for.
const (
	// Accuracy is what may be left to gain, relative to 1 + |L|.
	Accuracy = 1e-6
	// Passes and Seconds are what a run may take.
	Passes  = 3000
	Seconds = 1.0
	// stationary is the gradient, relative to the first, that is asked for where nothing
	// can be proved.
	stationary = 1e-6
	// plateau is how much lower, relative to 1 + |L|, an independent solver that starts
	// nearby may end where a run ended at a stationary point. It is more than a gradient
	// of that size can leave to gain, and less than what tells optima apart.
	plateau = 1e-4
)

// Kinds of problems, by what is asked of a run.
const (
	Proof      = "proof"      // convex, l2 > 0: the optimum, proved
	Optimum    = "optimum"    // convex, l2 = 0: the objective of the reference
	Stationary = "stationary" // else: a stationary point that nothing nearby is below
)

// Outcome is a run on a problem, and what is to be said of it.
type Outcome struct {
	Spec
	Kind    string
	Convex  bool
	Weights int
	// Unknowns are weights and entries of messages.
	Unknowns int

	Status  string
	Reason  string
	Passes  float64
	Seconds float64 // of a processor
	// Objective and Gradient are what the run says of its end, Exact and ExactGradient
	// what inference from scratch says, and Start what that says of the beginning.
	Objective     float64
	Gradient      float64
	Exact         float64
	ExactGradient float64
	Start         float64
	// Bound is what is left to gain at most, by ExactGradient, and Excess what there was
	// above the reference or, where L is not convex, above the best that any method
	// found. Both are absolute.
	Bound  float64
	Excess float64
	// Local: the run ended above that best, and nothing near its end is below it.
	Local     bool
	Reference Reference
	// Claimed: the run says that it converged. False says what is wrong with that; "":
	// nothing.
	Claimed bool
	False   string
	// Rose: the run ended above its start.
	Rose bool
	// Failures are what was asked for and is not there.
	Failures []string
}

// Solved reports a run that did all that was asked for.
func (o *Outcome) Solved() bool { return len(o.Failures) == 0 }

// fail adds a failure.
func (o *Outcome) fail(format string, values ...any) {
	o.Failures = append(o.Failures, fmt.Sprintf(format, values...))
}

// kind says what is asked of runs on the problem.
func (p *Problem) kind() string {
	switch {
	case !p.flat.convex:
		return Stationary
	case p.flat.l2 > 0:
		return Proof
	}
	return Optimum
}

// Settings are those of a user who wants the accuracy of the suite: the defaults, but for
// the choice of a method and tolerances.
func (p *Problem) Settings() learn.Settings {
	s := learn.Settings{Method: p.Method, RandomOrder: p.Random, Seed: uint64(p.Number), MaxPasses: Passes}
	switch p.kind() {
	case Proof: // ‖∇L‖²/(2 l2) ≤ Accuracy
		s.GradientTolerance = math.Sqrt(2 * p.flat.l2 * Accuracy)
	case Optimum:
		s.RelativeTolerance = 0.01 * stationary // there is no bound to ask for
	default:
		s.RelativeTolerance = stationary
	}
	return s
}

// Trial is a run on a problem, not judged yet.
type Trial struct {
	result   *learn.Result
	diverged *learn.DivergedError
	seconds  float64
}

// Try runs the optimiser. It is timed by the processor time of the process, so it should
// be alone in it. The error is that of ctx, or says that the settings are at fault.
func (p *Problem) Try(ctx context.Context) (*Trial, error) {
	t := &Trial{}
	started, _ := study.ProcessorTime()
	wall := time.Now()
	var err error
	t.result, err = learn.Fit(ctx, p.Learn, p.Settings())
	t.seconds = time.Since(wall).Seconds()
	if ended, ok := study.ProcessorTime(); ok {
		t.seconds = (ended - started).Seconds()
	}
	if errors.As(err, &t.diverged) {
		err = nil
	}
	return t, err
}

// Judge says what is to be said of a run, given what Solve found.
func (p *Problem) Judge(ctx context.Context, t *Trial, best *Reference) (*Outcome, error) {
	o := &Outcome{Spec: p.Spec, Kind: p.kind(), Convex: p.flat.convex, Weights: p.flat.weights,
		Unknowns: newJoint(p.flat).size(), Reference: *best, Seconds: t.seconds}
	o.Reference.Objective, o.Reference.Gradient, o.Reference.Bound = finite(best.Objective), finite(best.Gradient),
		finite(best.Bound)
	if t.diverged != nil {
		o.Status, o.Reason = "diverged", t.diverged.Error()
		o.fail("%v", t.diverged)
		return o, nil
	}
	o.Start = finite(p.at(make([]float64, p.flat.weights), math.NaN()).objective)
	o.judge(p, t.result, best)
	if o.Kind == Stationary {
		return o, o.judgeLocal(ctx, p, t.result)
	}
	return o, nil
}

// judge compares what a run says with inference from scratch and with the reference.
func (o *Outcome) judge(p *Problem, r *learn.Result, best *Reference) {
	x := p.at(r.Model.Weights, r.Objective)
	o.Status, o.Reason, o.Passes, o.Claimed = string(r.Status), r.Reason, r.Passes, r.Status.Stationary()
	o.Objective, o.Gradient, o.Exact, o.ExactGradient = finite(r.Objective), finite(r.GradientNorm), finite(x.objective),
		finite(x.gradient)
	o.Bound, o.Excess = finite(p.flat.bound(x.gradient)), finite(x.objective-best.Objective)
	if o.Claimed {
		o.False = p.belie(r, x)
	}
	if o.False != "" {
		o.fail("a claim that is not true: %s", o.False)
	}
	allowed := Accuracy * (1 + math.Abs(o.Reference.Objective))
	switch {
	case !x.settled:
		o.fail("no inference settles at the weights it ended at")
	case x.objective > o.Start+1e-9*(1+math.Abs(o.Start))+x.noise:
		o.Rose = true
		o.fail("it ended above its start, at %.8g instead of %.8g", x.objective, o.Start)
	}
	switch {
	case o.Kind != Stationary && math.IsInf(best.Objective, 1):
		o.fail("the independent solver found no optimum to compare with")
	case o.Kind != Stationary && o.Excess > allowed+x.noise:
		o.fail("%.8g is above the optimum, %.8g, by %.2g (%s)", x.objective, o.Reference.Objective, o.Excess, o.Status)
	case o.Kind == Proof && !o.Claimed:
		o.fail("at the optimum, but not proved (%s)", o.Status)
	case o.Kind == Proof && o.Bound > 1.1*allowed: // the run knows its gradient to a few per cent
		o.fail("the gradient leaves %.2g to gain", o.Bound)
	}
	if o.Claimed && o.Passes > Passes {
		o.fail("%.0f passes", o.Passes)
	}
	if o.Seconds > Seconds {
		o.fail("%.2g seconds", o.Seconds)
	}
}

// belie returns what is wrong with a claim of convergence, "" where it is true.
func (p *Problem) belie(r *learn.Result, x point) string {
	s := p.Settings()
	tolerance := s.GradientTolerance
	if tolerance == 0 {
		tolerance = s.RelativeTolerance * r.FirstGradientNorm
	}
	const rounding = 1e-10
	switch {
	case !x.settled:
		return "no inference settles there"
	case !x.agrees(r.Objective):
		return fmt.Sprintf("objective %.10g, from scratch %.10g", r.Objective, x.objective)
	case x.gradient > 1.05*tolerance+rounding:
		return fmt.Sprintf("gradient %.3g, from scratch %.3g, tolerance %.3g", r.GradientNorm, x.gradient, tolerance)
	case r.Convex && !p.flat.convex:
		return "it is called convex"
	}
	return ""
}

// judgeLocal asks whether a run on a problem with several optima ended at one of them, and
// how far above the best that any method finds.
func (o *Outcome) judgeLocal(ctx context.Context, p *Problem, r *learn.Result) error {
	if !o.Claimed {
		o.fail("no stationary point: %s, gradient %.2g", o.Status, o.ExactGradient)
	}
	rng := source(p.Number, 2)
	near := p.descend(r.Model.Weights, rng, shaken)
	best := math.Min(o.Reference.Objective, near.Objective) // which is large where nothing settled
	for _, shake := range []float64{shaken, 1} {            // also from far
		best = math.Min(best, p.descend(make([]float64, p.flat.weights), rng, shake).Objective)
	}
	for _, method := range methods {
		other := p.Settings()
		other.Method = method
		if method == p.Method {
			continue
		}
		x, err := learn.Fit(ctx, p.Learn, other)
		var diverged *learn.DivergedError
		if errors.As(err, &diverged) {
			continue
		}
		if err != nil {
			return err
		}
		if at := p.at(x.Model.Weights, math.NaN()); at.settled {
			best = math.Min(best, at.objective)
		}
	}
	if o.Exact-near.Objective > plateau*(1+math.Abs(o.Exact)) {
		o.fail("a saddle or a plateau: %.8g, and %.8g is reached from nearby", o.Exact, near.Objective)
	}
	o.Reference.Objective = finite(best)
	o.Excess = finite(o.Exact - best)
	o.Local = o.Solved() && o.Excess > plateau*(1+math.Abs(best))
	return nil
}

// finite returns a number that JSON has.
func finite(x float64) float64 {
	switch {
	case math.IsNaN(x) || x > math.MaxFloat64:
		return math.MaxFloat64
	case x < -math.MaxFloat64:
		return -math.MaxFloat64
	}
	return x
}
