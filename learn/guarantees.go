package learn

import (
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/partition"
)

// guarantees are what holds of inference and of the objective L = B(free) − B(clamped) at any weights and messages.
// They follow from the counting numbers of all networks, from hidden labels, and from how networks are cut:
//
//	monotone        all c_s ≥ 0: no plain sweep raises the dual value D of (7); damping is not needed, momentum may be
//	convexNumbers   the counting numbers of all networks are provably convex
//	convex          so is L: no label is hidden, but where there are no edges
//	bounded         F ≥ L at any messages: descent need not wait for these to tell whether L has fallen
//	certified       bounded and convex, so that consistent beliefs bound the smallest L from below: claims are proved
//	hidden          a unit is clamped for hidden labels and has edges: without, their terms are those of the free unit
//	forests         a visit finds the marginals of whole networks, which are forests
//
// certified implies bounded, convex and convexNumbers.
type guarantees struct {
	monotone, convexNumbers, convex, bounded, certified, hidden, forests bool
}

// findGuarantees finds them.
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
		return u.labels == nil && !u.byConsistent()
	})
	g.forests = blocks == 1 && facts(func(f *counting.Facts) bool { return f.Bound == counting.Exact }) &&
		!slices.ContainsFunc(units, func(u *unit) bool { return !partition.InOrder(u.in.Graph) })
	return g
}
