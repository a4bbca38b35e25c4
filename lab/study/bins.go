package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/blockbp/blockbp/crf"
)

// Features of edges of images, by which studies differ.
const (
	edgesContrast = "contrast" // contrasts of colours, as dataset has them
	edgesBins     = "bins"     // bins of the distance of the two pixels' features, as in the paper
)

const (
	// paperBins are those of the paper.
	paperBins = 10
	// sampledEdges give the bounds of bins. The share of edges in a bin then is off by about 0.1 %.
	sampledEdges = 1 << 18
)

// bin gives the edges of images bins of distances in place of contrasts, between these bounds, or else those of bins of
// equal weight.
func (s *imageSet) bin(bounds []float64) error {
	if s.bounds = bounds; bounds == nil {
		s.bounds = boundsOf(sampleDistances(s.Instances), paperBins)
	}
	set := *s.Set
	set.Instances, set.Schema.EdgeTypes = nil, slices.Clone(set.Schema.EdgeTypes)
	set.Schema.EdgeTypes[0].Features, set.Schema.EdgeTypes[0].FeatureNames = len(s.bounds)+1, nil
	for _, in := range s.Instances {
		bins, distance := make([]int32, in.Graph.NumEdges()), distances(in)
		for e := range bins {
			x := distance(int32(e))
			bins[e] = int32(sort.Search(len(s.bounds), func(i int) bool { return s.bounds[i] > x }))
		}
		features, err := crf.Bins(bins, len(s.bounds)+1)
		if err != nil {
			return err
		}
		spec := in.Spec()
		spec.EdgeFeat = []crf.Features{features}
		if in, err = crf.NewInstance(&set.Schema, spec); err != nil {
			return err
		}
		set.Instances = append(set.Instances, in)
	}
	s.Set = &set
	return nil
}

// distances returns what measures how far apart the features of the ends of an edge are: their ℓ2 distance. The
// conversion keeps sums the same on machines that fuse multiply and add.
func distances(in *crf.Instance) func(e int32) float64 {
	f := in.NodeFeatures(0)
	first, second, a, b := f.Reader(), f.Reader(), make([]float64, f.Dim()), make([]float64, f.Dim())
	return func(e int32) float64 {
		first(a, int(in.Graph.U(e)))
		second(b, int(in.Graph.V(e)))
		sum := 0.0
		for i := range a {
			d := a[i] - b[i]
			sum += float64(d * d)
		}
		return math.Sqrt(sum)
	}
}

// sampleDistances returns the distances of a fixed sample of the edges of all images, one from each of sampledEdges
// stretches of equal length. Which one is drawn from a generator of fixed seed, because a fixed step could fall in
// with the order of a grid's edges and meet only the vertical ones.
func sampleDistances(images []*crf.Instance) []float64 {
	total := 0
	for _, in := range images {
		total += in.Graph.NumEdges()
	}
	size := min(total, sampledEdges)
	random := rand.New(rand.NewPCG(1, 2))
	sample := make([]float64, 0, size)
	at, begin := 0, 0 // image, and the number of its first edge
	distance := distances(images[0])
	for i := range size {
		from, to := fraction(i, total, size), fraction(i+1, total, size)
		edge := from + random.IntN(to-from)
		for edge >= begin+images[at].Graph.NumEdges() {
			begin += images[at].Graph.NumEdges()
			at++
			distance = distances(images[at])
		}
		sample = append(sample, distance(int32(edge-begin)))
	}
	return sample
}

// fraction returns total·i/size without overflow.
func fraction(i, total, size int) int {
	return total/size*i + total%size*i/size
}

// boundsOf returns the quantiles that divide a sample into bins of equal weight. Equal quantiles are merged, and none
// equals the smallest distance, so that no bin is empty: there can be fewer than asked for.
func boundsOf(sample []float64, bins int) (bounds []float64) {
	slices.Sort(sample)
	for q := 1; q < bins && len(sample) > 0; q++ {
		x := sample[fraction(q, len(sample), bins)]
		if x > sample[0] && (len(bounds) == 0 || x > bounds[len(bounds)-1]) {
			bounds = append(bounds, x)
		}
	}
	return bounds
}
