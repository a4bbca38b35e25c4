package crf

import (
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// single is what grounding and its adjoint need in single precision: features and
// weights of edges, rounded. Sums of weights' gradients stay in double precision.
type single struct {
	features []float32   // [RowsPerBatch*dim] scratch
	double   []float64   // a table, or a row of features
	weights  [][]float32 // [edge types] of tied types, rounded; empty: not yet for this block
}

// GroundEdges32 is GroundEdges in single precision: the tables go to Table32, each
// edge's own. No edge may share its table (Instance.SharesTables).
func (m *Model) GroundEdges32(pot *Potentials, in *Instance, block *partition.Block, lo int) (hi int) {
	hi = in.EdgeRun(block.Edges, lo, min(lo+RowsPerBatch, len(block.Edges)))
	edges := block.Edges[lo:hi]
	b := in.EdgeType(edges[0])
	span, f := &m.Layout.Edge[b], &in.edgeFeat[b]
	rows := in.edgeRows(edges, pot.rows)
	f.prefetch(in.edgeRow, block.Edges[hi:min(hi+RowsPerBatch, len(block.Edges))])
	at := len(pot.Table32)
	pot.Table32 = numeric.Resize(pot.Table32, len(pot.Table32)+len(edges)*span.States)
	pot.ground32(pot.Table32[at:], m, b, span, f, rows)
	for range edges {
		pot.EdgeAt = append(pot.EdgeAt, at)
		at += span.States
	}
	pot.NumTables = hi
	forbidPairs(m, pot.Table32, pot.EdgeAt[lo:], b)
	return hi
}

func (pot *Potentials) ground32(dst []float32, m *Model, edgeType int, span *Span, f *Features, rows []int32) {
	k := span.States
	if f.batched() && !span.Untied {
		simd.MultiplyMatrix32(dst, f.matrix32(rows, &pot.single), pot.single.rounded(m, edgeType), len(rows), f.dim, k)
		return
	}
	pot.single.double = numeric.Resize(pot.single.double, k)
	for i, r := range rows {
		f.multiply(pot.single.double, span.of(m.Weights, int(r)), int(r), pot.features)
		simd.Narrow(dst[i*k:][:k], pot.single.double)
	}
}

// rounded returns the weights of a tied edge type.
func (s *single) rounded(m *Model, edgeType int) []float32 {
	for len(s.weights) <= edgeType {
		s.weights = append(s.weights, nil)
	}
	w := &s.weights[edgeType]
	if len(*w) == 0 {
		span := &m.Layout.Edge[edgeType]
		*w = numeric.Resize(*w, span.Len)
		simd.Narrow(*w, m.Weights[span.At:][:span.Len])
	}
	return *w
}

// forget makes the next block round the weights anew.
func (s *single) forget() {
	for b := range s.weights {
		s.weights[b] = s.weights[b][:0]
	}
}

// matrix32 is matrix in single precision.
func (f *Features) matrix32(rows []int32, s *single) []float32 {
	n, d := len(rows), f.dim
	if end := run(rows); f.form == formDense32 && end == n {
		return f.dense32[int(rows[0])*d:][:n*d]
	}
	s.features = numeric.Resize(s.features, n*d)
	for to := s.features; len(rows) > 0; {
		end := run(rows)
		first := int(rows[0]) * d
		if f.form == formDense32 {
			copy(to, f.dense32[first:][:end*d])
		} else {
			simd.Narrow(to[:end*d], f.dense[first:][:end*d])
		}
		to, rows = to[end*d:], rows[end:]
	}
	return s.features
}

// scatterRows32 is scatterRows of beliefs in single precision.
func (f *Features) scatterRows32(w []float64, t []float32, rows []int32, k int, a *Adjoint) {
	if f.batched() {
		simd.ScatterMatrix32(w, f.matrix32(rows, &a.single), t, len(rows), f.dim, k)
		return
	}
	a.single.double = numeric.Resize(a.single.double, k)
	for i, r := range rows {
		for x, v := range t[i*k:][:k] {
			a.single.double[x] = float64(v)
		}
		f.scatter(w, a.single.double, int(r), a.features)
	}
}

// ScatterEdges32 is ScatterEdges for beliefs in single precision.
func (a *Adjoint) ScatterEdges32(dst []float64, in *Instance, edges []int32, beliefs []float32) {
	t := in.EdgeType(edges[0])
	in.edgeFeat[t].scatterRows32(dst, beliefs, in.edgeRows(edges, a.rows), len(beliefs)/len(edges), a)
}
