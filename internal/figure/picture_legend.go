package figure

import (
	"image"
	"image/color"
	"image/draw"
	"strconv"
)

// panelLegend explains the colours of a panel.
type panelLegend struct {
	entries []panelEntry
	bar     image.Rectangle // of the confidence colours, relative to the legend; empty: none
	lines   int
}

// panelEntry is a swatch and a name at a place relative to the legend.
type panelEntry struct {
	name    string
	color   color.RGBA
	unknown bool
	x, line int
}

// layLegend places the classes line by line and the colour bar below its column:
// beside the classes, or below them if there is no other column.
func (s *panelSheet) layLegend() {
	last := len(s.columns) - 1
	withBar := s.columns[last].heading == confidenceHeading
	left := s.left(last) - panelPadding
	room := s.width - 2*panelPadding
	if withBar && last > 0 {
		room = left - legendColumns
	}
	s.placeEntries(room)
	if !withBar {
		return
	}
	top := 0
	if last == 0 {
		top = s.legend.lines * panelLine
	}
	s.legend.bar = image.Rect(left, top, left+s.tile, top+barHeight)
}

// hasLabels tells whether truth or prediction are shown.
func (s *panelSheet) hasLabels() bool {
	for i := range s.panel.Rows {
		if s.panel.Rows[i].Truth != nil || s.panel.Rows[i].Prediction != nil {
			return true
		}
	}
	return false
}

// placeEntries puts one entry for each class where classes are shown, and one for
// unknown where it occurs, into columns of equal width within room.
func (s *panelSheet) placeEntries(room int) {
	text := inscribe(panelText, false, inkText)
	if s.hasLabels() {
		for k, name := range s.panel.Names {
			s.legend.entries = append(s.legend.entries, panelEntry{name: Printable(name), color: s.panel.Palette[k]})
		}
	}
	if s.hasUnknown() {
		s.legend.entries = append(s.legend.entries, panelEntry{name: "unknown", unknown: true})
	}
	widest := 0
	for i := range s.legend.entries {
		entry := &s.legend.entries[i]
		entry.name = text.fit(entry.name, room-swatchSide-swatchGap)
		widest = max(widest, text.width(entry.name))
	}
	pitch := swatchSide + swatchGap + widest + legendColumns
	perLine := max(1, (room+legendColumns)/pitch)
	for i := range s.legend.entries {
		s.legend.entries[i].x = i % perLine * pitch
		s.legend.entries[i].line = i / perLine
		s.legend.lines = i/perLine + 1
	}
}

// hasUnknown tells whether some label or confidence is unknown.
func (s *panelSheet) hasUnknown() bool {
	for i := range s.panel.Rows {
		row := &s.panel.Rows[i]
		for _, labels := range [][]int{row.Truth, row.Prediction} {
			for _, label := range labels {
				if label == unknownLabel {
					return true
				}
			}
		}
		for _, v := range row.Confidence {
			if v != v {
				return true
			}
		}
	}
	return false
}

// height of the legend and the gap above it.
func (g *panelLegend) height() int {
	height := g.lines * panelLine
	if !g.bar.Empty() {
		height = max(height, g.bar.Max.Y+panelLine)
	}
	if height > 0 {
		height += tileGap
	}
	return height
}

// paint draws the legend below the height y.
func (g *panelLegend) paint(dst *image.RGBA, y int) {
	y += tileGap
	text := inscribe(panelText, false, inkText)
	for _, entry := range g.entries {
		top := y + entry.line*panelLine
		swatch := image.Rect(0, 0, swatchSide, swatchSide).Add(image.Pt(panelPadding+entry.x, top))
		entry.paintSwatch(dst, swatch)
		text.put(dst, entry.name, swatch.Max.X+swatchGap, top+swatchSide-3)
	}
	if !g.bar.Empty() {
		paintBar(dst, g.bar.Add(image.Pt(panelPadding, y)))
	}
}

// paintSwatch fills a small square with the colour of the entry.
func (entry *panelEntry) paintSwatch(dst *image.RGBA, swatch image.Rectangle) {
	draw.Draw(dst, swatch, image.NewUniform(inkAxis), image.Point{}, draw.Src)
	inner := swatch.Inset(1)
	for y := inner.Min.Y; y < inner.Max.Y; y++ {
		for x := inner.Min.X; x < inner.Max.X; x++ {
			if entry.unknown {
				dst.SetRGBA(x, y, hatch(x, y))
				continue
			}
			dst.SetRGBA(x, y, entry.color)
		}
	}
}

// barMarks is the number of parts into which the marks divide the colour bar.
const barMarks = 4

// paintBar draws the colours of confidences 0 to 1 into bar and numbers below.
func paintBar(dst *image.RGBA, bar image.Rectangle) {
	for x := bar.Min.X; x < bar.Max.X; x++ {
		c := blend(viridisStops, float64(x-bar.Min.X)/float64(bar.Dx()-1))
		for y := bar.Min.Y; y < bar.Max.Y; y++ {
			dst.SetRGBA(x, y, c)
		}
	}
	text := inscribe(panelText-1, false, inkQuiet)
	for k := 0; k <= barMarks; k++ {
		mark := strconv.FormatFloat(float64(k)/barMarks, 'g', -1, 64)
		x := bar.Min.X + k*(bar.Dx()-1)/barMarks
		for y := bar.Max.Y; y < bar.Max.Y+3; y++ {
			dst.SetRGBA(x, y, inkAxis)
		}
		left := min(max(x-text.width(mark)/2, bar.Min.X), bar.Max.X-text.width(mark))
		text.put(dst, mark, left, bar.Max.Y+4+int(panelText)-2)
	}
}
