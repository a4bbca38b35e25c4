package gen

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/graph"
)

// Chain returns the path 0 – 1 – … – n-1; edge e joins e to e+1. It is an error if n is below 1.
func Chain(n int) (*graph.Graph, error) {
	if err := checkNodes("chain", n, 1); err != nil {
		return nil, err
	}
	u, v := make([]int32, n-1), make([]int32, n-1)
	for e := range int32(n - 1) {
		u[e], v[e] = e, e+1
	}
	return graph.FromEdges(n, u, v)
}

// Complete returns the graph in which every two of n nodes are joined. Edges are in lexicographic order: (0, 1), (0,
// 2), …, (n-2, n-1). It is an error if n is below 1 or the n(n-1)/2 edges are more than a graph can hold.
func Complete(n int) (*graph.Graph, error) {
	if err := checkNodes("complete graph", n, 1); err != nil {
		return nil, err
	}
	numEdges := int64(n) * int64(n-1) / 2
	if numEdges > graph.MaxEdges {
		return nil, fmt.Errorf("gen: complete graph of %d nodes has %d edges, at most %d are supported", n, numEdges,
			graph.MaxEdges)
	}
	u, v := make([]int32, 0, numEdges), make([]int32, 0, numEdges)
	for s := range int32(n) {
		for t := s + 1; t < int32(n); t++ {
			u, v = append(u, s), append(v, t)
		}
	}
	return graph.FromEdges(n, u, v)
}

// Tree returns a tree drawn uniformly from the n^(n-2) labelled trees on n nodes, by decoding a uniform Prüfer
// sequence. Edge e joins the e-th leaf that the decoding takes off (first end) to the node it hung on.
//
// It is an error if n is below 1; rng must not be nil. Cost: O(n).
func Tree(n int, rng *rand.Rand) (*graph.Graph, error) {
	if err := checkNodes("tree", n, 1); err != nil {
		return nil, err
	}
	if n == 1 {
		return graph.FromEdges(1, nil, nil)
	}
	sequence := make([]int32, n-2)
	for i := range sequence {
		sequence[i] = rng.Int32N(int32(n))
	}
	u, v := decodePruefer(sequence)
	return graph.FromEdges(n, u, v)
}

// decodePruefer returns the edges of the tree on len(sequence)+2 nodes that has the given Prüfer sequence: again and
// again the smallest leaf is taken off, and the sequence names the node it hung on.
func decodePruefer(sequence []int32) (u, v []int32) {
	n := int32(len(sequence) + 2)
	uses := make([]int32, n) // how often a node is still to be named
	for _, s := range sequence {
		uses[s]++
	}
	u, v = make([]int32, 0, n-1), make([]int32, 0, n-1)
	next := int32(0) // the scan for leaves has passed all nodes below next
	firstLeaf := func() int32 {
		for uses[next] > 0 {
			next++
		}
		next++
		return next - 1
	}
	leaf := firstLeaf()
	for _, s := range sequence {
		u, v = append(u, leaf), append(v, s)
		uses[s]--
		// A node that becomes a leaf behind the scan is the smallest leaf now.
		if uses[s] == 0 && s < next {
			leaf = s
		} else {
			leaf = firstLeaf()
		}
	}
	// Node n-1 is never the smaller of the last two nodes, so it is left over.
	return append(u, leaf), append(v, n-1)
}

// checkNodes reports a number of nodes outside [least, MaxInt32].
func checkNodes(kind string, n, least int) error {
	if n < least || n > math.MaxInt32 {
		return fmt.Errorf("gen: %s of %d nodes, want %d to %d", kind, n, least, math.MaxInt32)
	}
	return nil
}
