package flow

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/graph"
)

// relativelyNegligible times the largest finite capacity is an amount that
// MinimumCut does not bother to move: as little as rounding leaves behind.
const relativelyNegligible = 0x1p-52

// MinimumCut returns the set S of nodes, as a truth value for each, that minimises
//
//	Σ_{s ∉ S, excess_s > 0} excess_s + Σ_{s ∈ S, excess_s < 0} |excess_s|
//	  + Σ_{e: U ∈ S, V ∉ S} forward_e + Σ_{e: V ∈ S, U ∉ S} backward_e
//
// up to rounding: a source is joined to the nodes of positive excess and a sink to
// those of negative excess. Of several sets that are minimal it is the smallest.
// Capacities must not be negative or NaN, but may be infinite; excess [nodes] must
// be finite. It panics if the lengths are not those of the graph.
//
// The work is that of push-relabel with exact heights (Goldberg and Tarjan 1988).
func MinimumCut(g *graph.Graph, excess, forward, backward []float64) (inside []bool) {
	if len(excess) != g.NumNodes() || len(forward) != g.NumEdges() || len(backward) != g.NumEdges() {
		panic(fmt.Sprintf("flow: excess of %d nodes and capacities of %d and %d edges, want %d and %d", len(excess), len(forward), len(backward), g.NumNodes(), g.NumEdges()))
	}
	f := newResidual(g, 0, math.MaxInt64)
	scale := 0.0
	for e := range forward {
		f.share[2*e], f.share[2*e+1] = backward[e], forward[e] // share[d] leads from d's target to its source
		scale = max(scale, finite(forward[e]), finite(backward[e]))
	}
	for s, x := range excess {
		f.load[s] = x // with a capacity of 0
		scale = max(scale, math.Abs(x))
	}
	f.negligible = relativelyNegligible * scale
	f.Settle()
	inside = make([]bool, g.NumNodes())
	for _, s := range f.reached {
		inside[s] = true
	}
	return inside
}

// finite returns 0 for an infinite capacity.
func finite(x float64) float64 {
	if math.IsInf(x, 1) {
		return 0
	}
	return x
}
