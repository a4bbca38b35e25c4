package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// statistics sums over the data what a step rule may know of them.
type statistics struct {
	layout *crf.Layout
	data   []*crf.Instance
	adder
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
func (s *statistics) frequencies() []float64 { return labelFrequencies(s.adder, s.layout, s.data) }

// ofType returns Σ f fᵀ/ρ over the nodes or edges of a type, kinds being those of nodes and then those of edges. Of
// many features, and of untied ones, for which it is the mean over the copies, it is the diagonal.
func (s *statistics) ofType(kind int) []float64 {
	span := allSpans(s.layout)[kind]
	if !span.Untied && span.Features <= maxRotated {
		return s.moments(kind, span.Features, func(in *crf.Instance) func([]float64, int32, int) {
			read := s.features(in, kind).Reader()
			return func(dst []float64, _ int32, row int) { read(dst, row) }
		})
	}
	sum := s.sumOver(s.data, span.Features, func(sum []float64, _, i int, r ground.Range) {
		f := s.features(s.data[i], kind)
		s.each(kind, s.data[i], r, func(_ int32, row int, weight float64) {
			for j, x := range f.Entries(row) {
				sum[j] += weight * x * x
			}
		})
	})
	for j := range sum {
		sum[j] /= float64(max(1, span.Len/span.Copy()))
	}
	return sum
}

// moments returns Σ f fᵀ/ρ over the nodes or edges of a type, of d numbers f that read finds of them.
func (s *statistics) moments(kind, d int, reader func(in *crf.Instance) func(f []float64, element int32, row int)) []float64 {
	return s.sumOver(s.data, d*d, func(sum []float64, _, i int, r ground.Range) {
		f, read := make([]float64, d), reader(s.data[i])
		s.each(kind, s.data[i], r, func(element int32, row int, weight float64) {
			read(f, element, row)
			for j, x := range f {
				if x != 0 {
					simd.AddScaled(sum[j*d:][:d], f, weight*x)
				}
			}
		})
	})
}

func (s *statistics) features(in *crf.Instance, kind int) *crf.Features {
	if nodes := len(s.layout.Node); kind >= nodes {
		return in.EdgeFeatures(kind - nodes)
	}
	return in.NodeFeatures(kind)
}

// each calls use for the elements of a type in a range of an instance, with their rows of features and 1/ρ.
func (s *statistics) each(kind int, in *crf.Instance, r ground.Range, use func(element int32, row int, weight float64)) {
	nodeScale, edgeScale := s.scales(in)
	of, typeOf, rowOf, scale := r.Nodes, in.NodeType, in.NodeRow, nodeScale
	if nodes := len(s.layout.Node); kind >= nodes {
		of, typeOf, rowOf, scale, kind = r.Edges, in.EdgeType, in.EdgeRow, edgeScale, kind-nodes
	}
	for i := range of.All() {
		if i := int32(i); typeOf(i) == kind {
			use(i, rowOf(i), scale(i))
		}
	}
}

// totalWeight returns N of (8): the sum of the weights of all samples, which is
// their number unless instances were given weights of their own.
func totalWeight(data []*crf.Instance) (total float64) {
	for _, in := range data {
		total += in.Weight() * float64(len(in.Samples()))
	}
	return total
}

// labelSums adds up statistics of labels over the data.
type labelSums struct {
	model    *crf.Model
	problem  *Problem
	total    float64           // that of totalWeight
	adjoints []*ground.Adjoint // [workers]
	adder
}

// observed returns M w̄ [weights]: the mean statistics of everything observed, weighted as in (8).
func (a *labelSums) observed() []float64 {
	return a.sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		in := a.problem.Data[i]
		for _, term := range ground.Terms(a.problem.ClassWeights, in) {
			add.AddChange(sum, a.model, in, r, nil, term.Labels, term.Weight*in.Weight()/a.total)
		}
	})
}

// magnitude returns the norm of M w̄ with every hidden label taken for the first: how large the sums are of which a
// gradient is the difference. observed is M w̄ of what is not hidden.
func (a *labelSums) magnitude(observed []float64) float64 {
	if !instances.AnyHidden(a.problem.Data) {
		return math.Sqrt(simd.Dot(observed, observed))
	}
	sum := a.sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		in := a.problem.Data[i]
		for _, term := range ground.Terms(a.problem.ClassWeights, in) {
			add.AddChange(sum, a.model, in, r, term.Labels, withoutHidden(term.Truth), term.Weight*in.Weight()/a.total)
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
	sum := a.sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		for _, u := range of[i] {
			if u.labels == nil {
				continue
			}
			from := u.net.Observed // its statistics are those of elements with hidden labels only
			if u.isFree() && near {
				from = u.in.Samples()[0]
			}
			add.AddChange(sum, a.model, u.in, r, from, u.labels, u.weight)
		}
	})
	if near {
		simd.AddScaled(sum, observed, 1)
	}
	return sum
}

// sum is sumOver for vectors of weights.
func (a *labelSums) sum(add func(adjoint *ground.Adjoint, sum []float64, i int, r ground.Range)) []float64 {
	sum := a.sumOver(a.problem.Data, a.model.Layout.Size, func(sum []float64, worker, i int, r ground.Range) { add(a.adjoints[worker], sum, i, r) })
	a.model.Layout.Symmetrise(sum)
	return sum
}

// adder adds up over the data, on goroutines and in processes.
type adder struct {
	each     parallel.Loop
	executor interface { // nil: this process alone
		owns(part int32) bool
		share(dst, own []float64) []float64
		sumParts(p *parts)
	}
	network *bundle // nil: there are several, or it is not cut
}

func (l *learner) adder() adder { return adder{l.each, l.executor, l.network()} }

const (
	// chunkElements is how many nodes and edges goroutines add up at a time, at least: fewer
	// take no longer than a goroutine takes to begin.
	chunkElements = 1 << 16
	// chunkNumbers bounds the numbers in the sums of all chunks: 8 MB, little beside what so many elements keep.
	chunkNumbers = 1 << 20
	// rangeNumbers bounds those of the ranges of one instance: every process has all of them for a
	// moment, and its memory is to be that of its part.
	rangeNumbers = 1 << 17
)

// sumOver returns the sum, of so many numbers, of what add adds for each instance, or for each range
// of one. They are added up in chunks, and chunks in their order: how many goroutines or processes
// there are decides nothing. Chunks of a network that is cut are its parts: no process looks at others.
func (a adder) sumOver(data []*crf.Instance, size int, add func(sum []float64, worker, i int, r ground.Range)) []float64 {
	if a.network != nil && size <= mostPartNumbers {
		return a.sumOfParts(size, add)
	}
	all := chunks(data, max(1, chunkNumbers/max(1, size)), max(1, rangeNumbers/max(1, size)))
	owns := func(c int) bool { return a.executor == nil || a.executor.owns(int32(c*mostParts/len(all))) }
	first, n := len(all), 0 // of this process
	for c := range all {
		if owns(c) {
			first, n = min(first, c), n+1
		}
	}
	sums := make([]float64, n*size)
	a.each(n, func(worker, c int) {
		for _, s := range all[first+c] {
			add(sums[c*size:][:size:size], worker, s.instance, s.Range)
		}
	})
	if a.executor != nil {
		sums = a.executor.share(nil, sums)
	}
	for at := size; at < len(sums); at += size {
		simd.AddScaled(sums[:size], sums[at:][:size], 1)
	}
	return slices.Clip(sums[:size])
}

// chunkPart is an instance, or a range of one.
type chunkPart struct {
	instance int
	ground.Range
}

// chunks returns chunks of the data: one at least, and about so many at most, of one instance no more than
// mostRanges.
func chunks(data []*crf.Instance, most, mostRanges int) (all [][]chunkPart) {
	elements := func(in *crf.Instance) int { return in.Graph.NumNodes() + in.Graph.NumEdges() }
	total := 0
	for _, in := range data {
		total += elements(in)
	}
	enough, sum := max(chunkElements, (total+most-1)/most), 0
	var chunk []chunkPart
	for i, in := range data {
		nodes, edges := in.Graph.NumNodes(), in.Graph.NumEdges()
		// Of many instances some are as good as ranges.
		ranges := min(mostRanges, max(1, elements(in)/max(enough, total/mostParts)))
		for k := range ranges {
			n, e := [2]int{nodes * k / ranges, nodes * (k + 1) / ranges}, [2]int{edges * k / ranges, edges * (k + 1) / ranges}
			chunk = append(chunk, chunkPart{i, ground.Range{Nodes: ground.Stretches{n}, Edges: ground.Stretches{e}}})
			if sum += n[1] - n[0] + e[1] - e[0]; sum >= enough || ranges > 1 {
				all, chunk, sum = append(all, chunk), nil, 0
			}
		}
	}
	if len(chunk) > 0 || len(all) == 0 {
		all = append(all, chunk)
	}
	return all
}

// labelFrequencies returns, for all node types and then all edge types, how often each (joint) state occurs in the
// labels, normalised; zeros for a type without labels.
func labelFrequencies(a adder, layout *crf.Layout, data []*crf.Instance) []float64 {
	var at []int // of each type: nodes, then edges
	size := 0
	for _, span := range allSpans(layout) {
		at = append(at, size)
		size += span.States
	}
	counts := a.sumOver(data, size, func(counts []float64, _, i int, r ground.Range) {
		in := data[i]
		u, v := in.Graph.Ends()
		for _, labels := range in.Samples() {
			for s := range r.Nodes.All() {
				if y := labels[s]; y != crf.Unobserved {
					counts[at[in.NodeType(int32(s))]+int(y)] += in.Weight()
				}
			}
			for e := range r.Edges.All() {
				if yu, yv := labels[u[e]], labels[v[e]]; yu != crf.Unobserved && yv != crf.Unobserved {
					counts[at[len(layout.Node)+in.EdgeType(int32(e))]+int(yu)*in.States(v[e])+int(yv)] += in.Weight()
				}
			}
		}
	})
	for i, lo := range at {
		hi := size
		if i+1 < len(at) {
			hi = at[i+1]
		}
		normalise(counts[lo:hi])
	}
	for b := range layout.Edge {
		layout.Edge[b].Symmetrise(counts[at[len(layout.Node)+b]:][:layout.Edge[b].States])
	}
	return counts
}

// normalise divides x by its sum, if that is positive.
func normalise(x []float64) {
	total := 0.0
	for _, v := range x {
		total += v
	}
	if total > 0 {
		for i := range x {
			x[i] /= total
		}
	}
}

// allSpans returns the spans of all types: nodes, then edges.
func allSpans(layout *crf.Layout) []crf.Span { return slices.Concat(layout.Node, layout.Edge) }

func oneIf(x bool) int {
	if x {
		return 1
	}
	return 0
}

// largestTable returns the largest number of (joint) states of a type, 1 at least.
func largestTable(spans []crf.Span) int {
	largest := 1
	for _, span := range spans {
		largest = max(largest, span.States)
	}
	return largest
}
