package bp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// BenchmarkBounds finds what a whole pass takes from the beliefs of a grid: those of edges
// alone, with their marginals and the nodes' terms of a split, and made consistent.
func BenchmarkBounds(b *testing.B) {
	const together = 24
	for _, k := range []int32{2, 4, 8, 16} {
		g := sure(graph.Grid(60, 60, graph.GridOptions{}))
		card := make([]int32, g.NumNodes())
		for s := range card {
			card[s] = k
		}
		r := newInference(b, oracle.RandomPairwise(rand.New(rand.NewPCG(1, 2)), g, card, 1, 0), sure(counting.SampledTreeReweighted(g, 1)))
		block := sure(r.load(0))
		for range 4 {
			if _, err := r.space.Sweep(r.net, r.state, block, 0); err != nil {
				b.Fatal(err)
			}
		}
		labels, size := make([]int32, g.NumNodes()), int(k*k)
		beliefs := make([]float64, together*size)
		edges := func(visit func(beliefs []float64, lo, hi int)) {
			for lo := 0; lo < len(block.Edges); lo += together {
				hi := min(len(block.Edges), lo+together)
				sure(r.space.EdgeBeliefs(beliefs, nil, r.net, r.state, block, lo, hi))
				visit(beliefs[:(hi-lo)*size], lo, hi)
			}
		}
		for name, pass := range map[string]func(){
			"beliefs": func() { edges(func([]float64, int, int) {}) },
			"split": func() {
				r.space.BeginSplit(r.net, block)
				edges(func(beliefs []float64, lo, hi int) {
					oracle.OK(b, r.space.AddSplit(beliefs, r.net, r.state, block, lo, hi))
				})
				r.space.SplitNodes(r.net, r.state, block, labels)
			},
			"consistent": func() {
				edges(func(beliefs []float64, lo, hi int) {
					r.space.Consistent(beliefs, r.net, r.state, block, lo, hi, false, 0)
				})
			},
		} {
			b.Run(fmt.Sprintf("states=%d/%s", k, name), func(b *testing.B) {
				for b.Loop() {
					pass()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*g.NumEdges()), "ns/edge")
			})
		}
	}
}
