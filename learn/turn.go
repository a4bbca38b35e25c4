package learn

import "github.com/blockbp/blockbp/internal/partition"

// turn is what is visited at a time: blocks of a bundle of which no two share an
// edge, so that they can be visited in parallel. Each reads, of others, only what
// none of them changes.
type turn struct {
	bundle int
	blocks []int
}

// turns divides the blocks of all bundles into turns of at most so many blocks, in
// an order that follows that of the blocks: each goes into the first of the turns
// still open that has none of its neighbours.
func (l *learner) turns(most int) []turn {
	var all []turn
	for i, b := range l.bundles {
		t := turning{bundle: i, most: max(1, most), of: make([]int, l.blocks)}
		neighbours := b.neighbours()
		for block := range l.blocks {
			t.place(block, neighbours[block])
		}
		all = append(all, t.done...)
	}
	return all
}

// openTurns is how many turns may be waiting for more blocks: with more of them, a
// pass would stray far from the order of the blocks.
const openTurns = 4

// turning is a division on the way.
type turning struct {
	bundle, most int
	of           []int // [blocks] 1 + the turn of each block that was placed
	done         []turn
	first        int // turns before it are closed
}

func (t *turning) place(block int, neighbours []int32) {
	t.first = max(t.first, len(t.done)-openTurns)
	for i := t.first; i < len(t.done); i++ {
		if len(t.done[i].blocks) < t.most && t.free(i, neighbours) {
			t.done[i].blocks = append(t.done[i].blocks, block)
			t.of[block] = i + 1
			return
		}
	}
	t.done = append(t.done, turn{bundle: t.bundle, blocks: []int{block}})
	t.of[block] = len(t.done)
}

// free reports whether turn i has none of the blocks.
func (t *turning) free(i int, blocks []int32) bool {
	for _, b := range blocks {
		if t.of[b] == i+1 {
			return false
		}
	}
	return true
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
