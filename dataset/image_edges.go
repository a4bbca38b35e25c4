package dataset

import (
	"fmt"
	"image"
	"image/draw"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// Ways to make features of edges of images, in Options.Edges.
const (
	EdgesContrast = "contrast" // contrasts of colours at several scales, and a constant, by direction
	EdgesBins     = "bins"     // bins of the distance of the two pixels' features, as in the paper
)

var edgesOfImages = []string{EdgesContrast, EdgesBins}

// edgeRecipe says which pixels of an image are joined, and how contrasts make features.
type edgeRecipe struct {
	// Offsets rise: how far apart the pixels are that are joined.
	Offsets []int `json:"offsets"`
	// Colour has, for every offset, the contrasts exp(−β|Δrgb|²) of colours of 0 to 255.
	Colour []contrast `json:"colour"`
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
	// mostOffset and mostOffsets bound what a list of offsets asks for.
	mostOffset  = 1 << 10
	mostOffsets = 16
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

// scalesProblem says what makes numbers that were read from a file unusable as scales.
func scalesProblem(scales []float64) string {
	for _, x := range scales {
		if !(x >= 0) || math.IsInf(x, 1) {
			return fmt.Sprintf("%v is no finite number of at least 0", x)
		}
	}
	return ""
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

// problem says what is wrong with contrasts that were read from a file.
func (c *contrast) problem() string {
	switch {
	case len(c.Scales) == 0 || len(c.Scales) > mostOffsets || len(c.Values) == 0 || len(c.Values) > mostFeatures ||
		len(c.Bounds) != len(c.Values)-1:
		return fmt.Sprintf("%d scales, %d bounds and %d values, want one bound less than values", len(c.Scales),
			len(c.Bounds), len(c.Values))
	case !slices.IsSorted(c.Bounds) || !slices.IsSorted(c.Values):
		return "bounds and values must rise"
	}
	return scalesProblem(slices.Concat(c.Scales, c.Bounds, c.Values))
}

// problem says what makes a recipe that was read from a file unusable.
func (r *edgeRecipe) problem() string {
	if p := offsetsProblem(r.Offsets); p != "" || len(r.Offsets) == 0 {
		return fmt.Sprintf("edges.offsets are %v: %s", r.Offsets, p)
	}
	if len(r.Colour) != len(r.Offsets) {
		return fmt.Sprintf("edges has %d contrasts of colours for %d offsets", len(r.Colour), len(r.Offsets))
	}
	for i := range r.Colour {
		if p := r.Colour[i].problem(); p != "" {
			return "edges: " + p
		}
		if len(r.Colour[i].Scales) != len(r.Colour[0].Scales) {
			return "edges: offsets have different numbers of scales"
		}
	}
	return ""
}

// offsetsProblem says what is wrong with a list of offsets.
func offsetsProblem(offsets []int) string {
	for i, k := range offsets {
		if k < 1 || k > mostOffset || i > 0 && k <= offsets[i-1] || i == mostOffsets {
			return fmt.Sprintf("want at most %d numbers of pixels that rise, from 1 to %d, such as 1,4,12", mostOffsets,
				mostOffset)
		}
	}
	return ""
}

// directions are the ways from a pixel to those that it is joined to, in rows and columns.
var directions = []struct {
	name       string
	down, over int
}{{"right", 0, 1}, {"down", 1, 0}, {"down right", 1, 1}, {"down left", 1, -1}}

// numDirections returns how many of the directions a pixel has.
func numDirections(neighbours int) int { return neighbours / 2 }

// width returns the number of features of one offset and direction: a constant and contrasts.
func (r *edgeRecipe) width() int { return 1 + len(r.Colour[0].Scales) }

// dim returns the number of features of an edge.
func (r *edgeRecipe) dim(neighbours int) int {
	return len(r.Offsets) * numDirections(neighbours) * r.width()
}

// names describes the features.
func (r *edgeRecipe) names(neighbours int) []string {
	var names []string
	for o, offset := range r.Offsets {
		for _, d := range directions[:numDirections(neighbours)] {
			way := d.name
			if len(r.Offsets) > 1 {
				way = fmt.Sprintf("%s %d", d.name, offset)
			}
			names = append(names, way)
			for _, beta := range r.Colour[o].Scales {
				names = append(names, fmt.Sprintf("%s, exp(−%.3g |Δrgb|²)", way, beta))
			}
		}
	}
	return names
}

// book returns the features of all bins, offset by offset and direction by direction.
func (r *edgeRecipe) book(neighbours int) []float64 {
	var book []float64
	width, dim := r.width(), r.dim(neighbours)
	for o := range r.Offsets {
		for d := range numDirections(neighbours) {
			for bin := range r.Colour[o].Values {
				row := make([]float64, dim)
				own := row[(o*numDirections(neighbours)+d)*width:][:width]
				own[0] = 1
				r.Colour[o].row(own[1:], bin)
				book = append(book, row...)
			}
		}
	}
	return book
}

// eachPair goes through the pixels that are joined, pixel by pixel: those of graph.Grid, in
// its order, for the offset 1. way numbers offset and direction.
func eachPair(rows, cols int, offsets []int, neighbours int, do func(u, v, way int)) {
	n := numDirections(neighbours)
	for r := range rows {
		for c := range cols {
			for o, k := range offsets {
				for d, to := range directions[:n] {
					if y, x := r+k*to.down, c+k*to.over; y < rows && x < cols && x >= 0 {
						do(r*cols+c, y*cols+x, o*n+d)
					}
				}
			}
		}
	}
}

// gridOf returns the graph of a picture.
func gridOf(rows, cols int, offsets []int, neighbours int) (*graph.Graph, error) {
	if len(offsets) == 0 || slices.Equal(offsets, []int{1}) {
		return graph.Grid(rows, cols, graph.GridOptions{Eight: neighbours == 8})
	}
	if ways := len(offsets) * numDirections(neighbours); rows*cols > graph.MaxEdges/ways {
		return nil, fmt.Errorf("%d×%d pixels with edges of %d lengths and directions, at most %d edges are supported",
			cols, rows, ways, graph.MaxEdges)
	}
	var u, v []int32
	eachPair(rows, cols, offsets, neighbours, func(a, b, _ int) {
		u, v = append(u, int32(a)), append(v, int32(b))
	})
	return graph.FromEdges(rows*cols, u, v)
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

// edgeSums are sums by offset.
type edgeSums struct{ n, colour []float64 }

func (p *pixelEdges) sums(offsets []int, neighbours int) edgeSums {
	k, n := len(offsets), numDirections(neighbours)
	s := edgeSums{make([]float64, k), make([]float64, k)}
	eachPair(p.rows, p.cols, offsets, neighbours, func(u, v, way int) {
		o := way / n
		s.n[o]++
		s.colour[o] += float64(difference(p.colours, u, v))
	})
	return s
}

// newEdgeRecipe takes the scales from training data: all sums are in the order of pictures.
func newEdgeRecipe(offsets []int, parts []edgeSums) *edgeRecipe {
	r := &edgeRecipe{Offsets: offsets}
	for o := range offsets {
		n, colour := 0.0, 0.0
		for _, p := range parts {
			n, colour = n+p.n[o], colour+p.colour[o]
		}
		r.Colour = append(r.Colour, newContrast(colour/n, colourBins))
	}
	return r
}

// features returns those of a picture's edges, which have rows of the book.
func (r *edgeRecipe) features(
	p *pixelEdges, edges, neighbours int, book []float64, bins [][]uint16,
) (crf.Features, error) {
	n, at := numDirections(neighbours), int32(0)
	var first []int32 // [ways]
	for way := range len(r.Offsets) * n {
		first = append(first, at)
		at += int32(len(r.Colour[way/n].Values))
	}
	codes := make([]int32, 0, edges)
	eachPair(p.rows, p.cols, r.Offsets, neighbours, func(u, v, way int) {
		codes = append(codes, first[way]+int32(bins[way/n][difference(p.colours, u, v)]))
	})
	return crf.Coded(codes, book, r.dim(neighbours))
}

// ofDifference returns, by offset, the bin of every |Δrgb|².
func (r *edgeRecipe) ofDifference() [][]uint16 {
	all := make([][]uint16, len(r.Offsets))
	for o := range r.Offsets {
		all[o] = make([]uint16, mostDifference+1)
		for x := range all[o] {
			all[o][x] = uint16(r.Colour[o].bin(float64(x)))
		}
	}
	return all
}
