package report

import (
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/blockbp/blockbp/internal/printable"
)

// svgFont is what text is laid out for, about: fonts that are narrower, then any without serifs.
const svgFont = "'Liberation Sans',Arial,Helvetica,sans-serif"

// Figure is what can be drawn, as a file or as a part of a page.
type Figure interface {
	// SVG writes a standalone SVG document.
	SVG(w io.Writer) error
	// Element is an SVG element of a page, whose style sheet has its colours in light and in dark: the properties
	// --text, --quiet, --axis and --grid, and --one to --six of curves.
	Element() string
}

// writeSVG writes what draw makes of a figure.
func writeSVG(w io.Writer, draw func(page bool) string) error {
	_, err := io.WriteString(w, draw(false))
	return err
}

// svg is a picture of lines and texts in points, from the upper left corner. Inks are named as in a page's style sheet.
type svg struct {
	strings.Builder
	page bool // whose style sheet has the colours
}

// begin writes the head.
func (s *svg) begin(title string, width, height float64) {
	size := fmt.Sprintf(`viewBox="0 0 %g %g"`, width, height)
	if !s.page {
		s.WriteString("<?xml version=\"1.0\"?>\n")
		size += fmt.Sprintf(` xmlns="http://www.w3.org/2000/svg" width="%gpt" height="%gpt"`, width, height)
	}
	fmt.Fprintf(s, `<svg %s font-family="%s" stroke-linejoin="round"><title>%s</title>`+"\n", size, svgFont,
		escaped(printable.Line(title)))
}

// end returns the whole.
func (s *svg) end() string { return s.String() + "</svg>\n" }

// ink is a property of the page, or its colour in a file.
func (s *svg) ink(name string) string {
	if s.page {
		return "var(--" + name + ")"
	}
	return hex(inks[name])
}

// hex is a colour as style sheets have it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder does not fail
	return b.String()
}

// number is a length: a hundredth of a point is seen by nobody.
func number(x float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}

func numbers(all ...float64) []any {
	texts := make([]any, len(all))
	for i, x := range all {
		texts[i] = number(x)
	}
	return texts
}

// text writes a text with its base line at a point, which is so far along it.
func (s *svg) text(l lettering, ink, text string, x, y, anchor float64) {
	s.letter(l, ink, text, fmt.Sprintf(`x="%s" y="%s"`, numbers(x, y)...), anchor)
}

// turned writes a text that rises along a line, with its middle at a point.
func (s *svg) turned(l lettering, ink, text string, x, y float64) {
	s.letter(l, ink, text, fmt.Sprintf(`transform="translate(%s %s) rotate(-90)"`, numbers(x, y)...), atCenter)
}

func (s *svg) letter(l lettering, ink, text, place string, anchor float64) {
	weight := ""
	if l.bold {
		weight = ";font-weight:bold"
	}
	fmt.Fprintf(s, `<text %s style="fill:%s;font-size:%gpx;text-anchor:%s%s">%s</text>`+"\n", place, s.ink(ink), l.size,
		map[float64]string{atLeft: "start", atCenter: "middle", atRight: "end"}[anchor], weight, escaped(text))
}

// rectangle is filled with a colour of style sheets.
func (s *svg) rectangle(fill string, left, top, right, bottom float64) {
	fmt.Fprintf(s, `<path d="M%s %sH%sV%sH%sZ" style="fill:%s"/>`+"\n",
		append(numbers(left, top, right, bottom, left), fill)...)
}

func (s *svg) line(ink string, width, x0, y0, x1, y1 float64) {
	s.polyline(stroke{ink: ink, width: width}, []float64{x0, x1}, []float64{y0, y1})
}

// stroke is how a curve is drawn.
type stroke struct {
	ink    string
	width  float64
	dashes string // lengths of lines and gaps
	marked int    // largest number of points that are marked
}

const (
	curveWidth, referenceWidth, markRadius = 1.6, 1.2, 2.8
	// markedPoints is the largest number of points of a curve that shows each of
	// them; a lone point would not be seen otherwise.
	markedPoints = 30
)

// dashPatterns tell curves apart without colour.
var dashPatterns = []string{"", "9 3", "9 3 2 3", "9 3 2 3 2 3"}

// strokeOf is the stroke of series i.
func strokeOf(i int, dashed bool) stroke {
	s := stroke{seriesInks[i%len(seriesInks)], curveWidth, dashPatterns[i%len(dashPatterns)], markedPoints}
	if dashed {
		s.width, s.dashes, s.marked = referenceWidth, "3.5 2.5", 1 // a line, not a measurement
	}
	return s
}

func (s *svg) polyline(k stroke, x, y []float64) {
	dashes := ""
	if k.dashes != "" {
		dashes = ";stroke-dasharray:" + k.dashes
	}
	s.WriteString(`<polyline points="`)
	for i := range x {
		s.WriteString(number(x[i]) + "," + number(y[i]) + " ")
	}
	fmt.Fprintf(s, `" style="fill:none;stroke:%s;stroke-width:%s%s"/>`+"\n", s.ink(k.ink), number(k.width), dashes)
}

// mark shows a point.
func (s *svg) mark(k stroke, x, y float64) {
	fmt.Fprintf(s, `<circle cx="%s" cy="%s" r="%s" style="fill:%s;stroke:%[4]s"/>`+"\n",
		append(numbers(x, y, markRadius), s.ink(k.ink))...)
}

// lettering is a way to set text: its size in points, and its weight.
type lettering struct {
	size float64
	bold bool
}

// The letters of figures.
var (
	titleLetters  = lettering{13, true}
	headLetters   = lettering{11, true}
	labelLetters  = lettering{11, false}
	legendLetters = lettering{10.5, false}
	tickLetters   = lettering{10, false}
	countLetters  = lettering{8.5, false} // above columns
)

// lineSpacing is the height of a line of text, in font sizes.
const lineSpacing = 1.25

// width of a text on one line, in points, about: letters of sans-serif fonts are hardly wider, in the mean.
func (l lettering) width(text string) float64 {
	const letter = 0.55
	return letter * l.size * float64(uniseg.StringWidth(text))
}

// Where a text lies relative to its point, in parts of its width.
const (
	atLeft   = 0.0 // it begins at the point
	atCenter = 0.5
	atRight  = 1.0 // it ends at the point
)

// fit is a text as it may be shown, or the longest beginning of it that fits the room with an ellipsis.
func (l lettering) fit(text string, room float64) string {
	text = printable.Line(text)
	if l.width(text) <= room {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if cut := strings.TrimRight(string(runes[:n]), " ") + "…"; l.width(cut) <= room {
			return cut
		}
	}
	return "…"
}

// Measures of the top of a figure, in points.
const (
	pagePadding     = 10.0 // around the figure
	legendSample    = 26.0 // length of the line or box before a name
	legendGap       = 6.0  // between the sample and its name
	legendSeparator = 18.0 // between two entries
	legendLine      = 1.5 * 10.5
	blockGap        = 9.0 // between title, legend and plot
)

// heading is the title and the legend above a figure, laid out for a width.
type heading struct {
	title  string
	names  []string // of the legend
	x, y   []float64
	lines  int     // of the legend
	bottom float64 // where the heading and the gap below it end
}

// newHeading lays out title and legend for a figure of this width, padding included.
func newHeading(title string, names []string, width float64) heading {
	room := width - 2*pagePadding
	h := heading{title: titleLetters.fit(title, room), bottom: pagePadding}
	if title != "" {
		h.bottom += titleLetters.size*lineSpacing + blockGap
	}
	x := width // where the next entry begins
	for _, name := range names {
		name = legendLetters.fit(name, room-legendSample-legendGap)
		wide := legendSample + legendGap + legendLetters.width(name)
		if x+wide > width-pagePadding {
			x, h.lines, h.bottom = pagePadding, h.lines+1, h.bottom+legendLine
		}
		h.names, h.x, h.y = append(h.names, name), append(h.x, x), append(h.y, h.bottom-legendLine/2)
		x += wide + legendSeparator
	}
	if len(names) > 0 {
		h.bottom += blockGap
	}
	return h
}

// draw writes title and names in an ink; sample draws what stands before each name, from x on.
func (h *heading) draw(s *svg, ink string, sample func(i int, x, y float64)) {
	s.text(titleLetters, ink, h.title, pagePadding, pagePadding+titleLetters.size, atLeft)
	for i, name := range h.names {
		sample(i, h.x[i], h.y[i])
		s.text(legendLetters, ink, name, h.x[i]+legendSample+legendGap, h.y[i]+0.36*legendLetters.size, atLeft)
	}
}
