package partition

import "slices"

// distributeEdges gives every block its edges, grouped by the block at the other end, and numbers the groups in the
// order of their pairs (a, b), a ≤ b, whatever the order of the edges. Cost: O(nodes + edges), and sorting what each
// block is next to.
func (p *Partition) distributeEdges() {
	p.collectEdges()
	d := &distribution{p: p, size: make([]int32, len(p.Blocks)), higher: make([]int32, len(p.Blocks))}
	for b := range int32(len(p.Blocks)) {
		d.group(b)
	}
	p.NumGroups = int(d.numbered)
}

// collectEdges lists for every block the edges with an end in it, ascending. The
// lists lie one behind the other in one slice.
func (p *Partition) collectEdges() {
	u, v := p.Graph.Ends()
	count := make([]int, len(p.Blocks))
	total := 0
	for e := range u {
		a, b := p.Of[u[e]], p.Of[v[e]]
		count[a]++
		total++
		if a != b {
			count[b]++
			total++
		}
	}
	flat := make([]int32, total)
	for b, n := range count {
		p.Blocks[b].Edges, flat = flat[:n:n], flat[n:]
	}
	clear(count) // now: how many are listed already
	list := func(b int32, e int) {
		p.Blocks[b].Edges[count[b]] = int32(e)
		count[b]++
	}
	for e := range u {
		a, b := p.Of[u[e]], p.Of[v[e]]
		list(a, e)
		if a != b {
			list(b, e)
		}
	}
}

// distribution is the state of distributeEdges between blocks, which it goes through in ascending order.
type distribution struct {
	p        *Partition
	numbered int32 // groups that have a number

	size   []int32 // [blocks] edges between the block at work and each other; 0 between blocks
	others []int32 // blocks that the one at work shares edges with, itself first
	edges  []int32 // its edges, ascending, and
	leadTo []int32 // the block at the other end of each
	// higher [blocks] is, for every finished block, the place in its Groups of the first
	// one that leads to a block which is not finished.
	higher []int32
}

// group sorts the edges of block b by the block at their other end, and numbers the
// groups that lead to itself and to higher blocks.
func (d *distribution) group(b int32) {
	block := &d.p.Blocks[b]
	d.survey(b, block.Edges)
	block.Groups = make([]Group, len(d.others))
	lo := int32(0)
	for i, other := range d.others {
		block.Groups[i] = Group{ID: d.number(b, other), Other: other, Lo: lo, Hi: lo + d.size[other]}
		d.size[other], lo = lo, block.Groups[i].Hi // from now on: where its next edge goes
		if other < b {
			d.higher[b]++
		}
	}
	d.higher[b]++ // the inside
	for i, e := range d.edges {
		at := &d.size[d.leadTo[i]]
		block.Edges[*at] = e
		*at++
	}
	for _, other := range d.others {
		d.size[other] = 0
	}
}

// survey finds the blocks that edges of block b lead to, itself first and then ascending, and how many lead to each.
func (d *distribution) survey(b int32, edges []int32) {
	of := d.p.Of
	d.edges = append(d.edges[:0], edges...)
	d.leadTo, d.others = d.leadTo[:0], append(d.others[:0], b)
	for _, e := range edges {
		other := of[d.p.Graph.U(e)] + of[d.p.Graph.V(e)] - b
		if d.size[other] == 0 && other != b {
			d.others = append(d.others, other)
		}
		d.size[other]++
		d.leadTo = append(d.leadTo, other)
	}
	slices.Sort(d.others[1:])
}

// number returns the number of the group of blocks b and other: a new one, or the one that other, if it is lower, has
// given it. The groups of a block that lead to higher ones are asked for in their order.
func (d *distribution) number(b, other int32) int32 {
	if other >= b {
		d.numbered++
		return d.numbered - 1
	}
	id := d.p.Blocks[other].Groups[d.higher[other]].ID
	d.higher[other]++
	return id
}
