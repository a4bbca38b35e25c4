package learn

import (
	"math"

	"github.com/blockbp/blockbp/crf"
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
// as the beliefs of the moment have it (hessian, dense), again without nodes that
// answer to others.
//
// What P leaves out, the coupling of neighbours and beliefs that differ from the
// mean, is learned by limited-memory BFGS from one pair (s, y) per pass. The aggregated
// gradient of a pass has each block's share at the weights of that block's visit,
// so that the change y of the gradient from pass to pass belongs to the change s
// of the *mean* weights of the visits.
//
// A pass makes D steps with a gradient that is up to D iterations old, so each
// has the length ν/D. Where the gradient grew, the weights go back to the best of
// a pass end, the memory is dropped, and scale and ν shrink. Where that happens
// too often, or nothing gets better for long, the careful phase takes over.
type auto struct {
	firstOrder bool // without dense
	problem    StepProblem
	fisher     *fisher
	dense      *dense
	spans      []crf.Span // of all types: nodes, then edges
	beliefs    []float64  // π of every type
	labels     []float64  // frequencies of the (joint) states
	curvature  *quasiNewton
	careful    *careful

	direction    []float64 // H g
	plain        []float64 // P⁻¹ g
	lastGradient []float64 // at the last pass end
	sum, lastSum []float64 // of the weights over the visits of this pass and the last
	bestTheta    []float64 // weights at the pass end with the smallest gradient
	safeTheta    []float64 // weights at the smallest objective that a held pass, or the start, gave
	scalars      []float64 // see the constants below
}

// Places in auto.scalars.
const (
	autoPasses    = iota // passes made
	autoInPass           // iterations of this pass
	autoHold             // held after going back: 1 at the best weights, 2 at the safe ones
	autoLength           // ν
	autoLongest          // what ν may recover to
	autoBestNorm         // smallest gᵀP⁻¹g at a pass end
	autoBestValue        // smallest objective at a pass end
	autoNorm             // gᵀP⁻¹g at the last iteration
	autoSetbacks         // times the weights went back
	autoSinceBest        // passes since the smallest gradient
	autoSafeValue        // objective at the safe weights
	autoScalars
)

// Constants of auto.
const (
	// fullLength and staleLength are ν at the start, for a gradient that is up to
	// date (D = 1) and for an aggregated one.
	fullLength, staleLength = 1.0, 0.8
	// setback divides γ and the trusted amplification, lengthSetback ν, where a
	// pass went wrong. γ is measured anew by the next pair; ν recovers slowly.
	setback       = 4
	lengthSetback = 1.5
	// relief of the bound on ν per pass that is the best so far. Setbacks lower the
	// bound, or the same steps could lead to the same setback for ever.
	relief = 1.1
	// smallestLength bounds ν from below.
	smallestLength = 0.05
	// tolerableGrowth of gᵀP⁻¹g over its best: beyond, the pass went wrong.
	tolerableGrowth = 4.0
	// recovery of ν per good pass.
	recovery = 1.2
	// trustGrowth per good pass of how much longer than P⁻¹g a step may be.
	trustGrowth = 1.5
	// mostSetbacks and longestStall bound the first phase: so many times back, or
	// passes without a smaller gradient, and the careful one takes over.
	// Where there is a dense P, which makes good use of gradients that are up to date, it
	// does so after mostDense times.
	mostSetbacks = 4
	mostDense    = 1
	longestStall = 40
	// rise of the objective, relatively, that a pass with held weights may show over
	// the safe one: its beliefs are not quite consistent.
	tolerableRise = 0.01
)

// Guarded implements StepRule.
func (a *auto) Guarded() bool { return true }

// refreshed tells the rule that the gradient changed although the weights did
// not, because inference was made exact: the change must not pass for curvature. A
// new pass begins, from a gradient that belongs to these weights alone.
func (a *auto) refreshed(theta, gradient []float64) {
	a.scalars[autoInPass] = 0
	copy(a.lastGradient, gradient)
	for j, x := range theta {
		a.lastSum[j] = float64(a.problem.PerPass) * x
	}
	clear(a.sum)
}

// FirstOrder returns the automatic step rule without the Hessian of all weights
// together: what an iteration costs then does not depend on the course of the run.
func FirstOrder() StepRule { return &auto{firstOrder: true} }

// String implements StepRule.
func (a *auto) String() string { return "auto" }

// Start implements StepRule.
func (a *auto) Start(p StepProblem) error {
	if a.firstOrder {
		p.Hessian = nil
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
	a.beliefs, a.labels = make([]float64, states), labelFrequencies(layout, p.Data)
	for _, x := range []*[]float64{&a.direction, &a.lastGradient, &a.sum, &a.lastSum, &a.bestTheta, &a.safeTheta, &a.plain} {
		*x = make([]float64, layout.Size)
	}
	a.curvature = newQuasiNewton(layout.Size, a.apply)
	a.careful = newCareful(layout.Size, a.curvature, a.measure, a.damping)
	a.scalars = make([]float64, autoScalars)
	a.scalars[autoLength], a.scalars[autoLongest] = a.longest(), a.longest()
	return nil
}

// forget lets go of all but numbers that tell how the run went.
func (a *auto) forget() {
	if a.scalars == nil {
		return // it did not start
	}
	scalars, phase, renewals := a.scalars, a.careful.scalars, a.dense.scalars
	*a = auto{firstOrder: a.firstOrder, scalars: scalars, careful: &careful{scalars: phase}, dense: &dense{scalars: renewals}}
}

// longest returns the largest ν.
func (a *auto) longest() float64 {
	if a.problem.PerPass == 1 {
		return fullLength
	}
	return staleLength
}

// Memory implements StepRule; after a run there is none.
func (a *auto) Memory() [][]float64 {
	if a.curvature == nil {
		return nil
	}
	memory := [][]float64{a.scalars, a.beliefs, a.lastGradient, a.sum, a.lastSum, a.bestTheta, a.safeTheta}
	memory = append(append(memory, a.curvature.memory()...), a.careful.memory()...)
	return append(memory, a.dense.memory()...)
}

// Step implements StepRule.
func (a *auto) Step(theta, gradient []float64) float64 {
	c := a.scalars
	if c[autoPasses] == 0 && c[autoInPass] == 0 && c[autoSetbacks] == 0 {
		a.measure()
		a.keepSafe(theta)
	}
	a.apply(a.plain, gradient)
	norm := simd.Dot(a.plain, gradient)
	c[autoNorm] = norm
	c[autoInPass]++
	passEnds := int(c[autoInPass]) == a.problem.PerPass
	if a.careful.on() {
		if !passEnds {
			return 0
		}
		a.noteBest(theta, norm)
		c[autoInPass] = 0
		norm = a.renew(gradient, norm)
		return a.careful.passEnd(theta, gradient, norm, a.problem.Objective())
	}
	return a.eager(theta, gradient, norm, passEnds)
}

// eager is a step of the first phase.
func (a *auto) eager(theta, gradient []float64, norm float64, passEnds bool) float64 {
	c := a.scalars
	addTo(a.sum, theta)
	switch {
	case c[autoHold] > 0:
		if !passEnds {
			return 0
		}
		if a.isWorse() && c[autoHold] == 1 {
			copy(theta, a.safeTheta) // stale shares had flattered the best gradient
			c[autoHold], c[autoInPass] = 2, 0
			clear(a.sum)
			return 0
		}
		a.keepSafe(theta)
		copy(a.bestTheta, theta)
		c[autoHold], c[autoBestNorm] = 0, norm
		norm = a.endPass(gradient, norm)
	case c[autoPasses] > 0 && !(norm <= a.tolerable(passEnds)*c[autoBestNorm]) && !a.descends():
		a.goBack(theta)
		return 0
	case passEnds:
		if c[autoPasses] > 0 {
			a.remember(gradient)
			c[autoLength] = min(c[autoLength]*recovery, c[autoLongest])
			a.curvature.widen(trustGrowth)
		}
		a.noteBest(theta, norm)
		norm = a.endPass(gradient, norm)
		if c[autoSinceBest] > longestStall {
			a.beCareful(theta)
			return 0
		}
	}
	a.curvature.direct(a.direction, gradient, norm)
	size := c[autoLength] / float64(a.problem.PerPass) * a.damping(simd.Dot(a.direction, gradient))
	for i, d := range a.direction {
		theta[i] -= size * d
	}
	return size
}

// noteBest keeps the weights of a pass end with the smallest gradient so far.
func (a *auto) noteBest(theta []float64, norm float64) {
	c := a.scalars
	c[autoSinceBest]++
	if c[autoPasses] == 0 || a.problem.Objective() < c[autoBestValue] {
		c[autoBestValue] = a.problem.Objective()
	}
	if c[autoPasses] == 0 || norm < c[autoBestNorm] {
		c[autoBestNorm], c[autoSinceBest] = norm, 0
		c[autoLongest] = min(c[autoLongest]*relief, a.longest())
		copy(a.bestTheta, theta)
	}
}

// best returns weights of an earlier pass end that a run should end with if it
// had to end now, or nil if those of the moment are as good. Norms of gradients tell
// that of the first phase; in the careful one they are of unsettled gradients, and of
// other matrices P.
func (a *auto) best() []float64 {
	c := a.scalars
	switch {
	case a.careful.on():
		return a.careful.best()
	case c[autoPasses] == 0 || c[autoNorm] <= tolerableGrowth*c[autoBestNorm]:
		return nil
	}
	return a.bestTheta
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

// keepSafe remembers weights that were held for a pass, and what they are worth.
func (a *auto) keepSafe(theta []float64) {
	copy(a.safeTheta, theta)
	a.scalars[autoSafeValue] = a.problem.Objective()
}

// isWorse reports that the objective is above that of the safe weights.
func (a *auto) isWorse() bool {
	safe := a.scalars[autoSafeValue]
	return a.problem.Objective() > safe+tolerableRise*math.Abs(safe)
}

// safe returns the weights of the smallest objective that is sure: of the start, or
// of a pass with held weights. It is the live slice.
func (a *auto) safe() []float64 { return a.safeTheta }

// descends reports that the objective fell although the gradient grew, which is
// no setback. Only full inference knows its objective: the saddle value at stale
// beliefs falls also where a step was much too long.
func (a *auto) descends() bool {
	return a.problem.Full && a.problem.Objective() < a.scalars[autoBestValue]
}

// tolerable returns how far gᵀP⁻¹g may exceed its best: within a pass some
// blocks' shares are at older weights, so it may swing more.
func (a *auto) tolerable(passEnds bool) float64 {
	if passEnds {
		return tolerableGrowth
	}
	return 4 * tolerableGrowth
}

// goBack returns to the best weights and holds them for a pass, after which the
// gradient belongs to them alone.
func (a *auto) goBack(theta []float64) {
	c := a.scalars
	most := float64(mostSetbacks)
	if a.dense.on() {
		most = mostDense
	}
	a.dense.hasten()
	if c[autoSetbacks]++; c[autoSetbacks] > most {
		a.beCareful(theta)
		return
	}
	a.dense.drop()
	copy(theta, a.bestTheta)
	a.curvature.reset(min(1, a.curvature.scalars[memoryScale]) / setback)
	a.curvature.narrow(setback)
	c[autoLength] = max(c[autoLength]/lengthSetback, smallestLength)
	c[autoLongest] = max(c[autoLongest]/lengthSetback, smallestLength)
	c[autoHold], c[autoInPass] = 1, 0
	clear(a.sum)
}

// beCareful starts the careful phase at the best weights.
func (a *auto) beCareful(theta []float64) {
	copy(theta, a.bestTheta)
	a.curvature.reset(1)
	a.careful.begin(a.safeTheta, a.scalars[autoSafeValue])
	a.scalars[autoInPass] = 0
}

// endPass starts the next pass. It returns gᵀP⁻¹g.
func (a *auto) endPass(gradient []float64, norm float64) float64 {
	a.measure()
	copy(a.lastGradient, gradient)
	a.sum, a.lastSum = a.lastSum, a.sum
	clear(a.sum)
	a.scalars[autoInPass] = 0
	a.scalars[autoPasses]++
	return a.renew(gradient, norm)
}

// renew measures a dense P anew if it is time for that, and returns gᵀP⁻¹g. That of the
// best weights is taken to change as much.
func (a *auto) renew(gradient []float64, norm float64) float64 {
	if !a.dense.endPass() {
		return norm
	}
	a.dense.solve(a.plain, gradient)
	renewed := simd.Dot(a.plain, gradient)
	a.curvature.scalars[memoryScale] = 1
	if norm > 0 {
		a.scalars[autoBestNorm] *= renewed / norm
	}
	return renewed
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

// remember makes a pair of the pass that ends and the one before.
func (a *auto) remember(gradient []float64) {
	s, y := a.curvature.next()
	perPass := float64(a.problem.PerPass)
	for j, g := range gradient {
		s[j] = (a.sum[j] - a.lastSum[j]) / perPass
		y[j] = g - a.lastGradient[j]
	}
	a.curvature.store()
}

// apply computes dst = P⁻¹ g; dst may be g.
func (a *auto) apply(dst, g []float64) {
	if a.dense.on() {
		a.dense.solve(dst, g)
		return
	}
	a.fisher.solve(dst, g, a.beliefs)
}

// memory lists what Start takes.
func (a *auto) memory(m *Memory, l *learner) {
	layout := &l.model.Layout
	size, states := float64(layout.Size), 0.0
	for _, span := range allSpans(layout) {
		states += float64(span.States)
	}
	const vectors = 7 // direction to plain
	m.Add("automatic steps", doubleBytes*(vectors*size+2*states), "%d vectors of %d weights × 8 bytes", vectors, layout.Size)
	quasiNewtonMemory(m, size, l.mostPasses())
	carefulMemory(m, size)
	fisherMemory(m, l)
	if !a.firstOrder {
		denseMemory(m, l)
	}
}
