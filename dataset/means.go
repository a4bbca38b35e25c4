package dataset

import (
	"context"
	"slices"

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
