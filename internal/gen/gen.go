// Package gen makes the graphs of tests and of the laboratory: chains, trees, complete graphs and the two classical
// random graphs. What no graph can be is refused as package graph does it, or is a panic.
//
// Every generator states the order of its nodes and edges, so that features and potentials made elsewhere can be
// matched to them. Random generators draw from the source they are given and from nothing else: the same source state
// gives the same graph.
package gen

import (
	"math"
	"math/rand/v2"
	"slices"

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
// sequence: the smallest leaf is taken off, again and again, and the sequence names the node it hung on. Edge e joins
// the e-th leaf, its first end, to that node.
func Tree(n int, rng *rand.Rand) (*graph.Graph, error) {
	uses, v := make([]int, n), []int32(nil) // how often a node is still to be named
	for range n - 2 {
		v = append(v, rng.Int32N(int32(n)))
		uses[v[len(v)-1]]++
	}
	if n > 1 { // which is never the smaller of the last two, so that it is left over
		v = append(v, int32(n-1))
	}
	u := make([]int32, len(v))
	for e, s := range v {
		leaf := slices.Index(uses, 0)
		u[e], uses[leaf] = int32(leaf), -1
		uses[s]--
	}
	return graph.FromEdges(n, u, v)
}

// ErdosRenyi returns a draw from G(n, p): every two of n nodes are joined with probability p, independently. Edges
// (u, v) have u < v and are ordered by v, then u.
//
// Instead of a coin for each pair, the lengths of the runs of missing pairs are drawn, which are geometric (Batagelj
// & Brandes 2005), so the cost is O(nodes + edges).
func ErdosRenyi(n int, p float64, rng *rand.Rand) (*graph.Graph, error) {
	pairs := float64(n) * float64(n-1) / 2
	var u, v []int32
	logMissing := math.Log1p(-p) // −∞ for p = 1: no pair is skipped
	for a, b := int64(-1), int64(1); p > 0; {
		skip := math.Floor(math.Log1p(-rng.Float64()) / logMissing)
		if skip >= pairs {
			break
		}
		for a += 1 + int64(skip); a >= b && b < int64(n); b++ {
			a -= b
		}
		if b >= int64(n) {
			break
		}
		u, v = append(u, int32(a)), append(v, int32(b))
	}
	return graph.FromEdges(n, u, v)
}

// BarabasiAlbert returns a scale-free graph grown by preferential attachment (Barabási & Albert 1999). It starts from
// a star of m+1 nodes with centre 0; then nodes m+1, …, n-1 arrive in the order of their numbers, and each is joined
// to m different earlier nodes, drawn with probability proportional to their degree. There are m(n-m) edges, and the
// graph is connected. m is 1 at least, and less than n.
//
// Edges (u, v) have u < v and are ordered by v, the younger end; those of one
// node are in the order in which they were drawn.
func BarabasiAlbert(n, m int, rng *rand.Rand) (*graph.Graph, error) {
	var u, v []int32
	for t := int32(1); t <= int32(m); t++ {
		u, v = append(u, 0), append(v, t)
	}
	drawnFor := make([]int32, n) // the newest node that drew this one
	for t := int32(m + 1); t < int32(n); t++ {
		ends := 2 * len(u)
		for drawn := 0; drawn < m; {
			// A node is an end of as many edges as its degree, so a uniform end of a uniform edge has the wanted distribution.
			end := rng.IntN(ends)
			s := u[end>>1]
			if end&1 == 1 {
				s = v[end>>1]
			}
			if drawnFor[s] != t {
				drawnFor[s] = t
				u, v = append(u, s), append(v, t)
				drawn++
			}
		}
	}
	return graph.FromEdges(n, u, v)
}
