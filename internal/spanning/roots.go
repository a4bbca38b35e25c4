package spanning

import "github.com/blockbp/blockbp/graph"

// roots counts, over spanning forests whose trees are rooted at each of their nodes in
// turn, how often an end of an edge is the parent of the other one.
type roots struct {
	g     *graph.Graph
	size  []int32 // [nodes] nodes in the component of each
	below []int64 // [directed edges] Σ over forests of the roots on the target's side

	left   []int32 // [nodes] edges that have not been taken off yet
	joined []int32 // [nodes] exclusive or of the directed edges into the node that are left
	inTree []int32 // [nodes] nodes that hang on the node, itself included
}

func newRoots(g *graph.Graph) *roots {
	n := g.NumNodes()
	component, components := g.Components()
	nodes := make([]int32, components)
	for _, c := range component {
		nodes[c]++
	}
	r := &roots{g: g, size: make([]int32, n), below: make([]int64, 2*g.NumEdges()), left: make([]int32, n), joined: make([]int32, n), inTree: make([]int32, n)}
	for s, c := range component {
		r.size[s] = nodes[c]
	}
	return r
}

// add takes a spanning forest apart from its leaves. The nodes that hang on a leaf are
// the roots for which the leaf is the parent.
func (r *roots) add(forest []int32) {
	clear(r.left)
	clear(r.joined)
	u, v := r.g.Ends()
	for _, e := range forest {
		r.left[u[e]]++
		r.left[v[e]]++
		r.joined[u[e]] ^= 2*e + 1 // the directed edge into u
		r.joined[v[e]] ^= 2 * e
	}
	for s := range r.inTree {
		r.inTree[s] = 1
	}
	for s := range r.left {
		for leaf := int32(s); r.left[leaf] == 1; {
			d := r.joined[leaf]
			parent := r.g.Source(d)
			r.below[d] += int64(r.inTree[leaf])
			r.below[d^1] += int64(r.size[leaf] - r.inTree[leaf])
			r.inTree[parent] += r.inTree[leaf]
			r.left[leaf] = 0
			r.left[parent]--
			r.joined[parent] ^= d ^ 1
			leaf = parent
		}
	}
}

// shares returns, for every directed edge, in what share of the roots of so many forests
// its target is the parent.
func (r *roots) shares(forests int) []float64 {
	shares := make([]float64, len(r.below))
	for d, sum := range r.below {
		shares[d] = float64(sum) / (float64(forests) * float64(r.size[r.g.Target(int32(d))]))
	}
	return shares
}

// Parents is Sample.Parent of the one spanning forest of a graph without cycles.
func Parents(g *graph.Graph) []float64 {
	forest := make([]int32, g.NumEdges())
	for e := range forest {
		forest[e] = int32(e)
	}
	r := newRoots(g)
	r.add(forest)
	return r.shares(1)
}
