package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
)

// statistics sums over the data what a step rule may know of them.
type statistics struct {
	layout *crf.Layout
	data   []*crf.Instance
	each   eachFunc
	// scales return (weight of the instance)/ρ of a node or edge: what its features' second
	// moments are multiplied by in the curvature of L.
	scales func(in *crf.Instance) (node, edge func(element int32) float64)
}

// nodes counts them.
func (s *statistics) nodes() (nodes int) {
	for _, in := range s.data {
		nodes += in.Graph.NumNodes()
	}
	return nodes
}

// frequencies are those of states in the labels.
func (s *statistics) frequencies() []float64 { return labelFrequencies(s.each, s.layout, s.data) }

// ofNodes and ofEdges are second moments of features of a type.
func (s *statistics) ofNodes(t int) *kronecker { return newKronecker(s, s.layout.Node[t], true, t) }

func (s *statistics) ofEdges(t int) *kronecker { return newKronecker(s, s.layout.Edge[t], false, t) }

// totalWeight returns N of (8): the sum of the weights of all samples, which is
// their number unless instances were given weights of their own.
func totalWeight(data []*crf.Instance) (total float64) {
	for _, in := range data {
		total += in.Weight() * float64(len(in.Samples()))
	}
	return total
}

func anyHidden(data []*crf.Instance) bool {
	for _, in := range data {
		for _, labels := range in.Samples() {
			if slices.Contains(labels, crf.Unobserved) {
				return true
			}
		}
	}
	return false
}

// labelSums adds up statistics of labels over the data.
type labelSums struct {
	model    *crf.Model
	problem  *Problem
	total    float64 // that of totalWeight
	each     eachFunc
	adjoints []*ground.Adjoint // [workers]
}

// observed returns M w̄ [weights]: the mean statistics of everything observed, weighted as
// in (8).
func (a *labelSums) observed() []float64 {
	return a.sum(func(add *ground.Adjoint, sum []float64, i int) {
		in := a.problem.Data[i]
		for _, term := range a.problem.terms(in) {
			add.AddStatistics(sum, a.model, in, term.labels, term.weight*in.Weight()/a.total)
		}
	})
}

// magnitude returns the norm of M w̄ with every hidden label taken for the first: how
// large the sums are of which a gradient is the difference.
// observed is M w̄ of what is not hidden.
func (a *labelSums) magnitude(observed []float64) float64 {
	if !anyHidden(a.problem.Data) {
		return math.Sqrt(simd.Dot(observed, observed))
	}
	sum := a.sum(func(add *ground.Adjoint, sum []float64, i int) {
		in := a.problem.Data[i]
		for _, term := range a.problem.terms(in) {
			add.AddChange(sum, a.model, in, term.labels, withoutHidden(term.truth), term.weight*in.Weight()/a.total)
		}
	})
	simd.AddScaled(sum, observed, 1)
	return math.Sqrt(simd.Dot(sum, sum))
}

// ofUnits returns Σ M w(y) over the units' labellings, weighted as they are. observed is
// M w̄: where each instance has one sample, it differs from that at hidden labels alone.
func (a *labelSums) ofUnits(units []*unit, observed []float64) []float64 {
	near := a.problem.ClassWeights == nil
	of := make([][]*unit, len(a.problem.Data))
	for _, u := range units {
		of[u.instance] = append(of[u.instance], u)
		near = near && (u.labels != nil || !u.isFree()) && len(u.in.Samples()) == 1
	}
	sum := a.sum(func(add *ground.Adjoint, sum []float64, i int) {
		for _, u := range of[i] {
			if u.labels == nil {
				continue
			}
			from := u.net.Observed // its statistics are those of elements with hidden labels only
			if u.isFree() && near {
				from = u.in.Samples()[0]
			}
			add.AddChange(sum, a.model, u.in, from, u.labels, u.weight)
		}
	})
	if near {
		simd.AddScaled(sum, observed, 1)
	}
	return sum
}

// sum is sumOver for vectors of weights.
func (a *labelSums) sum(add func(adjoint *ground.Adjoint, sum []float64, i int)) []float64 {
	sum := sumOver(a.each, a.problem.Data, a.model.Layout.Size, func(sum []float64, worker, i int) { add(a.adjoints[worker], sum, i) })
	a.model.Layout.Symmetrise(sum)
	return sum
}

// eachFunc calls do for all i < n, on some goroutines, of which each is one worker.
type eachFunc func(n int, do func(worker, i int))

// serially is an eachFunc of the caller's goroutine.
func serially(n int, do func(worker, i int)) {
	for i := range n {
		do(0, i)
	}
}

const (
	// chunkElements is how many nodes and edges goroutines add up at a time, at least: fewer
	// take no longer than a goroutine takes to begin.
	chunkElements = 1 << 16
	// chunkNumbers bounds the numbers in the sums of all chunks: 8 MB, little beside
	// what so many elements keep.
	chunkNumbers = 1 << 20
)

// sumOver returns the sum, of so many numbers, of what add adds for each instance. Instances
// are added up in chunks, and chunks in their order: how many goroutines there are decides nothing.
func sumOver(each eachFunc, data []*crf.Instance, size int, add func(sum []float64, worker, i int)) []float64 {
	ends := chunks(data, max(1, chunkNumbers/max(1, size)))
	sums := make([][]float64, len(ends))
	each(len(ends), func(worker, c int) {
		sums[c] = make([]float64, size)
		from := 0
		if c > 0 {
			from = ends[c-1]
		}
		for i := from; i < ends[c]; i++ {
			add(sums[c], worker, i)
		}
	})
	for _, other := range sums[1:] {
		simd.AddScaled(sums[0], other, 1)
	}
	return sums[0]
}

// chunks returns where chunks of the data end: one at least, and so many at most.
func chunks(data []*crf.Instance, most int) (ends []int) {
	elements := func(in *crf.Instance) int { return in.Graph.NumNodes() + in.Graph.NumEdges() }
	total := 0
	for _, in := range data {
		total += elements(in)
	}
	enough, sum := max(chunkElements, (total+most-1)/most), 0
	for i, in := range data {
		if sum += elements(in); sum >= enough {
			ends, sum = append(ends, i+1), 0
		}
	}
	if n := len(ends); sum > 0 || n == 0 {
		ends = append(ends, len(data))
	}
	return ends
}
