package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/memory"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/parallel"
)

// hopMeans replaces features by means: by that over a node and its neighbours, as many
// times as there are hops. Nodes whose features are not known have no share. With S for
// the means over a node and its neighbours, the features X become S^hops X / S^hops known,
// row by row: a feature that is one for all known nodes stays one, to the last bit.
//
// Sparse features stay sparse, and dense ones dense. Sums run in the order of a node's edges.
type hopMeans struct {
	Context context.Context
	Graph   *graph.Graph
	Known   []bool // [node] its features are known; nil: those of all are
	Hops    int
}

// Of returns the means of features, and which nodes have any; nil: all.
func (s *hopMeans) Of(f *crf.Features) (means crf.Features, reached []bool, err error) {
	weight, err := s.weights()
	if err != nil {
		return means, nil, err
	}
	for _, w := range weight {
		reached = append(reached, w > 0)
	}
	switch m := f.Data(); {
	case m.Double != nil:
		means, err = s.dense(m, weight)
	case m.Start != nil:
		means, err = s.sparse(m, weight)
	case m.Dim == 0:
		means = *f
	default:
		panic("dataset: means of features of a form that tables do not make")
	}
	return means, reached, err
}

// each calls work for every node, until the context ends.
func (s *hopMeans) each(work func(i int)) error {
	const together = 256 // nodes, which take little time
	for i := range s.Graph.NumNodes() {
		if i%together == 0 {
			if err := parallel.Ended(s.Context); err != nil {
				return err
			}
		}
		work(i)
	}
	return nil
}

// neighbours calls f for every neighbour of a node.
func (s *hopMeans) neighbours(node int, f func(j int)) {
	for _, d := range s.Graph.Incoming(int32(node)) {
		f(int(s.Graph.Source(d)))
	}
}

// size is how many a node and its neighbours are.
func (s *hopMeans) size(node int) float64 { return float64(1 + s.Graph.Degree(int32(node))) }

// weights are S^hops known; nil where all are ones.
func (s *hopMeans) weights() ([]float64, error) {
	if s.Known == nil {
		return nil, nil
	}
	x, next := make([]float64, len(s.Known)), make([]float64, len(s.Known))
	for i, known := range s.Known {
		if known {
			x[i] = 1
		}
	}
	for range s.Hops {
		if err := s.each(func(i int) {
			sum := x[i]
			s.neighbours(i, func(j int) { sum += x[j] })
			next[i] = sum / s.size(i)
		}); err != nil {
			return nil, err
		}
		x, next = next, x
	}
	return x, nil
}

// dense takes two matrices beside the features.
func (s *hopMeans) dense(m *crf.FeatureData, weight []float64) (crf.Features, error) {
	dim, x, free := m.Dim, m.Double, []float64(nil)
	for hop := range s.Hops {
		next := free
		if next == nil {
			next = make([]float64, len(x))
		}
		if err := s.each(func(i int) {
			row := next[i*dim : (i+1)*dim]
			copy(row, x[i*dim:(i+1)*dim])
			s.neighbours(i, func(j int) {
				for c, v := range x[j*dim : (j+1)*dim] {
					row[c] += v
				}
			})
			s.divide(row, i, hop, weight)
		}); err != nil {
			return crf.Features{}, err
		}
		if free = nil; hop > 0 { // the features themselves are not written over
			free = x
		}
		x = next
	}
	return crf.Dense(x, dim)
}

// divide makes means of the sums of a node, and after the last hop those of known features.
func (s *hopMeans) divide(sums []float64, node, hop int, weight []float64) {
	size := s.size(node)
	for c := range sums {
		sums[c] /= size
	}
	if hop < s.Hops-1 || weight == nil || weight[node] == 0 {
		return
	}
	for c := range sums {
		sums[c] /= weight[node]
	}
}

// bytesPerMean is what an entry takes while sparse means are made: those of a hop, with room to
// grow, and those of the hop before.
const bytesPerMean = 3 * (4 + 8)

// Bytes is about what the means take while they are made.
func (s *hopMeans) Bytes(f *crf.Features) float64 {
	if m := f.Data(); m.Start != nil {
		return s.entries(m) * bytesPerMean
	}
	return 2 * 8 * float64(f.Rows()) * float64(f.Dim())
}

// entries bounds how many the sparse features of the last hop have, in all rows: a row
// has no more than the rows that it is the mean of, and than there are features.
func (s *hopMeans) entries(m *crf.FeatureData) float64 {
	x, next := make([]float64, m.Rows), make([]float64, m.Rows)
	for i := range x {
		x[i] = float64(m.Start[i+1] - m.Start[i])
	}
	for range s.Hops {
		for i := range x {
			next[i] = x[i]
			s.neighbours(i, func(j int) { next[i] += x[j] })
			next[i] = min(next[i], float64(m.Dim))
		}
		x, next = next, x
	}
	all := 0.0
	for _, n := range x {
		all += n
	}
	return all
}

// sparse makes the means of rows by rising index.
func (s *hopMeans) sparse(m *crf.FeatureData, weight []float64) (crf.Features, error) {
	sums, seen := make([]float64, m.Dim), make([]bool, m.Dim)
	var touched []int32
	var row []float64
	for hop := range s.Hops {
		next := &crf.FeatureData{Start: make([]int, 1, m.Rows+1), Column: []int32{}, Value: []float64{}}
		add := func(j int) {
			for e := m.Start[j]; e < m.Start[j+1]; e++ {
				c, v := m.Column[e], 1.0
				if m.Value != nil {
					v = m.Value[e]
				}
				if sums[c] += v; !seen[c] {
					seen[c] = true
					touched = append(touched, c)
				}
			}
		}
		if err := s.each(func(i int) {
			touched, row = touched[:0], row[:0]
			add(i)
			s.neighbours(i, add)
			slices.Sort(touched)
			for _, c := range touched {
				row = append(row, sums[c])
				sums[c], seen[c] = 0, false
			}
			s.divide(row, i, hop, weight)
			next.Column, next.Value = append(next.Column, touched...), append(next.Value, row...)
			next.Start = append(next.Start, len(next.Column))
		}); err != nil {
			return crf.Features{}, err
		}
		next.Rows, next.Dim = m.Rows, m.Dim
		m = next
	}
	return crf.Sparse(m.Start, m.Column, m.Value, m.Dim)
}

// mostHops bounds Options.Hops: means over so many hardly tell apart the nodes of a
// connected part.
const mostHops = 16

// hops is over how many of them features are means.
func (o *Options) hops() int {
	if o.Recipe != nil {
		return o.Recipe.Hops
	}
	return o.Hops
}

// smoothed replaces the features of a graph's nodes by means, where that is asked for, and
// returns which nodes have any.
func (l *loader) smoothed(file string, of *graph.Graph, features crf.Features, known []bool) (crf.Features, []bool) {
	hops := l.o.hops()
	if hops == 0 || features.Dim() == 0 {
		return features, known
	}
	s := hopMeans{Context: l.ctx, Graph: of, Known: known, Hops: hops}
	l.allow(file, "", fmt.Sprintf("means of features over %d hops", hops), s.Bytes(&features), nil)
	if len(l.problems) > 0 {
		return features, known
	}
	means, reached, err := s.Of(&features)
	if err != nil {
		l.fail(err)
		return features, known
	}
	if without := count(known, false); without > 0 {
		l.warn("%s: the features of %d nodes are not known; means over %d hops leave %d of them without", file, without,
			hops, count(reached, false))
	}
	return means, reached
}

func count(list []bool, value bool) (n int) {
	for _, x := range list {
		if x == value {
			n++
		}
	}
	return n
}

// CanAverage reports whether Averaged serves: graph tables that were read with hops of 0, whose
// nodes have features, and a bias where the features of some are not known.
func (s *Set) CanAverage() bool {
	r := &s.Recipe
	return r.Kind == KindGraph && r.Hops == 0 && r.FeatureDim > 0 && r.Bias
}

// Averaged returns the set as it is read with Options.Hops, and leaves this one as it is. memory
// is as in Options, and what the means would take beyond it is a *memory.Error.
func (s *Set) Averaged(ctx context.Context, hops int, allowed int64) (*Set, error) {
	if !s.CanAverage() {
		return nil, errors.New("dataset: means over neighbourhoods are for graph tables whose nodes have features and a bias")
	}
	own := *s
	own.Instances = make([]*crf.Instance, len(s.Instances))
	own.Recipe.Hops, own.Recipe.Missing = hops, false
	features, reached := make([]crf.Features, len(s.Instances)), make([][]bool, len(s.Instances))
	for i, in := range s.Instances {
		var err error
		if features[i], reached[i], err = s.average(ctx, in, hops, allowed); err != nil {
			return nil, err
		}
		own.Recipe.Missing = own.Recipe.Missing || count(reached[i], false) > 0
	}
	own.Schema.NodeTypes = append([]crf.NodeType(nil), s.Schema.NodeTypes...)
	if t := &own.Schema.NodeTypes[0]; s.Recipe.Missing && !own.Recipe.Missing {
		t.Features, t.FeatureNames = t.Features-1, t.FeatureNames[:len(t.FeatureNames)-1]
	}
	for i, in := range s.Instances {
		spec := in.Spec()
		spec.NodeFeat[0] = features[i]
		if s.Recipe.Missing {
			dim := own.Schema.NodeTypes[0].Features
			spec.NodeFeat[0] = mustSparse(withOnes(features[i].Data(), dim, func(r int) int32 {
				if reached[i][r] {
					return -1
				}
				return int32(dim - 1)
			}))
		}
		var err error
		if own.Instances[i], err = crf.NewInstance(&own.Schema, spec); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return &own, nil
}

// average makes the means of one graph's features, of which the bias is one.
func (s *Set) average(ctx context.Context, in *crf.Instance, hops int, allowed int64) (crf.Features, []bool, error) {
	features, known := *in.NodeFeatures(0), []bool(nil)
	if s.Recipe.Missing {
		features, known = withoutMissing(&features, s.Recipe.FeatureDim)
	}
	of := hopMeans{Context: ctx, Graph: in.Graph, Known: known, Hops: hops}
	if err := memory.Check(fmt.Sprintf("means of features over %d hops", hops), of.Bytes(&features), allowed); err != nil {
		return crf.Features{}, nil, err
	}
	return of.Of(&features)
}

// withoutMissing empties the sparse rows of nodes whose features are not known: those without
// a bias, whose column is that of the number given.
func withoutMissing(f *crf.Features, bias int) (crf.Features, []bool) {
	m := f.Data()
	known := make([]bool, m.Rows)
	start, column, value := []int{0}, make([]int32, 0, len(m.Column)), []float64(nil)
	if m.Value != nil {
		value = make([]float64, 0, len(m.Value))
	}
	for r := range known {
		from, to := m.Start[r], m.Start[r+1]
		for _, c := range m.Column[from:to] {
			known[r] = known[r] || int(c) == bias
		}
		if known[r] {
			column = append(column, m.Column[from:to]...)
			if m.Value != nil {
				value = append(value, m.Value[from:to]...)
			}
		}
		start = append(start, len(column))
	}
	return mustSparse(crf.Sparse(start, column, value, m.Dim)), known
}

func mustSparse(f crf.Features, err error) crf.Features {
	if err != nil {
		panic("dataset: " + err.Error()) // rows of a matrix are one again
	}
	return f
}
