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
// ends, for good, after a pass of a large problem, and else where the norm ḡᵀP⁻¹ḡ at pass ends grows, or falls too slowly, or where ḡ
// is within the tolerance (learner.step).
type early struct {
	earlyState
	problem *StepProblem
	tied    []crf.Span
	shares  [][]VisitShare

	gradient  []float64       // ḡ
	direction []float64       // H⁻¹ḡ
	from      []float64       // [visits of a pass] share of the gradient that a visit renews of another
	theta     []float64       // of the moment
	renew     func(at, n int) // takes weights of the moment over into θ̄
}

// earlyState is what a resumed run goes on from.
type earlyState struct {
	earlyProgress
	mean                   []float64 // θ̄
	visited                []float64 // [visits of a pass][tied weights] θ_b
	order                  []float64 // [visits of a pass] when each was made last
	lastMean, lastGradient []float64 // θ̄ and ḡ at the last pass end
	best                   []float64 // θ̄ at the pass end with the smallest norm
}

// earlyProgress is where the phase stands.
type earlyProgress struct {
	visits   int     // made
	inPass   int     // of them, in this pass
	norm     float64 // ḡᵀP⁻¹ḡ at the last visit
	smallest float64 // at a pass end, or at the start
	mark     float64 // what it has to fall below, for the phase to go on
	since    int     // passes since that was set
	lag      float64 // the largest change of a message in this pass, in nats
	held     bool    // that was large, or in the pass before
	free     bool    // a pass got nearer that was not held
}

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
	e := &early{problem: p, tied: tiedSpans(layout), shares: p.Shares(), from: make([]float64, p.PerPass)}
	e.visited, e.order = make([]float64, p.PerPass*layout.TiedSize), make([]float64, p.PerPass)
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
	e.inPass = 0
}

// again begins anew at other weights, where visits did not pay.
func (e *early) again(theta, gradient []float64) {
	e.begin(theta, gradient)
	e.smallest, e.mark, e.since = math.Inf(1), math.Inf(1), 0
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
	if lag := p.lag(); !(lag <= e.lag) {
		e.lag = lag
	}
	if !(e.lag <= lagging) {
		e.held = true
	}
	e.visits++
	e.inPass++
	e.order[visit] = float64(e.visits)
	for j, g := range gradient {
		e.gradient[j] = g - p.L2*(theta[j]-e.mean[j])
	}
}

// step moves theta to the minimum of the model, or reports that visits no longer pay.
func (e *early) step(a *auto, theta []float64) (size float64, pays bool) {
	norm := a.norm(e.gradient)
	first, passEnds := e.visits == 1, e.inPass == e.problem.PerPass
	tolerable := tolerableGrowth
	if !passEnds {
		tolerable *= tolerableGrowth
	}
	if first {
		e.smallest, e.mark = norm, norm
		copy(e.best, theta)
	}
	e.norm = norm
	if !(norm <= tolerable*e.smallest) {
		return 0, false
	}
	if passEnds {
		if norm, pays = e.endPass(a, norm); !pays {
			return 0, false
		}
	}
	a.curvature.Direct(e.direction, e.gradient)
	promise := simd.Dot(e.direction, e.gradient)
	if size = a.damping(promise); !e.free && size*promise > norm {
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
	s, y := a.curvature.Next()
	for j, g := range e.gradient {
		s[j], y[j] = e.mean[j]-e.lastMean[j], g-e.lastGradient[j]
	}
	a.curvature.Store()
	copy(e.lastMean, e.mean)
	copy(e.lastGradient, e.gradient)
	if norm <= e.smallest {
		e.smallest = norm
		copy(e.best, e.mean)
		e.free = e.free || !a.held()
	}
	if e.since++; e.smallest <= slowestFall*e.mark {
		e.mark, e.since = e.smallest, 0
	}
	e.inPass = 0
	e.held, e.lag = !(e.lag <= lagging), 0
	a.measure()
	if renewed = norm; a.renew() {
		renewed = a.norm(e.gradient)
	}
	if norm > 0 {
		e.smallest *= renewed / norm
		e.mark *= renewed / norm
	}
	return renewed, e.since <= patientPasses
}

// worse reports that weights of the moment are of a step that went wrong.
func (e *early) worse() bool {
	return e.visits > 0 && e.norm > tolerableGrowth*e.smallest
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
