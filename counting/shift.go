package counting

import (
	"math"

	"github.com/blockbp/blockbp/graph"
)

const (
	// shiftTolerance is the excess over a capacity that shift forgives, relative to the largest amount or capacity. It
	// is far above the rounding of sums and far below any violation that matters.
	shiftTolerance = 1e-9
	// negligible is the amount, in that relation, that is not worth moving.
	negligible = 1e-14
	// maxSpread is the largest quotient of amounts between which shift can decide: what it forgives
	// must be little beside the smallest.
	maxSpread = 1e5
)

// shift reports whether the amount supply[e] ≥ 0 of every edge can be split between its two ends so that every node
// s receives at most capacity[s], and returns what the target of each directed edge receives. By Hall's theorem that is
//
//	Σ_{e inside S} supply_e ≤ Σ_{s ∈ S} capacity_s   for every set S of nodes.
//
// With supply c_uv > 0 and capacity ρ_s = c_s + Σ_v c_sv (docs/explanation/equations.md, equation 3) it is the
// sufficient condition of Heskes (2006) and Weiss, Yanover & Meltzer (2007) for the free energy (2) to be concave on
// the local polytope: what an edge has not given to a node pays for a negative c_s there.
//
// A node may receive more than its capacity by shiftTolerance times the largest number. The answer may be false for
// amounts of very different sizes where it would be yes. The work is not limited: tight cases take about a second for
// 10⁵ nodes and a minute for 10⁶, others much less.
func shift(g *graph.Graph, supply, capacity []float64) (received []float64, ok bool) {
	arriving := make([]float64, g.NumNodes()) // at a node if it gets all that its edges have
	smallest, largest := math.Inf(1), 0.0
	for e, a := range supply {
		if a > 0 {
			smallest, largest = min(smallest, a), max(largest, a)
		}
		arriving[g.U(int32(e))] += a
		arriving[g.V(int32(e))] += a
	}
	halves := true
	for s, all := range arriving {
		halves = halves && all/2 <= capacity[s]
		arriving[s] = min(all, capacity[s]) // more room than that is of no use, but would be forgiven more
		largest = max(largest, math.Abs(arriving[s]))
	}
	f := newResidual(g, supply, arriving, negligible*largest)
	switch {
	case halves:
		return f.placed, true
	case largest > maxSpread*smallest:
		return nil, false
	}
	f.settle()
	for s := range int32(g.NumNodes()) {
		if f.room(s) < -shiftTolerance*largest {
			return nil, false
		}
	}
	return f.placed, true
}
