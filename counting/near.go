package counting

import (
	"context"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/parallel"
)

// nearest is how far numbers of edges may be from the nearest ones: the root of the mean square.
const nearest = 1e-3

// inside is the share by which the nearest numbers are made smaller. At the border of what is convex nodes have no
// entropy of their own, c'_s = 0: the dual value falls so slowly then that learning proves nothing.
const inside = 0.002

// nearBethe returns, of the numbers that are provably convex and count every variable once (ρ_s = 1), those whose c_uv
// are nearest to Bethe's 1 (Meshi et al. 2009). With h_d ≥ 0 for the terms of a Split, c_uv is the sum of two, and
// those that leave a node may sum to 1 at most: then c'_s ≥ 0. So ½ Σ_uv (c_uv − 1)² is minimised over a product of
// simplices, by projected gradients with momentum. Every iterate is convex, and the largest gain to first order bounds
// ½ Σ (c_uv − c*_uv)², which ends it.
func nearBethe(ctx context.Context, g *graph.Graph) (*Numbers, error) {
	if g.IsForest() {
		c := Bethe(g)
		c.Name = "near-bethe"
		return c, nil
	}
	h := make([]float64, 2*g.NumEdges())
	ahead, last := slices.Clone(h), slices.Clone(h)
	var leaving []float64 // of a node
	for gain, run := 1.0, 0.0; gain > nearest*nearest/2*float64(g.NumEdges()); run++ {
		if err := parallel.Ended(ctx); err != nil {
			return nil, err
		}
		copy(last, h)
		gain = 0
		uphill := 0.0
		for s := range int32(g.NumNodes()) {
			most := 0.0
			leaving = leaving[:0]
			for _, d := range g.Incoming(s) { // d^1 leaves
				missing := 1 - last[d] - last[d^1]
				most, gain = max(most, missing), gain-missing*last[d^1]
				leaving = append(leaving, ahead[d^1]+(1-ahead[d]-ahead[d^1])/2)
			}
			gain += most
			project(leaving)
			for i, d := range g.Incoming(s) {
				h[d^1] = leaving[i]
				uphill += (ahead[d^1] - leaving[i]) * (leaving[i] - last[d^1])
			}
		}
		if uphill > 0 {
			run = 0
		}
		for d, x := range h {
			ahead[d] = x + run/(run+3)*(x-last[d])
		}
	}
	edge := make([]float64, g.NumEdges())
	for e := range edge {
		last[2*e], last[2*e+1] = (1-inside)*last[2*e], (1-inside)*last[2*e+1]
		edge[e] = last[2*e] + last[2*e+1]
	}
	c, err := treeReweighted(g, edge, last)
	if err == nil {
		c.Name, c.Facts.Bound = "near-bethe", None
	}
	return c, err
}

// project moves x to the nearest numbers that are not negative and sum to 1 at most: all lose as much (Michelot 1986).
func project(x []float64) {
	loss := 0.0
	for more := true; more; {
		excess, n := -1.0, 0.0
		for _, v := range x {
			if v > loss {
				excess, n = excess+v, n+1
			}
		}
		if more = excess/n > loss; more {
			loss = excess / n
		}
	}
	for i, v := range x {
		x[i] = max(0, v-loss)
	}
}
