package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/blockbp/blockbp/internal/printable"
)

// Size of a figure of curves that asks for none, in points: its letters can still be read on a telephone, and two
// stand beside each other on a wide page.
const (
	defaultWidth  = 380
	defaultHeight = 260
)

// thinColumns are the columns in which curves are thinned, about two points of the page wide each: the rasteriser takes
// seconds for a stroke of thousands of steep segments.
const thinColumns = 150

// Series is one curve: points joined in the order given.
type Series struct {
	Name string    // in the legend; "" leaves it out
	X, Y []float64 // of the same length
	// Dashed: drawn thin and in short dashes, as a reference or a limit. Without a name
	// it has the colour of the series before it, as an end of that one's range.
	Dashed bool
}

// Curves is a figure of curves over two axes. Points that an axis cannot show are
// left out, and their neighbours joined: NaN, which means that a value is not
// known, and infinities, magnitudes beyond 1e300 and, on a logarithmic axis, values
// below 1e-300, whose number stands in a note. Long curves are thinned to about
// 600 points without a visible difference, peaks included. Without any point to
// draw the figure says so.
type Curves struct {
	Title          string
	XLabel, YLabel string
	LogX, LogY     bool
	Series         []Series
	Columns        []Column
	Width, Height  vg.Length // in points (1/72 inch); 0: 380 × 260
}

// Column stands behind the curves, from From to To, such as a bin of a histogram; its label is above it.
type Column struct {
	From, To, Height float64
	Label            string
}

// drawing settles the size of the figure and prepares its curves.
func (f Curves) drawing() (drawing, error) {
	sheet, err := f.prepare()
	if err != nil {
		return drawing{}, err
	}
	width, height := cmp.Or(f.Width, defaultWidth), cmp.Or(f.Height, defaultHeight)
	sheet.heading = newHeading(f.Title, sheet.legend(), width)
	if rows := sheet.heading.rows(); rows > 1 { // a long legend does not eat up the plot
		height += vg.Length(rows-1) * legendLine()
	}
	if !sheet.x.empty() {
		sheet.heading.note = sheet.note()
	}
	return drawing{title: f.Title, width: width, height: height, paint: sheet.paint}, nil
}

// curveSheet is a figure of curves ready to be painted.
type curveSheet struct {
	heading heading
	x, y    axis
	labelX  string
	labelY  string
	curves  []curve
	columns columns
	hidden  int // points with known values that the axes cannot show
}

// curve is one series without the points that cannot be shown.
type curve struct {
	name   string
	points plotter.XYs
	stroke stroke
}

// prepare checks the series, drops what cannot be shown and finds the ranges.
func (f Curves) prepare() (*curveSheet, error) {
	sheet := &curveSheet{x: newAxis(f.LogX), y: newAxis(f.LogY),
		labelX: printable.Line(f.XLabel), labelY: printable.Line(f.YLabel)}
	sheet.columns = f.Columns
	for _, column := range f.Columns {
		sheet.x.include(column.From)
		sheet.x.include(column.To)
		sheet.y.include(column.Height)
	}
	style := -1
	for i, series := range f.Series {
		if style < 0 || series.Name != "" || !series.Dashed {
			style++ // an end of a range looks like what it belongs to
		}
		if len(series.X) != len(series.Y) {
			return nil, fmt.Errorf("figure %q: series[%d] %q has %d x but %d y", f.Title, i, series.Name, len(series.X),
				len(series.Y))
		}
		sheet.curves = append(sheet.curves, curve{
			name:   series.Name,
			points: sheet.points(series),
			stroke: strokeOf(style, series.Dashed),
		})
	}
	return sheet, nil
}

// points of a series that can be shown, thinned; the axes are widened to them.
func (s *curveSheet) points(series Series) plotter.XYs {
	var x, y []float64
	var kept []int
	for i := range series.X {
		if math.IsNaN(series.X[i]) || math.IsNaN(series.Y[i]) {
			continue
		}
		if !s.x.shows(series.X[i]) || !s.y.shows(series.Y[i]) {
			s.hidden++
			continue
		}
		s.x.include(series.X[i])
		s.y.include(series.Y[i])
		kept = append(kept, i)
		x = append(x, s.x.place(series.X[i]))
		y = append(y, series.Y[i])
	}
	var points plotter.XYs
	for _, k := range Thin(x, y, thinColumns) {
		points = append(points, plotter.XY{X: series.X[kept[k]], Y: series.Y[kept[k]]})
	}
	return points
}

// note says how many points the axes cannot show, and why; "" if there is none.
func (s *curveSheet) note() string {
	points, reason := "points are", "infinite, or beyond 1e300"
	if s.hidden == 1 {
		points = "point is"
	}
	if s.x.log || s.y.log {
		reason = "not positive, or infinite, on a logarithmic axis"
	}
	if s.hidden == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s not shown: %s", s.hidden, points, reason)
}

// legend explains the curves that have a name.
func (s *curveSheet) legend() []legendEntry {
	var entries []legendEntry
	for i := range s.curves {
		one := &s.curves[i]
		if one.name == "" {
			continue
		}
		name := one.name
		if len(one.points) == 0 {
			name += " (no data)"
		}
		entries = append(entries, legendEntry{name: name, sample: one.sample})
	}
	return entries
}

// paint draws the whole figure.
func (s *curveSheet) paint(c draw.Canvas) {
	c = s.heading.draw(draw.Crop(c, pagePadding, -pagePadding, pagePadding, -pagePadding))
	if s.x.empty() {
		drawNoData(c, s.x.log || s.y.log)
		return
	}
	p := housePlot()
	s.x.fitTo(&p.X, c.Max.X-c.Min.X, labelPitchX)
	s.y.fitTo(&p.Y, c.Max.Y-c.Min.Y, labelPitchY)
	p.Add(houseGrid(), s.columns)
	for i := range s.curves {
		p.Add(&s.curves[i])
	}
	drawPlot(c, p, s.labelX, s.labelY)
}

// columns are drawn together.
type columns []Column

// Plot implements plot.Plotter.
func (all columns) Plot(c draw.Canvas, p *plot.Plot) {
	const gap, above = 0.75, 2.5 // between columns, and below their labels
	placeX, placeY := p.Transforms(&c)
	letters := sans(sizeCount, inkQuiet)
	for _, one := range all {
		left, right, top := placeX(one.From)+gap, placeX(one.To)-gap, placeY(one.Height)
		fillRectangle(c, left, c.Min.Y, right, top, inkGrid)
		letters.put(c, one.Label, vg.Point{X: (left + right) / 2, Y: top + above}, atCenter)
	}
}

// fillRectangle fills a rectangle.
func fillRectangle(c draw.Canvas, x0, y0, x1, y1 vg.Length, ink color.Color) {
	c.SetColor(ink)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}
