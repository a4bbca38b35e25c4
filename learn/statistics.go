package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
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

// statistics are those of the run.
func (l *learner) statistics() *statistics {
	free := map[*crf.Instance]*unit{}
	for _, u := range l.units {
		if u.isFree() {
			free[u.in] = u
		}
	}
	return &statistics{
		layout: &l.model.Layout, data: l.problem.Data, adder: l.adder(),
		scales: func(in *crf.Instance) (node, edge func(int32) float64) {
			u := free[in]
			c := u.net.Counting
			return func(s int32) float64 { return u.nodeCurvature(s) / c.Rho[s] },
				func(e int32) float64 { return u.edgeCurvature(e) / c.Edge[e] }
		},
	}
}

// ofType returns Σ f fᵀ/ρ over the nodes or edges of a type, kinds being those of nodes and then those of edges. Of
// many features, and of untied ones, for which it is the mean over the copies, it is the diagonal.
func (s *statistics) ofType(kind int) []float64 {
	span := allSpans(s.layout)[kind]
	if d := span.Features; !span.Untied && d <= linear.MaxRotated {
		return s.sumOver(s.data, d*d, func(sum []float64, _, i int, r ground.Range) {
			f, read := make([]float64, d), featuresOf(s.data[i], kind).Reader()
			s.each(kind, s.data[i], r, func(_ int32, row int, weight float64) {
				read(f, row)
				for j, x := range f {
					if x != 0 {
						simd.AddScaled(sum[j*d:][:d], f, weight*x)
					}
				}
			})
		})
	}
	sum := s.sumOver(s.data, span.Features, func(sum []float64, _, i int, r ground.Range) {
		f := featuresOf(s.data[i], kind)
		if f.Data().Computed != nil { // a row has to be made, in the same place each time
			x, read := make([]float64, span.Features), f.Reader()
			s.each(kind, s.data[i], r, func(_ int32, row int, weight float64) {
				read(x, row)
				for j := range x {
					sum[j] += weight * x[j] * x[j]
				}
			})
			return
		}
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

// featuresOf are those of a type, and readers read all, nodes' before edges'; for one goroutine.
func featuresOf(in *crf.Instance, kind int) *crf.Features {
	if nodes := len(in.Schema().NodeTypes); kind >= nodes {
		return in.EdgeFeatures(kind - nodes)
	}
	return in.NodeFeatures(kind)
}

func readers(in *crf.Instance) (all []func(dst []float64, row int)) {
	for kind := range len(in.Schema().NodeTypes) + len(in.Schema().EdgeTypes) {
		all = append(all, featuresOf(in, kind).Reader())
	}
	return all
}

// each calls use for the elements of a type in a range of an instance, with their rows of features and 1/ρ.
func (s *statistics) each(kind int, in *crf.Instance, r ground.Range,
	use func(element int32, row int, weight float64)) {
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

// frequencies returns, for all types, how often each (joint) state occurs in the labels, normalised; zeros for a
// type without labels.
func (s *statistics) frequencies() []float64 {
	spans := allSpans(s.layout)
	var at []int
	size := 0
	for _, span := range spans {
		at = append(at, size)
		size += span.States
	}
	counts := s.sumOver(s.data, size, func(counts []float64, _, i int, r ground.Range) {
		in := s.data[i]
		u, v := in.Graph.Ends()
		for _, labels := range in.Samples() {
			for n := range r.Nodes.All() {
				if y := labels[n]; y != crf.Unobserved {
					counts[at[in.NodeType(int32(n))]+int(y)] += in.Weight()
				}
			}
			for e := range r.Edges.All() {
				if yu, yv := labels[u[e]], labels[v[e]]; yu != crf.Unobserved && yv != crf.Unobserved {
					counts[at[len(s.layout.Node)+in.EdgeType(int32(e))]+int(yu)*in.States(v[e])+int(yv)] += in.Weight()
				}
			}
		}
	})
	for kind, span := range spans {
		normalise(counts[at[kind]:][:span.States])
		span.Symmetrise(counts[at[kind]:][:span.States])
	}
	return counts
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

// ofUnits returns Σ M w(y) over the units' labellings, weighted as they are, where they differ from what is observed.
func (a *labelSums) ofUnits(units []*unit) []float64 {
	of := make([][]*unit, len(a.problem.Data))
	for _, u := range units {
		of[u.instance] = append(of[u.instance], u)
	}
	return a.sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		for _, u := range of[i] {
			if u.labels != nil {
				add.AddChange(sum, a.model, u.in, r, u.net.Observed, u.labels, u.weight)
			}
		}
	})
}

// sum is sumOver for vectors of weights.
func (a *labelSums) sum(add func(adjoint *ground.Adjoint, sum []float64, i int, r ground.Range)) []float64 {
	sum := a.sumOver(a.problem.Data, a.model.Layout.Size,
		func(sum []float64, worker, i int, r ground.Range) { add(a.adjoints[worker], sum, i, r) })
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
)

// sumOver returns the sum, of so many numbers, of what add adds for each instance, or for ranges of it. Elements
// are added up in chunks of as many, and chunks in their order: how many goroutines or processes there are
// decides nothing. Chunks of a network that is cut are its parts: no process looks at others.
func (a adder) sumOver(data []*crf.Instance, size int,
	add func(sum []float64, worker, i int, r ground.Range)) []float64 {
	if a.network != nil && size <= mostPartNumbers {
		return a.sumOfParts(size, add)
	}
	total := elements(data)
	chunks := max(1, min(total/chunkElements, chunkNumbers/max(1, size)))
	first, n := chunks, 0 // of this process
	for c := range chunks {
		if a.executor == nil || a.executor.owns(int32(c*mostParts/chunks)) {
			first, n = min(first, c), n+1
		}
	}
	sums := make([]float64, n*size)
	a.each(n, func(worker, c int) {
		lo, hi := total*(first+c)/chunks, total*(first+c+1)/chunks
		for i, in := range data {
			nodes, edges := in.Graph.NumNodes(), in.Graph.NumEdges()
			n := nodes + edges
			if from, to := max(0, lo), min(n, hi); from < to {
				r := ground.Range{Nodes: ground.Stretches{{nodes * from / n, nodes * to / n}}}
				r.Edges = ground.Stretches{{edges * from / n, edges * to / n}}
				add(sums[c*size:][:size:size], worker, i, r)
			}
			lo, hi = lo-n, hi-n
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

// elements counts nodes and edges.
func elements(data []*crf.Instance) (total int) {
	for _, in := range data {
		total += in.Graph.NumNodes() + in.Graph.NumEdges()
	}
	return total
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
