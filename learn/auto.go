package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/lbfgs"
)

// auto needs no tuning: it takes quasi-Newton steps whose initial matrix is an
// estimate P⁻¹ of the inverse Hessian.
//
// At first, P is a sum of Kronecker products A ⊗ C + l2 I, one for what nodes of a type see
// and one for the interactions of each edge type (fisher):
//
//	A = Σ f fᵀ/ρ over nodes (edges),   C = diag(π) − ππᵀ,
//
// with f the features, ρ the counting number that divides the potentials in the
// beliefs, and π the mean belief, or the frequency in the labels where that is
// larger: it is where the belief has to go. A is diagonalised once; P⁻¹ is applied
// at each pass's π. It makes steps independent of the scales and correlations of
// features, and is the inverse Hessian where no node answers to another.
//
// For large data that this is too rough for, it is the Hessian of all weights together
// as the beliefs of the moment have it (hessian, dense), where each node answers while its
// neighbours hold their beliefs.
//
// What P leaves out, the coupling of neighbours and beliefs that differ from the
// mean, is learned by limited-memory BFGS from one pair (s, y) per accepted step.
//
// There is a step at each visit for one pass (early), where F bounds L. Then joint descent takes over (joint).
type auto struct {
	autoState
	problem   StepProblem
	fisher    *fisher
	dense     *dense
	spans     []crf.Span // of all types: nodes, then edges
	labels    []float64  // frequencies of the (joint) states
	curvature *lbfgs.Curvature
	early     *early
	joint     *joint
	lanczos   *lbfgs.Lanczos

	plain []float64 // P⁻¹ g
}

// autoState is what a resumed run goes on from, with the states of its parts.
type autoState struct {
	beliefs    []float64 // π of every type
	first      []float64 // weights at the start
	firstValue float64   // objective there
}

// Guarded implements StepRule.
func (a *auto) Guarded() bool { return true }

// Recovery implements StepRule.
func (a *auto) Recovery() Recovery { return a }

// refreshed tells the rule that the gradient changed although the weights did
// not, because inference was made exact: the change must not pass for curvature.
func (a *auto) refreshed(gradient []float64, value float64) {
	if a.joint.on() {
		a.joint.refreshed(gradient, value)
	}
}

// String implements StepRule.
func (a *auto) String() string { return "auto" }

// Start implements StepRule.
func (a *auto) Start(p StepProblem) error {
	*a = auto{problem: p}
	layout := &p.Model.Layout
	states := 0
	a.spans = allSpans(layout)
	for _, span := range a.spans {
		states += span.States
	}
	var err error
	if a.fisher, err = newFisher(&p); err != nil {
		return err
	}
	a.dense = newDense(&p)
	a.beliefs, a.labels = make([]float64, states), p.statistics.frequencies()
	a.plain, a.first = make([]float64, layout.Size), make([]float64, layout.Size)
	a.curvature = lbfgs.New(layout.Size, a.apply)
	a.early = newEarly(&a.problem)
	a.joint = newJoint(layout.Size, a.curvature)
	a.lanczos = lbfgs.NewLanczos(a.curvature)
	a.joint.tangents, a.joint.follow, a.joint.line = p.tangents, p.follow, p.line
	a.joint.keep, a.joint.restore = p.keep, p.restore
	if p.damps {
		a.joint.step = a.dampedStep
	}
	return nil
}

// forget lets go of all but what tells how the run went.
func (a *auto) forget() {
	if a.curvature == nil {
		return // it did not start
	}
	*a = auto{
		joint: &joint{jointState: jointState{jointProgress: a.joint.jointProgress}},
		dense: &dense{denseState: denseState{has: a.dense.has}},
	}
}

// State implements StepRule; after a run there is none.
func (a *auto) State() any {
	if a.curvature == nil {
		return nil
	}
	return &struct {
		auto  *autoState
		early *earlyState
		pairs *lbfgs.State
		joint *jointState
		dense *denseState
		probe *lbfgs.LanczosState
	}{
		&a.autoState, &a.early.earlyState, &a.curvature.State, &a.joint.jointState, &a.dense.denseState,
		&a.lanczos.LanczosState,
	}
}

func (a *auto) possible() error { return a.lanczos.Possible() }

// Step implements StepRule.
func (a *auto) Step(theta, gradient []float64) float64 {
	e := a.early
	if e.visits == 0 {
		a.measure()
		copy(a.first, theta)
		a.firstValue = a.problem.Objective()
		if !a.problem.bounded { // nothing would tell that visits have led astray
			a.descend(theta)
			return 0
		}
		e.begin(theta)
	}
	e.visit(theta, gradient)
	a.apply(a.plain, e.gradient)
	for j, d := range a.plain {
		theta[j] = e.mean[j] - d
	}
	if e.visits >= a.problem.PerPass {
		a.descend(theta)
	}
	return 1
}

// whole reports that weights move after whole passes only: see joint.
func (a *auto) whole() bool { return a.joint.on() }

// judge and advance are those of joint.
func (a *auto) judge(theta, gradient []float64, value, gap float64, sure bool) (accepted, moved bool) {
	return a.joint.judge(theta, gradient, value, gap, sure)
}

func (a *auto) advance(theta, gradient []float64) (size float64) {
	a.measure()
	if a.joint.step != nil {
		return a.joint.try(theta)
	}
	a.renew()
	return a.joint.advance(theta, gradient)
}

// best returns accepted weights that a run should end with if it had to end now, or nil if those of
// the moment are as good: the best weights of visits are, which a check will compare with the start.
func (a *auto) best() []float64 {
	if !a.joint.on() || a.joint.alpha == 1 && slices.Equal(a.joint.origin, a.first) {
		return nil
	}
	return a.joint.best()
}

// lowest is that of joint.
func (a *auto) lowest() ([]float64, float64) {
	if !a.joint.on() {
		return nil, math.Inf(1)
	}
	return a.joint.lowest, a.joint.least
}

// measure takes π from the beliefs of the moment. A state that they have given up
// would look free to move at no curvature; if it occurs in the labels, it is not.
func (a *auto) measure() {
	a.problem.Beliefs(a.beliefs)
	at := 0
	for _, span := range a.spans {
		mean := a.beliefs[at:][:span.States]
		if !span.Untied {
			for i, f := range a.labels[at:][:len(mean)] {
				mean[i] = max(mean[i], f)
			}
			normalise(mean)
		}
		at += len(mean)
	}
}

// descend starts joint descent on the line from the start of the run to theta, where visits have led.
func (a *auto) descend(theta []float64) { a.restart(theta, a.first, a.firstValue) }

// restart starts joint descent on the line from start, of that value, to theta.
func (a *auto) restart(theta, start []float64, value float64) {
	a.curvature.Reset(1)
	a.joint.begin(theta, start, value)
}

// dampedStep finds the step of weights and messages together with so much damping, and the
// gradient that belongs to it.
func (a *auto) dampedStep(direction, gradient []float64, damping float64) bool {
	return a.dense.solveDamped(direction, gradient, damping) && a.problem.tangents(direction, damping)
}

// saddles is for joint descent, which can leave them; nil before Start, too, and where the
// Hessian at hand shows that there is none.
func (a *auto) saddles() *lbfgs.Lanczos {
	if a.lanczos == nil {
		return nil
	}
	if a.joint.on() && a.dense.definite() {
		a.lanczos.Forget() // it was of an earlier point
		return nil
	}
	a.measure()
	return a.lanczos
}

// renew measures a dense P anew if it is time for that, and reports whether it did.
func (a *auto) renew() bool {
	renewed := a.dense.endPass()
	if renewed {
		if a.dense.exact {
			a.curvature.Reset(1)
		} else {
			a.curvature.Rescale()
		}
	}
	return renewed
}

// apply computes dst = P⁻¹ g; dst may be g.
func (a *auto) apply(dst, g []float64) {
	if a.dense.on() {
		a.dense.solve(dst, g)
		return
	}
	a.fisher.solve(dst, g, a.beliefs)
}
