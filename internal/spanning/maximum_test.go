package spanning_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/spanning"
)

// TestMaximum against all sets of edges.
func TestMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		g, err := gen.ErdosRenyi(rapid.IntRange(1, 6).Draw(t, "nodes"), 0.6, rng)
		if err != nil {
			t.Fatal(err)
		}
		const most = 12 // edges, of which every set is tried
		if u, v := g.Ends(); len(u) > most {
			if g, err = graph.FromEdges(g.NumNodes(), u[:most], v[:most]); err != nil {
				t.Fatal(err)
			}
		}
		weight := make([]float64, g.NumEdges())
		for e := range weight {
			weight[e] = math.Round(4 * rng.Float64())
		}
		_, components := g.Components()
		sum := func(has func(e int) bool) (total float64, forest bool) {
			parent := make([]int32, g.NumNodes())
			for s := range parent {
				parent[s] = int32(s)
			}
			find := func(s int32) int32 {
				for parent[s] != s {
					s = parent[s]
				}
				return s
			}
			edges := 0
			for e := range weight {
				if !has(e) {
					continue
				}
				a, b := find(g.U(int32(e))), find(g.V(int32(e)))
				if a == b {
					return 0, false
				}
				parent[a] = b
				total += weight[e]
				edges++
			}
			return total, edges == g.NumNodes()-components
		}
		best := 0.0
		for set := range 1 << len(weight) {
			if total, ok := sum(func(e int) bool { return set>>e&1 == 1 }); ok {
				best = max(best, total)
			}
		}
		chosen := make([]bool, len(weight))
		for _, e := range spanning.Maximum(g, weight) {
			chosen[e] = true
		}
		if got, ok := sum(func(e int) bool { return chosen[e] }); !ok || got != best {
			t.Fatalf("weight %v, spanning forest %v, want %v", got, ok, best)
		}
	})
}
