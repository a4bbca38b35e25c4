package graph

import "slices"

// nearby is how many nodes apart, on average, the ends of an edge may lie without being laid out anew: what sweeps need
// of so many stays in a cache.
const nearby = 4096

// LaidOut returns the graph with nodes and edges in an order that is good for caches: breadth-first, so that neighbours
// lie near each other in memory. Where they do already, or would not lie half as far apart, it is g itself. Edges keep
// their directions. It is made once. Cost: O(nodes + edges), and sorting the edges of each node.
func (g *Graph) LaidOut() *Graph {
	g.once.Do(func() {
		if g.laidOut = g; g.apart() > nearby {
			if laid := g.breadthFirst(); 2*laid.apart() < g.apart() {
				g.laidOut = laid
			}
		}
	})
	return g.laidOut
}

// Given returns the graph that g, of LaidOut, was made of, and which of its nodes and edges those of g are; nil where
// they have the numbers that they were given.
func (g *Graph) Given() (of *Graph, node, edge []int32) { return g.given, g.node, g.edge }

// Known returns the numbers that a node and an edge of g had as they were given; −1, for none, stays.
func (g *Graph) Known(node, edge int32) (int32, int32) {
	if node >= 0 && g.node != nil {
		node = g.node[node]
	}
	if edge >= 0 && g.edge != nil {
		edge = g.edge[edge]
	}
	return node, edge
}

// apart returns how far apart, in numbers of nodes, the ends of an edge are, and those of edges that follow each other,
// on average.
func (g *Graph) apart() int {
	sum, before := 0, int32(0)
	for e, a := range g.u {
		first, last := min(a, g.v[e]), max(a, g.v[e])
		sum += int(last-first) + int(max(first, before)-min(first, before))
		before = first
	}
	return sum / max(1, len(g.u))
}

// breadthFirst returns the graph with nodes in the order in which a search meets them, each component from its first
// on, and edges in that of their first ends, and then of their second ones.
func (g *Graph) breadthFirst() *Graph {
	node, edge := make([]int32, 0, g.numNodes), make([]int32, 0, len(g.u))
	u, v := make([]int32, 0, len(g.u)), make([]int32, 0, len(g.u))
	place := slices.Repeat([]int32{-1}, g.numNodes)
	meet := func(s int32) {
		if place[s] < 0 {
			place[s] = int32(len(node))
			node = append(node, s)
		}
	}
	var later []uint64 // directed edges from nodes that come later, each behind the place of its source
	head := int32(0)
	for root := range place {
		for meet(int32(root)); int(head) < len(node); head++ {
			later = later[:0]
			for _, d := range g.Incoming(node[head]) {
				t := g.Source(d)
				if meet(t); place[t] > head {
					later = append(later, uint64(place[t])<<32|uint64(d))
				}
			}
			slices.Sort(later)
			for _, x := range later {
				ends := [2]int32{head, int32(x >> 32)}
				edge, u, v = append(edge, int32(uint32(x)>>1)), append(u, ends[1-x&1]), append(v, ends[x&1])
			}
		}
	}
	laid, err := FromEdges(g.numNodes, u, v)
	if err != nil {
		panic("graph: " + err.Error()) // an order of a graph is one
	}
	laid.given, laid.node, laid.edge = g, node, edge
	return laid
}
