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
// up to rounding: a source is joined to the nodes of positive excess and a sink to those of negative excess. Of
// several sets that are minimal it is the smallest. Capacities must not be negative or NaN, but may be infinite;
// excess [nodes] must be finite. It panics if the lengths are not those of the graph.
//
// The work is that of push-relabel with exact heights (Goldberg and Tarjan 1988).
func MinimumCut(g *graph.Graph, excess, forward, backward []float64) (inside []bool) {
	if len(excess) != g.NumNodes() || len(forward) != g.NumEdges() || len(backward) != g.NumEdges() {
		panic(fmt.Sprintf("flow: excess of %d nodes and capacities of %d and %d edges, want %d and %d",
			len(excess), len(forward), len(backward), g.NumNodes(), g.NumEdges()))
	}
	f := newResidual(g, 0)
	for e := range forward {
		f.residual[2*e], f.residual[2*e+1] = backward[e], forward[e] // residual[d] leads from d's target to its source
	}
	copy(f.load, excess) // with a capacity of 0
	for range trimmings {
		f.trim()
	}
	scale := 0.0
	for _, c := range f.residual {
		scale = max(scale, finite(c))
	}
	for _, x := range f.load {
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

// trimmings is how often capacities and excess are trimmed: each makes more room for
// the next, hardly ever a third time.
const trimmings = 2

// trim takes away what cannot matter, before it drowns the rest in rounding: beside a penalty of 1e14, 0.01 is
// nothing. A node whose excess is more than its arcs can carry, or than all nodes together could take, stays on its
// side of the cut with a little more than that as well. An arc that carries more than all excess is never cut, so it
// may as well be infinite. The minimal sets stay the same.
func (f *Residual) trim() {
	positive, negative := 0.0, 0.0
	for s, x := range f.load {
		out, in := 0.0, 0.0
		for _, d := range f.g.Incoming(int32(s)) {
			out += f.residual[d] // leads from s to the other end
			in += f.residual[d^1]
		}
		if x > 0 {
			f.load[s] = min(x, out+out/2+1)
		} else {
			f.load[s] = max(x, -(in + in/2 + 1))
		}
		positive += max(0, f.load[s])
		negative -= min(0, f.load[s])
	}
	for s, x := range f.load {
		f.load[s] = max(min(x, negative+negative/2+1), -(positive + positive/2 + 1))
	}
	for d, c := range f.residual {
		if c > min(positive, negative) {
			f.residual[d] = math.Inf(1)
		}
	}
}

// finite returns 0 for an infinite capacity.
func finite(x float64) float64 {
	if math.IsInf(x, 1) {
		return 0
	}
	return x
}
