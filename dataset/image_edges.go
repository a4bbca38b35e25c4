package dataset

import (
	"fmt"
	"image"
	"image/draw"
	"math"
	"slices"
	"sort"

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
	// Map has those of the largest value of an edge map on the way, exp(−βm); nil: no maps.
	Map []contrast `json:"map,omitempty"`
}

// contrast makes features of a number x ≥ 0: exp(−βx) for several β. Numbers are sorted into
// bins, and one stands for all of a bin, so that edges of one bin share a potential table.
type contrast struct {
	Scales []float64 `json:"scales"` // β
	Bounds []float64 `json:"bounds"` // x falls into the bin numbered by how many are ≤ x
	Values []float64 `json:"values"` // [bins] the x that stands for all of a bin
}

const (
	// colourBins, and mapBins beside them, bound what is lost: in one of n bins, each of three
	// contrasts differs from that of the bin by at most 1.5/n.
	colourBins     = 32
	colourMapsBins = 16 // of colours where there are maps too
	mapBins        = 16
	// mostOffset and mostOffsets bound what a list of offsets asks for.
	mostOffset  = 1 << 10
	mostOffsets = 16
)

// scaleFactors are the scales over the usual one, 1 / (2 mean x). Most neighbouring pixels differ by much less
// than the mean, which few strong edges make: finer scales tell them apart, and coarser ones nothing.
var scaleFactors = []float64{1, 4, 16}

// newContrast makes contrasts for numbers of a mean. Bins divide the sum of the contrasts,
// which falls as x rises, evenly.
func newContrast(mean float64, bins int) contrast {
	c := contrast{}
	if !(mean > 0) {
		mean = 1 // nothing differs anywhere: any scale does
	}
	for _, f := range scaleFactors {
		c.Scales = append(c.Scales, f/(2*mean))
	}
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
func (c *contrast) bin(x float64) int {
	return sort.Search(len(c.Bounds), func(i int) bool { return c.Bounds[i] > x })
}

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
	for _, x := range slices.Concat(c.Scales, c.Bounds, c.Values) {
		if !(x >= 0) || math.IsInf(x, 1) {
			return fmt.Sprintf("%v is no finite number of at least 0", x)
		}
	}
	return ""
}

// problem says what makes a recipe that was read from a file unusable.
func (r *edgeRecipe) problem() string {
	if p := offsetsProblem(r.Offsets); p != "" || len(r.Offsets) == 0 {
		return fmt.Sprintf("edges.offsets are %v: %s", r.Offsets, p)
	}
	if len(r.Colour) != len(r.Offsets) || r.Map != nil && len(r.Map) != len(r.Offsets) {
		return fmt.Sprintf("edges has %d contrasts of colours and %d of maps for %d offsets", len(r.Colour), len(r.Map),
			len(r.Offsets))
	}
	for _, list := range [][]contrast{r.Colour, r.Map} {
		for i := range list {
			if p := list[i].problem(); p != "" {
				return "edges: " + p
			}
			if len(list[i].Scales) != len(list[0].Scales) {
				return "edges: offsets have different numbers of scales"
			}
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
func (r *edgeRecipe) width() int {
	w := 1 + len(r.Colour[0].Scales)
	if r.Map != nil {
		w += len(r.Map[0].Scales)
	}
	return w
}

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
			if r.Map != nil {
				for _, beta := range r.Map[o].Scales {
					names = append(names, fmt.Sprintf("%s, exp(−%.3g edge)", way, beta))
				}
			}
		}
	}
	return names
}

// tables returns how many bins edges of an offset and direction have.
func (r *edgeRecipe) tables(o int) int {
	n := len(r.Colour[o].Values)
	if r.Map != nil {
		n *= len(r.Map[o].Values)
	}
	return n
}

// book returns the features of all bins, offset by offset and direction by direction.
func (r *edgeRecipe) book(neighbours int) []float64 {
	var book []float64
	width, dim := r.width(), r.dim(neighbours)
	for o := range r.Offsets {
		for d := range numDirections(neighbours) {
			for code := range r.tables(o) {
				row := make([]float64, dim)
				own := row[(o*numDirections(neighbours)+d)*width:][:width]
				own[0] = 1
				colour := code
				if r.Map != nil {
					n := len(r.Map[o].Values)
					colour = code / n
					r.Map[o].row(own[1+len(r.Colour[o].Scales):], code%n)
				}
				r.Colour[o].row(own[1:], colour)
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

// largestOnWay returns the largest value of a map between two pixels, both included.
func largestOnWay(edges []float32, u, step, length int) float32 {
	most := edges[u]
	for range length {
		u += step
		most = max(most, edges[u])
	}
	return most
}

// strength returns a function for the largest value of an edge map on an edge's way.
func (p *pixelEdges) strength(offsets []int, neighbours int) func(u, v, way int) float64 {
	n := numDirections(neighbours)
	return func(u, v, way int) float64 {
		k := offsets[way/n]
		return float64(largestOnWay(p.edges, u, (v-u)/k, k))
	}
}

// pixelEdges is what features of a picture's edges are made of.
type pixelEdges struct {
	rows, cols int
	colours    []uint8   // [4*pixels]
	edges      []float32 // [pixels] an edge map, nil: there is none
}

// moments are sums by offset.
type edgeSums struct{ n, colour, edges []float64 }

func (p *pixelEdges) sums(offsets []int, neighbours int) edgeSums {
	k, n := len(offsets), numDirections(neighbours)
	s := edgeSums{make([]float64, k), make([]float64, k), make([]float64, k)}
	strength := p.strength(offsets, neighbours)
	eachPair(p.rows, p.cols, offsets, neighbours, func(u, v, way int) {
		s.n[way/n]++
		s.colour[way/n] += float64(difference(p.colours, u, v))
		if p.edges != nil {
			s.edges[way/n] += strength(u, v, way)
		}
	})
	return s
}

// newEdgeRecipe takes the scales from training data: all sums are in the order of pictures.
func newEdgeRecipe(offsets []int, parts []edgeSums, maps bool) *edgeRecipe {
	r := &edgeRecipe{Offsets: offsets}
	for o := range offsets {
		n, colour, edges := 0.0, 0.0, 0.0
		for _, p := range parts {
			n, colour, edges = n+p.n[o], colour+p.colour[o], edges+p.edges[o]
		}
		if !maps {
			r.Colour = append(r.Colour, newContrast(colour/n, colourBins))
			continue
		}
		r.Colour = append(r.Colour, newContrast(colour/n, colourMapsBins))
		r.Map = append(r.Map, newContrast(edges/n, mapBins))
	}
	return r
}

// codes returns the row of the book of every edge.
func (r *edgeRecipe) codes(p *pixelEdges, edges, neighbours int, ofDifference [][]uint16) []int32 {
	n := numDirections(neighbours)
	var first []int32 // [ways]
	at := 0
	for o := range r.Offsets {
		for range n {
			first = append(first, int32(at))
			at += r.tables(o)
		}
	}
	codes := make([]int32, 0, edges)
	strength := p.strength(r.Offsets, neighbours)
	eachPair(p.rows, p.cols, r.Offsets, neighbours, func(u, v, way int) {
		code := int(ofDifference[way/n][difference(p.colours, u, v)])
		if r.Map != nil {
			m := &r.Map[way/n]
			code = code*len(m.Values) + m.bin(strength(u, v, way))
		}
		codes = append(codes, first[way]+int32(code))
	})
	return codes
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

// coded returns the features of a picture's edges.
func (r *edgeRecipe) coded(p *pixelEdges, edges, neighbours int, book []float64,
	ofDifference [][]uint16) (crf.Features, error) {
	return crf.Coded(r.codes(p, edges, neighbours, ofDifference), book, r.dim(neighbours))
}
