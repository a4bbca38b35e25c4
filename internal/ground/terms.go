package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
)

// Slot says where a logit of a term of the pseudo-likelihood comes from: that of state x has
// Value times the weight At + x·Stride.
type Slot struct {
	At, Stride int
	Value      float64
}

// EachTerm calls do for every sample and every node with a label: with p, the distribution of
// the node given its neighbours' labels, its own label y, what the term counts, and the
// weights that it depends on, some of which may be there twice. Slices are good for one call.
func (l *PseudoLikelihood) EachTerm(m *crf.Model, in *crf.Instance, whole *partition.Block, do func(sample int, p []float64, y int32, count float64, slots []Slot)) {
	l.potential.Ground(m, in, whole)
	var p []float64
	var slots []Slot
	for i, labels := range in.Samples() {
		for s, y := range labels {
			if y == crf.Unobserved {
				continue
			}
			s := int32(s)
			kind, row := in.NodeType(s), in.NodeRow(s)
			p = append(p[:0], l.potential.Node[l.potential.NodeAt[s]:l.potential.NodeAt[s+1]]...)
			l.conditional(p, in, labels, s)
			slots = nodeFeatures(in, kind).slots(slots[:0], &m.Layout.Node[kind], row, 0, 1, &l.potential.scratch)
			for _, d := range in.Graph.Incoming(s) {
				if at, stride, ok := columnOf(in, d, labels, len(p)); ok {
					kind, row := in.EdgeType(d>>1), in.EdgeRow(d>>1)
					slots = edgeFeatures(in, kind).slots(slots, &m.Layout.Edge[kind], row, at, stride, &l.potential.scratch)
				}
			}
			do(i, p, y, ClassWeight(l.ClassWeights, in, s, y), slots)
		}
	}
}

// slots adds the weights of row r of features, at a place of the table that they make.
func (f *matrix) slots(dst []Slot, span *crf.Span, r, at, stride int, s *scratch) []Slot {
	first := span.At + at
	if span.Untied {
		first += r * span.Copy()
	}
	add := func(column int, value float64) {
		if value != 0 {
			dst = append(dst, Slot{first + column*span.States, stride, value})
		}
	}
	switch {
	case f.dense(), f.Computed != nil:
		for j, v := range f.row(r, s) {
			add(j, v)
		}
	case f.Book != nil:
		for j, v := range f.coded(r) {
			add(j, v)
		}
	case f.Bins != nil:
		add(int(f.Bins[r]), 1)
	case f.Start != nil:
		for i := f.Start[r]; i < f.Start[r+1]; i++ {
			add(int(f.Column[i]), f.value(i))
		}
	default:
		for j := range f.Dim {
			add(j, 1)
		}
	}
	return dst
}
