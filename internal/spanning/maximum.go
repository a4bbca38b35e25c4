package spanning

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// Maximum returns the edges, ascending, of a spanning forest of largest total
// weight, with one tree for every component (Kruskal 1956). Of edges of the same
// weight the first is preferred. weight [edges] must not be NaN. It panics if the
// length is not that of the graph.
func Maximum(g *graph.Graph, weight []float64) []int32 {
	if len(weight) != g.NumEdges() {
		panic(fmt.Sprintf("spanning: %d weights for %d edges", len(weight), g.NumEdges()))
	}
	order := make([]int32, len(weight))
	for e := range order {
		order[e] = int32(e)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case weight[a] > weight[b]:
			return -1
		case weight[a] < weight[b]:
			return 1
		}
		return 0
	})
	sets := make(disjointSets, g.NumNodes())
	sets.reset()
	var forest []int32
	for _, e := range order {
		if sets.join(g.U(e), g.V(e)) {
			forest = append(forest, e)
		}
	}
	slices.Sort(forest)
	return forest
}
