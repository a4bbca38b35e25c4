package report

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
)

// Size of a figure of curves that asks for none, in points: its letters can still be read on a telephone, and two
// stand beside each other on a wide page.
const defaultWidth, defaultHeight = 380, 260

// thinColumns are the columns in which curves are thinned, about two points of the page wide, to so many points each.
const thinColumns, pointsPerColumn = 150, 4

// Series is one curve: points joined in the order given.
type Series struct {
	Name string    // in the legend; "" leaves it out
	X, Y []float64 // of the same length
	// Dashed: drawn thin and in short dashes, as a reference or a limit. Without a name
	// it has the colour of the series before it, as an end of that one's range.
	Dashed bool
}

// Curves is a figure of curves over two axes. Points that an axis cannot show are left out, and their neighbours
// joined: NaN, which means that a value is not known, and infinities, magnitudes beyond 1e300 and, on a logarithmic
// axis, values below 1e-300. Long curves are thinned to about 600 points without a
// visible difference, peaks included. Without any point to draw the figure says so.
type Curves struct {
	Title          string
	XLabel, YLabel string
	LogX, LogY     bool
	Series         []Series
	Columns        []Column
	Height         float64 // in points (1/72 inch); 0: 260
}

// Column stands behind the curves, from From to To, such as a bin of a histogram; its label is above it.
type Column struct {
	From, To, Height float64
	Label            string
}

// SVG implements Figure.
func (f Curves) SVG(w io.Writer) error { return writeSVG(w, f.draw) }

// Element implements Figure.
func (f Curves) Element() string { return f.draw(true) }

// curve is one series without the points that cannot be shown.
type curve struct {
	name   string
	x, y   []float64 // as places on the axes
	stroke stroke
}

// curveSheet is a figure of curves that is being drawn.
type curveSheet struct {
	svg
	figure *Curves
	x, y   axis
	curves []curve
	box    rectangle
}

// rectangle is the place of the curves.
type rectangle struct{ left, top, right, bottom float64 }

// draw makes the figure, with the colours of a page or its own.
func (f Curves) draw(page bool) string {
	s := &curveSheet{svg: svg{page: page}, figure: &f, x: newAxis(f.LogX), y: newAxis(f.LogY)}
	for _, column := range f.Columns {
		s.x.include(column.From)
		s.x.include(column.To)
		s.y.include(column.Height)
	}
	style := -1
	var named []int
	var names []string
	for i, series := range f.Series {
		if style < 0 || series.Name != "" || !series.Dashed {
			style++ // an end of a range looks like what it belongs to
		}
		one := curve{name: series.Name, stroke: strokeOf(style, series.Dashed)}
		if one.x, one.y = s.points(series); series.Name != "" {
			named, names = append(named, i), append(names, series.Name)
		}
		s.curves = append(s.curves, one)
	}
	width, height := float64(defaultWidth), cmp.Or(f.Height, defaultHeight)
	h := newHeading(f.Title, names, width)
	height += legendLine * float64(max(0, h.lines-1)) // a long legend does not eat up the plot
	s.begin(f.Title, width, height)
	if !page {
		s.rectangle(s.ink("paper"), 0, 0, width, height)
	}
	h.draw(&s.svg, "text", func(i int, x, y float64) {
		s.curve(&s.curves[named[i]], []float64{x, x + legendSample}, []float64{y, y}, x+legendSample/2)
	})
	s.box = rectangle{pagePadding, h.bottom, width - pagePadding, height - pagePadding}
	s.plot()
	return s.end()
}

// points of a series that can be shown, thinned; the axes are widened to them.
func (s *curveSheet) points(series Series) (x, y []float64) {
	for i := range series.X {
		if s.x.shows(series.X[i]) && s.y.shows(series.Y[i]) {
			s.x.include(series.X[i])
			s.y.include(series.Y[i])
			x, y = append(x, s.x.place(series.X[i])), append(y, s.y.place(series.Y[i]))
		}
	}
	kept := thin(x, y, thinColumns)
	for to, from := range kept {
		x[to], y[to] = x[from], y[from]
	}
	return x[:len(kept)], y[:len(kept)]
}

// Room in points for one number beside each axis; more would crowd it. A tick is so long, and its number so far away.
const tickPitchX, tickPitchY, tickLength, tickGap = 60, 26, 4, 3

// plot draws axes, columns and curves into the box.
func (s *curveSheet) plot() {
	if s.x.empty() {
		s.text(titleLetters, "quiet", "no data", (s.box.left+s.box.right)/2, (s.box.top+s.box.bottom)/2, atCenter)
		return
	}
	whole, label := s.box, 1.6*labelLetters.size
	if s.figure.XLabel != "" {
		s.box.bottom -= label
	}
	if s.figure.YLabel != "" {
		s.box.left += label
	}
	s.box.bottom -= tickLength + tickGap + tickLetters.size
	ticksY, widest := s.y.ticks(max(1, int((s.box.bottom-s.box.top)/tickPitchY))), 0.0
	for _, t := range ticksY {
		widest = max(widest, tickLetters.width(t.label))
	}
	s.box.left += widest + tickLength + tickGap
	ticksX := s.x.ticks(max(1, int((s.box.right-s.box.left)/tickPitchX)))
	s.axes(ticksX, ticksY)
	middleX, middleY := (s.box.left+s.box.right)/2, (s.box.top+s.box.bottom)/2
	s.text(labelLetters, "text", labelLetters.fit(s.figure.XLabel, whole.right-whole.left), middleX,
		whole.bottom-labelLetters.size/4, atCenter)
	s.turned(labelLetters, "text", labelLetters.fit(s.figure.YLabel, whole.bottom-whole.top),
		whole.left+labelLetters.size, middleY)
	for _, c := range s.figure.Columns {
		const gap, above = 0.75, 2.5 // between columns, and below their labels
		left, right, top := s.placeX(s.x.place(c.From))+gap, s.placeX(s.x.place(c.To))-gap, s.placeY(s.y.place(c.Height))
		s.rectangle(s.ink("grid"), left, top, right, s.box.bottom)
		s.text(countLetters, "quiet", c.Label, (left+right)/2, top-above, atCenter)
	}
	for i := range s.curves {
		one := &s.curves[i]
		for k := range one.x {
			one.x[k], one.y[k] = s.placeX(one.x[k]), s.placeY(one.y[k])
		}
		s.curve(one, one.x, one.y, one.x...)
	}
}

// axes draws the two axes, with numbers and light lines at these.
func (s *curveSheet) axes(ticksX, ticksY []tick) {
	for _, t := range ticksX {
		x := s.placeX(t.place)
		s.line("grid", 0.7, x, s.box.top, x, s.box.bottom)
		s.line("axis", 0.8, x, s.box.bottom, x, s.box.bottom+tickLength)
		s.text(tickLetters, "quiet", t.label, x, s.box.bottom+tickLength+tickGap+0.72*tickLetters.size, atCenter)
	}
	for _, t := range ticksY {
		y := s.placeY(t.place)
		s.line("grid", 0.7, s.box.left, y, s.box.right, y)
		s.line("axis", 0.8, s.box.left-tickLength, y, s.box.left, y)
		s.text(tickLetters, "quiet", t.label, s.box.left-tickLength-tickGap, y+0.36*tickLetters.size, atRight)
	}
	s.line("axis", 0.8, s.box.left, s.box.bottom, s.box.right, s.box.bottom)
	s.line("axis", 0.8, s.box.left, s.box.top, s.box.left, s.box.bottom)
}

func (s *curveSheet) placeX(place float64) float64 {
	low, high := s.x.widened()
	return s.box.left + (place-low)/(high-low)*(s.box.right-s.box.left)
}

func (s *curveSheet) placeY(place float64) float64 {
	low, high := s.y.widened()
	return s.box.bottom - (place-low)/(high-low)*(s.box.bottom-s.box.top)
}

// curve draws a line, and where its points are few the mark of each, at the given places of x.
func (s *curveSheet) curve(c *curve, x, y []float64, marks ...float64) {
	s.polyline(c.stroke, x, y)
	if len(c.x) > c.stroke.marked {
		return
	}
	for i, at := range marks {
		s.mark(c.stroke, at, y[i])
	}
}

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

// thin keeps of many points only those that show: of neighbouring ones in the same one of so many columns of the figure
// the first, lowest, highest and last (the M4 aggregation of Jugel et al., VLDB 2014). x holds places on the axis. The
// result are indices, increasing.
func thin(x, y []float64, columns int) (kept []int) {
	column := func(i int) int { return i } // each has one of its own
	if len(x) > pointsPerColumn*columns {
		low, high := slices.Min(x), slices.Max(x)
		column = func(i int) int { return int((x[i] - low) / (high - low) * float64(columns-1)) }
	}
	for start := 0; start < len(y); {
		end, lowest, highest := start+1, start, start
		for ; end < len(y) && column(end) == column(start); end++ {
			if y[end] < y[lowest] {
				lowest = end
			}
			if y[end] > y[highest] {
				highest = end
			}
		}
		kept = append(kept, start, min(lowest, highest), max(lowest, highest), end-1)
		start = end
	}
	return slices.Compact(kept)
}
