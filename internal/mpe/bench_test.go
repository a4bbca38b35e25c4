package mpe

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/zeros"
)

// BenchmarkSweep measures one sweep of TRW-S over a grid of 100 by 100.
func BenchmarkSweep(b *testing.B) {
	for _, states := range []int32{2, 8, 21} {
		b.Run(fmt.Sprintf("states=%d", states), func(b *testing.B) {
			g := must(graph.Grid(100, 100, graph.GridOptions{}))
			card := make([]int32, g.NumNodes())
			for s := range card {
				card[s] = states
			}
			p := FromPairwise(oracle.RandomPairwise(rand.New(rand.NewPCG(1, 2)), g, card, 1, 0))
			possible, _ := zeros.Possible(p.pairwise)
			s := newSequential(p, possible)
			forward := true
			for b.Loop() {
				s.sweep(forward)
				forward = !forward
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*g.NumEdges()), "ns/edge")
		})
	}
}
