package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// sampleSize is about the number of edges whose distances give the bin edges. The
// share of edges in a bin then is off by about 0.1 %.
const sampleSize = 1 << 18

// distances returns what measures how far apart the features of the ends of an edge are: their ℓ2 distance.
func (d *imageData) distances() func(e int32) float64 {
	first, second := d.pixels.Reader(), d.pixels.Reader()
	a, b := make([]float64, d.pixels.Dim()), make([]float64, d.pixels.Dim())
	return func(e int32) float64 {
		first(a, int(d.graph.U(e)))
		second(b, int(d.graph.V(e)))
		return math.Sqrt(squared(a, b))
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

// sampleDistances returns the distances of a sample of the edges of all pictures, drawn from a generator of fixed seed:
// as likely of each, and of all where they are fewer.
func sampleDistances(pictures []*imageData) (sample []float64) {
	total, random := 0, rand.New(rand.NewPCG(1, 2))
	for _, d := range pictures {
		total += d.graph.NumEdges()
	}
	for _, d := range pictures {
		distance := d.distances()
		for e := range d.graph.NumEdges() {
			if random.IntN(total) < sampleSize {
				sample = append(sample, distance(int32(e)))
			}
		}
	}
	return sample
}

// binEdges returns the quantiles that divide the sample into the given number of bins of equal weight. Equal
// quantiles are merged, and none equals the smallest distance, so that no bin is empty: there can be fewer bins than
// asked for, and one where all distances are the same. sample is sorted.
func binEdges(sample []float64, bins int) []float64 {
	slices.Sort(sample)
	edges := []float64{}
	for q := 1; q < bins && len(sample) > 0; q++ {
		edge := sample[q*len(sample)/bins]
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
