package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// sampleSize is the number of edges whose distances give the bin edges. The
// share of edges in a bin then is off by about 0.1 %.
const sampleSize = 1 << 18

// distances returns what measures how far apart the features of the ends of an edge are: their ℓ2 distance. The
// conversion keeps sums the same on machines that fuse multiply and add.
func (d *imageData) distances() func(e int32) float64 {
	first, second := d.pixels.Reader(), d.pixels.Reader()
	a, b := make([]float64, d.pixels.Dim()), make([]float64, d.pixels.Dim())
	return func(e int32) float64 {
		first(a, int(d.graph.U(e)))
		second(b, int(d.graph.V(e)))
		sum := 0.0
		for i := range a {
			x := a[i] - b[i]
			sum += float64(x * x)
		}
		return math.Sqrt(sum)
	}
}

// bins returns the bin of every edge.
func (d *imageData) bins(edges []float64) []int32 {
	bins, distance := make([]int32, d.graph.NumEdges()), d.distances()
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
func sampleDistances(pictures []*imageData) []float64 {
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

// binNames describes the bins of the distance.
func binNames(edges []float64) []string {
	if len(edges) == 0 {
		return []string{"any distance"}
	}
	names := []string{fmt.Sprintf("distance < %.4g", edges[0])}
	for i := 1; i < len(edges); i++ {
		names = append(names, fmt.Sprintf("%.4g ≤ distance < %.4g", edges[i-1], edges[i]))
	}
	return append(names, fmt.Sprintf("distance ≥ %.4g", edges[len(edges)-1]))
}
