package spanning

import (
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// UniformForest returns the edges, ascending, of a spanning forest drawn
// uniformly from all that have one tree for every component of the graph, by
// Wilson's algorithm (1996): loop-erased random walks to the tree built so far.
// The probability of an edge under this distribution is its effective
// resistance.
//
// rng must not be nil. The expected cost is the mean hitting time of the random
// walk, about nodes·log(nodes) on grids; Cover is faster and more even where
// uniformity does not matter.
func UniformForest(g *graph.Graph, rng *rand.Rand) []int32 {
	component, count := g.Components()
	inTree := make([]bool, g.NumNodes())
	rooted := make([]bool, count)
	leave := make([]int32, g.NumNodes()) // directed edge into s whose source the walk went to last
	forest := make([]int32, 0, g.NumNodes()-count)
	for start := range int32(g.NumNodes()) {
		if c := component[start]; !rooted[c] {
			rooted[c], inTree[start] = true, true
		}
		for s := start; !inTree[s]; s = g.Source(leave[s]) {
			incoming := g.Incoming(s)
			leave[s] = incoming[rng.IntN(len(incoming))]
		}
		// Going by the last exits skips the loops of the walk.
		for s := start; !inTree[s]; s = g.Source(leave[s]) {
			inTree[s] = true
			forest = append(forest, leave[s]>>1)
		}
	}
	slices.Sort(forest)
	return forest
}
