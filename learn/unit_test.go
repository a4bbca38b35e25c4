package learn

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestNumberGroups: against the definition. The pairs of blocks that any unit joins
// are numbered in ascending order; a block touches those it is in, ascending by the
// other block; and a slot leads to the pair of its group.
func TestNumberGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 30).Draw(t, "nodes")
		blocks := rapid.IntRange(1, nodes).Draw(t, "blocks")
		b := &bundle{}
		for range rapid.IntRange(1, 4).Draw(t, "units") {
			rng := source(rapid.Uint64().Draw(t, "seed"))
			g := must(gen.ErdosRenyi(nodes, rapid.SampledFrom([]float64{0, 0.05, 0.3}).Draw(t, "chance"), rng))
			of := make([]int32, nodes)
			for i, s := range rng.Perm(nodes) {
				of[s] = int32(i % blocks)
			}
			part := must(partition.FromAssignment(g, of, blocks))
			b.units = append(b.units, &unit{in: &crf.Instance{}, part: part})
			keep := make([]bool, nodes) // and a clamped one, in which blocks may be empty
			for s := range keep {
				keep[s] = rng.IntN(2) == 0
			}
			b.units = append(b.units, &unit{in: &crf.Instance{}, part: part.Restrict(keep)}, b.units[0])
		}
		if err := b.numberGroups(b.units[0]); err != nil {
			t.Fatal(err)
		}

		type pair [2]int32
		var pairs []pair
		for _, u := range b.units {
			for x := range u.part.Blocks {
				for _, g := range u.part.Blocks[x].Groups {
					pairs = append(pairs, pair{min(int32(x), g.Other), max(int32(x), g.Other)})
				}
			}
		}
		slices.SortFunc(pairs, func(x, y pair) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
		pairs = slices.Compact(pairs)
		if b.groups() != len(pairs) {
			t.Fatalf("%d groups, want %d", b.groups(), len(pairs))
		}
		for x := range int32(blocks) {
			var want []int32
			for id, p := range pairs { // by ascending other block, as pairs ascend
				if p[0] == x || p[1] == x {
					want = append(want, int32(id))
				}
			}
			if !slices.Equal(b.touched[x], want) {
				t.Fatalf("block %d touches %v, want %v of %v", x, b.touched[x], want, pairs)
			}
			for _, u := range b.units {
				for i, g := range u.part.Blocks[x].Groups {
					if got, want := pairs[b.touched[x][u.slots[x][i]]], (pair{min(x, g.Other), max(x, g.Other)}); got != want {
						t.Fatalf("group %d of block %d leads to the pair %v, want %v", i, x, got, want)
					}
				}
			}
		}
	})
}
