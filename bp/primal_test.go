package bp

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMakeConsistentLowersRows: the margins can't be met without the forbidden
// entries, so they must be used (and Primal becomes −Inf).
func TestMakeConsistentLowersRows(t *testing.T) {
	pair, row, column := []float64{0.5, 0, 0, 0.5}, []float64{0.6, 0.4}, []float64{0.4, 0.6}
	makeConsistent(pair, row, column, make([]float64, 2), make([]float64, 2))
	rows, columns := marginalsOf(pair, 2)
	for i := range 2 {
		if math.Abs(rows[i]-row[i]) > 1e-12 || math.Abs(columns[i]-column[i]) > 1e-12 {
			t.Fatalf("rows %v, want %v; columns %v, want %v", rows, row, columns, column)
		}
	}
}

// TestPrimalIsALowerBound: before convergence, with and without hard zeros.
func TestPrimalIsALowerBound(t *testing.T) {
	for seed := range uint64(60) {
		rng := source(seed)
		g := legal(graph.FromEdges(3, []int32{0, 1, 2}, []int32{1, 2, 0}))
		p := oracle.RandomPairwise(rng, g, []int32{3, 3, 3}, 2, 0.3*float64(seed%2))
		solved := newInference(t, p, Convex(g))
		solved.solve(t)
		b := solved.values(t).Dual
		r := newInference(t, p, Convex(g))
		for sweep := range 5 {
			r.sweep(t, r.blocks())
			if v := r.values(t); v.Primal > b+1e-9 || v.Primal > v.Dual+1e-9 {
				t.Fatalf("seed %d, sweep %d: %+v, B is %v", seed, sweep, v, b)
			}
		}
	}
}
