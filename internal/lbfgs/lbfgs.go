// Package lbfgs is limited-memory BFGS: the curvature that it learns (Curvature), which descent in package learn uses
// for steps of its own, and a minimiser with a line search (Minimiser), for objectives without messages.
package lbfgs

import (
	"context"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// Curvature is limited-memory BFGS (Nocedal 1980) that begins with an estimate P⁻¹ of the inverse Hessian. It learns
// what P leaves out from pairs of a change s of the weights and the change y of the gradient that s has made.
type Curvature struct {
	State
	solve func(dst, g []float64) // dst = P⁻¹ g
	alpha [Kept]float64
	plain []float64 // scratch
}

// State is what a resumed run goes on from.
type State struct {
	s, y    [Kept][]float64
	pairs   int           // stored since the last reset
	place   int           // where the next pair goes
	scale   float64       // γ: the two-loop recursion begins with γ P⁻¹
	inverse [Kept]float64 // 1/sᵀy of each pair
}

const (
	// Kept is how many pairs the recursion remembers.
	Kept = 20
	// flattest bounds sᵀy/yᵀP⁻¹y from below: pairs that show less curvature are not kept.
	flattest = 1e-8
)

// New returns a Curvature without pairs, of so many weights.
func New(size int, solve func(dst, g []float64)) *Curvature {
	all := make([]float64, (2*Kept+1)*size) // one allocation, as each may be rounded up
	next := func() []float64 {
		x := all[:size:size]
		all = all[size:]
		return x
	}
	q := &Curvature{solve: solve, plain: next()}
	for i := range Kept {
		q.s[i], q.y[i] = next(), next()
	}
	q.scale = 1
	return q
}

// Validate refuses a state that no run can have saved.
func (s *State) Validate() error {
	if !(0 <= s.pairs && s.pairs <= Kept && 0 <= s.place && s.place < Kept) {
		return fmt.Errorf("%d pairs of curvature, the next in place %d: the file is damaged", s.pairs, s.place)
	}
	return nil
}

// Next returns the slices that the next pair is to be written to, before Store.
func (q *Curvature) Next() (s, y []float64) { return q.s[q.place], q.y[q.place] }

// Store keeps the pair written to Next if it shows positive curvature.
func (q *Curvature) Store() {
	q.pairs = min(q.pairs, Kept-1) // the oldest was overwritten
	s, y := q.Next()
	q.solve(q.plain, y)
	sy, yPy := simd.Dot(s, y), simd.Dot(y, q.plain)
	if !(sy > flattest*yPy) {
		return
	}
	q.inverse[q.place] = 1 / sy
	q.scale = min(sy/yPy, 1/flattest)
	q.place = (q.place + 1) % Kept
	q.pairs++
}

// Reset forgets all pairs; γ is scale until it is measured by the next pair.
func (q *Curvature) Reset(scale float64) { q.pairs, q.scale = 0, scale }

// Unscale begins the recursion with P⁻¹ itself, until another pair is stored, or Rescale is called.
func (q *Curvature) Unscale() { q.scale = 1 }

// Rescale measures γ anew by the last pair, after P has changed.
func (q *Curvature) Rescale() {
	if q.scale = 1; q.pairs == 0 {
		return
	}
	i := (q.place - 1 + Kept) % Kept
	q.solve(q.plain, q.y[i])
	if scale := 1 / (q.inverse[i] * simd.Dot(q.y[i], q.plain)); scale > flattest {
		q.scale = min(scale, 1/flattest)
	}
}

// Direction writes the product of the approximate inverse Hessian and the gradient to dst: steps are against it.
func (q *Curvature) Direction(dst, gradient []float64) {
	copy(dst, gradient)
	for n := 1; n <= q.pairs; n++ { // newest first
		i := (q.place - n + Kept) % Kept
		q.alpha[i] = q.inverse[i] * simd.Dot(q.s[i], dst)
		simd.AddScaled(dst, q.y[i], -q.alpha[i])
	}
	q.solve(dst, dst)
	for j := range dst {
		dst[j] *= q.scale
	}
	for n := q.pairs; n >= 1; n-- {
		i := (q.place - n + Kept) % Kept
		beta := q.inverse[i] * simd.Dot(q.y[i], dst)
		simd.AddScaled(dst, q.s[i], q.alpha[i]-beta)
	}
}

// Objective is a smooth function of weights.
type Objective interface {
	// Evaluate returns the value at weights, and sets gradient to the gradient there. It may make weights symmetric that
	// rounding has made otherwise. If ctx ends first, value and gradient are of no use.
	Evaluate(ctx context.Context, gradient, weights []float64) (value float64)
	// Solve writes P⁻¹ g to dst, which may be g, P being the estimate of the Hessian that Curvature begins with.
	Solve(dst, g []float64)
}

// Minimiser minimises an objective, step by step.
type Minimiser struct {
	// Weights are those of the last step, with the objective and its gradient there.
	Weights, Gradient []float64
	Value             float64
	// Evaluations counts those of all steps, but for a step that was interrupted.
	Evaluations float64
	Promise

	objective            Objective
	trial, trialGradient []float64 // weights to evaluate, and the gradient there
	direction            []float64
	curvature            *Curvature
}

// Promise is what the last step of a Minimiser promised.
type Promise struct {
	// Promised is by how much the step was to make the objective smaller, by the curvature that was known then; infinite
	// where none was.
	Promised float64
}

// NewMinimiser returns one that moves the weights.
func NewMinimiser(o Objective, weights []float64) *Minimiser {
	next := func() []float64 { return make([]float64, len(weights)) }
	m := &Minimiser{Weights: weights, Gradient: next(), objective: o, trial: next(), trialGradient: next(),
		direction: next(), Promise: Promise{math.Inf(1)}}
	m.curvature = New(len(weights), o.Solve)
	return m
}

// State is what a resumed run goes on from, beside weights, gradient, value and evaluations.
func (m *Minimiser) State() any {
	return &struct {
		pairs *State
		last  *Promise
	}{&m.curvature.State, &m.Promise}
}

// Validate refuses a state that no run can have saved.
func (m *Minimiser) Validate() error { return m.curvature.Validate() }

// Begin evaluates at the weights of the start.
func (m *Minimiser) Begin() {
	copy(m.trial, m.Weights)
	m.Promised = math.Inf(1)
	m.accept(m.evaluate(context.Background()))
}

func (m *Minimiser) evaluate(ctx context.Context) float64 {
	m.Evaluations++
	return m.objective.Evaluate(ctx, m.trialGradient, m.trial)
}

// accept takes the trial weights, where the objective has that value, for those of the last step.
func (m *Minimiser) accept(value float64) {
	m.Value = value
	copy(m.Weights, m.trial)
	copy(m.Gradient, m.trialGradient)
}

// Step makes a step and returns its length along the direction, 0 where no step makes the objective smaller. The error
// is that of a context which ends first: then nothing has changed.
func (m *Minimiser) Step(ctx context.Context) (step float64, err error) {
	before := m.Evaluations
	defer func() {
		if err != nil {
			m.Evaluations = before
		}
	}()
	m.curvature.Direction(m.direction, m.Gradient)
	first, promised := 1.0, simd.Dot(m.direction, m.Gradient)/2
	if m.curvature.pairs == 0 {
		promised = math.Inf(1)
		first = min(1, 1/math.Sqrt(simd.Dot(m.direction, m.direction))) // no scale is known yet: a step of length 1
	}
	along := func(t float64) (value, slope float64, err error) {
		for i, d := range m.direction {
			m.trial[i] = m.Weights[i] - t*d
		}
		value = m.evaluate(ctx)
		return value, -simd.Dot(m.direction, m.trialGradient), ctx.Err()
	}
	step, value, err := search(m.Value, -simd.Dot(m.direction, m.Gradient), first, along)
	switch {
	case err != nil:
		return 0, err
	case step == 0 && m.curvature.pairs > 0:
		m.curvature.Reset(1) // what was learned of the curvature may be at fault
		return m.Step(ctx)
	case step == 0:
		return 0, nil
	}
	s, y := m.curvature.Next()
	for i, w := range m.trial {
		s[i], y[i] = w-m.Weights[i], m.trialGradient[i]-m.Gradient[i]
	}
	m.curvature.Store()
	m.accept(value)
	m.Promised = promised
	return step, nil
}

const (
	// FlatEnough is the part of |φ'(0)| that |φ'| may have after a step (the curvature condition of Wolfe). L-BFGS does
	// best with loose searches.
	FlatEnough = 0.9
	// enoughDecrease is the part of the decrease promised by φ'(0) that is wanted of a step that goes beyond the minimum
	// (the condition of Armijo).
	enoughDecrease = 1e-4
	// roundingRise is the relative rise of φ that may be rounding alone.
	roundingRise = 1e-14
	// longestGrowth bounds how much longer than the step before the next one is while the minimum is not bracketed.
	longestGrowth = 10.0
	// innermost keeps a step within a bracket away from its ends.
	innermost = 0.1
	// mostTrials ends a search that rounding keeps from succeeding.
	mostTrials = 60
)

// search looks for a step along a descent direction of a convex function φ, given φ(0) and φ'(0), and the step to try
// first. The slope φ' tells on which side of the minimum a step is, so that the search brackets its zero. It returns
// the first step found that meets the conditions above, or 0, and φ there. along, which returns φ and φ', was called
// with that step last.
func search(value, slope, first float64, along func(t float64) (float64, float64, error)) (step, found float64,
	err error) {
	if !(slope < 0) {
		return 0, value, nil
	}
	lo, loSlope := 0.0, slope
	hi, hiSlope := math.Inf(1), math.NaN()
	t := first
	for range mostTrials {
		at, steep, err := along(t)
		if err != nil {
			return 0, 0, err
		}
		finite := !math.IsNaN(at) && !math.IsInf(at, 0) && !math.IsNaN(steep) && !math.IsInf(steep, 0)
		switch {
		case !finite:
			hi, hiSlope = t, math.NaN()
		case steep < FlatEnough*slope:
			lo, loSlope = t, steep
		case steep <= 0 && at <= value+roundingRise*math.Abs(value),
			steep <= -FlatEnough*slope && at <= value+enoughDecrease*t*slope:
			return t, at, nil
		default:
			hi, hiSlope = t, steep
		}
		if t = between(lo, loSlope, hi, hiSlope, first); t <= lo || t >= hi {
			break // nothing is left between the two
		}
	}
	return 0, value, nil
}

// between returns the next step to try: where the line through the slopes at lo
// and hi is zero, or farther out where there is no hi yet.
func between(lo, loSlope, hi, hiSlope, first float64) float64 {
	if math.IsInf(hi, 1) {
		return max(first, lo) * longestGrowth
	}
	t := (lo + hi) / 2
	if !math.IsNaN(hiSlope) {
		t = lo + (hi-lo)*loSlope/(loSlope-hiSlope)
	}
	return min(max(t, lo+innermost*(hi-lo)), hi-innermost*(hi-lo))
}
