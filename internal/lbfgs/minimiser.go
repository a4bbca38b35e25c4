package lbfgs

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// Objective is a smooth function of weights.
type Objective interface {
	// Evaluate returns the value at weights, and sets gradient to that there. It may take out of
	// weights what rounding has left.
	Evaluate(gradient, weights []float64) (value float64)
}

// Minimiser makes an objective smaller, step by step.
type Minimiser struct {
	// Weights are those of the last step, with the objective and its gradient there.
	Weights, Gradient []float64
	Value             float64
	// Evaluations counts those of steps that have come to their end.
	Evaluations float64
	// Saddle looks whether weights with a small gradient are a saddle.
	Saddle *Lanczos

	objective         Objective
	trial, trialSlope []float64 // weights to evaluate, and the gradient there
	direction         []float64
	curvature         *Curvature
}

// NewMinimiser returns one that moves the weights.
func NewMinimiser(o Objective, weights []float64) *Minimiser {
	next := func() []float64 { return make([]float64, len(weights)) }
	m := &Minimiser{Weights: weights, Gradient: next(), objective: o, trial: next(), trialSlope: next(), direction: next()}
	m.curvature = New(len(weights), func(dst, g []float64) { copy(dst, g) })
	m.Saddle = NewLanczos(m.curvature)
	return m
}

// State is what a resumed run goes on from, beside weights, gradient, value and evaluations.
func (m *Minimiser) State() any {
	return &struct {
		pairs *State
		probe *LanczosState
	}{&m.curvature.State, &m.Saddle.LanczosState}
}

// Begin evaluates at the weights of the start.
func (m *Minimiser) Begin() {
	copy(m.trial, m.Weights)
	m.accept(m.evaluate())
}

func (m *Minimiser) evaluate() float64 {
	m.Evaluations++
	return m.objective.Evaluate(m.trialSlope, m.trial)
}

// accept makes the trial weights, of that value, those of the last step.
func (m *Minimiser) accept(value float64) {
	m.Value = value
	copy(m.Weights, m.trial)
	copy(m.Gradient, m.trialSlope)
}

// Step makes a step and returns its length along the direction, 0 where no step makes the objective
// smaller. The error is that of a context which ends before; then nothing has changed.
func (m *Minimiser) Step(ctx context.Context) (step float64, err error) {
	before := m.Evaluations
	defer func() {
		if err != nil {
			m.Evaluations = before
		}
	}()
	m.curvature.Direct(m.direction, m.Gradient)
	first := 1.0
	if m.curvature.pairs == 0 {
		first = min(1, 1/math.Sqrt(simd.Dot(m.Gradient, m.Gradient))) // no scale is known yet: a step of length 1
	}
	along := func(t float64) (value, slope float64, err error) {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		for i, d := range m.direction {
			m.trial[i] = m.Weights[i] - t*d
		}
		value = m.evaluate()
		return value, -simd.Dot(m.direction, m.trialSlope), nil
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
		s[i], y[i] = w-m.Weights[i], m.trialSlope[i]-m.Gradient[i]
	}
	m.curvature.Store()
	m.accept(value)
	return step, nil
}

// Leave looks for a saddle, from a direction of the range and scale of gradients, and reports whether
// the weights have left it. The error is that of a context which ends before.
func (m *Minimiser) Leave(ctx context.Context, start []float64) (left bool, err error) {
	before, z := m.Evaluations, m.Saddle
	z.Begin(m.Weights, m.Gradient, start, m.Value, ProductStep)
	for more := true; more; {
		if err := ctx.Err(); err != nil { // it begins anew when the run goes on
			m.Evaluations = before
			return false, err
		}
		z.Point(m.trial)
		value := m.evaluate()
		more = z.Take(m.trialSlope, value)
	}
	if z.Leaves() {
		z.Point(m.trial)
		m.accept(m.evaluate())
	}
	return z.Leaves(), nil
}

const (
	// FlatEnough is the part of |φ'(0)| that the slope may keep (the curvature
	// condition of Wolfe). L-BFGS does best with loose searches.
	FlatEnough = 0.9
	// enoughDecrease is the part of the decrease promised by φ'(0) that is wanted
	// of a step that goes beyond the minimum (the condition of Armijo).
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

// search looks for a step along a descent direction of a convex function φ, given φ(0) and φ'(0).
// Of such a function the slope tells on which side of the minimum a step is, so that the search is
// a bracketing of the zero of φ'. It returns the first step found that meets the conditions above,
// and φ there: the last that along was called with. The step is 0 where there is none.
func search(value, slope, first float64, along func(t float64) (value, slope float64, err error)) (step, found float64, err error) {
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
