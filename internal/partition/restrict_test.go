package partition_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestRestrict: what is kept are the chosen nodes and the edges with one of them among their ends, in the same blocks,
// groups and order as before; the original does not change.
func TestRestrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		n := g.NumNodes()
		blocks := rapid.IntRange(1, n).Draw(t, "blocks")
		p := oracle.Must(partition.FromAssignment(g, partition.BreadthFirst(g, blocks), blocks))(t)
		keep := make([]bool, n)
		share := rapid.SampledFrom([]float64{0, 0.2, 0.8, 1}).Draw(t, "share")
		rng := source(rapid.Uint64().Draw(t, "kept"))
		for s := range keep {
			keep[s] = rng.Float64() < share
		}
		r := p.Restrict(keep)
		checkPartition(t, p)
		checkIncoming(t, r)
		checkElements(t, p)
		checkElements(t, r)
		if r.Graph != p.Graph || &r.Of[0] != &p.Of[0] || r.NumGroups != p.NumGroups || len(r.Blocks) != blocks {
			t.Fatalf("the restriction has another graph, assignment or number of groups")
		}
		for b := range p.Blocks {
			old, block := &p.Blocks[b], &r.Blocks[b]
			nodes := slices.DeleteFunc(slices.Clone(old.Nodes), func(s int32) bool { return !keep[s] })
			if !slices.Equal(block.Nodes, nodes) || len(block.Groups) != len(old.Groups) {
				t.Fatalf("block %d has the nodes %v and %d groups, want %v and %d", b, block.Nodes, len(block.Groups), nodes, len(old.Groups))
			}
			lo := int32(0)
			for i, group := range old.Groups {
				edges := slices.DeleteFunc(slices.Clone(old.Edges[group.Lo:group.Hi]), func(e int32) bool { return !keep[g.U(e)] && !keep[g.V(e)] })
				got := block.Groups[i]
				if got.ID != group.ID || got.Other != group.Other || got.Lo != lo || !slices.Equal(block.Edges[got.Lo:got.Hi], edges) {
					t.Fatalf("block %d, group %d: %+v with edges %v, want %v", b, i, got, block.Edges[got.Lo:got.Hi], edges)
				}
				lo = got.Hi
			}
			oracle.MustEqual(t, int(lo), len(block.Edges), "block %d: edges in groups, of all", b)
		}
	})
}
