package partition

import "slices"

// distributeEdges gives every block its edges, grouped by the block at the other end, and numbers the groups in the
// order of their pairs (a, b), a ≤ b, whatever the order of edges. Cost: O(nodes + edges), and sorting edges between.
func (p *Partition) distributeEdges() {
	p.collectEdges()
	numbered := int32(0)
	var between []uint64 // edges of a block that lead out, each behind the number of the other block
	var groups []Group   // of a block
	for b := range int32(len(p.Blocks)) {
		block := &p.Blocks[b]
		inside := block.Edges[:0]
		between = between[:0]
		for _, e := range block.Edges {
			if other := p.Of[p.Graph.U(e)] + p.Of[p.Graph.V(e)] - b; other == b {
				inside = append(inside, e)
			} else {
				between = append(between, uint64(other)<<32|uint64(e))
			}
		}
		slices.Sort(between)
		groups = append(groups[:0], Group{ID: numbered, Other: b, Hi: int32(len(inside))})
		numbered++
		block.Edges = inside
		for _, pair := range between {
			other, at := int32(pair>>32), int32(len(block.Edges))
			block.Edges = append(block.Edges, int32(uint32(pair)))
			if last := &groups[len(groups)-1]; last.Other == other {
				last.Hi++
				continue
			}
			next := Group{ID: numbered, Other: other, Lo: at, Hi: at + 1}
			if other < b {
				next.ID = p.Blocks[other].groupTo(b).ID
			} else {
				numbered++
			}
			groups = append(groups, next)
		}
		block.Groups = slices.Clone(groups)
	}
	p.NumGroups = int(numbered)
}

// groupTo returns the group of the edges that lead to another block, of which there are some.
func (b *Block) groupTo(other int32) *Group {
	out := b.Groups[1:]
	at, _ := slices.BinarySearchFunc(out, other, func(g Group, other int32) int { return int(g.Other - other) })
	return &out[at]
}

// collectEdges lists for every block the edges with an end in it, ascending. The
// lists lie one behind the other in one slice.
func (p *Partition) collectEdges() {
	u, v := p.Graph.Ends()
	count := make([]int, len(p.Blocks))
	total := 0
	each := func(do func(b int32, e int)) {
		for e := range u {
			a, b := p.Of[u[e]], p.Of[v[e]]
			if do(a, e); a != b {
				do(b, e)
			}
		}
	}
	each(func(b int32, _ int) {
		count[b]++
		total++
	})
	flat := make([]int32, total)
	for b, n := range count {
		p.Blocks[b].Edges, flat = flat[:0:n], flat[n:]
	}
	each(func(b int32, e int) { p.Blocks[b].Edges = append(p.Blocks[b].Edges, int32(e)) })
}
