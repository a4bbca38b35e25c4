package oracle

import (
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/mrf"
)

// RandomPairwise returns a network on g with log potentials drawn from N(0, scale²), each replaced by a hard zero
// (-Inf) with zeroProbability. Joint state (0, 0, …, 0) is spared from zeros so that Z is never zero. card [nodes] is
// kept, not copied.
func RandomPairwise(rng *rand.Rand, g *graph.Graph, card []int32, scale, zeroProbability float64) *mrf.Pairwise {
	p := &mrf.Pairwise{Graph: g, Card: card, NodeAt: []int{0}, EdgeAt: []int{0}}
	for _, states := range card {
		p.Node = append(p.Node, randomTable(rng, int(states), scale, zeroProbability)...)
		p.NodeAt = append(p.NodeAt, len(p.Node))
	}
	u, v := g.Ends()
	for e := range u {
		p.Edge = append(p.Edge, randomTable(rng, int(card[u[e]]*card[v[e]]), scale, zeroProbability)...)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	return p
}

// RandomNetwork returns a network of numFactors factors on random scopes of 0 to maxArity variables with log values
// as in RandomPairwise. card [variables] is kept, not copied.
func RandomNetwork(rng *rand.Rand, card []int, numFactors, maxArity int, scale, zeroProbability float64) *mrf.Network {
	n := &mrf.Network{Card: card}
	for range numFactors {
		scope := rng.Perm(len(card))[:rng.IntN(min(maxArity, len(card))+1)]
		size, ok := n.TableSize(scope)
		if !ok || size > MaxStates {
			panic("oracle: RandomNetwork with a table that is too large")
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: scope, LogTable: randomTable(rng, size, scale, zeroProbability)})
	}
	return n
}

// randomTable draws a table whose first entry is not a hard zero.
func randomTable(rng *rand.Rand, size int, scale, zeroProbability float64) []float64 {
	table := make([]float64, size)
	for i := range table {
		table[i] = scale * rng.NormFloat64()
		if rng.Float64() < zeroProbability && i > 0 {
			table[i] = math.Inf(-1)
		}
	}
	return table
}
