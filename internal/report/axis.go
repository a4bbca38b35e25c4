package report

import (
	"math"
	"strconv"
)

// An axis shows magnitudes up to largestDrawn, beyond which differences overflow, and if it is logarithmic values from
// smallestDrawn. It begins and ends axisMargin of its range outside the data. The range of a linear one is at least
// smallestSpread of its values: below it, neighbouring ticks would be the same number.
const largestDrawn, smallestDrawn, axisMargin, smallestSpread = 1e300, 1e-300, 0.03, 1e-9

// axis is the range of one direction of a figure.
type axis struct {
	log      bool
	min, max float64 // of the data; min > max: none
}

// newAxis is an axis without data.
func newAxis(log bool) axis { return axis{log, math.Inf(1), math.Inf(-1)} }

// shows tells whether v can be drawn on the axis.
func (a *axis) shows(v float64) bool {
	if a.log {
		return v >= smallestDrawn && v <= largestDrawn
	}
	return math.Abs(v) <= largestDrawn // false for NaN
}

// include widens the range to v.
func (a *axis) include(v float64) { a.min, a.max = min(a.min, v), max(a.max, v) }

// empty tells whether nothing was included.
func (a *axis) empty() bool { return a.min > a.max }

// place is v on the scale of the axis: itself or its logarithm.
func (a *axis) place(v float64) float64 {
	if a.log {
		return math.Log10(v)
	}
	return v
}

// widened is the range to draw, as places: that of the data and a margin, never of length 0.
func (a *axis) widened() (low, high float64) {
	low, high = a.place(a.min), a.place(a.max)
	largest := max(math.Abs(low), math.Abs(high))
	half, least := 0.1*largest, smallestSpread*largest
	if a.log {
		half, least = 0.5, smallestSpread
	} else if largest == 0 {
		half = 1
	}
	if high-low <= least {
		low, high = low-half, high+half
	}
	margin := axisMargin * (high - low)
	return low - margin, high + margin
}

// tick is a number beside an axis.
type tick struct {
	place float64
	label string
}

// ticks are about as many as are wanted: of a logarithmic axis powers of ten, or, where the range holds fewer than two
// of them and of a linear axis, multiples of 1, 2 or 5 times a power of ten.
func (a *axis) ticks(wanted int) (all []tick) {
	low, high := a.widened()
	if a.log {
		first, last := int(math.Ceil(low-smallestSpread)), int(math.Floor(high+smallestSpread))
		if first < last {
			every := 1 + (last-first)/wanted
			for e := first; e <= last; e++ {
				if e%every == 0 {
					all = append(all, tick{float64(e), strconv.FormatFloat(math.Pow10(e), 'g', 4, 64)})
				}
			}
			return all
		}
		low, high = math.Pow(10, low), math.Pow(10, high)
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(wanted))))
	for _, factor := range []float64{2, 2.5, 2} { // to 2, 5 and 10 times the power
		if (high-low)/step > float64(wanted) {
			step *= factor
		}
	}
	largest := max(math.Abs(low), math.Abs(high))
	format, digits := byte('f'), max(0, -int(math.Floor(math.Log10(step)+smallestSpread)))
	if largest >= 1e6 || largest < 1e-3 {
		format, digits = 'g', max(1, 1+int(math.Ceil(math.Log10(largest/step))))
	}
	first := math.Ceil(low / step)
	for k := range int(math.Floor(high/step)-first) + 1 {
		value := (first + float64(k)) * step
		all = append(all, tick{a.place(value), strconv.FormatFloat(value, format, digits, 64)})
	}
	return all
}
