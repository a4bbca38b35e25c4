package report

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
)

// inks are those of figures, by their names in the style sheet of a page. The six of curves are told apart by most
// colour-blind eyes, too: the palette of Okabe and Ito, strongest contrast first, but for yellow, too faint on white.
var inks = map[string]color.RGBA{
	"text":  {0x22, 0x22, 0x22, 0xff}, // titles, labels
	"quiet": {0x66, 0x66, 0x66, 0xff}, // notes, tick labels
	"axis":  {0x80, 0x80, 0x80, 0xff},
	"grid":  {0xe4, 0xe4, 0xe4, 0xff},
	"paper": {0xff, 0xff, 0xff, 0xff},
	"one":   {0x00, 0x72, 0xb2, 0xff}, // blue
	"two":   {0xd5, 0x5e, 0x00, 0xff}, // vermilion
	"three": {0x00, 0x9e, 0x73, 0xff}, // bluish green
	"four":  {0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	"five":  {0xe6, 0x9f, 0x00, 0xff}, // orange
	"six":   {0x56, 0xb4, 0xe9, 0xff}, // sky blue
	// Contrasts with white and nearly black of 4.5 and 4 to 1.
	"letters": {0x76, 0x76, 0x76, 0xff},
}

// seriesInks are the inks of curves in their order.
var seriesInks = []string{"one", "two", "three", "four", "five", "six", "text"}

// MaxClasses is the largest number of classes of a label image: a paletted PNG
// has 256 colours, and the last one means unknown.
const MaxClasses = 255

// firstClassColors are the colours of the first classes: eight chosen by hand to be told apart by most colour-blind
// eyes (after Okabe and Ito), and others that are each as far as can be from all before, to the eye.
var firstClassColors = []color.RGBA{
	{0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x7a, 0x53, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0xf0, 0xe4, 0x42, 0xff},
	{0x00, 0x4e, 0x9a, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x7a, 0x4b, 0x2a, 0xff}, {0xe6, 0x9f, 0x00, 0xff},
	{0x9f, 0x00, 0xff, 0xff}, {0x00, 0xbf, 0x00, 0xff}, {0x7f, 0xff, 0xff, 0xff}, {0xff, 0xbf, 0xff, 0xff},
	{0x9f, 0x00, 0x7f, 0xff}, {0xff, 0x1f, 0xff, 0xff}, {0x3f, 0x00, 0x5f, 0xff}, {0x3f, 0xff, 0x00, 0xff},
	{0x3f, 0x00, 0xff, 0xff}, {0x00, 0x7f, 0xff, 0xff}, {0x5f, 0x00, 0x00, 0xff}, {0xff, 0x00, 0x7f, 0xff},
	{0x3f, 0xdf, 0x9f, 0xff}, {0x7f, 0x5f, 0xbf, 0xff}, {0x00, 0x3f, 0x00, 0xff}, {0xbf, 0x00, 0x1f, 0xff},
}

// unknownColor stands for unknown.
var unknownColor = color.RGBA{0x4a, 0x4a, 0x4a, 0xff}

// ClassPalette is n opaque colours. Colour k is the same for every n > k. Beyond firstClassColors hues lie a golden
// angle apart, in three strengths.
func ClassPalette(n int) []color.RGBA {
	palette := slices.Clone(firstClassColors[:min(n, len(firstClassColors))])
	for k := len(palette); k < n; k++ {
		palette = append(palette, wheel(0.618034*float64(k), []float64{0.8, 0.5, 0.65}[k%3], []float64{0.9, 0.8, 0.5}[k%3]))
	}
	return palette
}

// wheel is a colour of a hue, of which 1 is the whole circle, a saturation and a value.
func wheel(hue, saturation, value float64) color.RGBA {
	channel := func(shift float64) uint8 {
		away := math.Abs(6*math.Mod(hue+shift, 1)-3) - 1 // 1 and more: the channel is full
		return uint8(math.MaxUint8 * value * (1 - saturation*(1-min(max(away, 0), 1))))
	}
	return color.RGBA{channel(0), channel(2. / 3), channel(1. / 3), 0xff}
}

// paletteOf returns the colours of classes: those that they are called by, if all are, or else those of ClassPalette.
func paletteOf(names []string) []color.RGBA {
	palette, called := ClassPalette(len(names)), make([]color.RGBA, len(names))
	for k, name := range names {
		digits, ok := strings.CutPrefix(name, "#")
		c, err := strconv.ParseUint(digits, 16, 24)
		if !ok || err != nil || len(digits) != len("rrggbb") {
			return palette
		}
		called[k] = color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff}
	}
	return called
}
