package figure

import (
	"math"
	"strconv"
	"strings"

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

// axis is the range of one direction of a figure, and the values to mark if they are not
// to be round numbers.
type axis struct {
	log        bool
	min, max   float64 // of the data; min > max: none
	fractional bool    // some value is not whole
	marks      []float64
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
func (a *axis) include(v float64) {
	a.min, a.max = min(a.min, v), max(a.max, v)
	a.fractional = a.fractional || v != math.Trunc(v)
}

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

// fitTo sets up one axis of a plot for the range, with about count labels.
func (a *axis) fitTo(p *plot.Axis, count int) {
	p.Min, p.Max = a.widened()
	if a.log {
		p.Scale = plot.LogScale{}
		p.Tick.Marker = logTicks{count: count}
		return
	}
	p.Scale = plot.LinearScale{}
	p.Tick.Marker = linearTicks{count: count, whole: !a.fractional}
}

// fitAcross sets up the axis below a plot of this width: as many labels as fit
// beside each other, which are fewer where they are long.
func (a *axis) fitAcross(p *plot.Axis, width vg.Length) {
	letters := sans(sizeTick, inkQuiet)
	if len(a.marks) > 0 {
		a.fitTo(p, 1) // range and scale
		p.Tick.Marker = givenTicks{values: a.marks, on: a, width: width}
		return
	}
	for count := int(width / labelPitchX); ; count-- {
		a.fitTo(p, count)
		var taken vg.Length
		for _, tick := range p.Tick.Marker.Ticks(p.Min, p.Max) {
			if tick.Label != "" {
				taken += letters.width(tick.Label) + labelGapX
			}
		}
		if taken <= width || count <= 1 {
			return
		}
	}
}

// givenTicks marks given values of an axis below a plot, and labels those of them that
// leave the label before them its room.
type givenTicks struct {
	values []float64 // ascending
	on     *axis
	width  vg.Length
}

// Ticks implements plot.Ticker.
func (t givenTicks) Ticks(low, high float64) []plot.Tick {
	letters := sans(sizeTick, inkQuiet)
	scale := t.width / vg.Length(t.on.place(high)-t.on.place(low))
	free := vg.Length(math.Inf(-1))
	var ticks []plot.Tick
	for _, v := range t.values {
		if !(v >= low && v <= high) {
			continue
		}
		tick, label := plot.Tick{Value: v}, strconv.FormatFloat(v, 'g', -1, 64)
		middle, half := vg.Length(t.on.place(v)-t.on.place(low))*scale, letters.width(label)/2
		if middle-half >= free {
			tick.Label, free = label, middle+half+labelGapX
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// linearTicks marks round numbers: 1, 2 or 5 times a power of ten apart.
type linearTicks struct {
	count int  // labels wanted, about
	whole bool // only whole numbers, as for iterations
}

// Ticks implements plot.Ticker.
func (t linearTicks) Ticks(low, high float64) []plot.Tick {
	step := roundStep((high - low) / float64(t.count))
	if t.whole {
		step = max(step, 1)
	}
	first, last := math.Ceil(low/step), math.Floor(high/step)
	largest := step * max(math.Abs(first), math.Abs(last))
	var ticks []plot.Tick
	for k := 0; float64(k) <= last-first; k++ {
		v := (first + float64(k)) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: linearLabel(v, step, largest)})
	}
	return ticks
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is at least
// rough.
func roundStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= rough*(1-smallestSpread) {
			return digit * power
		}
	}
	return 10 * power
}

// The labels of a linear axis are written out if the largest of them lies between
// these, and as powers of ten if not: all of them alike.
const (
	plainFrom  = 1e-4
	plainBelow = 1e6
)

// linearLabel is v with the digits that a step needs, on an axis with this largest
// label.
func linearLabel(v, step, largest float64) string {
	if math.Abs(v) < step/2 {
		return "0"
	}
	digits := -int(math.Floor(math.Log10(step * (1 + smallestSpread))))
	if largest >= plainFrom*(1-smallestSpread) && largest < plainBelow*(1-smallestSpread) {
		return strconv.FormatFloat(v, 'f', max(digits, 0), 64)
	}
	magnitude := int(math.Floor(math.Log10(math.Abs(v) * (1 + smallestSpread))))
	return powerLabel(v, max(magnitude+digits, 0))
}

// powerLabel is v as 1e-3 or 2.5e6, with at most digits after the point, −1 for
// as many as it takes.
func powerLabel(v float64, digits int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits, 64), "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	power, err := strconv.Atoi(exponent)
	if err != nil {
		panic("figure: FormatFloat wrote the exponent " + exponent) // impossible
	}
	return mantissa + "e" + strconv.Itoa(power)
}

// logTicks marks powers of ten; where the range holds fewer than two, also their
// multiples.
type logTicks struct {
	count int // labels wanted, at most
}

// minorDecades is the largest number of decades with marks between the powers.
const minorDecades = 12

// markedDecades is the largest number of decades from label to label with a mark
// at each: more of them would run together.
const markedDecades = 10

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Ceil(math.Log10(low)-smallestSpread)), int(math.Floor(math.Log10(high)+smallestSpread))
	if last-first < 1 {
		return t.shortTicks(low, high)
	}
	every, label := t.decades(last-first), logLabel(low, high)
	var ticks []plot.Tick
	for e := first - 1; e <= last; e++ {
		v := math.Pow(10, float64(e))
		switch {
		case e < first: // only its multiples lie in the range
		case e%every == 0:
			ticks = append(ticks, plot.Tick{Value: v, Label: label(v)})
		case every <= markedDecades:
			ticks = append(ticks, plot.Tick{Value: v})
		}
		for digit := 2.0; digit < 10 && every == 1 && last-first < minorDecades; digit++ {
			if minor := digit * v; minor >= low && minor <= high {
				ticks = append(ticks, plot.Tick{Value: minor})
			}
		}
	}
	return ticks
}

// decades is the number of decades from label to label if the powers in the range
// span so many: 1, 2, 3 or 5 times a power of ten.
func (t logTicks) decades(span int) int {
	rough := (span + t.count) / t.count
	for power := 1; ; power *= 10 {
		for _, digit := range []int{1, 2, 3, 5} {
			if digit*power >= rough {
				return digit * power
			}
		}
	}
}

// shortTicks marks a range of less than about two decades: 1, 2 and 5 times the
// powers of ten, or evenly spaced round numbers if that gives fewer than three.
func (t logTicks) shortTicks(low, high float64) []plot.Tick {
	label := logLabel(low, high)
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * math.Pow(10, e); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: label(v)})
			}
		}
	}
	if len(ticks) >= 3 {
		return ticks
	}
	ticks = linearTicks{count: min(t.count+1, shortLabels)}.Ticks(low, high)
	for i := range ticks {
		ticks[i].Label = label(ticks[i].Value)
	}
	return ticks
}

// shortLabels is the largest number of labels of a short logarithmic range, whose
// labels are long.
const shortLabels = 5

// logDigits is the number of digits of labels on a logarithmic axis; trailing
// zeros are not written.
const logDigits = 10

// A logarithmic axis that ends within these has labels that are written out.
const (
	plainLogFrom  = 5e-4 // the lowest label is 0.001, in a short range 0.0005
	plainLogBelow = 2e5
)

// logLabel is how numbers are written on a logarithmic axis from low to high: all
// of them plainly, or all as powers of ten.
func logLabel(low, high float64) func(v float64) string {
	if low > plainLogFrom && high < plainLogBelow {
		return func(v float64) string { return strconv.FormatFloat(v, 'g', logDigits, 64) }
	}
	return func(v float64) string { return powerLabel(v, logDigits-1) }
}
