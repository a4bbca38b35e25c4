package counting

import "github.com/blockbp/blockbp/graph"

// roots counts, over spanning forests whose trees are rooted at each of their nodes in
// turn, how often an end of an edge is the parent of the other one.
type roots struct {
	u, v  []int32
	below []int64    // [directed edges] Σ over forests of the roots on the target's side
	at    []rootNode // [nodes]
}

// rootNode is what is known of a node while a forest is taken apart, side by side: nodes come in any order.
type rootNode struct {
	size   int32 // nodes in its component
	left   int32 // edges that have not been taken off yet
	joined int32 // exclusive or of the directed edges into the node that are left
	inTree int32 // nodes that hang on the node, itself included
}

func newRoots(g *graph.Graph) *roots {
	n := g.NumNodes()
	component, components := g.Components()
	nodes := make([]int32, components)
	for _, c := range component {
		nodes[c]++
	}
	r := &roots{below: make([]int64, 2*g.NumEdges()), at: make([]rootNode, n)}
	r.u, r.v = g.Ends()
	for s, c := range component {
		r.at[s].size = nodes[c]
	}
	return r
}

// add takes a spanning forest apart from its leaves. The nodes that hang on a leaf are
// the roots for which the leaf is the parent.
func (r *roots) add(forest []int32) {
	for s := range r.at {
		n := &r.at[s]
		n.left, n.joined, n.inTree = 0, 0, 1
	}
	for _, e := range forest {
		u, v := &r.at[r.u[e]], &r.at[r.v[e]]
		u.left++
		v.left++
		u.joined ^= 2*e + 1 // the directed edge into u
		v.joined ^= 2 * e
	}
	for s := range r.at {
		for node := int32(s); r.at[node].left == 1; {
			leaf := &r.at[node]
			d := leaf.joined
			node ^= r.u[d>>1] ^ r.v[d>>1] // the other end
			parent := &r.at[node]
			r.below[d] += int64(leaf.inTree)
			r.below[d^1] += int64(leaf.size - leaf.inTree)
			parent.inTree += leaf.inTree
			leaf.left = 0
			parent.left--
			parent.joined ^= d ^ 1
		}
	}
}

// shares returns, for every directed edge, in what share of the roots of so many forests its target is the parent.
func (r *roots) shares(forests int) []float64 {
	shares := make([]float64, len(r.below))
	for d, sum := range r.below {
		shares[d] = float64(sum) / (float64(forests) * float64(r.at[r.u[d>>1]].size))
	}
	return shares
}

// parents is forestSample.Parent of the one spanning forest of a graph without cycles.
func parents(g *graph.Graph) []float64 {
	forest := make([]int32, g.NumEdges())
	for e := range forest {
		forest[e] = int32(e)
	}
	r := newRoots(g)
	r.add(forest)
	return r.shares(1)
}
