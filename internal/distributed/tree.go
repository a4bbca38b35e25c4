package distributed

// A Tree adds vectors in the order of a binary tree over P parts: part p is leaf p, the tree is padded to a power of
// two, and an absent leaf adds nothing. The order depends on P alone. So whoever holds all leaves of a subtree can
// add it up, and the sum has the same bits. The zero value is ready; a Tree keeps its scratch.
type Tree struct {
	leaves []node
	stack  []term
	work   []float64 // [depth][chunk]
}

// node is the subtree over the parts [first, first+size) that exist; size is a power of two that divides first.
type node struct{ first, size int }

// term is a subtree on the way to its sum.
type term struct {
	node
	values []float64
}

// chunk is how many numbers of each vector are added at a time: so that the partial sums
// of all levels stay in the nearest cache.
const chunk = 256

// Scratch is about how many numbers a Tree keeps that adds up 64 parts.
const Scratch = 8 * chunk

// Sum sets dst to the sum of all parts, which have its length; dst may be one of them.
func (t *Tree) Sum(dst []float64, parts [][]float64) {
	t.add(dst, t.leavesOf(0, len(parts)), parts)
}

// leavesOf returns the leaves of parts [from, to).
func (t *Tree) leavesOf(from, to int) []node {
	for len(t.leaves) < to {
		t.leaves = append(t.leaves, node{len(t.leaves), 1})
	}
	return t.leaves[from:to]
}

// add sets dst to the sum of neighbouring subtrees that make up one subtree, in ascending order: siblings are joined
// as soon as both are there, and what has no right sibling, since it is absent, in the end.
func (t *Tree) add(dst []float64, nodes []node, values [][]float64) {
	for from := 0; from < len(dst); from += chunk {
		to := min(from+chunk, len(dst))
		t.stack = t.stack[:0]
		for i, n := range nodes {
			t.stack = append(t.stack, term{n, values[i][from:to]})
			for t.siblingsOnTop() {
				t.join()
			}
		}
		for len(t.stack) > 1 {
			t.join()
		}
		copy(dst[from:to], t.stack[0].values)
	}
	clear(t.stack[:cap(t.stack)]) // vectors are used until then only
}

func (t *Tree) siblingsOnTop() bool {
	top := len(t.stack) - 1
	if top < 1 {
		return false
	}
	left, right := t.stack[top-1].node, t.stack[top].node
	return left.size == right.size && left.first%(2*left.size) == 0
}

// join replaces the two topmost terms by their sum.
func (t *Tree) join() {
	top := len(t.stack) - 1
	left, right := &t.stack[top-1], t.stack[top].values
	for len(t.work) < top*chunk {
		t.work = append(t.work, make([]float64, chunk)...)
	}
	sum := t.work[(top-1)*chunk:][:len(right)]
	values := left.values[:len(right)] // no bounds are checked in the loop
	for i, x := range right {
		sum[i] = values[i] + x
	}
	left.size, left.values = 2*left.size, sum
	t.stack = t.stack[:top]
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
