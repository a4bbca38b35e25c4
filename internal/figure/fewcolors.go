package figure

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"slices"
)

// Colours are gathered in bins that agree in this many bits of each channel: a
// step of 8 in 255, which nobody sees at the soft edge of a letter or a line.
const (
	binBits  = 5
	binCount = 1 << (3 * binBits)
)

// mostColors is the number of colours of an indexed PNG.
const mostColors = 256

// colorBin is the pixels of one bin.
type colorBin struct {
	pixels int
	leader uint32 // the colour of most of them, if there is such a colour
	lead   int    // by how many pixels it leads (Boyer and Moore's majority vote)
}

// add counts n pixels of colour c.
func (b *colorBin) add(c uint32, n int) {
	b.pixels += n
	switch {
	case b.leader == c:
		b.lead += n
	case b.lead < n:
		b.leader, b.lead = c, n-b.lead
	default:
		b.lead -= n
	}
}

// fewColors is the opaque image img in at most 256 colours: those of the bins
// with most pixels, to which all others are rounded. The inks of a figure, which
// are flat, stay what they are; only shades at soft edges change, by a little. An
// indexed image takes a third of the time to make and encode, and half of the bytes
// (BenchmarkSmallFigure).
func fewColors(img *image.RGBA) *image.Paletted {
	bins := make([]colorBin, binCount)
	eachColorRun(img, func(c uint32, start, end int) {
		bins[binOf(c)].add(c, end-start)
	})
	palette, entries := binPalette(bins)
	few := image.NewPaletted(img.Rect, palette)
	eachColorRun(img, func(c uint32, start, end int) {
		entry := entries[binOf(c)]
		for i := start; i < end; i++ {
			few.Pix[i] = entry
		}
	})
	return few
}

// eachColorRun visits runs of equal pixels, from start to end−1 in the order of
// the rows. The colour c has red in its lowest byte, then green and blue.
func eachColorRun(img *image.RGBA, visit func(c uint32, start, end int)) {
	const pixelBytes = 4
	pixel := func(i int) uint32 { return binary.LittleEndian.Uint32(img.Pix[pixelBytes*i:]) }
	n := len(img.Pix) / pixelBytes
	for start := 0; start < n; {
		c, end := pixel(start), start+1
		for end < n && pixel(end) == c {
			end++
		}
		visit(c, start, end)
		start = end
	}
}

// channels of a colour as eachColorRun gives it.
func channels(c uint32) (r, g, b uint8) { return uint8(c), uint8(c >> 8), uint8(c >> 16) }

// binOf is the bin of colour c.
func binOf(c uint32) int {
	const drop = 8 - binBits
	r, g, b := channels(c)
	return int(r>>drop)<<(2*binBits) | int(g>>drop)<<binBits | int(b>>drop)
}

// binPalette is the colours of the fullest bins, and for every bin that is used
// the entry of the palette nearest to it.
func binPalette(bins []colorBin) (palette color.Palette, entries []uint8) {
	var used []int
	for i := range bins {
		if bins[i].pixels > 0 {
			used = append(used, i)
		}
	}
	slices.SortStableFunc(used, func(i, j int) int { return cmp.Compare(bins[j].pixels, bins[i].pixels) })
	kept := used[:min(len(used), mostColors)]
	entries = make([]uint8, len(bins))
	for k, i := range kept {
		r, g, b := channels(bins[i].leader)
		palette = append(palette, color.RGBA{r, g, b, 0xff})
		entries[i] = uint8(k)
	}
	for _, i := range used[len(kept):] {
		entries[i] = nearestBin(bins, kept, bins[i].leader)
	}
	return palette, entries
}

// nearestBin is the place in kept of the bin whose leader is most like colour c.
func nearestBin(bins []colorBin, kept []int, c uint32) uint8 {
	best, least := 0, math.MaxInt
	for k, i := range kept {
		if d := colorDistance(bins[i].leader, c); d < least {
			best, least = k, d
		}
	}
	return uint8(best)
}

// colorDistance is the squared distance of two colours in red, green and blue.
func colorDistance(a, b uint32) int {
	ar, ag, ab := channels(a)
	br, bg, bb := channels(b)
	dr, dg, db := int(ar)-int(br), int(ag)-int(bg), int(ab)-int(bb)
	return dr*dr + dg*dg + db*db
}
