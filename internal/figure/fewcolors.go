package figure

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// mostColors is the number of colours of an indexed PNG.
const mostColors = 256

// fewColors is the opaque image img in at most 256 colours: those of most pixels, to
// which all others are rounded. The inks of a figure, which are flat, stay what they are;
// only shades at soft edges change, by a little. An indexed image takes a third of the
// time to encode, and half of the bytes.
func fewColors(img *image.RGBA) *image.Paletted {
	pixels := map[color.RGBA]int{}
	eachColorRun(img, func(c color.RGBA, start, end int) { pixels[c] += end - start })
	colors := slices.SortedFunc(maps.Keys(pixels), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(pixels[b], pixels[a]), bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B}))
	})
	var palette color.Palette
	for _, c := range colors[:min(len(colors), mostColors)] {
		palette = append(palette, c)
	}
	entries := make(map[color.RGBA]uint8, len(colors))
	for _, c := range colors {
		entries[c] = uint8(palette.Index(c))
	}
	few := image.NewPaletted(img.Rect, palette)
	eachColorRun(img, func(c color.RGBA, start, end int) {
		entry := entries[c]
		for i := start; i < end; i++ {
			few.Pix[i] = entry
		}
	})
	return few
}

// eachColorRun visits runs of equal pixels, from start to end−1 in the order of the rows.
func eachColorRun(img *image.RGBA, visit func(c color.RGBA, start, end int)) {
	pixel := func(i int) color.RGBA { p := img.Pix[4*i:][:4]; return color.RGBA{p[0], p[1], p[2], p[3]} }
	n := len(img.Pix) / 4
	for start := 0; start < n; {
		c, end := pixel(start), start+1
		for end < n && pixel(end) == c {
			end++
		}
		visit(c, start, end)
		start = end
	}
}
