package figure

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// BarSeries is one system in a comparison.
type BarSeries struct {
	Name   string
	Values []float64 // one for each name of the figure; NaN and ±Inf: no bar
}

// Bars is a figure of horizontal bars in groups: for each name, one bar for each
// series, with its value at the end. It grows with the number of bars, so that
// the names stay readable.
type Bars struct {
	Title  string
	Label  string   // of the value axis
	Names  []string // of the groups, from top to bottom
	Series []BarSeries
}

// SVG implements Figure. It fails if a series has another number of values than
// there are names, or w fails.
func (f Bars) SVG(w io.Writer) error { return writeSVG(w, f.drawing) }

// PNG implements Figure. It fails as SVG does.
func (f Bars) PNG(w io.Writer) error { return writePNG(w, f.drawing) }

// Measures of bars, in points.
const (
	barThickness vg.Length = 11
	barGap       vg.Length = 1.5 // between the bars of a group
	groupGap     vg.Length = 9   // between groups
	valueGap     vg.Length = 3   // between a bar and its value
	axisRoom     vg.Length = 46  // below the bars, for ticks and label
	barNameRoom  vg.Length = 150 // longest name; what is longer is cut
)

// significantDigits of the values at the ends of the bars.
const significantDigits = 3

// barSheet is a figure of bars laid out for painting.
type barSheet struct {
	heading heading
	label   string
	names   []string
	series  []BarSeries
	value   axis
	digits  int // after the point, of the values
}

// drawing checks the values and settles the size of the figure.
func (f Bars) drawing() (drawing, error) {
	s := &barSheet{label: Printable(f.Label), series: f.Series, value: newAxis(false)}
	letters := sans(sizeTick, inkText)
	for _, name := range f.Names {
		s.names = append(s.names, letters.fit(Printable(name), barNameRoom))
	}
	for i, series := range f.Series {
		if len(series.Values) != len(f.Names) {
			return drawing{}, fmt.Errorf("figure %q: series[%d] %q has %d values for %d names",
				f.Title, i, series.Name, len(series.Values), len(f.Names))
		}
		for _, v := range series.Values {
			if s.value.shows(v) {
				s.value.include(v)
			}
		}
	}
	s.settleDigits()
	const width = defaultWidth
	s.heading = newHeading(f.Title, s.legend(), width)
	height := 2*pagePadding + s.heading.height() + max(s.groupHeight()*vg.Length(len(s.names)), 60) + axisRoom
	return drawing{title: f.Title, width: width, height: height, paint: s.paint}, nil
}

// settleDigits chooses the digits of the values by the largest of them.
func (s *barSheet) settleDigits() {
	largest := max(math.Abs(s.value.min), math.Abs(s.value.max))
	if s.value.empty() || largest == 0 {
		return
	}
	s.digits = min(max(significantDigits-1-int(math.Floor(math.Log10(largest))), 0), 9)
	if largest <= 1 && largest > 0.1 { // shares: 0.721 beside 1.000
		s.digits = significantDigits
	}
}

// groupHeight is the height of the bars of one name and the gap to the next.
func (s *barSheet) groupHeight() vg.Length {
	return vg.Length(len(s.series))*(barThickness+barGap) - barGap + groupGap
}

// legend explains the series that have a name.
func (s *barSheet) legend() []legendEntry {
	var entries []legendEntry
	for i, series := range s.series {
		if series.Name == "" {
			continue
		}
		entries = append(entries,
			legendEntry{name: series.Name, sample: func(c draw.Canvas) { fillStripes(c, []color.RGBA{seriesInk(i)}) }})
	}
	return entries
}

// fillRectangle fills a rectangle.
func fillRectangle(c draw.Canvas, x0, y0, x1, y1 vg.Length, ink color.Color) {
	c.SetColor(ink)
	c.Fill(vg.Rectangle{Min: vg.Point{X: min(x0, x1), Y: y0}, Max: vg.Point{X: max(x0, x1), Y: y1}}.Path())
}

// paint draws the whole figure.
func (s *barSheet) paint(c draw.Canvas) {
	c = s.heading.draw(draw.Crop(c, pagePadding, -pagePadding, pagePadding, -pagePadding))
	if s.value.empty() {
		drawNoData(c, false)
		return
	}
	p := housePlot()
	s.fitValues(&p.X, c.Max.X-c.Min.X)
	s.fitNames(&p.Y)
	grid := houseGrid()
	grid.Horizontal.Color = nil
	p.Add(grid, s)
	drawPlot(c, p, s.label, "")
}

// fitValues sets up the value axis of a figure of this width: it holds 0, and
// leaves room for the values at the ends of the bars.
func (s *barSheet) fitValues(a *plot.Axis, width vg.Length) {
	low, high := min(s.value.min, 0), max(s.value.max, 0)
	if low == high {
		high = 1
	}
	letters := sans(sizeNote, inkText)
	room := max(letters.width(s.text(low)), letters.width(s.text(high))) + 2*valueGap
	plotWidth := max(width-barNameRoom/2, 2*room)
	extra := (high - low) * float64(room/plotWidth) * 1.3
	if high > 0 {
		high += extra
	}
	if low < 0 {
		low -= extra
	}
	a.Min, a.Max = low, high
	a.Tick.Marker = linearTicks{count: max(2, int(plotWidth/labelPitchX))}
}

// fitNames sets up the axis of the names, from top to bottom at 0, −1, −2, …
func (s *barSheet) fitNames(a *plot.Axis) {
	a.Min, a.Max = 0.5-float64(len(s.names)), 0.5
	a.Tick.Length = 0
	a.Tick.Label.Color = inkText
	var ticks plot.ConstantTicks
	for i, name := range s.names {
		ticks = append(ticks, plot.Tick{Value: -float64(i), Label: name + " "})
	}
	a.Tick.Marker = ticks
}

// Plot implements plot.Plotter: it draws the bars and their values.
func (s *barSheet) Plot(c draw.Canvas, p *plot.Plot) {
	placeX, placeY := p.Transforms(&c)
	zero := placeX(0)
	for i := range s.names {
		top := placeY(-float64(i)) + (s.groupHeight()-groupGap)/2
		for k, series := range s.series {
			y := top - vg.Length(k)*(barThickness+barGap)
			s.plotBar(c, series.Values[i], k, zero, y, placeX)
		}
	}
	if s.value.min < 0 {
		c.StrokeLine2(draw.LineStyle{Color: inkAxis, Width: 0.8}, zero, c.Min.Y, zero, c.Max.Y)
	}
}

// plotBar draws one bar of series k below the height y, and its value.
func (s *barSheet) plotBar(c draw.Canvas, v float64, k int, zero, y vg.Length, placeX func(float64) vg.Length) {
	middle := vg.Point{X: zero + valueGap, Y: y - barThickness/2}
	if !s.value.shows(v) {
		sans(sizeNote, inkQuiet).putCentered(c, "n/a", middle, atLeft)
		return
	}
	end := placeX(v)
	fillRectangle(c, zero, y-barThickness, end, y, seriesInk(k))
	anchor := atLeft
	middle.X = end + valueGap
	if v < 0 {
		anchor, middle.X = atRight, end-valueGap
	}
	sans(sizeNote, inkText).putCentered(c, s.text(v), middle, anchor)
}

// text is the value v with the digits of the figure.
func (s *barSheet) text(v float64) string {
	if math.Abs(v) >= plainBelow || v != 0 && s.digits == 9 {
		return powerLabel(v, significantDigits-1)
	}
	return strconv.FormatFloat(v, 'f', s.digits, 64)
}
