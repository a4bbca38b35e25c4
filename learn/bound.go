package learn

import (
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/partition"
)

// guarantees are what holds of inference and of the objective L = B(free) − B(clamped) at any weights and messages.
// They follow from the counting numbers of all networks, from hidden labels, and from how networks are cut:
//
//	monotone        all c_s ≥ 0 (Facts.Dual): no plain sweep raises the dual value D of (7), so that none is damped
//	convexNumbers   the counting numbers of all networks are provably convex
//	convex          so is L: no label is hidden, or only where there are no edges
//	bounded         F ≥ L at any messages: descent need not wait for these to tell whether L has fallen
//	certified       bounded and convex, so that consistent beliefs bound the smallest L from below: claims are proved
//	hidden          a unit is clamped for hidden labels, and has edges: without these its terms cancel free ones
//	forests         a visit finds the marginals of whole networks, which are forests
//
// certified implies bounded, convex and convexNumbers.
type guarantees struct {
	monotone, convexNumbers, convex, bounded, certified, hidden, forests bool
}

func findGuarantees(units []*unit, blocks int) (g guarantees) {
	facts := func(holds func(f *counting.Facts) bool) bool {
		return !slices.ContainsFunc(units, func(u *unit) bool { return !holds(&u.net.Counting.Facts) })
	}
	g.monotone = facts(func(f *counting.Facts) bool { return f.Dual })
	g.convexNumbers = facts(func(f *counting.Facts) bool { return f.Convex })
	g.hidden = slices.ContainsFunc(units, func(u *unit) bool { return u.weight < 0 && u.in.Graph.NumEdges() > 0 })
	g.convex = g.convexNumbers && !g.hidden
	g.certified = facts(func(f *counting.Facts) bool { return f.Certified }) && !g.hidden
	g.bounded = g.certified || g.monotone && !slices.ContainsFunc(units, func(u *unit) bool {
		return u.reference == nil && !u.byConsistent()
	})
	g.forests = blocks == 1 && facts(func(f *counting.Facts) bool { return f.Bound == counting.Exact }) &&
		!slices.ContainsFunc(units, func(u *unit) bool { return !partition.InOrder(u.in.Graph) })
	return g
}

// The upper bound of the objective that weights and messages lower together (docs/explanation/equations.md, section 8):
//
//	F(λ, θ̃) = (1/N) Σ_n [D(λ_n, θ_n) − ⟨θ_n, w_n⟩] + (l2/2)‖θ̃‖²  ≥  L(θ̃)
//
// The beliefs (4) and (6) of messages have c_s log τ_s = θ_s + Σ_v λ'_vs − c_s A_s and ρ log τ_uv = θ_uv − λ'_uv −
// λ'_vu − ρ log Z_uv. At the states y of any labelling the messages cancel when these are added up, so that
//
//	D(λ, θ) = ⟨θ, w(y)⟩ − Σ_s c_s log τ_s(y_s) − Σ_uv ρ_uv log τ_uv(y_u, y_v):
//
// a logarithm for each element in the place of a sum over its states. With the labels of the only sample for y the
// products with θ cancel too: F is a sum of cross entropies. Beliefs of nodes have to belong to the present potentials,
// as they do after a sweep.
//
// The elements of a clamped unit are those with a hidden label. It enters F by the value of its consistent beliefs
// where no c_s is negative (byConsistent), and else by its dual value, with any states for hidden labels in y. Where
// labels are hidden and states forbidden, no y is known to be allowed: then the free unit enters F by its free energy,
// which equals D once messages have settled, but with an error as large as theirs, not as its square.

// referenceLabels returns the labelling y of an instance: the first sample without hidden labels, or else the first
// with its hidden labels taken for state 0, which does where nothing is forbidden; nil where there is none.
func referenceLabels(in *crf.Instance, masked bool) []int32 {
	samples := in.Samples()
	for _, labels := range samples {
		if !slices.Contains(labels, crf.Unobserved) {
			return labels
		}
	}
	if masked {
		return nil
	}
	return instances.WithoutHidden(samples[0])
}

// lowerBound returns a lower bound of the smallest objective there is, given Σ c H(τ) of consistent beliefs τ, and the
// square of ‖Mτ − w̄‖. As
//
//	L* = max_τ Σ c H(τ) − ‖Mτ − w̄‖²/(2 l2)
//
// any τ gives one. So does a mixture of a share β of τ with labels that are all known, whose entropy and residual are
// zero, as entropy is concave: the best β is taken.
func lowerBound(entropy, square, l2 float64, labels bool) float64 {
	if !labels {
		return entropy - square/(2*l2)
	}
	if !(entropy > 0) {
		return 0
	}
	share := 1.0
	if square > 0 {
		share = min(1, entropy*l2/square)
	}
	if share == 0 {
		return 0
	}
	return share*entropy - share*share*square/(2*l2)
}
