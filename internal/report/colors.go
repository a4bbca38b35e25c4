package report

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
)

// inks are those of figures, by their names in the style sheet of a page. The six of curves are told apart by most
// colour-blind eyes, too: the palette of Okabe and Ito, strongest contrast first, without the yellow, which vanishes on
// white.
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

// viridisStops are samples of matplotlib's viridis at equal steps from 0 to 1:
// equal steps of the value look like equal steps of the colour, also in grey.
var viridisStops = []color.RGBA{
	{0x44, 0x01, 0x54, 0xff}, {0x47, 0x13, 0x65, 0xff}, {0x48, 0x24, 0x75, 0xff}, {0x46, 0x34, 0x80, 0xff},
	{0x41, 0x44, 0x87, 0xff}, {0x3b, 0x52, 0x8b, 0xff}, {0x35, 0x5f, 0x8d, 0xff}, {0x2f, 0x6c, 0x8e, 0xff},
	{0x2a, 0x78, 0x8e, 0xff}, {0x25, 0x84, 0x8e, 0xff}, {0x21, 0x91, 0x8c, 0xff}, {0x1e, 0x9c, 0x89, 0xff},
	{0x22, 0xa8, 0x84, 0xff}, {0x2f, 0xb4, 0x7c, 0xff}, {0x44, 0xbf, 0x70, 0xff}, {0x5e, 0xc9, 0x62, 0xff},
	{0x7a, 0xd1, 0x51, 0xff}, {0x9b, 0xd9, 0x3c, 0xff}, {0xbd, 0xdf, 0x26, 0xff}, {0xdf, 0xe3, 0x18, 0xff},
	{0xfd, 0xe7, 0x25, 0xff},
}

// blend is the colour at place t of 0 to 1 along stops, linear between them.
func blend(stops []color.RGBA, t float64) color.RGBA {
	t = min(max(t, 0), 1) * float64(len(stops)-1)
	i := min(int(t), len(stops)-2)
	a, b, part := stops[i], stops[i+1], t-float64(i)
	mix := func(x, y uint8) uint8 {
		return uint8(math.Round(float64(x) + part*(float64(y)-float64(x))))
	}
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// linear undoes the sRGB encoding of one channel; 0 to 1.
func linear(channel uint8) float64 {
	v := float64(channel) / math.MaxUint8
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// MaxClasses is the largest number of classes of a label image: a paletted PNG
// has 256 colours, and the last one means unknown.
const MaxClasses = 255

// firstClassColors are the colours of the first classes, chosen by hand to be told
// apart by most colour-blind eyes (after Okabe and Ito).
var firstClassColors = []color.RGBA{
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x00, 0x7a, 0x53, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xf0, 0xe4, 0x42, 0xff}, // yellow
	{0x00, 0x4e, 0x9a, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x7a, 0x4b, 0x2a, 0xff}, // brown
	{0xe6, 0x9f, 0x00, 0xff}, // orange
}

// unknownColors are the two greys of the hatch that stands for unknown; the first alone where nothing can be hatched.
var unknownColors = [2]color.RGBA{{0x4a, 0x4a, 0x4a, 0xff}, {0x78, 0x78, 0x78, 0xff}}

// Limits of the colours that are given to classes: neither grey, which means
// unknown, nor nearly white, which is the page, nor nearly black.
const (
	leastChroma    = 0.08
	leastLightness = 0.28
	mostLightness  = 0.93
)

// candidateLevels is the number of levels of each channel among which colours for
// classes are sought: enough for MaxClasses, few enough to be searched at once.
const candidateLevels = 9

// ClassPalette is n distinct opaque colours, none of them grey. Colour k is the same for every n > k. The first eight
// are chosen by hand; each further one is as far as can be from all before it, to the eye. n may be 0 to MaxClasses;
// more repeat the colours from the start.
func ClassPalette(n int) []color.RGBA {
	palette := slices.Clone(firstClassColors[:min(max(n, 0), len(firstClassColors))])
	if n > len(palette) {
		taken := slices.Concat(palette, unknownColors[:])
		for len(palette) < min(n, MaxClasses) {
			next := farthest(taken)
			palette, taken = append(palette, next), append(taken, next)
		}
	}
	for k := len(palette); k < n; k++ {
		palette = append(palette, palette[k%MaxClasses])
	}
	return palette
}

// paletteOf returns the colours of classes: those that they are called by, if all are, or else those of ClassPalette.
func paletteOf(names []string) []color.RGBA {
	palette := ClassPalette(len(names))
	called := make([]color.RGBA, len(names))
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

// farthest is the colour that a class may get which is as far as can be from all that are taken.
func farthest(taken []color.RGBA) (best color.RGBA) {
	places, most := make([][3]float64, len(taken)), 0.0
	for k, c := range taken {
		places[k] = oklab(c)
	}
	level := func(k int) uint8 { return uint8(k % candidateLevels * math.MaxUint8 / (candidateLevels - 1)) }
	for i := range candidateLevels * candidateLevels * candidateLevels {
		c := color.RGBA{level(i / candidateLevels / candidateLevels), level(i / candidateLevels), level(i), 0xff}
		place := oklab(c)
		if math.Hypot(place[1], place[2]) < leastChroma || place[0] < leastLightness || place[0] > mostLightness {
			continue
		}
		nearest := math.Inf(1)
		for _, p := range places {
			d0, d1, d2 := place[0]-p[0], place[1]-p[1], place[2]-p[2]
			nearest = min(nearest, d0*d0+d1*d1+d2*d2)
		}
		if nearest > most {
			best, most = c, nearest
		}
	}
	return best
}

// oklab is the place of c in the Oklab colour space (Ottosson 2020), in which
// distances are differences to the eye: lightness 0 to 1, green–red, blue–yellow.
func oklab(c color.RGBA) [3]float64 {
	r, g, b := linear(c.R), linear(c.G), linear(c.B)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}
