package partition

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestRefine: no block gets empty, none grows beyond the limit, and the same assignment gives the same one again.
func TestRefine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "nodes")
		g := oracle.Must(gen.ErdosRenyi(n, rapid.SampledFrom([]float64{0.03, 0.1, 0.5}).Draw(t, "probability"), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))))(t)
		blocks := rapid.IntRange(1, n).Draw(t, "blocks")
		before := make([]int32, n)
		for s := range before {
			before[s] = int32(s % blocks)
		}
		after, again := slices.Clone(before), slices.Clone(before)
		refine(g, after, blocks)
		refine(g, again, blocks)
		oracle.MustEqual(t, after, again, "two calls differ")
		limit := int(mostWork * float64(n+2*g.NumEdges()) / float64(blocks))
		was, is := make([]int, blocks), make([]int, blocks)
		for s := range before {
			was[before[s]] += g.Degree(int32(s)) + 1
			is[after[s]] += g.Degree(int32(s)) + 1
		}
		for block, work := range is {
			if work == 0 || work > max(limit, was[block]) {
				t.Fatalf("block %d has the work %d, and had %d: want some, and no more than %d", block, work, was[block], limit)
			}
		}
	})
}
