package bp

import (
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPrimalIsALowerBound: before convergence, with and without hard zeros.
func TestPrimalIsALowerBound(t *testing.T) {
	for seed := range uint64(60) {
		rng := source(seed)
		g := legal(graph.FromEdges(3, []int32{0, 1, 2}, []int32{1, 2, 0}))
		p := oracle.RandomPairwise(rng, g, []int32{3, 3, 3}, 2, 0.3*float64(seed%2))
		solved := newInference(t, p, counting.Convex(g))
		solved.solve(t)
		b := solved.values(t).Dual
		r := newInference(t, p, counting.Convex(g))
		for sweep := range 5 {
			r.sweep(t, r.blocks())
			if v := r.values(t); v.Primal > b+1e-9 || v.Primal > v.Dual+1e-9 {
				t.Fatalf("seed %d, sweep %d: %+v, B is %v", seed, sweep, v, b)
			}
		}
	}
}
