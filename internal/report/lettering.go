package report

import (
	"image/color"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of the house style, in points.
const (
	sizeTitle  vg.Length = 13
	sizeLabel  vg.Length = 11
	sizeLegend vg.Length = 10.5
	sizeTick   vg.Length = 10
	sizeNote   vg.Length = 9.5
	sizeCount  vg.Length = 8.5 // above columns
)

// lineSpacing is the distance of two lines of text, in font sizes.
const lineSpacing = 1.25

// ellipsis ends a text that was cut to fit.
const ellipsis = "…"

// lettering is a way to set text: size, weight and colour.
type lettering struct {
	font  font.Font
	color color.Color
}

// sans is text in the house font.
func sans(size vg.Length, ink color.Color) lettering {
	return lettering{font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, color: ink}
}

// bold is l in bold.
func (l lettering) bold() lettering {
	l.font.Weight = xfont.WeightBold
	return l
}

// face is the font at its size.
func (l lettering) face() font.Face {
	return font.DefaultCache.Lookup(l.font, l.font.Size)
}

// width of txt on one line.
func (l lettering) width(txt string) vg.Length {
	face := l.face()
	return face.Width(txt)
}

// capHeight is roughly the height of a capital above the base line.
func (l lettering) capHeight() vg.Length { return 0.72 * l.font.Size }

// style is l for the plot library, centred on its point.
func (l lettering) style() text.Style {
	return text.Style{
		Color: l.color, Font: l.font, Handler: plot.DefaultTextHandler,
		XAlign: draw.XCenter, YAlign: draw.YCenter,
	}
}

// Where a text lies relative to its point, in parts of its width.
const (
	atLeft   vg.Length = 0 // it begins at the point
	atCenter vg.Length = 0.5
	atRight  vg.Length = 1 // it ends at the point
)

// put writes txt with its base line at pt.
func (l lettering) put(c draw.Canvas, txt string, pt vg.Point, anchor vg.Length) {
	if txt == "" {
		return
	}
	c.SetColor(l.color)
	pt.X -= anchor * l.width(txt)
	c.FillString(l.face(), pt, txt)
}

// putCentered writes txt so that its capitals are centred on pt.
func (l lettering) putCentered(c draw.Canvas, txt string, pt vg.Point, anchor vg.Length) {
	pt.Y -= l.capHeight() / 2
	l.put(c, txt, pt, anchor)
}

// putTurned writes txt along a base line through pt that rises by angle, in
// radians.
func (l lettering) putTurned(c draw.Canvas, txt string, pt vg.Point, anchor vg.Length, angle float64) {
	sin64, cos64 := math.Sincos(angle)
	sin, cos := vg.Length(sin64), vg.Length(cos64)
	c.Push()
	c.Rotate(angle)
	l.put(c, txt, vg.Point{X: pt.X*cos + pt.Y*sin, Y: pt.Y*cos - pt.X*sin}, anchor)
	c.Pop()
}

// fit is txt, or the longest beginning of it that fits room with an ellipsis.
func (l lettering) fit(txt string, room vg.Length) string {
	if l.width(txt) <= room {
		return txt
	}
	runes := []rune(txt)
	for n := len(runes) - 1; n > 0; n-- {
		if cut := strings.TrimRight(string(runes[:n]), " ") + ellipsis; l.width(cut) <= room {
			return cut
		}
	}
	return ellipsis
}

// wrap breaks txt between words into at most limit lines that fit room; what is
// too long is cut with an ellipsis.
func (l lettering) wrap(txt string, room vg.Length, limit int) (lines []string) {
	words := strings.Fields(txt)
	for len(words) > 0 {
		n := len(words)
		for n > 1 && len(lines) < limit-1 && l.width(strings.Join(words[:n], " ")) > room {
			n--
		}
		lines = append(lines, l.fit(strings.Join(words[:n], " "), room))
		words = words[n:]
	}
	return lines
}
