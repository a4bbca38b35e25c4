package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Room for one label of a logarithmic axis, in points; more of them would crowd it.
const (
	labelPitchX vg.Length = 70
	labelPitchY vg.Length = 26
)

// axisLabelRoom is the room for the label of an axis, in points.
const axisLabelRoom = sizeLabel * 1.6

// housePlot is an empty plot in the house style.
func housePlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Width, a.Color = 0.8, inkAxis
		a.Tick.Width, a.Tick.Color, a.Tick.Length = 0.8, inkAxis, 5
		ticks := sans(sizeTick, inkQuiet).style()
		ticks.XAlign, ticks.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = ticks
	}
	return p
}

// houseGrid is light lines at the labels.
func houseGrid() *plotter.Grid {
	line := draw.LineStyle{Color: inkGrid, Width: 0.7}
	return &plotter.Grid{Vertical: line, Horizontal: line}
}

// drawPlot draws p into c with labels centred on its axes. (The plot library
// would make room for a label in a wrong place on a logarithmic axis.)
func drawPlot(c draw.Canvas, p *plot.Plot, labelX, labelY string) {
	letters := sans(sizeLabel, inkText)
	inner := c
	if labelX != "" {
		inner.Min.Y += axisLabelRoom
	}
	if labelY != "" {
		inner.Min.X += axisLabelRoom
	}
	p.Draw(inner)
	data := p.DataCanvas(inner)
	middle := data.Center()
	labelX = letters.fit(labelX, c.Max.X-c.Min.X)
	letters.put(c, labelX, vg.Point{X: middle.X, Y: c.Min.Y + letters.font.Size/4}, atCenter)
	labelY = letters.fit(labelY, c.Max.Y-c.Min.Y)
	letters.putTurned(c, labelY, vg.Point{X: c.Min.X + letters.font.Size, Y: middle.Y}, atCenter, math.Pi/2)
}

// drawNoData says in an empty frame that nothing can be drawn.
func drawNoData(c draw.Canvas, log bool) {
	c.SetLineStyle(draw.LineStyle{Color: inkGrid, Width: 1})
	c.Stroke(c.Rectangle.Path())
	note := "no finite values to show"
	if log {
		note = "no positive, finite values to show on a logarithmic axis"
	}
	middle := c.Center()
	sans(sizeTitle, inkQuiet).bold().put(c, "no data", middle, atCenter)
	middle.Y -= sizeTitle * lineSpacing
	small := sans(sizeNote, inkQuiet)
	small.put(c, small.fit(note, c.Max.X-c.Min.X), middle, atCenter)
}
