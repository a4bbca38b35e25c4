package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// descent is descent on the upper bound F of the objective, in weights and messages together
// (docs/explanation/equations.md, section 8). Weights move after whole passes of a few sweeps each, when F is known
// exactly for the messages at hand, along a line from the weights accepted last, its origin. The first line comes from
// the start of the run: what visits have done is one step to be judged. The direction is found from the gradient of
// consistent beliefs, which is that of F once messages have settled. The first of these rows that applies decides:
//
//	where                             a step is accepted if                                               by
//	steps are damped (dampsSteps)     F fell by a share, leastRatio, of what the model promised           acceptOrDamp
//	F or its gradient is not finite   never                                                               acceptOrShrink
//	F is no bound, as for bethe       F changes little, and fell, up to what it may still change by       trusts
//	F is as before, up to rounding    its slope along the line is small, or is downhill still             falls
//	F bounds the objective            F fell by a share, enoughFall, of what the slope promised (Armijo)  acceptOrShrink
//
// After a step that is refused messages go back to those of the origin, and the next step is shorter, or damped more.
// Weights at the origin stay accepted whatever F is there, if it is a bound. Then a run that a limit ends has its
// lowest point in the end.
type descent struct {
	descentState
	run       *inference
	messages  *messages // of the run
	curvature *lbfgs.Curvature
	dense     *linear.Dense
}

// descentState is what a resumed run goes on from.
type descentState struct {
	descentProgress
	origin         []float64   // weights at the start of the line; before descent begins, θ̄ of the last pass of visits
	originGradient []float64   // gradient there, of damped steps less what messages answer to it
	direction      []float64   // the line is origin − α·direction
	lowest         []float64   // accepted weights of the smallest F
	messageLine    [][]float64 // that of the messages (linear.Response.Lines), listed here to be saved
}

// descentProgress is where descent stands.
type descentProgress struct {
	began         bool    // the passes with a step at each visit are over
	fromVisits    bool    // the line to the first point is that of visits
	value         float64 // F at the origin
	least         float64 // F at the lowest point
	originPoint   point
	lowestPoint   point
	slope         float64 // of F along the line at the origin, at most 0; 0 where it is not known
	alpha         float64 // α of the weights at hand; 0 at the origin
	lastValue     float64 // F at these weights a pass ago, NaN where there was none
	passesHere    int     // whole passes at these weights, none of which has decided
	doubt         float64 // what F at the origin may still change by, where it is no bound
	firstAlpha    float64 // the first α of the next line
	fell          float64 // by how much F fell in the last pass at these weights, NaN after the first pass
	lags          bool    // messages could not follow the last line: a step was refused
	movesMessages bool    // messages move along messageLine with the weights
	stepDamping   float64 // of Levenberg and Marquardt, for the next step
	dampingGrowth float64 // the factor by which stepDamping grows if that step is refused
}

const (
	// enoughFall is the share of the fall promised by the slope that an accepted step has at least.
	enoughFall = 1e-4
	// lineGrowth is how many times longer the first step on a line may be than the last one on the line before, if
	// messages followed that one. Otherwise it is as long: they would hardly follow a longer one now.
	lineGrowth = 4
	// smallestAlpha is the shortest step that is tried on a line.
	smallestAlpha = 1e-10
	// valueRounding, relatively, is what rounding may make of F.
	valueRounding = 1e-11
	// leastRatio is the least that an accepted damped step gains of what it promised, leastDamping keeps the damping
	// above rounding, and a growth of mostGrowth, after 20 refused steps in a row, shows that there is nothing to gain.
	leastRatio, leastDamping, mostGrowth = 1e-3, 1e-14, 1 << 20
	// goodPart is the part of what F, a bound, is still too high by that each further pass at the same weights has to
	// gain. To go back after some passes would lose what their sweeps have found (results/README.md).
	goodPart = 0.1
	// mostUnsettled is the share of the fall to be judged by which an F that is no bound may still change in a pass, and
	// mostPassesHere how many passes at the same weights wait for that.
	mostUnsettled, mostPassesHere = 0.1, 100
	// stillToCome times the last change of such an F is to come, where changes shrink by a quarter a pass.
	stillToCome = 3
)

func newDescent(m *messages, curvature *lbfgs.Curvature, dense *linear.Dense) *descent {
	d := &descent{run: m.inference, messages: m, curvature: curvature, dense: dense}
	for _, x := range []*[]float64{&d.origin, &d.originGradient, &d.direction, &d.lowest} {
		*x = make([]float64, m.model.Layout.Size)
	}
	if r := m.response; r != nil {
		d.messageLine = r.Lines()
	}
	return d
}

// dampsSteps reports whether weights and messages make the damped steps of Levenberg and Marquardt together, as they do
// where F is convex and smooth in both, and a system is small enough to solve (linear.Response).
func (d *descent) dampsSteps() bool { return d.messages.usesResponse() && d.messages.response.Damps }

// begin starts descent: theta are the first weights to be judged, against those of start, where F is value. After
// visits (fromVisits) there are no messages of start to go back to: if theta is refused, messages begin anew, too.
func (d *descent) begin(theta, start []float64, value float64, fromVisits bool) {
	d.curvature.Reset(1)
	d.descentProgress = descentProgress{began: true, fromVisits: fromVisits, value: value, lastValue: math.NaN(),
		least: math.Inf(1), firstAlpha: 1, stepDamping: 1, dampingGrowth: 2} // no weights are accepted yet
	d.run.progress.Point = d.originPoint
	copy(d.origin, start)
	for i, x := range theta {
		d.direction[i] = start[i] - x
	}
	if simd.Dot(d.direction, d.direction) > 0 {
		d.alpha, d.run.progress.Point = 1, unjudged
	} else {
		d.lastValue = value // messages are those of this value
	}
	if !fromVisits {
		d.messages.save()
	}
}

// acceptOrShrink decides on theta, after a pass there that gave F, value, and its gradient: theta is accepted, or is
// undecided, so that another pass is made there, or is refused, and moved back on the line. gap is how far F is above
// the objective at most, where it bounds that; lacks, by how much F is too high for theta to be accepted.
func (d *descent) acceptOrShrink(theta, gradient []float64, value, gap float64) (accepted, undecided bool) {
	fell, rounding := d.lastValue-value, valueRounding*(1+math.Abs(value))
	lacks := value - d.value - enoughFall*d.alpha*d.slope
	d.lastValue, d.fell = value, fell
	d.passesHere++
	finite := max(math.Abs(value), d.run.progress.GradientNorm) <= math.MaxFloat64
	switch {
	case d.alpha > 0 && d.movesMessages && d.dampsSteps():
		return d.acceptOrDamp(theta, gradient, value, rounding)
	case !finite:
		undecided = d.alpha == 0
	case !d.run.holds.bounded:
		accepted, undecided = d.trusts(gradient, value, lacks, fell, rounding)
	case d.alpha > 0 && d.slope < 0 && math.Abs(value-d.value) <= rounding:
		accepted = d.falls(gradient)
	default:
		accepted = lacks <= rounding || d.alpha == 0
		// Sweeps have not told yet whether L falls by enough: with all labels known it lies between F − gap and F.
		// They go on as long as they gain a good part of what is lacking.
		lacks -= rounding
		undecided = lacks <= gap && !(fell < goodPart*lacks)
	}
	switch {
	case accepted:
		d.accept(theta, gradient, value)
		undecided = false
	case !undecided:
		d.shrink(theta, lacks, finite)
	}
	return accepted, undecided
}

// falls accepts a step by its slope where rounding hides whether F has fallen: F fell if the slope here is negative
// still, and if it is positive but smaller than that at the origin was, the minimum is between (Hager and Zhang 2005).
func (d *descent) falls(gradient []float64) bool {
	return -simd.Dot(gradient, d.direction) <= -lbfgs.FlatEnough*d.slope
}

// trusts decides where F is no bound. F is believed once it changes little in a pass, beside the fall to be judged and
// beside what was promised: a larger fall than that is due to messages that have not followed yet. At the origin
// sweeps bring back messages that had moved elsewhere, perhaps to another fixed point.
func (d *descent) trusts(gradient []float64, value, lacks, fell, rounding float64) (accepted, undecided bool) {
	doubt, decisive := stillToCome*math.Abs(fell), math.Abs(lacks)
	if promised := -d.slope * d.alpha; lacks < 0 && promised > 0 {
		decisive = min(decisive, promised)
	}
	known := d.passesHere >= mostPassesHere
	switch {
	case !known && !(math.Abs(fell) <= mostUnsettled*decisive+rounding):
		return false, true
	case d.alpha > 0 && d.slope < 0 && math.Abs(value-d.value) <= rounding:
		accepted = d.falls(gradient)
	default:
		accepted = lacks <= rounding+doubt+d.doubt || d.alpha == 0 && (known || math.Abs(fell) <= rounding)
	}
	if accepted {
		d.doubt = doubt
	}
	return accepted, d.alpha == 0
}

// acceptOrDamp accepts a damped step by what it gained of what it promised, and adjusts the damping: by Nielsen's rule
// (1999), but down to a tenth at once and not to a third.
func (d *descent) acceptOrDamp(theta, gradient []float64, value, rounding float64) (accepted, undecided bool) {
	gain := d.value - value
	ratio := gain / (-d.slope / 2)
	if math.Abs(gain) <= rounding { // F tells no more, but the slope does
		ratio = float64(numeric.OneIf(d.falls(gradient)))
	}
	if !(ratio > leastRatio) || math.IsInf(ratio, 0) {
		copy(theta, d.origin)
		d.messages.response.Follow(0)
		d.dampMore()
		d.advanceDamped(theta)
		return false, false
	}
	shrink := 2*min(ratio, 1) - 1
	d.stepDamping, d.dampingGrowth = max(leastDamping, d.stepDamping*max(0.1, 1-shrink*shrink*shrink)), 2
	d.accept(theta, gradient, value)
	return true, false
}

// dampMore raises the damping of steps.
func (d *descent) dampMore() {
	d.stepDamping = max(leastDamping, d.stepDamping*d.dampingGrowth)
	d.dampingGrowth *= 2
}

// advanceDamped takes a damped step of weights and messages from theta, the origin; SolveDamped fills originGradient.
// Where no step can be found, weights stay, and messages alone move on.
func (d *descent) advanceDamped(theta []float64) float64 {
	copy(d.origin, theta)
	for d.dampingGrowth <= mostGrowth {
		if d.dense.SolveDamped(d.direction, d.originGradient, d.stepDamping) &&
			d.messages.response.Tangents(d.direction, d.stepDamping) {
			d.slope, d.movesMessages = -simd.Dot(d.originGradient, d.direction), true
			return d.move(theta, 1)
		}
		d.dampMore()
	}
	d.stepDamping, d.dampingGrowth, d.movesMessages = 1, 2, false
	return d.move(theta, 0)
}

// promise is by how much F should fall in a whole step, α = 1, to the minimum of its quadratic model: half of what the
// slope says. Where only a part α is tried, as the model held no further on the line before, that is divided by α, as
// more may be left than such a model says. For a step that is damped much it is infinite.
func (d *descent) promise() float64 {
	if d.stepDamping > 1 && d.dampsSteps() {
		return math.Inf(1)
	}
	return -d.slope / 2 / min(1, d.alpha)
}

// accept makes theta the origin.
func (d *descent) accept(theta, gradient []float64, value float64) {
	if !d.dampsSteps() && d.alpha != 0 && d.slope != 0 { // a step was made, from where the gradient is known
		d.rememberPair(theta, gradient)
	}
	copy(d.origin, theta)
	if d.alpha > 0 {
		d.firstAlpha = d.alpha
		if !d.lags {
			d.firstAlpha = min(1, lineGrowth*d.alpha)
		}
		d.originPoint++
	}
	d.run.progress.Point = d.originPoint
	d.value, d.alpha = value, 0
	d.rememberLowest()
}

// rememberLowest takes the origin for the weights of the smallest F, if they are.
func (d *descent) rememberLowest() {
	if d.value <= d.least {
		copy(d.lowest, d.origin)
		d.least, d.lowestPoint = d.value, d.originPoint
	}
}

// onLine reports that the weights at hand are of a step that is not accepted yet: a run that has to end now should end
// with the origin. Else they are accepted, or those of visits, which a check will compare with the start.
func (d *descent) onLine() bool { return d.began && d.alpha != 0 && !d.ledByVisits() }

// ledByVisits reports that the weights at hand are those to which the first visits have led.
func (d *descent) ledByVisits() bool { return d.fromVisits && d.alpha == 1 && d.slope == 0 }

// shrink goes back on the line: to the start of the run where visits have led astray, and else to the minimum of the
// parabola through F and its slope at the origin and F here, kept between a tenth and half of the step.
func (d *descent) shrink(theta []float64, lacks float64, finite bool) {
	alpha := d.alpha
	// Messages lag where F bounds, and nothing solves for them.
	d.lags = d.run.holds.bounded && d.messages.keepsCopies()
	if d.ledByVisits() { // visits have led astray, weights and messages
		d.messages.reset()
		d.move(theta, 0)
		return
	}
	next := 0.1 * alpha
	if finite {
		promised := -d.slope * alpha
		next = alpha * min(max(promised/(2*(promised+lacks)), 0.1), 0.5)
	}
	if next < smallestAlpha {
		next = 0
		d.curvature.Reset(1)
	}
	d.messages.restore()
	d.move(theta, next)
}

// takeVisitsPass gives BFGS the changes of θ̄ and ḡ in a pass of visits, after the first one, in which messages arrive.
// Where such pairs tell nothing steps are as P has them: scaled by γ, as in usual BFGS, they led 50 photographs astray
// (results/README.md).
func (d *descent) takeVisitsPass(mean, gradient []float64, first bool) {
	if !first {
		d.rememberPair(mean, gradient)
		d.curvature.Unscale()
	}
	copy(d.origin, mean)
	copy(d.originGradient, gradient)
}

// rememberPair gives BFGS the changes of weights and gradient since the origin.
func (d *descent) rememberPair(theta, gradient []float64) {
	ds, dy := d.curvature.Next()
	for i, g := range gradient {
		ds[i], dy[i] = theta[i]-d.origin[i], g-d.originGradient[i]
	}
	d.curvature.Store()
}

// advance takes the first step on a new line from theta, the accepted weights.
func (d *descent) advance(theta, gradient []float64) float64 {
	copy(d.origin, theta)
	copy(d.originGradient, gradient)
	d.curvature.Direction(d.direction, gradient)
	d.slope = -simd.Dot(gradient, d.direction)
	d.lags, d.movesMessages = false, d.messages.usesResponse()
	if d.movesMessages {
		d.messages.response.Tangents(d.direction, 0)
	}
	d.messages.save()
	return d.move(theta, d.firstAlpha)
}

func (d *descent) move(theta []float64, alpha float64) float64 {
	for i, x := range d.origin {
		theta[i] = x - alpha*d.direction[i]
	}
	if d.movesMessages {
		d.messages.response.Follow(-alpha)
	}
	d.alpha, d.lastValue, d.passesHere, d.run.progress.Point = alpha, math.NaN(), 0, unjudged
	if alpha == 0 {
		d.run.progress.Point = d.originPoint
	}
	return alpha
}

// renewOrigin takes gradient and F from a check at the origin.
func (d *descent) renewOrigin(gradient []float64, value float64) {
	copy(d.originGradient, gradient)
	d.value, d.lastValue, d.passesHere = value, value, 0
	d.rememberLowest()
}
