package bp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMakeConsistentLowersRows: the margins can't be met without the forbidden
// entries, so they must be used (and Primal becomes −Inf).
func TestMakeConsistentLowersRows(t *testing.T) {
	pair, row, column := []float64{0.5, 0, 0, 0.5}, []float64{0.6, 0.4}, []float64{0.4, 0.6}
	makeConsistent(pair, row, column, make([]float64, 2), make([]float64, 2), make([]float64, 2), 0)
	rows, columns := marginalsOf(pair, 2)
	for i := range 2 {
		if math.Abs(rows[i]-row[i]) > 1e-12 || math.Abs(columns[i]-column[i]) > 1e-12 {
			t.Fatalf("rows %v, want %v; columns %v, want %v", rows, row, columns, column)
		}
	}
}

// TestMakeConsistent: whatever the masses, down to denormal ones, the margins are met,
// nothing is negative, and where scaling alone gets there zeros stay zero.
func TestMakeConsistent(t *testing.T) {
	rng := source(4)
	for range 3000 {
		ku, kv := 1+rng.IntN(9), 1+rng.IntN(9)
		row, column := randomBelief(rng, ku), randomBelief(rng, kv)
		pair := make([]float64, ku*kv)
		var zero []int
		smallest := []float64{-3, -30, -700}[rng.IntN(3)]
		for i := range pair {
			pair[i] = row[i/kv] * column[i%kv] * math.Exp(smallest*rng.Float64())
			if rng.IntN(20) == 0 {
				pair[i] = 0
				zero = append(zero, i)
			}
		}
		makeConsistent(pair, row, column, make([]float64, ku), make([]float64, kv), make([]float64, kv), 0)
		rows, columns := marginalsOf(pair, kv)
		if off := distance(rows, row) + distance(columns, column); !(off < 1e-12) || slices.Min(pair) < 0 {
			t.Fatalf("%d×%d: margins off by %v, smallest entry %v", ku, kv, off, slices.Min(pair))
		}
		if smallest == -3 && ku > 4 && kv > 4 && len(zero) == 1 && pair[zero[0]] != 0 {
			t.Fatalf("entry %d was 0 and is %v", zero[0], pair[zero[0]])
		}
	}
}

func randomBelief(rng *rand.Rand, k int) []float64 {
	belief, total := make([]float64, k), 0.0
	for i := range belief {
		belief[i] = math.Exp(-8 * rng.Float64())
		total += belief[i]
	}
	for i := range belief {
		belief[i] /= total
	}
	return belief
}

func distance(a, b []float64) (total float64) {
	for i := range a {
		total += math.Abs(a[i] - b[i])
	}
	return total
}

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
