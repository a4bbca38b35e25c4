package figure

import (
	"image"
	"image/color"
	"image/draw"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// inscription is text in pixels: a Go font at one size in one colour.
type inscription struct {
	face font.Face
	ink  color.Color
}

// goFonts are the parsed Go fonts, regular and bold.
var goFonts = sync.OnceValue(func() [2]*opentype.Font {
	var fonts [2]*opentype.Font
	for i, source := range [][]byte{goregular.TTF, gobold.TTF} {
		parsed, err := opentype.Parse(source)
		if err != nil {
			panic("figure: a built-in font is damaged: " + err.Error()) // impossible
		}
		fonts[i] = parsed
	}
	return fonts
})

// inscribe is text of size pixels to the em.
func inscribe(size float64, bold bool, ink color.Color) inscription {
	source := goFonts()[0]
	if bold {
		source = goFonts()[1]
	}
	const pixelsPerPoint = 72 // so that the size is in pixels
	face, err := opentype.NewFace(source, &opentype.FaceOptions{Size: size, DPI: pixelsPerPoint, Hinting: font.HintingFull})
	if err != nil {
		panic("figure: a built-in font has no size: " + err.Error()) // impossible
	}
	return inscription{face: face, ink: ink}
}

// width of txt in pixels, rounded up.
func (t inscription) width(txt string) int { return font.MeasureString(t.face, txt).Ceil() }

// put writes txt with its base line at y, beginning at x.
func (t inscription) put(dst draw.Image, txt string, x, y int) {
	drawer := font.Drawer{Dst: dst, Src: image.NewUniform(t.ink), Face: t.face, Dot: fixed.P(x, y)}
	drawer.DrawString(txt)
}

// putCentered writes txt with its base line at y, centred on x.
func (t inscription) putCentered(dst draw.Image, txt string, x, y int) {
	t.put(dst, txt, x-t.width(txt)/2, y)
}

// fit is txt, cut and with an ellipsis if it is wider than room.
func (t inscription) fit(txt string, room int) string {
	return cutToFit(txt, func(s string) bool { return t.width(s) <= room })
}
