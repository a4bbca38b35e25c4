package counting

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/graph"
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
	mu := make([]float64, len(s.Count))
	for e, count := range s.Count {
		mu[e] = float64(count) / float64(s.Forests)
	}
	return mu
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
	drawn, counted := make(chan []int32, 1), make(chan bool)
	go func() { // a forest is counted while the next is drawn
		for forest := range drawn {
			r.add(forest)
		}
		close(counted)
	}()
	for uncovered := g.NumEdges(); parallel.Ended(ctx) == nil &&
		(uncovered > 0 || sample.Forests < max(1, minForests)); sample.Forests++ {
		forest := slices.Clone(c.draw(rng))
		for _, e := range forest {
			if sample.Count[e] == 0 {
				uncovered--
			}
			sample.Count[e]++
		}
		drawn <- forest
	}
	close(drawn)
	<-counted
	if err := parallel.Ended(ctx); err != nil {
		return nil, err
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
