package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/simd"
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
// mean, is learned by limited-memory BFGS from one pair (s, y) per pass. The aggregated
// gradient of a pass has each block's share at the weights of that block's visit,
// so that the change y of the gradient from pass to pass belongs to the change s
// of the *mean* weights of the visits.
//
// There is a step at each visit (early): for one pass in large problems, elsewhere while visits pay.
// Then joint descent takes over (joint).
type auto struct {
	autoState
	firstOrder bool // without dense
	problem    StepProblem
	fisher     *fisher
	dense      *dense
	spans      []crf.Span // of all types: nodes, then edges
	labels     []float64  // frequencies of the (joint) states
	curvature  *lbfgs.Curvature
	early      *early
	joint      *joint
	lanczos    *lbfgs.Lanczos

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

func (a *auto) curved() bool { return !a.firstOrder }

// refreshed tells the rule that the gradient changed although the weights did
// not, because inference was made exact: the change must not pass for curvature.
func (a *auto) refreshed(theta, gradient []float64, value float64) {
	if a.joint.on() {
		a.joint.refreshed(gradient, value)
		return
	}
	a.early.begin(theta, gradient)
}

// FirstOrder returns the automatic step rule without the Hessian of all weights together,
// and with steps at every visit to the end: what an iteration costs then does not depend on
// the course of the run. It is for measuring.
func FirstOrder() StepRule { return &auto{firstOrder: true} }

// String implements StepRule.
func (a *auto) String() string { return "auto" }

// Start implements StepRule.
func (a *auto) Start(p StepProblem) error {
	if a.firstOrder {
		p.Hessian, p.exact, p.damps, p.lean, p.place, p.line = nil, nil, false, nil, nil, nil
	}
	*a = auto{firstOrder: a.firstOrder, problem: p}
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
	a.joint.lean, a.joint.place, a.joint.line = p.lean, p.place, p.line
	if a.joint.keep, a.joint.restore = p.keep, p.restore; p.exact == nil {
		a.joint.patience = p.patience
	}
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
		firstOrder: a.firstOrder, joint: &joint{jointState: jointState{jointProgress: a.joint.jointProgress}},
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
	}{&a.autoState, &a.early.earlyState, &a.curvature.State, &a.joint.jointState, &a.dense.denseState, &a.lanczos.LanczosState}
}

func (a *auto) possible() error { return a.lanczos.Possible() }

// Step implements StepRule.
func (a *auto) Step(theta, gradient []float64) float64 {
	e := a.early
	if e.visits == 0 {
		a.measure()
		copy(a.first, theta)
		a.firstValue = a.problem.Objective()
		e.begin(theta, gradient)
	}
	e.visit(theta, gradient)
	size, pays := e.step(a, theta)
	if pays && a.joint.keep != nil && !a.firstOrder && e.visits >= a.problem.PerPass {
		// One pass of visits leads: whole passes go on faster (results/2026-11-core.md), from its last step.
		a.depart(theta, a.first, a.firstValue)
		return size
	}
	switch {
	case pays:
	case a.firstOrder:
		copy(theta, e.best)
		a.curvature.Reset(1)
		e.again(theta, gradient)
	default:
		a.descend(theta)
		size = 0 // of a step that is not made
	}
	return size
}

// whole reports that weights move after whole passes only: see joint.
func (a *auto) whole() bool { return a.joint.on() }

// judge and leave are those of joint.
func (a *auto) judge(theta, gradient []float64, value, gap float64, sure, monotone, lags bool) (accepted, moved bool) {
	accepted, moved = a.joint.judge(theta, gradient, value, gap, sure, monotone, lags)
	if accepted && a.joint.keep == nil && (gap <= openGap*(1+math.Abs(value)) || math.IsNaN(gap)) {
		a.dense.hasten()
	}
	return accepted, moved
}

// openGap is the gap between the bounds of inference, relatively, above which the Hessian of a
// problem with lines of messages waits for its pass: where messages lag so much its beliefs are surer
// than they come to be, and steps are too long by far (results/2026-11-lag.md).
const openGap = 1e-2

func (a *auto) leave(theta, gradient []float64) (size float64) {
	a.measure()
	if a.joint.step != nil {
		return a.joint.try(theta)
	}
	a.renew()
	return a.joint.leave(theta, gradient)
}

// best returns weights of an earlier pass end that a run should end with if it
// had to end now, or nil if those of the moment are as good.
func (a *auto) best() []float64 {
	switch {
	case a.joint.on():
		if best := a.joint.best(); !slices.Equal(best, a.first) || a.joint.alpha < 1 {
			return best
		}
		// The best weights of visits, which a check will compare with the start.
	case a.early.worse():
		return a.early.best
	}
	return nil
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

// descend starts joint descent at the best weights.
func (a *auto) descend(theta []float64) {
	copy(theta, a.early.best)
	a.depart(theta, a.first, a.firstValue)
}

// turn starts joint descent with what visits have learned of the curvature: they have paid to the
// end.
func (a *auto) turn(theta []float64) {
	if a.dense.exact {
		a.dense.hasten()
	}
	a.joint.begin(theta, a.first, a.firstValue)
}

// depart starts joint descent on the line from start, of that value, to theta.
func (a *auto) depart(theta, start []float64, value float64) {
	if a.dense.exact {
		a.dense.hasten()
	}
	a.curvature.Reset(1)
	a.joint.begin(theta, start, value)
}

// dampedStep finds the step of weights and messages together with so much damping, and the
// gradient that belongs to it.
func (a *auto) dampedStep(direction, gradient []float64, damping float64) bool {
	return a.dense.solveDamped(direction, gradient, damping) && a.problem.lean(direction, damping)
}

// saddles is for joint descent, which can leave them; nil before Start, too, and where the
// Hessian at hand shows that there is none.
func (a *auto) saddles() *lbfgs.Lanczos {
	if a.firstOrder || a.lanczos == nil {
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

// norm returns gᵀP⁻¹g.
func (a *auto) norm(g []float64) float64 {
	a.apply(a.plain, g)
	return simd.Dot(a.plain, g)
}

// damping returns what the length of a step along a direction with the product promise
// with the gradient is multiplied by: with a dense P, one that promises a large gain leads
// to where the beliefs, and with them P, are others.
func (a *auto) damping(promise float64) float64 {
	most := mostPromised * a.problem.Variables
	if !a.dense.on() || !(promise > most) {
		return 1
	}
	return math.Sqrt(most / promise)
}

// held reports steps at visits of a large network, whose messages lag behind: where there is
// little curvature, or gradients have shown less than P, they are as short as P alone has them.
func (a *auto) held() bool {
	return !a.firstOrder && a.problem.exact == nil && !a.joint.on() && a.early.held
}

// apply computes dst = P⁻¹ g; dst may be g.
func (a *auto) apply(dst, g []float64) {
	if a.dense.on() {
		a.dense.solve(dst, g)
		return
	}
	a.fisher.hold(a.held())
	a.fisher.solve(dst, g, a.beliefs)
}

// memory lists what Start takes.
func (a *auto) memory(m *Memory, l *learner) {
	layout := &l.model.Layout
	size := float64(layout.Size)
	earlyMemory(m, l)
	m.addPairs(size, l.mostPasses())
	jointMemory(m, size)
	fisherMemory(m, l)
	if !a.firstOrder {
		denseMemory(m, l)
	}
}
