package ground

import (
	"cmp"
	"slices"

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
func (l *PseudoLikelihood) EachTerm(m *crf.Model, in *crf.Instance, whole *partition.Block,
	do func(sample int, p []float64, y int32, count float64, slots []Slot)) {
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
			do(i, p, y, in.SampleWeight(i)*ClassWeight(l.ClassWeights, in, s, y), slots)
		}
	}
}

// slots adds the weights of row r of features, at a place of the table that they make.
func (f *matrix) slots(dst []Slot, span *crf.Span, r, at, stride int, s *scratch) []Slot {
	first := span.At + at
	if span.Untied {
		first += r * span.Copy()
	}
	row := f.entries(r, s)
	for i := range row.N {
		if column, value := row.At(i); value != 0 {
			dst = append(dst, Slot{first + column*span.States, stride, value})
		}
	}
	return dst
}

// Class weights ω (docs/explanation/equations.md, section 5) make of −log p(y) of a sample
//
//	Σ_k (w_k − w_{k−1}) · −log p(labels of weight ≥ w_k | the other known labels),
//
// w_1 < w_2 < … being the weights that its known labels have, and w_0 = 0. Without edges that is
// Σ_s ω(y_s) · −log p(y_s). Of nodes that are sure to be in one state together, the odds of the
// state are ω times as large as without weights, once, and not once for each node.
//
// A conditional term is log p(other labels) − log p(y): so it is a sample with hidden labels,
// and a negative weight. In (8) the free energies of free networks cancel but for w_1 of them.

// Term is a labelling, some of it hidden, and the weight of its −log p.
type Term struct {
	Labels []int32
	Weight float64
	// Truth is the labelling without what only the term hides.
	Truth []int32
}

// Terms returns the samples of an instance as class weights weigh them: each as it is, with the
// largest weight of its labels, and then with those of weight w_k and above hidden.
func Terms(classWeights [][]float64, in *crf.Instance) (all []Term) {
	for i, labels := range in.Samples() {
		counts, levels := in.SampleWeight(i), levelsOf(classWeights, in, labels)
		all = append(all, Term{labels, counts * levels[len(levels)-1], labels})
		for k := 1; k < len(levels); k++ {
			hidden := slices.Clone(labels)
			for s, y := range labels {
				if y != crf.Unobserved && ClassWeight(classWeights, in, int32(s), y) >= levels[k] {
					hidden[s] = crf.Unobserved
				}
			}
			all = append(all, Term{hidden, counts * (levels[k-1] - levels[k]), labels})
		}
	}
	return all
}

// levelsOf returns the different weights of the labels that are known, in ascending order; 1 where none is.
func levelsOf(classWeights [][]float64, in *crf.Instance, labels []int32) (levels []float64) {
	for s, y := range labels {
		if y == crf.Unobserved || classWeights == nil {
			continue
		}
		w := ClassWeight(classWeights, in, int32(s), y)
		if i, known := slices.BinarySearchFunc(levels, w, cmp.Compare[float64]); !known {
			levels = slices.Insert(levels, i, w)
		}
	}
	if len(levels) == 0 {
		return []float64{1}
	}
	return levels
}
