package dataset

import (
	"fmt"
	"image"
	"image/draw"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// Ways to make features of edges of images, in Options.Edges.
const (
	EdgesContrast = "contrast" // contrasts of colours at several scales, and a constant, by direction
	EdgesBins     = "bins"     // bins of the distance of the two pixels' features, as in the paper
)

var edgesOfImages = []string{EdgesContrast, EdgesBins}

// edgeRecipe says how contrasts make features of the edges of an image. Both lists have one entry: once there were
// models that joined pixels further apart.
type edgeRecipe struct {
	Offsets []int      `json:"offsets"` // 1
	Colour  []contrast `json:"colour"`  // exp(−β|Δrgb|²) of colours of 0 to 255
}

// contrast makes features of a number x ≥ 0: exp(−βx) for several β. Numbers are sorted into
// bins, and one stands for all of a bin, so that edges of one bin share a potential table.
type contrast struct {
	Scales []float64 `json:"scales"` // β
	Bounds []float64 `json:"bounds"` // x falls into the bin numbered by how many are ≤ x
	Values []float64 `json:"values"` // [bins] the x that stands for all of a bin
}

const (
	// colourBins bound what is lost: in one of n bins, each of three contrasts differs from that of the bin by at most
	// 1.5/n.
	colourBins = 32
	// mostScales bounds what a model asks for.
	mostScales = 16
)

// scaleFactors are the scales over the usual one, 1 / (2 mean x). Most neighbouring pixels differ by much less
// than the mean, which few strong edges make: finer scales tell them apart, and coarser ones nothing.
var scaleFactors = []float64{1, 4, 16}

// scalesFor returns the scales for numbers of a mean.
func scalesFor(mean float64) (scales []float64) {
	if !(mean > 0) {
		mean = 1 // nothing differs anywhere: any scale does
	}
	for _, f := range scaleFactors {
		scales = append(scales, f/(2*mean))
	}
	return scales
}

// areScales reports whether numbers that were read from a file can be scales.
func areScales(scales []float64) bool {
	return len(scales) > 0 && len(scales) <= mostScales && areDistances(scales)
}

// areDistances reports whether numbers are finite and not negative.
func areDistances(list []float64) bool {
	return !slices.ContainsFunc(list, func(x float64) bool { return !(x >= 0) || math.IsInf(x, 1) })
}

// newContrast makes contrasts for numbers of a mean. Bins divide the sum of the contrasts,
// which falls as x rises, evenly.
func newContrast(mean float64, bins int) contrast {
	c := contrast{Scales: scalesFor(mean)}
	for b := range bins {
		n := float64(bins)
		if b > 0 {
			c.Bounds = append(c.Bounds, c.at(1-float64(b)/n))
		}
		c.Values = append(c.Values, c.at(1-(float64(b)+0.5)/n))
	}
	return c
}

// at returns the x at which the contrasts have that mean, by bisection.
func (c *contrast) at(mean float64) float64 {
	low, high := 0.0, 1/slices.Min(c.Scales)
	for c.mean(high) > mean {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; c.mean(middle) > mean {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func (c *contrast) mean(x float64) float64 {
	sum := 0.0
	for _, beta := range c.Scales {
		sum += math.Exp(-beta * x)
	}
	return sum / float64(len(c.Scales))
}

// row writes the features of a bin.
func (c *contrast) row(dst []float64, bin int) {
	for k, beta := range c.Scales {
		dst[k] = math.Exp(-beta * c.Values[bin])
	}
}

// bin returns that of a number.
func (c *contrast) bin(x float64) int { return binOf(x, c.Bounds) }

// sound reports whether contrasts that were read from a file can be used.
func (c *contrast) sound() bool {
	return areScales(c.Scales) && len(c.Values) > 0 && len(c.Values) <= mostFeatures && len(c.Bounds) == len(c.Values)-1 &&
		slices.IsSorted(c.Bounds) && slices.IsSorted(c.Values) && areDistances(c.Bounds) && areDistances(c.Values)
}

// sound reports whether a recipe that was read from a file can be used.
func (r *edgeRecipe) sound() bool {
	return slices.Equal(r.Offsets, []int{1}) && len(r.Colour) == 1 && r.Colour[0].sound()
}

// directions are the ways from a pixel to those that it is joined to, in rows and columns.
var directions = []struct {
	name       string
	down, over int
}{{"right", 0, 1}, {"down", 1, 0}, {"down right", 1, 1}, {"down left", 1, -1}}

// numDirections returns how many of the directions a pixel has.
func numDirections(neighbours int) int { return neighbours / 2 }

// width returns the number of features of a direction: a constant and contrasts.
func (r *edgeRecipe) width() int { return 1 + len(r.Colour[0].Scales) }

// dim returns the number of features of an edge.
func (r *edgeRecipe) dim(neighbours int) int { return numDirections(neighbours) * r.width() }

// names describes the features.
func (r *edgeRecipe) names(neighbours int) (names []string) {
	for _, d := range directions[:numDirections(neighbours)] {
		names = append(names, d.name)
		for _, beta := range r.Colour[0].Scales {
			names = append(names, fmt.Sprintf("%s, exp(−%.3g |Δrgb|²)", d.name, beta))
		}
	}
	return names
}

// book returns the features of all bins, direction by direction.
func (r *edgeRecipe) book(neighbours int) (book []float64) {
	width := r.width()
	for d := range numDirections(neighbours) {
		for bin := range r.Colour[0].Values {
			row := make([]float64, r.dim(neighbours))
			own := row[d*width:][:width]
			own[0] = 1
			r.Colour[0].row(own[1:], bin)
			book = append(book, row...)
		}
	}
	return book
}

// eachPair goes through the pixels that are joined, pixel by pixel, and their directions, as graph.Grid does.
func (p *pixelEdges) eachPair(neighbours int, do func(u, v, direction int)) {
	for r := range p.rows {
		for c := range p.cols {
			for d, to := range directions[:numDirections(neighbours)] {
				if y, x := r+to.down, c+to.over; y < p.rows && x < p.cols && x >= 0 {
					do(r*p.cols+c, y*p.cols+x, d)
				}
			}
		}
	}
}

// coloursOf returns the pixels of a picture, four bytes for each, of which the last is no colour.
func coloursOf(picture image.Image) []uint8 {
	b := picture.Bounds()
	flat := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(flat, flat.Bounds(), picture, b.Min, draw.Src)
	return flat.Pix
}

// difference returns |Δrgb|² of two pixels.
func difference(colours []uint8, u, v int) int {
	a, b := colours[4*u:][:3], colours[4*v:][:3]
	sum := 0
	for i := range a {
		d := int(a[i]) - int(b[i])
		sum += d * d
	}
	return sum
}

// mostDifference is that of black and white.
const mostDifference = 3 * 255 * 255

// pixelEdges is what features of a picture's edges are made of.
type pixelEdges struct {
	rows, cols int
	colours    []uint8 // [4*pixels]
}

// edgeSums are the number of edges, and the sum of what their ends' colours differ by.
type edgeSums struct{ n, colour float64 }

func (p *pixelEdges) sums(neighbours int) (s edgeSums) {
	p.eachPair(neighbours, func(u, v, _ int) {
		s.n++
		s.colour += float64(difference(p.colours, u, v))
	})
	return s
}

// newEdgeRecipe takes the scales from training data: all sums are in the order of pictures.
func newEdgeRecipe(parts []edgeSums) *edgeRecipe {
	n, colour := 0.0, 0.0
	for _, p := range parts {
		n, colour = n+p.n, colour+p.colour
	}
	return &edgeRecipe{Offsets: []int{1}, Colour: []contrast{newContrast(colour/n, colourBins)}}
}

// features returns those of a picture's edges, which have rows of the book; bins are those of every |Δrgb|².
func (r *edgeRecipe) features(
	p *pixelEdges, edges, neighbours int, book []float64, bins []uint16,
) (crf.Features, error) {
	codes := make([]int32, 0, edges)
	p.eachPair(neighbours, func(u, v, direction int) {
		codes = append(codes, int32(direction*len(r.Colour[0].Values)+int(bins[difference(p.colours, u, v)])))
	})
	return crf.Coded(codes, book, r.dim(neighbours))
}

// ofDifference returns the bin of every |Δrgb|².
func (r *edgeRecipe) ofDifference() []uint16 {
	all := make([]uint16, mostDifference+1)
	for x := range all {
		all[x] = uint16(r.Colour[0].bin(float64(x)))
	}
	return all
}
