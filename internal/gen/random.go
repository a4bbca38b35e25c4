package gen

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/graph"
)

// ErdosRenyi returns a draw from G(n, p): every two of n nodes are joined with probability p, independently. Edges
// (u, v) have u < v and are ordered by v, then u.
//
// Instead of a coin for each pair, the lengths of the runs of missing pairs are drawn, which are geometric (Batagelj
// & Brandes 2005), so the cost is O(nodes + edges).
//
// It is an error if n is below 1, if p is not in [0, 1], or if more edges are
// expected than a graph can hold. rng must not be nil.
func ErdosRenyi(n int, p float64, rng *rand.Rand) (*graph.Graph, error) {
	if err := checkNodes("random graph", n, 1); err != nil {
		return nil, err
	}
	if !(p >= 0 && p <= 1) {
		return nil, fmt.Errorf("gen: edge probability is %v, want 0 to 1", p)
	}
	pairs := float64(n) * float64(n-1) / 2
	expected := p * pairs
	if expected > graph.MaxEdges {
		return nil, fmt.Errorf("gen: random graph of %d nodes with edge probability %v has about %.0f edges, "+
			"at most %d are supported", n, p, expected, graph.MaxEdges)
	}
	// Three standard deviations of room make a second allocation rare.
	room := int(min(pairs, expected+3*math.Sqrt(expected)+1))
	u, v := make([]int32, 0, room), make([]int32, 0, room)
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
// graph is connected.
//
// Edges (u, v) have u < v and are ordered by v, the younger end; those of one
// node are in the order in which they were drawn.
//
// It is an error if m is below 1 or n below m+1; rng must not be nil. Cost: O(edges) for m small against n.
func BarabasiAlbert(n, m int, rng *rand.Rand) (*graph.Graph, error) {
	if m < 1 {
		return nil, fmt.Errorf("gen: %d edges per new node, want at least 1", m)
	}
	if err := checkNodes(fmt.Sprintf("preferential attachment graph with %d edges per new node", m), n, m+1); err != nil {
		return nil, err
	}
	numEdges := int64(m) * int64(n-m)
	if numEdges > graph.MaxEdges {
		return nil, fmt.Errorf("gen: %d nodes with %d edges each make %d edges, at most %d are supported", n, m, numEdges,
			graph.MaxEdges)
	}
	u, v := make([]int32, 0, numEdges), make([]int32, 0, numEdges)
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
