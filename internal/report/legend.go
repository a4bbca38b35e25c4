package report

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/blockbp/blockbp/internal/printable"
)

// Measures of the top of a figure, in points.
const (
	pagePadding     vg.Length = 10 // around the figure
	legendSample    vg.Length = 26 // length of the line or box before a name
	legendGap       vg.Length = 6  // between the sample and its name
	legendSeparator vg.Length = 18 // between two entries
	blockGap        vg.Length = 9  // between title, legend and plot
)

// titleLines is the largest number of lines of a title.
const titleLines = 2

// legendEntry is one name and the sample that explains it.
type legendEntry struct {
	name   string
	sample func(c draw.Canvas) // draws into c, which is one line high
}

// heading is the title, the legend and a note above a figure, laid out for a width.
type heading struct {
	title   []string
	entries []legendEntry
	columns int
	pitch   vg.Length // from one column of the legend to the next
	note    string    // what else to know; "": nothing
}

// newHeading lays out title and entries for a figure of this width, padding
// included.
func newHeading(title string, entries []legendEntry, width vg.Length) heading {
	room := width - 2*pagePadding
	h := heading{
		title:   sans(sizeTitle, inkText).bold().wrap(printable.Line(title), room, titleLines),
		entries: entries,
	}
	if len(entries) == 0 {
		return h
	}
	letters := sans(sizeLegend, inkText)
	var widest vg.Length
	for i := range entries {
		entries[i].name = letters.fit(printable.Line(entries[i].name), room-legendSample-legendGap)
		widest = max(widest, letters.width(entries[i].name))
	}
	h.pitch = legendSample + legendGap + widest + legendSeparator
	h.columns = max(1, min(len(entries), int((room+legendSeparator)/h.pitch)))
	return h
}

// height of the heading and the gap below it.
func (h *heading) height() vg.Length {
	var height vg.Length
	if len(h.title) > 0 {
		height += vg.Length(len(h.title))*sizeTitle*lineSpacing + blockGap
	}
	if h.columns > 0 {
		height += vg.Length(h.rows())*legendLine() + blockGap
	}
	if h.note != "" {
		height += noteLine
	}
	return height
}

// rows is the number of lines of the legend.
func (h *heading) rows() int {
	if h.columns == 0 {
		return 0
	}
	return (len(h.entries) + h.columns - 1) / h.columns
}

// legendLine is the height of one line of the legend.
func legendLine() vg.Length { return sizeLegend * 1.5 }

// noteLine is the height of the note and the gap below it.
const noteLine = sizeNote * 1.7

// draw draws the heading at the top of c and returns what is left below it.
func (h *heading) draw(c draw.Canvas) draw.Canvas {
	letters := sans(sizeTitle, inkText).bold()
	y := c.Max.Y
	for _, line := range h.title {
		letters.put(c, line, vg.Point{X: c.Min.X, Y: y - sizeTitle}, atLeft)
		y -= sizeTitle * lineSpacing
	}
	if len(h.title) > 0 {
		y -= blockGap
	}
	h.drawLegend(c, y)
	c.Max.Y -= h.height()
	if h.note != "" {
		small := sans(sizeNote, inkQuiet)
		foot := vg.Point{X: c.Min.X, Y: c.Max.Y + noteLine - sizeNote}
		small.put(c, small.fit(h.note, c.Max.X-c.Min.X), foot, atLeft)
	}
	return c
}

// drawLegend draws the entries row by row from the height y downwards.
func (h *heading) drawLegend(c draw.Canvas, y vg.Length) {
	letters := sans(sizeLegend, inkText)
	for i, entry := range h.entries {
		left := c.Min.X + vg.Length(i%h.columns)*h.pitch
		middle := y - (vg.Length(i/h.columns)+0.5)*legendLine()
		entry.sample(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: middle - legendLine()/2},
			Max: vg.Point{X: left + legendSample, Y: middle + legendLine()/2},
		}})
		letters.putCentered(c, entry.name, vg.Point{X: left + legendSample + legendGap, Y: middle}, atLeft)
	}
}
