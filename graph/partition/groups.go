package partition

import "slices"

// groupTable lists, for every block, the blocks it shares an edge with (itself
// first), how many edges each such group has, and the group's number.
type groupTable struct {
	other [][]int32 // [block] other blocks: itself first, then ascending
	size  [][]int32 // [block][i] edges between block and other[block][i]
	id    [][]int32 // [block][i] group number
}

// blockPair is an unordered pair of blocks, a ≤ b, that share size edges.
type blockPair struct{ a, b, size int32 }

// numberGroups finds the pairs of blocks that share edges. Group numbers follow
// the order (a, b), a ≤ b, so they do not depend on the order of the edges.
func (p *Partition) numberGroups(u, v []int32) *groupTable {
	pairs := p.countPairs(u, v)
	p.NumGroups = len(pairs)

	t := &groupTable{
		other: make([][]int32, len(p.Blocks)),
		size:  make([][]int32, len(p.Blocks)),
		id:    make([][]int32, len(p.Blocks)),
	}
	add := func(block, other, size int32, id int) {
		t.other[block] = append(t.other[block], other)
		t.size[block] = append(t.size[block], size)
		t.id[block] = append(t.id[block], int32(id))
	}
	for id, q := range pairs { // the inside group of every block comes first
		if q.a == q.b {
			add(q.a, q.b, q.size, id)
		}
	}
	// Pairs are sorted by (a, b), so block b meets its smaller neighbours in
	// ascending order before the pairs in which it is the smaller one.
	for id, q := range pairs {
		if q.a != q.b {
			add(q.b, q.a, q.size, id)
		}
	}
	for id, q := range pairs {
		if q.a != q.b {
			add(q.a, q.b, q.size, id)
		}
	}
	return t
}

// countPairs returns the pairs of blocks that share edges, and every block with
// itself, in ascending order.
func (p *Partition) countPairs(u, v []int32) []blockPair {
	inside, start, higher := p.splitCut(u, v)
	shared := make([]int32, len(p.Blocks)) // edges between block a and each other
	var others []int32                     // the blocks with shared > 0
	pairs := make([]blockPair, 0, len(p.Blocks))
	for a := range int32(len(p.Blocks)) {
		pairs = append(pairs, blockPair{a, a, inside[a]})
		others = others[:0]
		for _, b := range higher[start[a]:start[a+1]] {
			if shared[b] == 0 {
				others = append(others, b)
			}
			shared[b]++
		}
		slices.Sort(others)
		for _, b := range others {
			pairs = append(pairs, blockPair{a, b, shared[b]})
			shared[b] = 0
		}
	}
	return pairs
}

// splitCut counts the edges inside each block and lists, for each block a, the
// higher-numbered block of every cut edge whose lower-numbered one is a:
// higher[start[a]:start[a+1]].
func (p *Partition) splitCut(u, v []int32) (inside, start, higher []int32) {
	inside, start = make([]int32, len(p.Blocks)), make([]int32, len(p.Blocks)+1)
	for e := range u {
		if a, b := p.Of[u[e]], p.Of[v[e]]; a == b {
			inside[a]++
		} else {
			start[min(a, b)+1]++
		}
	}
	for a := range p.Blocks {
		start[a+1] += start[a]
	}
	higher = make([]int32, start[len(p.Blocks)])
	fill := slices.Clone(start)
	for e := range u {
		if a, b := p.Of[u[e]], p.Of[v[e]]; a != b {
			higher[fill[min(a, b)]] = max(a, b)
			fill[min(a, b)]++
		}
	}
	return inside, start, higher
}

// position returns the index i with other[block][i] == other.
func (t *groupTable) position(block, other int32) int {
	if block == other {
		return 0
	}
	i, _ := slices.BinarySearch(t.other[block][1:], other)
	return i + 1
}
