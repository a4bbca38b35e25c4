package learn

import "github.com/blockbp/blockbp/crf"

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
