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

// TestGibbsIsReproducible: the same source gives the same sample, of the right shape.
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
