package learn

import (
	"slices"

	"github.com/blockbp/blockbp/internal/partition"
)

// blockSet is what is visited at a time: blocks of a bundle of which no two share an
// edge, so that they can be visited in parallel. Each reads, of others, only what
// none of them changes.
type blockSet struct {
	bundle int
	blocks []int
}

// blockSets divides the blocks of all bundles into sets of at most so many blocks, in
// an order that follows that of the blocks: each goes into the first of the sets
// still open that has none of its neighbours. Blocks that are empty in all units are left
// out: no visit changes anything there, and a step after one would be one of stale beliefs.
func (l *learner) blockSets(most int) []blockSet {
	var all []blockSet
	for i, b := range l.bundles {
		d := blockSetBuilder{bundle: i, most: max(1, most), of: make([]int, l.blocks)}
		neighbours := b.neighbours()
		for block := range l.blocks {
			if b.hasNodes(block) {
				d.place(block, neighbours[block])
			}
		}
		all = append(all, d.done...)
	}
	return all
}

// openSets is how many sets may be waiting for more blocks: with more of them, a
// pass would stray far from the order of the blocks.
const openSets = 4

// blockSetBuilder is a division on the way.
type blockSetBuilder struct {
	bundle, most int
	of           []int // [blocks] 1 + the set of each block that was placed
	done         []blockSet
	first        int // sets before it are closed
}

func (d *blockSetBuilder) place(block int, neighbours []int32) {
	d.first = max(d.first, len(d.done)-openSets)
	for i := d.first; i < len(d.done); i++ {
		if len(d.done[i].blocks) < d.most && d.free(i, neighbours) {
			d.done[i].blocks = append(d.done[i].blocks, block)
			d.of[block] = i + 1
			return
		}
	}
	d.done = append(d.done, blockSet{bundle: d.bundle, blocks: []int{block}})
	d.of[block] = len(d.done)
}

// free reports whether set i has none of the blocks.
func (d *blockSetBuilder) free(i int, blocks []int32) bool {
	for _, b := range blocks {
		if d.of[b] == i+1 {
			return false
		}
	}
	return true
}

// hasNodes reports whether a block has nodes in any unit.
func (b *bundle) hasNodes(block int) bool {
	return slices.ContainsFunc(b.units, func(u *unit) bool { return len(u.part.Blocks[block].Nodes) > 0 })
}

// neighbours lists, for every block, the others that some unit joins to it by an
// edge.
func (b *bundle) neighbours() [][]int32 {
	neighbours := make([][]int32, len(b.touched))
	known := map[*partition.Partition]bool{}
	for _, u := range b.units {
		if known[u.part] {
			continue
		}
		known[u.part] = true
		for x := range u.part.Blocks {
			for _, g := range u.part.Blocks[x].Groups {
				if int(g.Other) != x {
					neighbours[x] = append(neighbours[x], g.Other)
				}
			}
		}
	}
	return neighbours
}
