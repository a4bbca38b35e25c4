package learn

import (
	"testing"

	"github.com/blockbp/blockbp/internal/ground"
)

// The ranges of all parts are all nodes and edges, each once.
func TestRangesOfParts(t *testing.T) {
	p := randomProblem(t, 3, problemOptions{rows: 9, cols: 11, states: 3, nodeDim: 2, edgeDim: 2, l2: 1})
	s := Settings{Method: BBPL, Cut: Cut{Blocks: 10}, Together: 2}.Resolved()
	l := must(planLearner(&p, &s))
	nodes, edges := make([]int, p.Data[0].Graph.NumNodes()), make([]int, p.Data[0].Graph.NumEdges())
	for _, part := range l.usedParts() {
		var r ground.Range
		l.rangeOf(part, &r)
		for i := range r.Nodes.All() {
			nodes[i]++
		}
		for i := range r.Edges.All() {
			edges[i]++
		}
	}
	for _, counts := range [][]int{nodes, edges} {
		for i, n := range counts {
			if n != 1 {
				t.Errorf("element %d of %d is in %d ranges", i, len(counts), n)
			}
		}
	}
}
