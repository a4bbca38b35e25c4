package counting

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/flow"
)

// shiftTolerance is the excess over a capacity that divide forgives, relative to the largest amount or capacity. It
// is far above the rounding of sums and far below any violation that matters.
const shiftTolerance = 1e-9

// negligible is the amount, in that relation, that is not worth moving.
const negligible = 1e-14

// divide reports whether the amount supply[e] ≥ 0 of every edge can be split between its two ends so that every node
// s receives at most capacity[s]. By Hall's theorem that is
//
//	Σ_{e inside S} supply_e ≤ Σ_{s ∈ S} capacity_s   for every set S of nodes.
//
// With supply c_uv > 0 and capacity ρ_s = c_s + Σ_v c_sv (docs/explanation/equations.md, equation 3) it is the
// sufficient condition of Heskes (2006) and Weiss, Yanover & Meltzer (2007) for the free energy (2) to be concave on
// the local polytope: what an edge has not given to a node pays for a negative c_s there.
//
// A node may receive more than its capacity by shiftTolerance times the largest supply or finite capacity. Capacities
// may be infinite; the answer is false if one is negative by more than the tolerance, and if any number is not a
// number or a supply is negative or infinite. It panics if the lengths are not those of the graph. The work is not
// limited: tight cases take about a second for 10⁵ nodes and a minute for 10⁶, others much less. If it can be,
// received is what the target of each directed edge receives.
func divide(g *graph.Graph, supply, capacity []float64) (received []float64, ok bool) {
	if len(supply) != g.NumEdges() || len(capacity) != g.NumNodes() {
		panic(fmt.Sprintf("counting: %d supplies and %d capacities for %d edges and %d nodes", len(supply), len(capacity),
			g.NumEdges(), g.NumNodes()))
	}
	scale, ok := divideScale(supply, capacity)
	if !ok {
		return nil, false
	}
	f := flow.Divide(g, supply, capacity, negligible*scale)
	f.Settle()
	for s := range int32(g.NumNodes()) {
		if f.Room(s) < -shiftTolerance*scale {
			return nil, false
		}
	}
	received = make([]float64, 2*g.NumEdges())
	for d := range received {
		received[d] = f.Placed(int32(d))
	}
	return received, true
}

// divideScale returns the largest finite number, and whether all are legal.
func divideScale(supply, capacity []float64) (scale float64, ok bool) {
	for _, a := range supply {
		if !(a >= 0) || math.IsInf(a, 1) {
			return 0, false
		}
		scale = max(scale, a)
	}
	for _, c := range capacity {
		switch {
		case math.IsNaN(c) || math.IsInf(c, -1):
			return 0, false
		case !math.IsInf(c, 1):
			scale = max(scale, math.Abs(c))
		}
	}
	return scale, true
}
