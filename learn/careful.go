package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// careful is the second phase of auto, for problems on which steps with stale
// gradients go wrong again and again: near-deterministic networks, whose messages
// take many sweeps to follow the weights.
//
// It holds the weights, while the loop goes on to visit blocks, until the
// gradient has settled. Then it takes a quasi-Newton step and judges its length
// α by the slope φ'(α) along the line alone: on a convex objective a slope that
// is still negative proves that the objective fell, and one that is positive but
// smaller than the first in magnitude that the line's minimum lies between (Hager
// and Zhang 2005, approximate Wolfe conditions). The running objective, rough as
// long as beliefs are not consistent, only serves to leave early a place that is
// far too high.
type careful struct {
	curvature *quasiNewton
	renew     func()                        // measures P anew at the beliefs of the moment
	longest   func(promise float64) float64 // α at most of a line with that slope at its start

	origin    []float64 // weights at the start of the line
	first     []float64 // gradient there
	direction []float64 // the line is origin − α·direction
	last      []float64 // gradient at the last pass end
	difference,
	solved []float64 // scratch
	scalars []float64 // see the constants below
}

// Places in careful.scalars.
const (
	carefulOn     = iota // 1 in this phase
	carefulLine          // 1 while a line is searched
	carefulHeld          // passes since the weights moved
	carefulChange        // ‖g − last‖ in the norm of P⁻¹
	carefulAlpha         // α
	carefulSlope         // φ'(0) < 0
	carefulTries         // lengths tried on this line
	carefulValue         // objective at the origin
	carefulScalars
)

const (
	// settledShare of the gradient's norm is what it may still be away from where
	// the messages lead it.
	settledShare = 0.1
	// longestHold bounds the passes without a step.
	longestHold = 100
	// overshoot·|φ'(0)| is the largest slope beyond the line's minimum that is
	// accepted.
	overshoot = 0.5
	// mostTries bounds the lengths tried on one line: beyond, the slopes are
	// noise.
	mostTries = 8
	// smallestAlpha ends the search for a length at which the objective is not too
	// high.
	smallestAlpha = 1e-12
	// carefulGrowth is how much the trusted length of steps grows with each one
	// that was accepted.
	carefulGrowth = 4
)

func newCareful(size int, curvature *quasiNewton, renew func(), longest func(promise float64) float64) *careful {
	c := &careful{curvature: curvature, renew: renew, longest: longest, scalars: make([]float64, carefulScalars)}
	for _, x := range []*[]float64{&c.origin, &c.first, &c.direction, &c.last, &c.difference, &c.solved} {
		*x = make([]float64, size)
	}
	return c
}

func (c *careful) memory() [][]float64 {
	return [][]float64{c.scalars, c.origin, c.first, c.direction, c.last}
}

func (c *careful) on() bool { return c.scalars[carefulOn] > 0 }

// best returns the start of the line where the weights have left it, as each line begins
// lower than the one before, and else nil.
func (c *careful) best() []float64 {
	if c.scalars[carefulAlpha] > 0 {
		return c.origin
	}
	return nil
}

// begin starts the phase at the weights of the moment, which are left for the
// safe ones, of the given objective, if they turn out to be worse.
func (c *careful) begin(safe []float64, value float64) {
	clear(c.scalars)
	clear(c.direction)
	copy(c.origin, safe)
	c.scalars[carefulOn], c.scalars[carefulValue] = 1, value
}

// passEnd moves theta if the gradient, of a whole pass at theta, has settled, and
// returns the length of the step. norm is gᵀP⁻¹g.
func (c *careful) passEnd(theta, gradient []float64, norm, objective float64) (size float64) {
	s := c.scalars
	settled := c.settled(gradient, norm)
	tooHigh := s[carefulHeld] >= 2 && objective > s[carefulValue]+tolerableRise*math.Abs(s[carefulValue])
	slope := -simd.Dot(gradient, c.direction)
	switch {
	case tooHigh && s[carefulLine] == 0:
		s[carefulLine], s[carefulValue] = 1, math.Inf(1) // hold at the safe weights, once
		return c.move(theta, 0)
	case tooHigh && s[carefulAlpha] > smallestAlpha:
		return c.shorten(theta, slope, 0.5)
	case settled && slope > -overshoot*s[carefulSlope] && s[carefulAlpha] > 0 && s[carefulTries] < mostTries:
		return c.shorten(theta, slope, 0.9)
	case !settled:
		return 0
	case s[carefulAlpha] > 0:
		c.accept(theta, gradient)
	}
	c.renew()
	s[carefulValue] = objective
	return c.newLine(theta, gradient)
}

// settled reports whether the gradient is within settledShare of its limit at
// these weights. Changes that shrink by a factor r per pass have r/(1−r) of the
// last one ahead of them.
func (c *careful) settled(gradient []float64, norm float64) bool {
	s := c.scalars
	for j, g := range gradient {
		c.difference[j] = g - c.last[j]
	}
	copy(c.last, gradient)
	c.curvature.solve(c.solved, c.difference)
	change := math.Sqrt(max(0, simd.Dot(c.difference, c.solved)))
	before := s[carefulChange]
	s[carefulChange] = change
	s[carefulHeld]++
	if s[carefulHeld] < 2 {
		return false // the change is that of the step
	}
	ratio := 0.5
	if s[carefulHeld] > 2 && before > 0 {
		ratio = min(max(change/before, 0.1), 0.97)
	}
	return change*ratio/(1-ratio) <= settledShare*math.Sqrt(norm) || s[carefulHeld] >= longestHold
}

// shorten goes back on the line by the secant of the slopes, to between a tenth
// and a share most of the length.
func (c *careful) shorten(theta []float64, slope, most float64) float64 {
	s := c.scalars
	alpha := s[carefulAlpha]
	next := most * alpha
	if slope > 0 {
		next = min(max(alpha*s[carefulSlope]/(s[carefulSlope]-slope), 0.1*alpha), next)
	}
	s[carefulTries]++
	c.curvature.narrow(alpha / next)
	return c.move(theta, next)
}

// accept keeps the pair of the line's start and its end.
func (c *careful) accept(theta, gradient []float64) {
	ds, dy := c.curvature.next()
	for j, g := range gradient {
		ds[j], dy[j] = theta[j]-c.origin[j], g-c.first[j]
	}
	c.curvature.store()
	c.curvature.widen(carefulGrowth)
}

func (c *careful) newLine(theta, gradient []float64) float64 {
	copy(c.origin, theta)
	copy(c.first, gradient)
	c.curvature.solve(c.solved, gradient)
	c.curvature.direct(c.direction, gradient, simd.Dot(c.solved, gradient))
	s := c.scalars
	s[carefulLine], s[carefulTries], s[carefulSlope] = 1, 0, -simd.Dot(gradient, c.direction)
	return c.move(theta, c.longest(-s[carefulSlope]))
}

func (c *careful) move(theta []float64, alpha float64) float64 {
	for j, x := range c.origin {
		theta[j] = x - alpha*c.direction[j]
	}
	c.scalars[carefulAlpha], c.scalars[carefulHeld] = alpha, 0
	return alpha
}

// carefulMemory lists what newCareful takes, when the phase begins that writes to it.
func carefulMemory(m *Memory, size float64) {
	const vectors = 6
	m.perhaps("careful steps", vectors*doubleBytes*size, "%d vectors of %.0f weights × 8 bytes, where steps go wrong again and again", vectors, size)
}
