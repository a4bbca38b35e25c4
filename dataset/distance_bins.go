package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/stretch"
)

// sampleSize is the number of edges whose distances give the bin edges. The
// share of edges in a bin then is off by about 0.1 %.
const sampleSize = 1 << 18

// pixelFeatures are the features of one picture's pixels.
type pixelFeatures struct {
	graph    *graph.Graph
	features *stretch.Map
}

// distances returns what measures how far apart the features of the ends of an edge are: their ℓ2 distance. The
// conversion keeps sums the same on machines that fuse multiply and add.
func (p *pixelFeatures) distances() func(e int32) float64 {
	first, second := p.features.Reader(), p.features.Reader()
	a, b := make([]float64, p.features.Dim()), make([]float64, p.features.Dim())
	return func(e int32) float64 {
		first(a, int(p.graph.U(e)))
		second(b, int(p.graph.V(e)))
		sum := 0.0
		for i := range a {
			d := a[i] - b[i]
			sum += float64(d * d)
		}
		return math.Sqrt(sum)
	}
}

// bins returns the bin of every edge.
func (p *pixelFeatures) bins(edges []float64) []int32 {
	bins, distance := make([]int32, p.graph.NumEdges()), p.distances()
	for e := range bins {
		bins[e] = int32(binOf(distance(int32(e)), edges))
	}
	return bins
}

// binOf returns how many of the rising edges are at most x.
func binOf(x float64, edges []float64) int {
	return sort.Search(len(edges), func(i int) bool { return edges[i] > x })
}

// sampleDistances returns the distances of a fixed sample of the edges of all pictures: one from each of sampleSize
// stretches of equal length. Which one is drawn from a generator of fixed seed, because a fixed step could fall in
// with the order of a grid's edges and meet only the vertical ones.
func sampleDistances(pictures []pixelFeatures) []float64 {
	total := 0
	for _, p := range pictures {
		total += p.graph.NumEdges()
	}
	size := min(total, sampleSize)
	random := rand.New(rand.NewPCG(1, 2))
	sample := make([]float64, 0, size)
	at, begin := 0, 0 // picture, and the number of its first edge
	distance := pictures[0].distances()
	for i := range size {
		from, to := fraction(i, total, size), fraction(i+1, total, size)
		edge := from + random.IntN(to-from)
		for edge >= begin+pictures[at].graph.NumEdges() {
			begin += pictures[at].graph.NumEdges()
			at++
			distance = pictures[at].distances()
		}
		sample = append(sample, distance(int32(edge-begin)))
	}
	return sample
}

// fraction returns total·i/size without overflow.
func fraction(i, total, size int) int {
	return total/size*i + total%size*i/size
}

// binEdges returns the quantiles that divide the sample into the given number of bins of equal weight. Equal
// quantiles are merged, and none equals the smallest distance, so that no bin is empty: there can be fewer bins than
// asked for, and one where all distances are the same. sample is sorted.
func binEdges(sample []float64, bins int) []float64 {
	slices.Sort(sample)
	edges := []float64{}
	for q := 1; q < bins && len(sample) > 0; q++ {
		edge := sample[fraction(q, len(sample), bins)]
		if edge > sample[0] && (len(edges) == 0 || edge > edges[len(edges)-1]) {
			edges = append(edges, edge)
		}
	}
	return edges
}
