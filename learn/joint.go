package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/simd"
)

// joint is the later phase of auto: descent on the upper bound F of the objective, in
// weights and messages together (docs/explanation/steps.md). Weights move after whole
// passes at the same weights, of a few sweeps each, when F and its gradient by the weights
// are exact. Sweeps lower F; a step is taken where F, after the sweeps at the new weights,
// has fallen by a share of what the slope promised (Armijo 1966). Large problems are judged by F
// alone (judgeBounded), so that it never rises from one accepted point to the next, whatever the
// messages lack. Where messages have lines and lag, F may rise by as much as the gap between its
// bounds leaves open (judgeLagging), and where hidden labels leave no bound, by what it may still
// change: the accepted point of the lowest F is kept for a run that a limit ends.
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
	step  func(direction, gradient []float64, damping float64) bool
	lean  func(direction []float64, damping float64) bool // see StepProblem
	place func(along float64)
	// patience is how many passes messages have to take at a point for the next line to be
	// one of theirs, too.
	patience float64
	// keep remembers messages, and restore goes back to them, where they have no lines; nil: they have.
	keep, restore func()
}

// jointState is what a resumed run goes on from.
type jointState struct {
	jointProgress
	origin    []float64   // weights at the start of the line
	first     []float64   // gradient there
	lately    []float64   // gradient at the point at hand a pass ago
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
	fell    float64 // by what F has fallen in the last pass at this point, NaN where that is not known
	doubt   float64 // what F at the origin may still change by, where it is no bound
	longest float64 // first α of the next line
	both    bool    // messages have a line, too
	change  float64 // of the gradient in the last pass at this point, NaN where that is not known
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
	// unknownGradient is the share of a gradient that may be unknown where it decides, and
	// usualSettling the factor per pass by which its first change shrinks.
	unknownGradient, usualSettling = 0.5, 0.9
	// leastRatio is the least that a damped step gains of what it promised, leastDamping keeps
	// the damping above rounding, and a growth of mostGrowth, 20 steps in a row not taken, shows
	// that there is nothing to gain.
	leastRatio, leastDamping, mostGrowth = 1e-3, 1e-14, 1 << 20
	// mostUndecided is how many passes a point gets, at most, while F bounds the objective and does not
	// tell whether that fell.
	mostUndecided = 4
	// undecided is the share of what it is judged by that a merit which is no bound may
	// still change by in a pass, and longestHold how many passes wait for that.
	undecided   = 0.1
	longestHold = 100
	// stillToCome multiplies the last change of such a merit: as much is still to come where
	// changes shrink by a quarter in each pass.
	stillToCome = 3
)

func newJoint(size int, curvature *lbfgs.Curvature) *joint {
	j := &joint{curvature: curvature}
	for _, x := range []*[]float64{&j.origin, &j.first, &j.lately, &j.direction, &j.lowest} {
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
	}
	if j.keep != nil {
		j.keep()
	}
}

// judge decides, after a pass at theta that gave value and gradient, whether theta is
// accepted. Otherwise it moves theta along the line, or leaves it where another pass may
// tell. gap is how far above the objective value is at most, sure says that value is a bound,
// monotone that sweeps can only lower it, and lags that messages lag (judgeLagging).
func (j *joint) judge(theta, gradient []float64, value, gap float64, sure, monotone, lags bool) (accepted, moved bool) {
	before := j.before
	j.before = value
	j.held++
	lacks := value - j.value - enoughFall*j.alpha*j.slope
	rounding := meritRounding * (1 + math.Abs(value))
	finite := math.Abs(value) <= math.MaxFloat64
	fell := before - value
	flat := math.Abs(value-j.value) <= rounding
	if sure && finite && j.keep != nil && (j.alpha == 0 || !flat) {
		return j.judgeBounded(theta, gradient, value, lacks-rounding, gap, fell)
	}
	if finite && sure && lags && !flat && j.alpha > 0 {
		rises := monotone && j.settled(value, fell) > value-lacks+rounding
		return j.judgeLagging(theta, gradient, value, lacks-rounding, gap, rises)
	}
	if j.alpha > 0 && j.both && j.step != nil {
		return j.judgeDamped(theta, gradient, value, rounding)
	}
	doubt := 0.0
	if !sure {
		doubt = stillToCome * math.Abs(fell)
	}
	// What is no bound is believed once it changes little against what it decides, and against
	// what was promised: a larger fall is one of messages that have not followed yet.
	decisive := math.Abs(lacks)
	if promised := -j.slope * j.alpha; lacks < 0 && promised > 0 {
		decisive = min(decisive, promised)
	}
	switch {
	case finite && !sure && !(math.Abs(fell) <= undecided*decisive+rounding) && j.held < longestHold:
		return false, false
	case finite && j.alpha > 0 && flat:
		// F tells no more. The slope does: where it is negative F has fallen, and where it is
		// smaller than the first was the minimum is between (Hager and Zhang 2005).
		accepted = -simd.Dot(gradient, j.direction) <= -lbfgs.FlatEnough*j.slope
	case finite && lacks <= rounding+doubt+j.doubt:
		accepted = true
	case j.alpha == 0:
		// At the origin again, with messages that had been taken elsewhere: sweeps bring F
		// back to what it was. Where it is no bound, it may be another fixed point.
		if accepted = finite && (math.Abs(fell) <= rounding || j.held >= longestHold); accepted {
			j.value, j.doubt = value, doubt
			j.note()
		}
		return accepted, false
	}
	if !accepted {
		j.shorten(theta, lacks, finite)
		return false, true
	}
	j.accept(theta, gradient, value)
	j.doubt = doubt
	return true, false
}

// judgeDamped judges a damped step by what it gained of what it promised, and adjusts the
// damping (Nielsen 1999).
func (j *joint) judgeDamped(theta, gradient []float64, value, rounding float64) (accepted, moved bool) {
	gain := j.value - value
	ratio := gain / (-j.slope / 2)
	if math.Abs(gain) <= rounding { // F tells no more, but the slope does
		ratio = float64(oneIf(-simd.Dot(gradient, j.direction) <= -lbfgs.FlatEnough*j.slope))
	}
	if !(ratio > leastRatio) || math.IsInf(ratio, 0) {
		copy(theta, j.origin)
		j.place(0)
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

// settled returns what F comes to at this point if its falls go on to shrink as they do; it has
// fallen to value by fell in this pass.
func (j *joint) settled(value, fell float64) float64 {
	ratio := fell / j.fell
	j.fell = fell
	switch {
	case j.held == 1:
		return math.Inf(1)
	case j.held == 2:
		ratio = usualSettling
	}
	if !(ratio > 0) { // it falls no more
		return value
	}
	ratio = min(ratio, slowestSettling)
	return value - fell*ratio/(1-ratio)
}

// judgeBounded judges a point of a large problem by F, which lies between L and L + gap. Where it lacks no
// more than gap of the fall that was wanted, sweeps have not told yet whether L has fallen by enough: they
// go on, as long as they gain a good part of what is lacking.
func (j *joint) judgeBounded(theta, gradient []float64, value, lacks, gap, fell float64) (accepted, moved bool) {
	switch {
	case lacks <= 0 || j.alpha == 0:
		j.accept(theta, gradient, value)
		return true, false
	case lacks <= gap && j.held <= mostUndecided && !(fell < undecided*lacks):
		return false, false
	}
	j.shorten(theta, lacks, true)
	return false, true
}

// judgeLagging judges a point where messages follow slowly, so that F is above L by more than
// a step gains. It is refused where even the lower bound of L lacks something. Else the
// gradient decides, once it is known well enough: by the changes that are still to come if
// they go on to shrink as they do. rises says that F will not come to have fallen by enough.
func (j *joint) judgeLagging(theta, gradient []float64, value, lacks, gap float64, rises bool) (accepted, moved bool) {
	change := math.NaN() // since the last pass here
	if j.held > 1 {
		change = 0
		for i, g := range gradient {
			change += (g - j.lately[i]) * (g - j.lately[i])
		}
		change = math.Sqrt(change)
	}
	ratio := change / j.change
	if math.IsNaN(ratio) {
		ratio = usualSettling
	}
	ratio = min(max(ratio, fastestSettling), slowestSettling)
	j.change = change
	copy(j.lately, gradient)
	known := change*ratio/(1-ratio) <= unknownGradient*math.Sqrt(simd.Dot(gradient, gradient))
	settled := math.IsInf(gap, 1) || gap <= unknownGradient*(j.value-value)
	switch {
	case gap < lacks:
	case lacks <= 0 && settled:
		accepted = true
	case j.slope < 0 && !known && j.held < longestHold:
		return false, false
	default:
		falls := -simd.Dot(gradient, j.direction) <= -lbfgs.FlatEnough*j.slope
		accepted = lacks <= 0 || falls && !rises
	}
	if !accepted {
		j.shorten(theta, lacks, true)
		return false, true
	}
	j.accept(theta, gradient, value)
	return true, false
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

// shorten goes back on the line: to the minimum of the parabola through F and its slope
// at the origin and F here, between a tenth and half of the length.
func (j *joint) shorten(theta []float64, lacks float64, finite bool) {
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

// leave takes a new line from theta, the origin.
func (j *joint) leave(theta, gradient []float64) float64 {
	copy(j.origin, theta)
	copy(j.first, gradient)
	j.curvature.Direct(j.direction, gradient)
	j.slope = -simd.Dot(gradient, j.direction)
	j.alpha = 0
	if j.both = false; j.lean != nil && float64(j.held) >= j.patience {
		j.lean(j.direction, 0)
		j.both = true
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
		j.place(-alpha)
	}
	j.alpha, j.before, j.held = alpha, math.NaN(), 0
	j.change, j.fell = math.NaN(), math.NaN()
	return alpha
}

// refreshed tells of what a check has found at the origin.
func (j *joint) refreshed(gradient []float64, value float64) {
	copy(j.first, gradient)
	j.value, j.before, j.held = value, value, 0
	j.note()
}

// jointMemory lists what newJoint takes, when the phase begins that writes to it.
func jointMemory(m *Memory, size float64) {
	const vectors = 5
	m.Add("joint descent", vectors*doubleBytes*size, "%d vectors of %.0f weights × 8 bytes", vectors, size)
}
