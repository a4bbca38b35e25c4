package graph

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Graph is a frozen undirected graph. Nodes are 0 … NumNodes()-1 and edges keep the order and orientation in which
// they were given. The zero value is the empty graph.
type Graph struct {
	numNodes int
	u, v     []int32 // ends of edge e, as given
	start    []int32 // [numNodes+1] offsets into incoming
	incoming []int32 // [2*numEdges] directed edges by their target, ascending

	once           sync.Once
	laidOut, given *Graph  // see LaidOut, and Given
	node, edge     []int32 // of given
}

// mostEdges is the largest number of edges of a graph: directed edges are int32.
const mostEdges = math.MaxInt32 / 2

// EdgeError says which edge of the input is not a legal edge and why.
type EdgeError struct {
	Edge   int   // index of the edge in the input
	U, V   int32 // its ends as given
	Reason string
}

// Error implements error.
func (e *EdgeError) Error() string {
	return fmt.Sprintf("edges[%d] = (%d, %d): %s", e.Edge, e.U, e.V, e.Reason)
}

// FromEdges builds the graph on numNodes nodes whose edge e joins u[e] and v[e].
// It keeps u and v without copying; the caller must not change them afterwards.
//
// A self-loop, an end outside [0, numNodes) and a second edge between the same
// two nodes are reported as *EdgeError. Cost: O(nodes + edges).
func FromEdges(numNodes int, u, v []int32) (*Graph, error) {
	if numNodes < 0 || numNodes > math.MaxInt32 {
		return nil, fmt.Errorf("graph: number of nodes is %d, want 0 to %d", numNodes, math.MaxInt32)
	}
	if len(u) != len(v) {
		return nil, fmt.Errorf("graph: %d first ends but %d second ends", len(u), len(v))
	}
	if len(u) > mostEdges {
		return nil, fmt.Errorf("graph: %d edges, at most %d are supported", len(u), mostEdges)
	}
	start, err := countIncoming(numNodes, u, v)
	if err != nil {
		return nil, err
	}
	g := &Graph{numNodes: numNodes, u: u, v: v, start: start, incoming: make([]int32, 2*len(u))}
	fill := make([]int32, numNodes)
	copy(fill, start)
	for e := range u {
		a, b := u[e], v[e]
		g.incoming[fill[b]] = int32(2 * e)
		fill[b]++
		g.incoming[fill[a]] = int32(2*e + 1)
		fill[a]++
	}
	if err := g.checkParallel(fill); err != nil {
		return nil, err
	}
	return g, nil
}

// countIncoming checks every edge's ends and returns the CSR offsets.
func countIncoming(numNodes int, u, v []int32) ([]int32, error) {
	start := make([]int32, numNodes+1)
	n := int32(numNodes)
	for e := range u {
		a, b := u[e], v[e]
		switch {
		case a < 0 || a >= n:
			return nil, &EdgeError{e, a, b, fmt.Sprintf("node %d does not exist: nodes are 0 to %d", a, numNodes-1)}
		case b < 0 || b >= n:
			return nil, &EdgeError{e, a, b, fmt.Sprintf("node %d does not exist: nodes are 0 to %d", b, numNodes-1)}
		case a == b:
			return nil, &EdgeError{e, a, b, "an edge must join two different nodes"}
		}
		start[a+1]++
		start[b+1]++
	}
	for s := range numNodes {
		start[s+1] += start[s]
	}
	return start, nil
}

// checkParallel reports a second edge between two nodes. seen is scratch of length numNodes.
func (g *Graph) checkParallel(seen []int32) error {
	for s := range seen {
		seen[s] = -1
	}
	for s := range int32(g.numNodes) {
		for _, d := range g.Incoming(s) {
			t := g.Source(d)
			if t > s {
				continue // found from the other end
			}
			if seen[t] == s {
				e := d >> 1
				return &EdgeError{int(e), g.u[e], g.v[e], fmt.Sprintf("nodes %d and %d are already joined by an earlier edge; "+
					"merge the two", t, s)}
			}
			seen[t] = s
		}
	}
	return nil
}

// NumNodes returns the number of nodes.
func (g *Graph) NumNodes() int { return g.numNodes }

// NumEdges returns the number of undirected edges.
func (g *Graph) NumEdges() int { return len(g.u) }

// U returns the first end of edge e.
func (g *Graph) U(e int32) int32 { return g.u[e] }

// V returns the second end of edge e.
func (g *Graph) V(e int32) int32 { return g.v[e] }

// Ends returns the two slices of first and second ends, indexed by edge. They must not be changed.
func (g *Graph) Ends() (u, v []int32) { return g.u, g.v }

// Pairs returns the ends of every edge, as a list of its own.
func (g *Graph) Pairs() [][2]int32 {
	pairs := make([][2]int32, len(g.u))
	for e := range pairs {
		pairs[e] = [2]int32{g.u[e], g.v[e]}
	}
	return pairs
}

// Degree returns the number of edges at node s.
func (g *Graph) Degree(s int32) int { return int(g.start[s+1] - g.start[s]) }

// Incoming returns the directed edges whose target is s, in ascending order. The slice must not be changed.
func (g *Graph) Incoming(s int32) []int32 { return g.incoming[g.start[s]:g.start[s+1]] }

// Source returns the node that directed edge d leaves.
func (g *Graph) Source(d int32) int32 { return g.Target(d ^ 1) }

// Target returns the node that directed edge d enters.
func (g *Graph) Target(d int32) int32 {
	if d&1 == 0 {
		return g.v[d>>1]
	}
	return g.u[d>>1]
}

// Components returns the connected component of every node, numbered from 0 in
// the order of their smallest node, and their number.
func (g *Graph) Components() (component []int32, count int) {
	component = slices.Repeat([]int32{-1}, g.numNodes)
	queue := make([]int32, 0, g.numNodes)
	for root := range int32(g.numNodes) {
		if component[root] >= 0 {
			continue
		}
		component[root] = int32(count)
		queue = append(queue[:0], root)
		for head := 0; head < len(queue); head++ {
			for _, d := range g.Incoming(queue[head]) {
				if t := g.Source(d); component[t] < 0 {
					component[t] = int32(count)
					queue = append(queue, t)
				}
			}
		}
		count++
	}
	return component, count
}

// IsForest reports whether the graph has no cycle.
func (g *Graph) IsForest() bool {
	_, count := g.Components()
	return g.NumEdges() == g.numNodes-count
}
