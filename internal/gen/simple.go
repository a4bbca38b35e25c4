package gen

import (
	"math/rand/v2"

	"github.com/blockbp/blockbp/graph"
)

// Chain returns the path 0 – 1 – … – n-1; edge e joins e to e+1.
func Chain(n int) (*graph.Graph, error) {
	u, v := make([]int32, n-1), make([]int32, n-1)
	for e := range int32(n - 1) {
		u[e], v[e] = e, e+1
	}
	return graph.FromEdges(n, u, v)
}

// Complete returns the graph in which every two of n nodes are joined. Edges are in lexicographic order: (0, 1), (0,
// 2), …, (n-2, n-1).
func Complete(n int) (*graph.Graph, error) {
	var u, v []int32
	for s := range int32(n) {
		for t := s + 1; t < int32(n); t++ {
			u, v = append(u, s), append(v, t)
		}
	}
	return graph.FromEdges(n, u, v)
}

// Tree returns a tree drawn uniformly from the n^(n-2) labelled trees on n nodes, by decoding a uniform Prüfer
// sequence. Edge e joins the e-th leaf that the decoding takes off (first end) to the node it hung on.
func Tree(n int, rng *rand.Rand) (*graph.Graph, error) {
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
	firstLeaf := func() (leaf int32) {
		for uses[leaf] != 0 {
			leaf++
		}
		uses[leaf] = -1 // taken off
		return leaf
	}
	for _, s := range sequence {
		u, v = append(u, firstLeaf()), append(v, s)
		uses[s]--
	}
	// Node n-1 is never the smaller of the last two nodes, so it is left over.
	return append(u, firstLeaf()), append(v, n-1)
}
