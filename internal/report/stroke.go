package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Widths of curves, in points.
const (
	curveWidth     vg.Length = 1.6
	referenceWidth vg.Length = 1.2
	markerRadius   vg.Length = 2.8
)

// markedPoints is the largest number of points of a curve that shows each of
// them; a lone point would not be seen otherwise.
const markedPoints = 30

// dashPatterns tell curves apart without colour; in points, line and gap in turn.
var dashPatterns = [][]vg.Length{
	nil,
	{9, 3},
	{9, 3, 2, 3},
	{9, 3, 2, 3, 2, 3},
}

// referencePattern is that of a Series which is Dashed.
var referencePattern = []vg.Length{3.5, 2.5}

// markers tell sparse curves apart without colour.
var markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}}

// stroke is how a curve is drawn.
type stroke struct {
	line   draw.LineStyle
	marker draw.GlyphStyle
	marked int // largest number of points that are marked
}

// strokeOf is the stroke of series i.
func strokeOf(i int, dashed bool) stroke {
	ink := seriesInk(i)
	s := stroke{
		line:   draw.LineStyle{Color: ink, Width: curveWidth, Dashes: dashPatterns[i%len(dashPatterns)]},
		marker: draw.GlyphStyle{Color: ink, Radius: markerRadius, Shape: markers[i%len(markers)]},
		marked: markedPoints,
	}
	if dashed {
		s.line.Width, s.line.Dashes = referenceWidth, referencePattern
		s.marked = 1 // a line, not a measurement
	}
	return s
}

// Plot implements plot.Plotter.
func (k *curve) Plot(c draw.Canvas, p *plot.Plot) {
	placeX, placeY := p.Transforms(&c)
	line := make([]vg.Point, len(k.points))
	for i, point := range k.points {
		line[i] = vg.Point{X: placeX(point.X), Y: placeY(point.Y)}
	}
	c.StrokeLines(k.stroke.line, line)
	if !k.marked() {
		return
	}
	for _, place := range line {
		c.DrawGlyph(k.stroke.marker, place)
	}
}

// marked tells whether the points of the curve are shown.
func (k *curve) marked() bool { return len(k.points) <= k.stroke.marked }

// sample draws the stroke of the curve for the legend.
func (k *curve) sample(c draw.Canvas) {
	y := c.Center().Y
	c.StrokeLine2(k.stroke.line, c.Min.X, y, c.Max.X, y)
	if k.marked() {
		c.DrawGlyph(k.stroke.marker, c.Center())
	}
}
