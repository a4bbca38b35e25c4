package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/blockbp/blockbp/graph"
)

// sampleSize is the number of edges whose distances give the bin edges. The
// share of edges in a bin then is off by about 0.1 %.
const sampleSize = 1 << 18

// pixelFeatures are the features of one picture's pixels.
type pixelFeatures struct {
	graph  *graph.Graph
	values []float32 // [pixels*stride]
	depth  int       // features that count; a bias may follow
	stride int
}

// distance returns the ℓ2 distance of the features of the ends of edge e. The
// conversion keeps sums the same on machines that fuse multiply and add.
func (p *pixelFeatures) distance(e int32) float64 {
	a := p.values[int(p.graph.U(e))*p.stride:][:p.depth]
	b := p.values[int(p.graph.V(e))*p.stride:][:p.depth]
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// bins returns the bin of every edge.
func (p *pixelFeatures) bins(edges []float64) []int32 {
	bins := make([]int32, p.graph.NumEdges())
	for e := range bins {
		bins[e] = binOf(p.distance(int32(e)), edges)
	}
	return bins
}

// binOf returns how many of the rising edges are at most x.
func binOf(x float64, edges []float64) int32 {
	return int32(sort.Search(len(edges), func(i int) bool { return edges[i] > x }))
}

// sampleDistances returns the distances of a fixed sample of the edges of all
// pictures: one from each of sampleSize stretches of equal length. Which one is
// drawn from a generator of fixed seed, because a fixed step could fall in with
// the order of a grid's edges and meet only the vertical ones.
func sampleDistances(pictures []pixelFeatures) []float64 {
	total := 0
	for _, p := range pictures {
		total += p.graph.NumEdges()
	}
	size := min(total, sampleSize)
	random := rand.New(rand.NewPCG(1, 2))
	sample := make([]float64, 0, size)
	at, begin := 0, 0 // picture, and the number of its first edge
	for i := range size {
		from, to := stretch(i, total, size), stretch(i+1, total, size)
		edge := from + random.IntN(to-from)
		for edge >= begin+pictures[at].graph.NumEdges() {
			begin += pictures[at].graph.NumEdges()
			at++
		}
		sample = append(sample, pictures[at].distance(int32(edge-begin)))
	}
	return sample
}

// stretch returns total·i/size without overflow.
func stretch(i, total, size int) int {
	return total/size*i + total%size*i/size
}

// binEdges returns the quantiles that divide the sample into the given number
// of bins of equal weight. Equal quantiles are merged, and none equals the
// smallest distance, so that no bin is empty: there can be fewer bins than asked
// for, and one where all distances are the same. sample is sorted.
func binEdges(sample []float64, bins int) []float64 {
	slices.Sort(sample)
	edges := []float64{}
	for q := 1; q < bins && len(sample) > 0; q++ {
		edge := sample[stretch(q, len(sample), bins)]
		if edge > sample[0] && (len(edges) == 0 || edge > edges[len(edges)-1]) {
			edges = append(edges, edge)
		}
	}
	return edges
}
