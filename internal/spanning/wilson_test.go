package spanning

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
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

// TestUnknownAtTheLimit: wherever the work ends, the answer is either right or
// unknown with the reason.
func TestUnknownAtTheLimit(t *testing.T) {
	g := oracle.Must(graph.Grid(12, 12, graph.GridOptions{}))(t)
	sample := oracle.Must(Cover(t.Context(), g, rand.New(rand.NewPCG(1, 2)), 10, false))(t)
	mu := sample.Appearance()
	unknown := 0
	for limit := int64(0); ; limit += 97 {
		check := newPolytopeCheck(g, mu)
		check.flow.ScansLeft = limit
		verdict := check.run()
		switch {
		case verdict.Status == Outside:
			t.Fatalf("limit %d: %+v", limit, verdict)
		case verdict.Status == Unknown:
			unknown++
			if !strings.Contains(verdict.Reason, "144 nodes and 264 edges: the check stopped") {
				t.Fatalf("limit %d: reason %q", limit, verdict.Reason)
			}
			continue
		}
		if unknown < 10 {
			t.Errorf("inside was claimed after %d scans", limit)
		}
		return
	}
}
