package counting

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
)

// forestSample is a collection of spanning forests of one graph.
type forestSample struct {
	Forests int     // number of forests
	Count   []int32 // [edges] number of forests that have the edge
	// Parent [directed edges] says how often the target of d is the parent of its source in a tree that has the edge,
	// where trees are rooted at each of their nodes equally often. The two shares of an edge sum to its appearance, and
	// those of the far ends of a node's edges to 1 − 1/(nodes of its component): in the other cases it is the root.
	Parent []float64
}

// Appearance returns μ_e = Count[e] / Forests for every edge.
func (s *forestSample) Appearance() []float64 {
	return numeric.Map(s.Count, func(count int32) float64 { return float64(count) / float64(s.Forests) })
}

// coverForests draws spanning forests, each with one tree for every component of the graph, until every edge is in
// one of them and there are at least minForests (and at least one). Each forest prefers the edges that were used
// least so far, in random order among equals. Edges are thus covered quickly, and with more forests μ becomes as even
// as the graph allows: this is greedy tree packing (Thorup 2007).
//
// Once ctx has ended no more forests are drawn, and its error is returned.
//
// rng must not be nil; the same graph and source state give the same sample. Cost:
// nearly linear in edges for each forest. Few forests are needed for sparse graphs, 3 for a grid with
// four neighbours; about n/2 for a complete graph on n nodes.
func coverForests(ctx context.Context, g *graph.Graph, rng *rand.Rand, minForests int) (*forestSample, error) {
	sample := &forestSample{Count: make([]int32, g.NumEdges())}
	c, r := newCoverer(g, sample.Count), newRoots(g)
	for uncovered := g.NumEdges(); uncovered > 0 || sample.Forests < max(1, minForests); sample.Forests++ {
		if err := parallel.Ended(ctx); err != nil {
			return nil, err
		}
		forest := c.draw(rng)
		for _, e := range forest {
			if sample.Count[e] == 0 {
				uncovered--
			}
			sample.Count[e]++
		}
		r.add(forest)
	}
	sample.Parent = r.shares(sample.Forests)
	return sample, nil
}

// coverer holds what coverForests reuses from forest to forest.
type coverer struct {
	ends   [][2]int32 // [edges]
	count  []int32    // [edges] times chosen so far
	random []int32    // [edges] permutation, shuffled for each forest
	order  []int32    // [edges] the permutation sorted stably by count
	forest []int32
	sets   disjointSets
	edges  int // edges of a spanning forest; all of them until one is known
}

func newCoverer(g *graph.Graph, count []int32) *coverer {
	c := &coverer{
		ends: make([][2]int32, g.NumEdges()), count: count, edges: g.NumEdges(),
		random: make([]int32, g.NumEdges()), order: make([]int32, g.NumEdges()),
		sets: make(disjointSets, g.NumNodes()),
	}
	u, v := g.Ends()
	for e := range c.random {
		c.random[e], c.ends[e] = int32(e), [2]int32{u[e], v[e]}
	}
	return c
}

// draw returns a spanning forest found by Kruskal's algorithm with the edges
// ordered by count, then at random. The slice is valid until the next call.
func (c *coverer) draw(rng *rand.Rand) []int32 {
	for i := len(c.random) - 1; i > 0; i-- { // rng.Shuffle, without a call for each
		j := rng.Uint64N(uint64(i + 1))
		c.random[i], c.random[j] = c.random[j], c.random[i]
	}
	c.sortByCount()
	c.sets.reset()
	c.forest = c.forest[:0]
	for _, e := range c.order {
		if len(c.forest) == c.edges {
			break
		}
		if ends := &c.ends[e]; c.sets.join(ends[0], ends[1]) {
			c.forest = append(c.forest, e)
		}
	}
	c.edges = len(c.forest) // all spanning forests have the same size
	return c.forest
}

// sortByCount fills order by a stable counting sort of random.
func (c *coverer) sortByCount() {
	if len(c.random) == 0 {
		return
	}
	start := make([]int32, slices.Max(c.count)+2)
	for _, count := range c.count {
		start[count+1]++
	}
	for i := range start[1:] {
		start[i+1] += start[i]
	}
	for _, e := range c.random {
		at := &start[c.count[e]]
		c.order[*at] = e
		*at++
	}
}

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
	r := newRoots(g)
	r.add(numeric.To(g.NumEdges()))
	return r.shares(1)
}

// disjointSets is a union-find structure: the parent of each element, or for a root minus the size of its set.
type disjointSets []int32

// reset makes every element a set of its own.
func (p disjointSets) reset() {
	numeric.Fill(p, -1)
}

// find returns the root of the set of s, halving the path on the way.
func (p disjointSets) find(s int32) int32 {
	for {
		parent := p[s]
		if parent < 0 {
			return s
		}
		grandparent := p[parent]
		if grandparent < 0 {
			return parent
		}
		p[s] = grandparent
		s = grandparent
	}
}

// join unites the sets of s and t and reports whether they were different.
func (p disjointSets) join(s, t int32) bool {
	s, t = p.find(s), p.find(t)
	if s == t {
		return false
	}
	if p[s] > p[t] { // the set of s is the smaller one
		s, t = t, s
	}
	p[s] += p[t]
	p[t] = s
	return true
}
