package learn

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// early is the first phase of auto: the paper's loop, with a step at every visit.
//
// Each part of the aggregated gradient was taken at the weights θ_b of the last visit
// of its blocks. Modelled to second order, with its share of one Hessian H each, the
// parts have their common minimum at (Rodomanov and Kropotov 2016; Mokhtari, Eisen and
// Ribeiro 2018)
//
//	θ = θ̄ − H⁻¹ḡ,   ḡ = Σ_b g_b + l2 θ̄,
//
// θ̄ being the mean of the θ_b. That is a whole quasi-Newton step at every visit: no
// length to choose, however old the gradient is. With one block θ̄ is θ.
//
// H is P, with what limited-memory BFGS learns from the changes of θ̄ and ḡ over each pass.
// Such a step knows nothing of messages that have not arrived. The phase
// ends, for good, where the norm ḡᵀP⁻¹ḡ at pass ends grows, or falls too slowly.
type early struct {
	problem *StepProblem
	tied    []crf.Span
	shares  [][]VisitShare

	mean, gradient         []float64 // θ̄ and ḡ
	visited                []float64 // [visits of a pass][tied weights] θ_b
	order                  []float64 // [visits of a pass] when each was made last
	lastMean, lastGradient []float64 // at the last pass end
	best                   []float64 // θ̄ at the pass end with the smallest norm
	scalars                []float64 // see the constants below

	direction []float64       // H⁻¹ḡ
	from      []float64       // [visits of a pass] share of the gradient that a visit renews of another
	theta     []float64       // of the moment
	renew     func(at, n int) // takes weights of the moment over into θ̄
}

// Places in early.scalars.
const (
	earlyVisits = iota // made
	earlyInPass        // of them, in this pass
	earlyNorm          // ḡᵀP⁻¹ḡ at the last visit
	earlyBest          // the smallest at a pass end, or at the start
	earlyMark          // what it has to fall below, for the phase to go on
	earlySince         // passes since that was set
	earlyLag           // the largest change of a message in this pass, in nats
	earlyHeld          // 1 where that was large, or in the pass before
	earlyFree          // 1 once a pass got nearer that was not held
	earlyScalars
)

const (
	// tolerableGrowth of ḡᵀP⁻¹ḡ over its best ends the phase at a pass end: steps have
	// doubled. Within a pass, where parts of the gradient are of different age, it is the
	// square of it.
	tolerableGrowth = 4.0
	// slowestFall is the factor that the norm has to fall by within patientPasses: what
	// falls more slowly waits for messages, for which the next phase is made.
	slowestFall, patientPasses = 0.5, 10
	// lagging is how many nats a message changes by, at a visit, whose blocks do not follow the
	// weights: beliefs are e times what they were.
	lagging = 1.0
)

func newEarly(p *StepProblem) *early {
	layout := &p.Model.Layout
	e := &early{
		problem: p, tied: tiedSpans(layout), shares: p.Shares(),
		visited: make([]float64, p.PerPass*layout.TiedSize), order: make([]float64, p.PerPass),
		from: make([]float64, p.PerPass), scalars: make([]float64, earlyScalars),
	}
	for _, x := range []*[]float64{&e.mean, &e.gradient, &e.lastMean, &e.lastGradient, &e.best, &e.direction} {
		*x = make([]float64, layout.Size)
	}
	e.renew = func(at, n int) { copy(e.mean[at:][:n], e.theta[at:]) }
	return e
}

// tiedSpans lists the types with tied weights.
func tiedSpans(layout *crf.Layout) (tied []crf.Span) {
	for _, span := range allSpans(layout) {
		if !span.Untied {
			tied = append(tied, span)
		}
	}
	return tied
}

func (e *early) memory() [][]float64 {
	return [][]float64{e.scalars, e.mean, e.visited, e.order, e.lastMean, e.lastGradient, e.best}
}

// begin starts a pass with a gradient that is of these weights alone.
func (e *early) begin(theta, gradient []float64) {
	size := e.problem.Model.Layout.TiedSize
	for at := 0; at < len(e.visited); at += size {
		for _, span := range e.tied {
			copy(e.visited[at+span.Part:][:span.Len], theta[span.At:])
		}
	}
	copy(e.mean, theta)
	copy(e.lastMean, theta)
	copy(e.lastGradient, gradient)
	e.scalars[earlyInPass] = 0
}

// again begins anew at other weights, where visits did not pay.
func (e *early) again(theta, gradient []float64) {
	e.begin(theta, gradient)
	e.scalars[earlyBest], e.scalars[earlyMark], e.scalars[earlySince] = math.Inf(1), math.Inf(1), 0
}

// visit renews θ̄ and ḡ, given the weights of a visit and the gradient after it. Parts
// that two visits have in common are of the later one; untied weights have elements of
// their own, and so the weights that each was last visited with.
func (e *early) visit(theta, gradient []float64) {
	p, size := e.problem, e.problem.Model.Layout.TiedSize
	visit := p.Visit()
	clear(e.from)
	for _, x := range e.shares[visit] {
		if e.order[x.Visit] > e.order[visit] {
			e.from[x.Visit] += x.Share
		} else {
			e.from[visit] += x.Share
		}
	}
	for from, share := range e.from {
		if share == 0 {
			continue
		}
		for _, span := range e.tied {
			mean := e.mean[span.At:][:span.Len]
			simd.AddScaled(mean, theta[span.At:][:span.Len], share)
			simd.AddScaled(mean, e.visited[from*size+span.Part:][:span.Len], -share)
		}
	}
	for _, span := range e.tied {
		copy(e.visited[visit*size+span.Part:][:span.Len], theta[span.At:])
	}
	if e.theta = theta; len(e.tied) < len(p.Model.Layout.Node)+len(p.Model.Layout.Edge) {
		p.EachUntied(visit, e.renew)
	}
	if lag := p.lag(); !(lag <= e.scalars[earlyLag]) {
		e.scalars[earlyLag] = lag
	}
	if !(e.scalars[earlyLag] <= lagging) {
		e.scalars[earlyHeld] = 1
	}
	e.scalars[earlyVisits]++
	e.scalars[earlyInPass]++
	e.order[visit] = e.scalars[earlyVisits]
	for j, g := range gradient {
		e.gradient[j] = g - p.L2*(theta[j]-e.mean[j])
	}
}

// step moves theta to the minimum of the model, or reports that visits no longer pay.
func (e *early) step(a *auto, theta []float64) (size float64, pays bool) {
	c := e.scalars
	norm := a.norm(e.gradient)
	first, passEnds := c[earlyVisits] == 1, int(c[earlyInPass]) == e.problem.PerPass
	tolerable := tolerableGrowth
	if !passEnds {
		tolerable *= tolerableGrowth
	}
	if first {
		c[earlyBest], c[earlyMark] = norm, norm
		copy(e.best, theta)
	}
	c[earlyNorm] = norm
	if !(norm <= tolerable*c[earlyBest]) {
		return 0, false
	}
	if passEnds {
		if norm, pays = e.endPass(a, norm); !pays {
			return 0, false
		}
	}
	a.curvature.direct(e.direction, e.gradient)
	promise := simd.Dot(e.direction, e.gradient)
	if size = a.damping(promise); e.scalars[earlyFree] == 0 && size*promise > norm {
		size = norm / promise // while messages lag behind, gradients show less curvature than there is
	}
	for j, d := range e.direction {
		theta[j] = e.mean[j] - size*d
	}
	return size, true
}

// endPass learns from a pass, and returns the norm by the P of the next one, and whether
// passes pay.
func (e *early) endPass(a *auto, norm float64) (renewed float64, pays bool) {
	c := e.scalars
	s, y := a.curvature.next()
	for j, g := range e.gradient {
		s[j], y[j] = e.mean[j]-e.lastMean[j], g-e.lastGradient[j]
	}
	a.curvature.store()
	copy(e.lastMean, e.mean)
	copy(e.lastGradient, e.gradient)
	if norm <= c[earlyBest] {
		c[earlyBest] = norm
		copy(e.best, e.mean)
		c[earlyFree] = max(c[earlyFree], float64(oneIf(!a.held())))
	}
	if c[earlySince]++; c[earlyBest] <= slowestFall*c[earlyMark] {
		c[earlyMark], c[earlySince] = c[earlyBest], 0
	}
	c[earlyInPass] = 0
	c[earlyHeld], c[earlyLag] = float64(oneIf(!(c[earlyLag] <= lagging))), 0
	a.measure()
	if renewed = norm; a.renew() {
		renewed = a.norm(e.gradient)
	}
	if norm > 0 {
		c[earlyBest] *= renewed / norm
		c[earlyMark] *= renewed / norm
	}
	return renewed, c[earlySince] <= patientPasses
}

// worse reports that weights of the moment are of a step that went wrong.
func (e *early) worse() bool {
	return e.scalars[earlyVisits] > 0 && e.scalars[earlyNorm] > tolerableGrowth*e.scalars[earlyBest]
}

// earlyMemory lists what newEarly takes, with the vectors of auto.
func earlyMemory(m *Memory, l *learner) {
	const vectors = 8 // mean to direction, plain and first
	layout, visits, states := &l.model.Layout, float64(l.perPass()), 0.0
	for _, span := range allSpans(layout) {
		states += float64(span.States)
	}
	shares := 0
	for _, s := range l.visitShares() {
		shares += len(s)
	}
	bytes := visits*(doubleBytes*(float64(layout.TiedSize)+2)+sliceBytes) + 2*doubleBytes*float64(shares)
	m.Add("steps at visits", bytes+doubleBytes*(vectors*float64(layout.Size)+2*states),
		"%.0f visits of a pass × %d tied weights + %d vectors of %d weights, × 8 bytes", visits, layout.TiedSize, vectors, layout.Size)
}
