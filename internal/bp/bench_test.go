package bp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// BenchmarkSweep sweeps over a grid as one block, whose tables are in the
// second-level cache, at its end or in memory.
func BenchmarkSweep(b *testing.B) {
	for _, side := range []int{14, 30, 300} {
		for _, k := range []int32{2, 8, 16, 21} {
			b.Run(fmt.Sprintf("side=%d/states=%d", side, k), func(b *testing.B) {
				g := sure(graph.Grid(side, side, graph.GridOptions{}))
				card := make([]int32, g.NumNodes())
				for s := range card {
					card[s] = k
				}
				r := newInference(b, oracle.RandomPairwise(rand.New(rand.NewPCG(1, 2)), g, card, 1, 0), counting.Convex(g))
				block := oracle.Must(r.load(0))(b)
				for b.Loop() {
					if _, err := r.space.Sweep(r.net, r.state, block, 0); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*g.NumEdges()), "ns/edge")
			})
		}
	}
}
