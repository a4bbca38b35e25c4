package instances

import (
	"cmp"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// Adder adds up over the data, on goroutines and in processes.
type Adder struct {
	Each  parallel.Loop
	Group Group // nil: this process alone
}

// Add adds, in sum, what a range of an instance has.
type Add func(sum []float64, worker, instance int, r ground.Range)

// Group is some processes that share the work.
type Group interface {
	// Owns reports whether the work of a part, below Parts, is done in this process.
	Owns(part int32) bool
	// Share returns the numbers of all processes, one after another, in dst or as they are; own are those of this one.
	Share(dst, own []float64) []float64
}

const (
	// Parts is how many parts work is dealt in, and with them the most processes.
	Parts = 64
	// chunkElements is how many nodes and edges goroutines add up at a time, at least: fewer
	// take no longer than a goroutine takes to begin.
	chunkElements = 1 << 16
	// chunkNumbers bounds the numbers in the sums of all chunks: 8 MB, little beside what so many elements keep.
	chunkNumbers = 1 << 20
)

// Over returns the sum, of so many numbers, of what add adds for each instance, or for ranges of it. Elements are added
// up in chunks of as many, and chunks in their order: how many goroutines or processes there are decides nothing.
func (a *Adder) Over(data []*crf.Instance, size int, add Add) []float64 {
	nodes, edges := Size(data)
	total := nodes + edges
	chunks := max(1, min(total/chunkElements, chunkNumbers/max(1, size)))
	first, n := chunks, 0 // of this process
	for c := range chunks {
		if a.Group == nil || a.Group.Owns(int32(c*Parts/chunks)) {
			first, n = min(first, c), n+1
		}
	}
	sums := make([]float64, n*size)
	a.Each(n, func(worker, c int) {
		lo, hi := total*(first+c)/chunks, total*(first+c+1)/chunks
		for i, in := range data {
			nodes, edges := in.Graph.NumNodes(), in.Graph.NumEdges()
			n := nodes + edges
			if from, to := max(0, lo), min(n, hi); from < to {
				r := ground.Range{Nodes: [2]int{nodes * from / n, nodes * to / n}}
				r.Edges = [2]int{edges * from / n, edges * to / n}
				add(sums[c*size:][:size:size], worker, i, r)
			}
			lo, hi = lo-n, hi-n
		}
	})
	if a.Group != nil {
		sums = a.Group.Share(nil, sums)
	}
	for at := size; at < len(sums); at += size {
		simd.AddScaled(sums[:size], sums[at:][:size], 1)
	}
	return slices.Clip(sums[:size])
}

// Statistics sums over the data what a step rule may know of them.
type Statistics struct {
	Adder
	Layout *crf.Layout
	Data   []*crf.Instance
	// Given are M w̄ in place of those of the labels, or nil.
	Given []float64
	// Scales return (weight of the instance)/ρ of a node or edge: what its features' second
	// moments are multiplied by in the curvature of L.
	Scales func(in *crf.Instance) (node, edge func(element int32) float64)
}

// momentRows is how many rows of features Moments takes at a time.
const momentRows = 64

// Moments returns Σ f fᵀ/ρ over the nodes or edges of a type, kinds being those of nodes and then those of edges. Of
// more than mostRotated features, and of untied ones, for which it is the mean over the copies, it is the diagonal.
func (s *Statistics) Moments(kind, mostRotated int) []float64 {
	span := slices.Concat(s.Layout.Node, s.Layout.Edge)[kind]
	if d := span.Features; !span.Untied && d <= mostRotated {
		return s.Over(s.Data, d*d, func(sum []float64, _, i int, r ground.Range) {
			f, scaled, rows := make([]float64, momentRows*d), make([]float64, momentRows*d), 0
			read := Features(s.Data[i])[kind].Reader()
			s.each(kind, s.Data[i], r, func(_ int32, row int, weight float64) {
				at := f[rows*d:][:d]
				read(at, row)
				for j, x := range at {
					scaled[rows*d+j] = weight * x
				}
				if rows++; rows == momentRows {
					simd.ScatterMatrix(sum, f, scaled, rows, d, d)
					rows = 0
				}
			})
			simd.ScatterMatrix(sum, f, scaled, rows, d, d)
		})
	}
	sum := s.Over(s.Data, span.Features, func(sum []float64, _, i int, r ground.Range) {
		f := Features(s.Data[i])[kind]
		x, read := make([]float64, span.Features), f.Reader()
		s.each(kind, s.Data[i], r, func(_ int32, row int, weight float64) {
			entries := crf.Entries{N: len(x), Values: x}
			if f.Data().Computed == nil {
				entries = f.Data().Entries(row, &x)
			} else {
				read(x, row)
			}
			for i := range entries.N {
				j, x := entries.At(i)
				sum[j] += weight * x * x
			}
		})
	})
	for j := range sum {
		sum[j] /= float64(max(1, span.Len/span.Copy()))
	}
	return sum
}

// Readers returns functions that read the features of all types, nodes' before edges'; for one goroutine.
func Readers(in *crf.Instance) []func(dst []float64, row int) {
	return numeric.Map(Features(in), (*crf.Features).Reader)
}

// each calls use for the elements of a type in a range of an instance, with their rows of features and 1/ρ.
func (s *Statistics) each(kind int, in *crf.Instance, r ground.Range,
	use func(element int32, row int, weight float64)) {
	nodeScale, edgeScale := s.Scales(in)
	of, typeOf, rowOf, scale := r.Nodes, in.NodeType, in.NodeRow, nodeScale
	if nodes := len(s.Layout.Node); kind >= nodes {
		of, typeOf, rowOf, scale, kind = r.Edges, in.EdgeType, in.EdgeRow, edgeScale, kind-nodes
	}
	for i := int32(of[0]); i < int32(of[1]); i++ {
		if typeOf(i) == kind {
			use(i, rowOf(i), scale(i))
		}
	}
}

// Frequencies returns, for all types, how often each (joint) state occurs in the labels, normalised; zeros for a
// type without labels.
func (s *Statistics) Frequencies() []float64 {
	spans := slices.Concat(s.Layout.Node, s.Layout.Edge)
	var at []int
	size := 0
	for _, span := range spans {
		at = append(at, size)
		size += span.States
	}
	counts := s.Over(s.Data, size, func(counts []float64, _, i int, r ground.Range) {
		in := s.Data[i]
		u, v := in.Graph.Ends()
		for i, labels := range in.Samples() {
			weight := in.Weight() * in.SampleWeight(i)
			for n := r.Nodes[0]; n < r.Nodes[1]; n++ {
				if y := labels[n]; y != crf.Unobserved {
					counts[at[in.NodeType(int32(n))]+int(y)] += weight
				}
			}
			for e := r.Edges[0]; e < r.Edges[1]; e++ {
				if yu, yv := labels[u[e]], labels[v[e]]; yu != crf.Unobserved && yv != crf.Unobserved {
					counts[at[len(s.Layout.Node)+in.EdgeType(int32(e))]+int(yu)*in.States(v[e])+int(yv)] += weight
				}
			}
		}
	})
	for kind, span := range spans {
		if span.Untied && s.Given != nil && span.Copy() == span.States { // each of its means is of one feature
			of := counts[at[kind]:][:span.States]
			clear(of)
			for i, mean := range s.Given[span.At:][:span.Len] {
				of[i%span.States] += mean
			}
		}
		Normalise(counts[at[kind]:][:span.States])
		span.Symmetrise(counts[at[kind]:][:span.States])
	}
	return counts
}

// Normalise divides x by its sum, if that is positive.
func Normalise(x []float64) {
	if total := numeric.Sum(x); total > 0 {
		for i := range x {
			x[i] /= total
		}
	}
}

// TotalWeight returns N of (8): the sum of the weights of all samples, which is
// their number unless instances were given weights of their own. It is 1 of data without labels.
func TotalWeight(data []*crf.Instance) (total float64) {
	for _, in := range data {
		total += in.TotalWeight()
	}
	return cmp.Or(total, 1)
}

// Labels adds up statistics of labels over the data.
type Labels struct {
	Adder
	Model        *crf.Model
	Data         []*crf.Instance
	ClassWeights [][]float64
	Total        float64           // that of TotalWeight
	Adjoints     []*ground.Adjoint // [workers]
}

// Observed returns M w̄ [weights]: the mean statistics of everything observed, weighted as in (8).
func (a *Labels) Observed() []float64 {
	return a.Sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		in := a.Data[i]
		for _, term := range ground.Terms(a.ClassWeights, in) {
			add.AddChange(sum, a.Model, in, r, nil, term.Labels, term.Weight*in.Weight()/a.Total)
		}
	})
}

// Magnitude returns the norm of M w̄ with every hidden label taken for the first: how large the sums are of which a
// gradient is the difference. observed is M w̄ of what is not hidden.
func (a *Labels) Magnitude(observed []float64) float64 {
	if !AnyHidden(a.Data) {
		return math.Sqrt(simd.Dot(observed, observed))
	}
	sum := a.Sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		in := a.Data[i]
		for _, term := range ground.Terms(a.ClassWeights, in) {
			add.AddChange(sum, a.Model, in, r, term.Labels, WithoutHidden(term.Truth), term.Weight*in.Weight()/a.Total)
		}
	})
	simd.AddScaled(sum, observed, 1)
	return math.Sqrt(simd.Dot(sum, sum))
}

// Sum is Over for vectors of weights.
func (a *Labels) Sum(add func(adjoint *ground.Adjoint, sum []float64, i int, r ground.Range)) []float64 {
	sum := a.Over(a.Data, a.Model.Layout.Size,
		func(sum []float64, worker, i int, r ground.Range) { add(a.Adjoints[worker], sum, i, r) })
	a.Model.Layout.Symmetrise(sum)
	return sum
}

// WithoutHidden returns labels with the hidden ones taken for state 0.
func WithoutHidden(labels []int32) []int32 {
	if !slices.Contains(labels, crf.Unobserved) {
		return labels
	}
	labels = slices.Clone(labels)
	for s, y := range labels {
		if y == crf.Unobserved {
			labels[s] = 0
		}
	}
	return labels
}
