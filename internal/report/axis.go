package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// largestDrawn bounds what is drawn: beyond it, differences overflow.
const largestDrawn = 1e300

// smallestDrawn is the smallest value on a logarithmic axis.
const smallestDrawn = 1e-300

// axisMargin is the space between the data and the ends of an axis, as a part of
// the range.
const axisMargin = 0.03

// smallestSpread is the smallest range of a linear axis relative to its values;
// below it, neighbouring ticks would be the same number.
const smallestSpread = 1e-9

// axis is the range of one direction of a figure.
type axis struct {
	log      bool
	min, max float64 // of the data; min > max: none
}

// newAxis is an axis without data.
func newAxis(log bool) axis {
	return axis{log: log, min: math.Inf(1), max: math.Inf(-1)}
}

// shows tells whether v can be drawn on the axis.
func (a *axis) shows(v float64) bool {
	if a.log {
		return v >= smallestDrawn && v <= largestDrawn
	}
	return v >= -largestDrawn && v <= largestDrawn // false for NaN
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

// widened is the range to draw: that of the data and a margin, never of length 0.
func (a *axis) widened() (low, high float64) {
	low, high = a.place(a.min), a.place(a.max)
	spread := smallestSpread * max(math.Abs(low), math.Abs(high))
	switch {
	case high-low > spread:
	case a.log:
		low, high = low-0.5, high+0.5
	case low == 0 && high == 0:
		low, high = -1, 1
	default:
		half := 0.1 * max(math.Abs(low), math.Abs(high))
		low, high = low-half, high+half
	}
	margin := axisMargin * (high - low)
	low, high = low-margin, high+margin
	if a.log {
		return math.Pow(10, low), math.Pow(10, high)
	}
	return low, high
}

// fitTo sets up one axis of a plot for the range, with a label for each pitch of its length
// at most where it is logarithmic.
func (a *axis) fitTo(p *plot.Axis, length, pitch vg.Length) {
	p.Min, p.Max = a.widened()
	p.Scale, p.Tick.Marker = plot.LinearScale{}, plot.DefaultTicks{}
	if a.log {
		p.Scale, p.Tick.Marker = plot.LogScale{}, logTicks{max(1, int(length/pitch))}
	}
}

// logTicks marks powers of ten, or, where the range holds fewer than two of them, round
// numbers.
type logTicks struct {
	count int // labels wanted, at most
}

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	first, last := int(math.Ceil(math.Log10(low)-smallestSpread)), int(math.Floor(math.Log10(high)+smallestSpread))
	if last-first < 1 {
		return plot.DefaultTicks{}.Ticks(low, high)
	}
	every := 1 + (last-first)/t.count
	for e := first; e <= last; e++ {
		if e%every == 0 {
			v := math.Pow10(e)
			ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)})
		}
	}
	return ticks
}
