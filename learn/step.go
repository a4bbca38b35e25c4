package learn

import (
	"fmt"
	"math"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
)

// StepRule moves the weights against the gradient, and decides on size and direction. The automatic rule does so in the
// first passes alone and then goes on by descent (descent.go): a rule that has it as a part is refused.
type StepRule interface {
	// String returns the rule as ParseStep takes it.
	String() string
	// Start is called before the first step of a run and forgets any run before.
	Start(p StepProblem) error
	// Step changes theta, given the gradient g of the objective (8), some of it as older weights had it, and returns the
	// size of the step: 0 says that weights stayed, so that messages which circle are damped more. It must not keep or
	// change gradient.
	Step(theta, gradient []float64) float64
	// State returns a pointer to a struct that is a part of the rule, not a copy, since a resumed run reads into it. All
	// fields are saved. They are of the types int, float64, bool and string, []float64 of a length that Start has fixed,
	// and arrays of these, structs and pointers to structs. nil: there is nothing to keep.
	State() any
	// Guarded reports that the rule takes bad steps back by itself, so that a larger
	// objective on the way proves no divergence.
	Guarded() bool
}

// StepProblem is what a rule may know of the problem.
type StepProblem struct {
	Model *crf.Model
	L2    float64
	// Variables is the mean number of variables per sample. Fixed steps multiply
	// ∇L/Variables, so that one α serves networks of all sizes.
	Variables float64
	// Objective returns the objective at the weights that Step is given, as the beliefs of the moment have it: L itself
	// where messages have settled, and otherwise an estimate that may be off to either side.
	Objective func() float64

	messages  *messages // for automatic steps, which move messages back and forth
	automatic *auto     // the rule itself, if it is seen to be automatic: see auto.Start
}

// ParseStep reads a step rule as users give it: auto, fixed:A or adagrad:A.
func ParseStep(spec string) (StepRule, error) {
	name, value, given := strings.Cut(spec, ":")
	if name == "auto" && !given {
		return &auto{}, nil
	}
	alpha, err := numeric.ParseDecimal(value)
	if err != nil || !(alpha > 0) || math.IsInf(alpha, 0) {
		return nil, fmt.Errorf("step %q: want auto, fixed:A or adagrad:A with a positive number A, such as fixed:0.5", spec)
	}
	switch name {
	case "fixed":
		return &fixedStep{alpha: alpha}, nil
	case "adagrad":
		return &adaGradStep{alpha: alpha}, nil
	}
	return nil, fmt.Errorf("step %q: no rule named %q; want auto, fixed:A or adagrad:A", spec, name)
}

// unguarded is what the simple rules have in common.
type unguarded struct{}

func (unguarded) Guarded() bool { return false }

// fixedStep is the paper's step, θ ← θ − α g, with the mean number of variables dividing g.
type fixedStep struct {
	unguarded
	alpha, scale float64
}

func (f *fixedStep) String() string { return fmt.Sprintf("fixed:%v", f.alpha) }

func (f *fixedStep) Start(p StepProblem) error {
	f.scale = f.alpha / p.Variables
	return nil
}

func (f *fixedStep) Step(theta, gradient []float64) float64 {
	for i, g := range gradient {
		theta[i] -= f.scale * g
	}
	return f.alpha
}

func (f *fixedStep) State() any { return nil }

// adaGradStep divides each coordinate's step by the root of its summed squared gradients (Duchi, Hazan and Singer
// 2011), which the paper does not print and its authors' code has.
type adaGradStep struct {
	unguarded
	adaGradState
	alpha, scale float64
}

// adaGradState is what a resumed run goes on from.
type adaGradState struct{ squares []float64 }

// adaGradFloor keeps the first step of a coordinate without gradient finite.
const adaGradFloor = 1e-12

func (r *adaGradStep) String() string { return fmt.Sprintf("adagrad:%v", r.alpha) }

func (r *adaGradStep) Start(p StepProblem) error {
	r.scale = 1 / p.Variables
	r.squares = make([]float64, p.Model.Layout.Size)
	return nil
}

func (r *adaGradStep) Step(theta, gradient []float64) float64 {
	for i, g := range gradient {
		g *= r.scale
		r.squares[i] += g * g
		theta[i] -= r.alpha * g / (math.Sqrt(r.squares[i]) + adaGradFloor)
	}
	return r.alpha
}

func (r *adaGradStep) State() any { return &r.adaGradState }
