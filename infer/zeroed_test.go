package infer

import (
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// zeroed draws a network with many hard zeros, which may contradict each other.
func zeroed(t *rapid.T) *mrf.Pairwise {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	g := must(gen.ErdosRenyi(n, rapid.Float64Range(0.2, 1).Draw(t, "chance"), rng))
	p := oracle.RandomPairwise(rng, g, randomCards(rng, n), 1, 0)
	chance := rapid.Float64Range(0, 0.7).Draw(t, "zeros")
	for _, table := range [][]float64{p.Node, p.Edge} {
		for i := range table {
			if rng.Float64() < chance {
				table[i] = math.Inf(-1)
			}
		}
	}
	return p
}

// possibleJointStates lists, by enumeration, what has positive probability.
func possibleJointStates(p *mrf.Pairwise) (states [][]int) {
	x := make([]int, len(p.Card))
	for {
		if !math.IsInf(p.Network().LogScore(x), -1) {
			states = append(states, slices.Clone(x))
		}
		v := len(x) - 1
		for ; v >= 0; v-- {
			if x[v]++; x[v] < int(p.Card[v]) {
				break
			}
			x[v] = 0
		}
		if v < 0 {
			return states
		}
	}
}

func toInt(x []int32) []int {
	y := make([]int, len(x))
	for i, v := range x {
		y[i] = int(v)
	}
	return y
}

// connected counts the joint states that are reached from the first.
func connected(states [][]int) int {
	if len(states) == 0 {
		return 0
	}
	reached := make([]bool, len(states))
	queue := []int{0}
	reached[0] = true
	for head := 0; head < len(queue); head++ {
		for i, x := range states {
			different := 0
			for v := range x {
				if x[v] != states[queue[head]][v] {
					different++
				}
			}
			if different == 1 && !reached[i] {
				reached[i] = true
				queue = append(queue, i)
			}
		}
	}
	return len(queue)
}
