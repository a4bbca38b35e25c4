package distributed

// A Tree adds vectors in the order of a binary tree over P parts: part p is leaf p, the tree is padded to a power of
// two, and an absent leaf adds nothing. The order depends on P alone. So whoever holds all leaves of a subtree can
// add it up, and the sum has the same bits. The zero value is ready; a Tree keeps its scratch.
type Tree struct {
	leaves []node
	work   []float64 // [depth][chunk]
}

// node is the subtree over the parts [first, first+size) that exist; size is a power of two that divides first.
type node struct{ first, size int }

// chunk is how many numbers of each vector are added at a time: so that the partial sums
// of all levels stay in the nearest cache.
const chunk = 256

// Sum sets dst to the sum of all parts, which have its length; dst may be one of them.
func (t *Tree) Sum(dst []float64, parts [][]float64) { t.add(dst, t.leavesOf(0, len(parts)), parts) }

// leavesOf returns the leaves of parts [from, to).
func (t *Tree) leavesOf(from, to int) []node {
	for len(t.leaves) < to {
		t.leaves = append(t.leaves, node{len(t.leaves), 1})
	}
	return t.leaves[from:to]
}

// add sets dst to the sum of neighbouring subtrees that make up one subtree, in ascending order.
func (t *Tree) add(dst []float64, nodes []node, values [][]float64) {
	root, last := nodes[0], nodes[len(nodes)-1]
	for root.first+root.size < last.first+last.size {
		root.size *= 2
	}
	for from := 0; from < len(dst); from += chunk {
		s := summing{t, nodes, values, from, min(from+chunk, len(dst))}
		copy(dst[s.from:s.to], s.sum(root, 0))
	}
}

// summing is the sum of one chunk on its way: the subtrees that are not yet part of it, and their values.
type summing struct {
	tree     *Tree
	nodes    []node
	values   [][]float64
	from, to int
}

// sum returns the sum of a subtree, as it is there or in the scratch of a depth.
func (s *summing) sum(n node, depth int) []float64 {
	if s.nodes[0] == n {
		known := s.values[0][s.from:s.to]
		s.nodes, s.values = s.nodes[1:], s.values[1:]
		return known
	}
	half := n.size / 2
	left := s.sum(node{n.first, half}, depth)
	if len(s.nodes) == 0 || s.nodes[0].first >= n.first+n.size {
		return left // there is no right one
	}
	right := s.sum(node{n.first + half, half}, depth+1)
	for len(s.tree.work) < (depth+1)*chunk {
		s.tree.work = append(s.tree.work, make([]float64, chunk)...)
	}
	sum := s.tree.work[depth*chunk:][:len(right)]
	left = left[:len(right)] // no bounds are checked in the loop
	for i, x := range right {
		sum[i] = left[i] + x
	}
	return sum
}

// appendSubtrees appends the largest subtrees of a tree over some parts whose leaves, as
// far as they exist, are all in [from, to).
func appendSubtrees(nodes []node, from, to, parts int) []node {
	for p := from; p < to; {
		size := 1
		for p%(2*size) == 0 && min(p+2*size, parts) <= to && size < parts {
			size *= 2
		}
		nodes = append(nodes, node{p, size})
		p += size
	}
	return nodes
}
