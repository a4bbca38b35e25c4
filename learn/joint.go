package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/simd"
)

// joint is descent on the upper bound F of the objective, in weights and messages together
// (docs/explanation/steps.md). Weights move after whole passes at the same weights, of a few
// sweeps each, when F and its gradient by the weights are exact. Sweeps lower F; a step is taken
// where F, after the sweeps at the new weights, has fallen by a share of what the slope promised
// (Armijo 1966). So F does not rise from one accepted point to the next, whatever the messages lack,
// where these go back from a step that is not taken.
// Where hidden labels leave no bound, F may rise by what it may still change: the accepted point of
// the lowest F is kept for a run that a limit ends.
//
// Where F is convex and smooth in both, and a system is small enough to solve, steps are those
// of Levenberg and Marquardt on weights and messages together (response): whole ones, with more
// damping where F falls by too little of what was promised.
//
// The line to the first point comes from the start of the run, whose objective the first
// check has found: what the visits of single blocks have done is one step to be judged.
type joint struct {
	jointState
	curvature *lbfgs.Curvature

	// step finds a damped step of weights and messages, and the gradient that it is for, and
	// begins its line; nil: there are none.
	step     func(direction, gradient []float64, damping float64) bool
	tangents func(direction []float64, damping float64) bool // see StepProblem
	follow   func(along float64)
	// keep remembers messages, and restore goes back to them, where they have no lines; nil: they have.
	keep, restore func()
}

// jointState is what a resumed run goes on from.
type jointState struct {
	jointProgress
	origin    []float64   // weights at the start of the line
	first     []float64   // gradient there
	direction []float64   // the line is origin − α·direction
	lowest    []float64   // accepted weights of the smallest F
	line      [][]float64 // that of the messages
}

// jointProgress is where the phase stands.
type jointProgress struct {
	began   bool    // it has
	value   float64 // F at the origin
	least   float64 // F at the lowest point
	slope   float64 // φ'(0) ≤ 0 of the line
	alpha   float64 // α of the point at hand; 0 at the origin
	before  float64 // F at this point a pass ago, NaN where there was none
	held    int     // passes at this point
	doubt   float64 // what F at the origin may still change by, where it is no bound
	longest float64 // first α of the next line
	both    bool    // messages have a line, too
	damping float64 // of the next step
	growth  float64 // by which it grows where that is not taken
}

const (
	// enoughFall is the share of the fall promised by the slope that a step has to keep.
	enoughFall = 1e-4
	// lineGrowth is how much longer than the step before the first one on a line may be: what
	// messages could not follow a moment ago they will hardly follow now.
	lineGrowth = 4
	// smallestAlpha ends the search on a line.
	smallestAlpha = 1e-10
	// meritRounding, relatively, is what rounding may make of F.
	meritRounding = 1e-11
	// leastRatio is the least that a damped step gains of what it promised, leastDamping keeps
	// the damping above rounding, and a growth of mostGrowth, 20 steps in a row not taken, shows
	// that there is nothing to gain.
	leastRatio, leastDamping, mostGrowth = 1e-3, 1e-14, 1 << 20
	// mostUndecided is how many passes a point gets, at most, while F bounds the objective and does not
	// tell whether that fell, and goodPart what each gains of what is lacking.
	mostUndecided, goodPart = 4, 0.1
	// mostUnsettled is the share of what it is judged by that a merit which is no bound may
	// still change by in a pass, and longestHold how many passes wait for that.
	mostUnsettled, longestHold = 0.1, 100
	// stillToCome multiplies the last change of such a merit: as much is still to come where
	// changes shrink by a quarter in each pass.
	stillToCome = 3
)

func newJoint(size int, curvature *lbfgs.Curvature) *joint {
	j := &joint{curvature: curvature}
	for _, x := range []*[]float64{&j.origin, &j.first, &j.direction, &j.lowest} {
		*x = make([]float64, size)
	}
	return j
}

func (j *joint) on() bool { return j.began }

// best returns the weights of the lowest F so far, nil where they are those at hand.
func (j *joint) best() []float64 {
	if j.alpha > 0 {
		return j.origin
	}
	return nil
}

// begin starts the phase: theta is the first point to be judged, against start, of the
// objective value.
func (j *joint) begin(theta, start []float64, value float64) {
	least := math.Inf(1) // value need not be F: visits know the saddle value, which may be lower
	if j.began {
		least = j.least
	}
	j.jointProgress = jointProgress{began: true, value: value, least: least, before: math.NaN(), longest: 1, damping: 1, growth: 2}
	copy(j.origin, start)
	for i, x := range theta {
		j.direction[i] = start[i] - x
	}
	if simd.Dot(j.direction, j.direction) > 0 {
		j.alpha = 1
	} else {
		j.before = value // messages are those of this value
	}
	if j.keep != nil {
		j.keep()
	}
}

// judge decides, after a pass at theta that gave value and gradient, whether theta is
// accepted. Otherwise it moves theta along the line, or leaves it where another pass may
// tell. gap is how far above the objective value is at most, and sure says that value is a bound.
func (j *joint) judge(theta, gradient []float64, value, gap float64, sure bool) (accepted, moved bool) {
	fell, rounding := j.before-value, meritRounding*(1+math.Abs(value))
	lacks := value - j.value - enoughFall*j.alpha*j.slope
	j.before = value
	j.held++
	undecided, finite := false, math.Abs(value) <= math.MaxFloat64
	switch {
	case j.alpha > 0 && j.both && j.step != nil:
		return j.judgeDamped(theta, gradient, value, rounding)
	case !finite:
		undecided = j.alpha == 0
	case !sure:
		accepted, undecided = j.settled(gradient, value, lacks, fell, rounding)
	case j.alpha > 0 && j.slope < 0 && math.Abs(value-j.value) <= rounding:
		accepted = j.falls(gradient)
	default:
		accepted = lacks <= rounding || j.alpha == 0
		undecided = j.mayFall(lacks-rounding, gap, fell)
	}
	switch {
	case accepted:
		j.accept(theta, gradient, value)
		return true, false
	case undecided:
		return false, false
	}
	j.shrink(theta, lacks, finite)
	return false, true
}

// falls tells, by the slope here, where F tells no more and the slope at the origin is known: where it is negative F
// has fallen, and where it is smaller than the first was the minimum is between (Hager and Zhang 2005).
func (j *joint) falls(gradient []float64) bool {
	return -simd.Dot(gradient, j.direction) <= -lbfgs.FlatEnough*j.slope
}

// mayFall reports that sweeps have not told yet whether L has fallen by enough where F lacks something of
// it. With all labels known L lies between F − gap and F. They go on as long as they gain a good part of what is
// lacking.
func (j *joint) mayFall(lacks, gap, fell float64) bool {
	return lacks <= gap && j.held <= mostUndecided && !(fell < goodPart*lacks)
}

// settled is for a merit that is no bound. It is believed once it changes little against what it decides,
// and against what was promised: a larger fall is one of messages that have not followed yet. At the
// origin sweeps bring messages back that had been taken elsewhere, perhaps to another fixed point.
func (j *joint) settled(gradient []float64, value, lacks, fell, rounding float64) (accepted, undecided bool) {
	doubt, decisive := stillToCome*math.Abs(fell), math.Abs(lacks)
	if promised := -j.slope * j.alpha; lacks < 0 && promised > 0 {
		decisive = min(decisive, promised)
	}
	known := j.held >= longestHold
	switch {
	case !known && !(math.Abs(fell) <= mostUnsettled*decisive+rounding):
		return false, true
	case j.alpha > 0 && j.slope < 0 && math.Abs(value-j.value) <= rounding:
		accepted = j.falls(gradient)
	default:
		accepted = lacks <= rounding+doubt+j.doubt || j.alpha == 0 && (known || math.Abs(fell) <= rounding)
	}
	if accepted {
		j.doubt = doubt
	}
	return accepted, j.alpha == 0
}

// judgeDamped judges a damped step by what it gained of what it promised, and adjusts the
// damping (Nielsen 1999).
func (j *joint) judgeDamped(theta, gradient []float64, value, rounding float64) (accepted, moved bool) {
	gain := j.value - value
	ratio := gain / (-j.slope / 2)
	if math.Abs(gain) <= rounding { // F tells no more, but the slope does
		ratio = float64(oneIf(j.falls(gradient)))
	}
	if !(ratio > leastRatio) || math.IsInf(ratio, 0) {
		copy(theta, j.origin)
		j.follow(0)
		j.harder()
		j.try(theta)
		return false, true
	}
	shrink := 2*min(ratio, 1) - 1
	j.damping, j.growth = max(leastDamping, j.damping*max(0.1, 1-shrink*shrink*shrink)), 2
	j.accept(theta, gradient, value)
	return true, false
}

// harder raises the damping.
func (j *joint) harder() {
	j.damping = max(leastDamping, j.damping*j.growth)
	j.growth *= 2
}

// try takes a damped step of weights and messages from theta, the origin. Where none can be
// found messages go on by themselves.
func (j *joint) try(theta []float64) float64 {
	copy(j.origin, theta)
	for j.growth <= mostGrowth {
		if j.step(j.direction, j.first, j.damping) {
			j.slope, j.both = -simd.Dot(j.first, j.direction), true
			return j.move(theta, 1)
		}
		j.harder()
	}
	j.damping, j.growth, j.both = 1, 2, false
	return j.move(theta, 0)
}

// accept makes theta the origin.
func (j *joint) accept(theta, gradient []float64, value float64) {
	if j.step == nil {
		j.remember(theta, gradient)
	}
	copy(j.origin, theta)
	if j.alpha > 0 {
		j.longest = min(1, lineGrowth*j.alpha)
	}
	j.value, j.alpha = value, 0
	j.note()
}

// note keeps the origin if F has not been lower before.
func (j *joint) note() {
	if j.value <= j.least {
		copy(j.lowest, j.origin)
		j.least = j.value
	}
}

// shrink goes back on the line: to the minimum of the parabola through F and its slope
// at the origin and F here, between a tenth and half of the length.
func (j *joint) shrink(theta []float64, lacks float64, finite bool) {
	alpha := j.alpha
	next := 0.1 * alpha
	if finite {
		promised := -j.slope * alpha
		next = alpha * min(max(promised/(2*(promised+lacks)), 0.1), 0.5)
	}
	if next < smallestAlpha {
		next = 0
		j.curvature.Reset(1)
	}
	if j.keep != nil {
		j.restore()
	}
	j.move(theta, next)
}

// remember keeps the pair of the line's start and its end.
func (j *joint) remember(theta, gradient []float64) {
	if j.alpha == 0 || j.slope == 0 {
		return // no step, or the line from the start: no gradient is known there
	}
	ds, dy := j.curvature.Next()
	for i, g := range gradient {
		ds[i], dy[i] = theta[i]-j.origin[i], g-j.first[i]
	}
	j.curvature.Store()
}

// advance takes a new line from theta, the origin.
func (j *joint) advance(theta, gradient []float64) float64 {
	copy(j.origin, theta)
	copy(j.first, gradient)
	j.curvature.Direct(j.direction, gradient)
	j.slope = -simd.Dot(gradient, j.direction)
	j.alpha = 0
	if j.both = j.tangents != nil; j.both {
		j.tangents(j.direction, 0)
	}
	if j.keep != nil {
		j.keep()
	}
	return j.move(theta, j.longest)
}

func (j *joint) move(theta []float64, alpha float64) float64 {
	for i, x := range j.origin {
		theta[i] = x - alpha*j.direction[i]
	}
	if j.both {
		j.follow(-alpha)
	}
	j.alpha, j.before, j.held = alpha, math.NaN(), 0
	return alpha
}

// refreshed tells of what a check has found at the origin.
func (j *joint) refreshed(gradient []float64, value float64) {
	copy(j.first, gradient)
	j.value, j.before, j.held = value, value, 0
	j.note()
}
