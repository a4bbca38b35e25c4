package gibbs

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// TestGibbsSamplesTheDistribution compares the frequencies of all joint states
// of a triangle, one of which is impossible, with their probabilities: Pearson's
// statistic over 17 possible states stays below 46, its 0.9999 quantile at 16
// degrees of freedom.
func TestGibbsSamplesTheDistribution(t *testing.T) {
	g := must(graph.FromEdges(3, []int32{0, 2, 2}, []int32{1, 1, 0})) // edges in both orientations
	p := oracle.RandomPairwise(source(4), g, []int32{2, 3, 3}, 0.7, 0)
	p.Edge[p.EdgeAt[2]+3] = math.Inf(-1) // x_2 = 1, x_0 = 1: three joint states
	const samples, sweeps = 100000, 10
	count := map[[3]int]float64{}
	rng := source(5)
	for range samples {
		x := Sample(p, sweeps, rng)
		count[[3]int{int(x[0]), int(x[1]), int(x[2])}]++
	}
	z, n := oracle.LogZ(p), p.Network()
	statistic, total := 0.0, 0.0
	for a := range 2 {
		for b := range 3 {
			for c := range 3 {
				expected := samples * math.Exp(n.LogScore([]int{a, b, c})-z)
				got := count[[3]int{a, b, c}]
				total += got
				if expected == 0 {
					if got > 0 {
						t.Errorf("impossible state %d%d%d was drawn %v times", a, b, c, got)
					}
					continue
				}
				statistic += (got - expected) * (got - expected) / expected
			}
		}
	}
	if total != samples || statistic > 46 || statistic < 1 {
		t.Errorf("Pearson's statistic is %.1f over %v samples", statistic, total)
	}
}

// TestGibbsIsReproducible: the same source gives the same sample, of the right
// shape.
func TestGibbsIsReproducible(t *testing.T) {
	rng := source(1)
	g := must(graph.Grid(4, 5, graph.GridOptions{}))
	p := oracle.RandomPairwise(rng, g, randomCards(rng, 20), 1, 0.1)
	a, b, c := Sample(p, 5, source(7)), Sample(p, 5, source(7)), Sample(p, 5, source(8))
	if !slices.Equal(a, b) || slices.Equal(a, c) || len(a) != 20 {
		t.Errorf("samples %v, %v, and of another source %v", a, b, c)
	}
	for s, x := range a {
		if x < 0 || x >= p.Card[s] {
			t.Errorf("node %d of %d states is in state %d", s, p.Card[s], x)
		}
	}
}

// TestGibbsLeavesTheImpossible: from any start the sampler finds the states that
// are possible, and it goes on where none is.
func TestGibbsLeavesTheImpossible(t *testing.T) {
	no := math.Inf(-1)
	p := &mrf.Pairwise{
		Graph: must(gen.Chain(2)), Card: []int32{2, 2}, NodeAt: []int{0, 2, 4}, EdgeAt: []int{0, 4},
		Node: []float64{no, 0, 0, no}, Edge: []float64{0, 0, 0, 0},
	}
	for seed := range uint64(20) {
		if x := Sample(p, 1, source(seed)); x[0] != 1 || x[1] != 0 {
			t.Errorf("seed %d: %v", seed, x)
		}
	}
	p.Node = []float64{no, no, no, no}
	if x := Sample(p, 3, source(1)); len(x) != 2 {
		t.Error(x)
	}
}
