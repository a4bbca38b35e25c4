package report

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/printable"
)

// svgFont is what text is laid out for, about: fonts that are narrower, then any without serifs.
const svgFont = "'Liberation Sans',Arial,Helvetica,sans-serif"

// svg is a picture of lines and texts in points, from the upper left corner. Inks are named as in the style sheet of a
// page.
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
	if !s.page {
		s.rectangle("paper", 0, 0, width, height)
	}
}

// end returns the whole.
func (s *svg) end() string { return s.String() + "</svg>\n" }

// ink is a property of the page, or its colour in a file.
func (s *svg) ink(name string) string {
	if s.page {
		return "var(--" + name + ")"
	}
	c := inks[name]
	return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
}

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

func (s *svg) rectangle(ink string, left, top, right, bottom float64) {
	fmt.Fprintf(s, `<path d="M%s %sH%sV%sH%sZ" style="fill:%s"/>`+"\n",
		append(numbers(left, top, right, bottom, left), s.ink(ink))...)
}

func (s *svg) line(ink string, width, x0, y0, x1, y1 float64) {
	s.polyline(stroke{ink: ink, width: width}, []float64{x0, x1}, []float64{y0, y1})
}

// stroke is how a curve is drawn.
type stroke struct {
	ink    string
	width  float64
	dashes string // lengths of lines and gaps
	mark   int    // its shape
	marked int    // largest number of points that are marked
}

const (
	curveWidth, referenceWidth, markRadius = 1.6, 1.2, 2.8
	// markedPoints is the largest number of points of a curve that shows each of
	// them; a lone point would not be seen otherwise.
	markedPoints = 30
)

// dashPatterns and marks tell curves apart without colour: a disk, a square, a triangle and a cross of radius 1.
var (
	dashPatterns = []string{"", "9 3", "9 3 2 3", "9 3 2 3 2 3"}
	marks        = [][]float64{nil, {-.8, -.8, .8, -.8, .8, .8, -.8, .8}, {0, -1, .9, .6, -.9, .6},
		{-.8, -.8, .8, .8, 0, 0, -.8, .8, .8, -.8, 0, 0}}
)

// strokeOf is the stroke of series i.
func strokeOf(i int, dashed bool) stroke {
	s := stroke{seriesInks[i%len(seriesInks)], curveWidth, dashPatterns[i%len(dashPatterns)], i % len(marks), markedPoints}
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
	style := fmt.Sprintf(`style="fill:%s;stroke:%[1]s"`, s.ink(k.ink))
	if k.mark == 0 {
		fmt.Fprintf(s, `<circle cx="%s" cy="%s" r="%s" %s/>`+"\n", append(numbers(x, y, markRadius), style)...)
		return
	}
	s.WriteString(`<polygon points="`)
	for i := 0; i < len(marks[k.mark]); i += 2 {
		s.WriteString(number(x+markRadius*marks[k.mark][i]) + "," + number(y+markRadius*marks[k.mark][i+1]) + " ")
	}
	s.WriteString(`" ` + style + "/>\n")
}
