package report

import (
	"image"
	"image/color"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/blockbp/blockbp/internal/printable"
)

// pixelsPerPoint makes an image of pixels sharp on a good screen.
const pixelsPerPoint = 2

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
	noteLetters   = lettering{9.5, false}
	countLetters  = lettering{8.5, false} // above columns
)

// lineSpacing is the distance of two lines of text, in font sizes.
const lineSpacing = 1.25

// faces are fonts in the sizes that were asked for; each has scratch of its own.
var faces = struct {
	sync.Mutex
	of map[lettering]font.Face
}{of: map[lettering]font.Face{}}

// with calls a function with the font, in pixels of an image.
func (l lettering) with(use func(face font.Face)) {
	faces.Lock()
	defer faces.Unlock()
	if faces.of[l] == nil {
		file := goregular.TTF
		if l.bold {
			file = gobold.TTF
		}
		parsed, err := opentype.Parse(file)
		if err == nil {
			faces.of[l], err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: l.size * pixelsPerPoint, DPI: 72})
		}
		if err != nil {
			panic("report: " + err.Error()) // the fonts are part of the program
		}
	}
	use(faces.of[l])
}

// width of a text on one line, in points.
func (l lettering) width(text string) (points float64) {
	l.with(func(face font.Face) { points = float64(font.MeasureString(face, text)) / 64 / pixelsPerPoint })
	return points
}

// Where a text lies relative to its point, in parts of its width.
const (
	atLeft   = 0.0 // it begins at the point
	atCenter = 0.5
	atRight  = 1.0 // it ends at the point
)

// draw writes a text into an image, with its base line at a point.
func (l lettering) draw(dst *image.RGBA, ink color.RGBA, text string, x, y, anchor float64) {
	x -= anchor * l.width(text)
	l.with(func(face font.Face) {
		dot := fixed.Point26_6{X: fixed.Int26_6(64 * pixelsPerPoint * x), Y: fixed.Int26_6(64 * pixelsPerPoint * y)}
		drawer := font.Drawer{Dst: dst, Src: image.NewUniform(ink), Face: face, Dot: dot}
		drawer.DrawString(text)
	})
}

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

// wrap breaks a text between words into at most so many lines that fit the room; what is too long is cut.
func (l lettering) wrap(text string, room float64, limit int) (lines []string) {
	words := strings.Fields(printable.Line(text))
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
