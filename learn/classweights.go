package learn

import (
	"cmp"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
)

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

// weightedLabels are a labelling, some of it hidden, and the weight of its −log p.
type weightedLabels struct {
	labels []int32
	weight float64
	// truth is the labelling without what only the term hides.
	truth []int32
}

// terms returns the samples of an instance as they are weighed: each as it is, with the
// largest weight of its labels, and then with those of weight w_k and above hidden.
func (p *Problem) terms(in *crf.Instance) (all []weightedLabels) {
	for _, labels := range in.Samples() {
		levels := p.levels(in, labels)
		all = append(all, weightedLabels{labels, levels[len(levels)-1], labels})
		for k := 1; k < len(levels); k++ {
			hidden := slices.Clone(labels)
			for s, y := range labels {
				if y != crf.Unobserved && ground.ClassWeight(p.ClassWeights, in, int32(s), y) >= levels[k] {
					hidden[s] = crf.Unobserved
				}
			}
			all = append(all, weightedLabels{hidden, levels[k-1] - levels[k], labels})
		}
	}
	return all
}

// levels returns the different weights of the labels that are known, in ascending order; 1 where
// none is.
func (p *Problem) levels(in *crf.Instance, labels []int32) []float64 {
	if p.ClassWeights == nil {
		return []float64{1}
	}
	var levels []float64
	for s, y := range labels {
		if y == crf.Unobserved {
			continue
		}
		w := ground.ClassWeight(p.ClassWeights, in, int32(s), y)
		if i, known := slices.BinarySearchFunc(levels, w, cmp.Compare[float64]); !known {
			levels = slices.Insert(levels, i, w)
		}
	}
	if len(levels) == 0 {
		return []float64{1}
	}
	return levels
}

// addExtra notes that the nodes without a state in observed have a term more, of some weight.
// A negative weight is what hidden labels take.
func (u *unit) addExtra(observed []int32, weight float64) {
	to := &u.extra
	if weight < 0 {
		to = &u.taken
	}
	if *to == nil {
		*to = make([]float64, len(observed))
	}
	for s, y := range observed {
		if y == crf.Unobserved {
			(*to)[s] += weight
		}
	}
}

// nodeWeight is the weight of a node of a free unit in the objective, in all units of its
// instance where nothing but a class weight hides it.
func (u *unit) nodeWeight(s int32) float64 {
	if u.extra == nil {
		return u.weight
	}
	return u.weight + u.extra[s]
}

// edgeWeight is that of an edge: it is in all terms where one of its ends is free.
func (u *unit) edgeWeight(e int32) float64 {
	if u.extra == nil {
		return u.weight
	}
	return u.weight + max(u.extra[u.in.Graph.U(e)], u.extra[u.in.Graph.V(e)])
}

// nodeCurvature and edgeCurvature are the weights of the curvature that an element has in the
// objective as far as it does not answer to others: what it has in the free network, and
// clamped ones take again where its labels are hidden. Of an edge with one hidden end half is
// taken, and of masked models nothing: where beliefs are infeasible dual values decide, which
// longer steps outrun.
func (u *unit) nodeCurvature(s int32) float64 {
	return u.curvature(u.nodeWeight(s), s, s)
}

func (u *unit) edgeCurvature(e int32) float64 {
	return u.curvature(u.edgeWeight(e), u.in.Graph.U(e), u.in.Graph.V(e))
}

func (u *unit) curvature(weight float64, s, t int32) float64 {
	if u.taken == nil {
		return weight
	}
	if left := weight + (u.taken[s]+u.taken[t])/2; left > meritRounding*weight {
		return left
	}
	return 0
}

// isFree reports whether no node of a unit is held.
func (u *unit) isFree() bool { return u.net.Observed == nil }
