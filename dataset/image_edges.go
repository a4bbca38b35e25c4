package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
)

// Ways to make features of edges of images, in Options.Edges.
const (
	edgesContrast = "contrast" // contrasts of colours at several scales, and a constant, by direction
	edgesBins     = "bins"     // bins of the distance of the two pixels' features, as in the paper
)

var edgesOfImages = []string{edgesContrast, edgesBins}

// edgeRecipe says how contrasts make features of the edges of an image. Both have one entry: once there were models
// that joined pixels further apart, whose features are more than their recipe makes now.
type edgeRecipe struct {
	Offsets [1]int      `json:"offsets"` // 1
	Colour  [1]contrast `json:"colour"`  // exp(−β|Δrgb|²) of colours of 0 to 255
}

// contrast makes features of a number x ≥ 0: exp(−βx) for several β. Numbers are sorted into
// bins, and one stands for all of a bin, so that edges of one bin share a potential table.
type contrast struct {
	Scales []float64 `json:"scales"` // β
	Bounds []float64 `json:"bounds"` // x falls into the bin numbered by how many are ≤ x
	Values []float64 `json:"values"` // [bins] the x that stands for all of a bin
}

// colourBins bound what is lost: in one of n bins, each of three contrasts is off by at most 1.5/n.
const colourBins = 32

// scaleFactors are the scales over the usual one, 1 / (2 mean x). Most neighbouring pixels differ by much less
// than the mean, which few strong edges make: finer scales tell them apart, and coarser ones nothing.
var scaleFactors = []float64{1, 4, 16}

// scalesFor returns the scales for numbers of a mean.
func scalesFor(mean float64) []float64 {
	if !(mean > 0) {
		mean = 1 // nothing differs anywhere: any scale does
	}
	return numeric.Map(scaleFactors, func(f float64) float64 { return f / (2 * mean) })
}

// areDistances reports whether numbers that were read from a file are some, finite, not negative, and rise.
func areDistances(list []float64) bool { return len(list) > 0 && list[0] >= 0 && rise(list) }

// contrastsOf returns a constant and the contrasts of x.
func contrastsOf(scales []float64, x float64) []float64 {
	return append([]float64{1}, numeric.Map(scales, func(beta float64) float64 { return math.Exp(-beta * x) })...)
}

// contrastNames names them.
func contrastNames(constant, before string, scales []float64) []string {
	return append([]string{constant}, numeric.Map(scales, func(beta float64) string {
		return fmt.Sprintf("%sexp(−%.3g |Δrgb|²)", before, beta)
	})...)
}

// newContrast makes contrasts for numbers of a mean. Bins divide the sum of the contrasts,
// which falls as x rises, evenly.
func newContrast(mean float64) contrast {
	c := contrast{Scales: scalesFor(mean)}
	for b := range colourBins {
		const n = float64(colourBins)
		if b > 0 {
			c.Bounds = append(c.Bounds, c.at(1-float64(b)/n))
		}
		c.Values = append(c.Values, c.at(1-(float64(b)+0.5)/n))
	}
	return c
}

// at returns the x at which the contrasts have that mean, by bisection.
func (c *contrast) at(mean float64) float64 {
	sum := func(x float64) (sum float64) {
		for _, beta := range c.Scales {
			sum += math.Exp(-beta * x)
		}
		return sum / float64(len(c.Scales))
	}
	low, high := 0.0, 1/slices.Min(c.Scales)
	for sum(high) > mean {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; sum(middle) > mean {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// sound reports whether a recipe that was read from a file can be used.
func (r *edgeRecipe) sound() bool {
	c := &r.Colour[0]
	return r.Offsets[0] == 1 && areDistances(c.Scales) && areDistances(c.Values) && len(c.Values) <= mostFeatures &&
		len(c.Bounds) == len(c.Values)-1 && (len(c.Bounds) == 0 || areDistances(c.Bounds))
}

// directions are the ways from a pixel to those that it is joined to: half of the neighbours have one.
var directions = []string{"right", "down", "down right", "down left"}

// direction returns that of an edge of a grid: within a row, or by how many columns v is off the pixel below u.
func direction(u, v, cols int32) int {
	if u/cols == v/cols {
		return 0
	}
	return [3]int{3, 1, 2}[v-u-cols+1]
}

// imageEdges names the features of edges of images: of those of pixels a constant and contrasts for each direction, or
// bins of distances, and of those of regions also the logarithm of the border's length, by which their pixels have more
// or less to do with each other.
func (r *Recipe) imageEdges() (names []string) {
	switch {
	case r.Superpixels != nil:
		return append(contrastNames("constant", "", r.Superpixels.Scales), "log length of the border")
	case r.Edges == nil:
		return binNames(r.BinEdges)
	}
	for _, d := range directions[:r.Neighbours/2] {
		names = append(names, contrastNames(d, d+", ", r.Edges.Colour[0].Scales)...)
	}
	return names
}

// book returns the features of all bins, direction by direction.
func (r *edgeRecipe) book(neighbours int) (book []float64) {
	for d := range neighbours / 2 {
		for _, x := range r.Colour[0].Values {
			own := contrastsOf(r.Colour[0].Scales, x)
			row := make([]float64, neighbours/2*len(own))
			copy(row[d*len(own):], own)
			book = append(book, row...)
		}
	}
	return book
}

// features returns those of a picture's edges, which have rows of the book.
func (r *edgeRecipe) features(d *imageData, book []float64, dim int) (crf.Features, error) {
	codes, c := make([]int32, d.graph.NumEdges()), &r.Colour[0]
	for e := range codes {
		way := direction(d.graph.U(int32(e)), d.graph.V(int32(e)), int32(d.image.Width))
		codes[e] = int32(way*len(c.Values) + binOf(d.difference(int32(e)), c.Bounds))
	}
	return crf.Coded(codes, book, dim)
}

// difference returns |Δrgb|² of the ends of an edge: of pixels, or of the mean colours of regions.
func (d *imageData) difference(e int32) float64 {
	u, v := 3*int(d.graph.U(e)), 3*int(d.graph.V(e))
	if d.regions != nil {
		return squared(d.regions.colours[u:][:3], d.regions.colours[v:][:3])
	}
	return squared(d.colours[u:][:3], d.colours[v:][:3])
}

// squared returns the square of the distance of two points. The conversion keeps machines from fusing additions.
func squared[T float32 | float64](a, b []T) (sum float64) {
	for i, x := range a {
		y := float64(x) - float64(b[i])
		sum += float64(y * y)
	}
	return sum
}

// meanDifference returns the mean difference of the ends of all edges of training data.
func (l *imageLoader) meanDifference() float64 {
	n, sum := 0.0, 0.0
	for _, d := range l.images {
		for e := range d.graph.NumEdges() {
			n, sum = n+1, sum+d.difference(int32(e))
		}
	}
	return sum / n
}
