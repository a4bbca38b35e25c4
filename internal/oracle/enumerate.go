package oracle

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/mrf"
)

// MaxStates is the largest number of joint states that is enumerated. More is a mistake in the test and panics.
const MaxStates = 1 << 20

// each calls visit with every joint state of variables with the given numbers
// of states, last variable fastest. visit must not keep x.
func each(card []int, visit func(x []int)) {
	total := 1
	for _, c := range card {
		total *= c
		if c <= 0 || total > MaxStates {
			panic(fmt.Sprintf("oracle: states %v have more than %d joint states", card, MaxStates))
		}
	}
	x := make([]int, len(card))
	for range total {
		visit(x)
		for v := len(x) - 1; v >= 0; v-- {
			if x[v]++; x[v] < card[v] {
				break
			}
			x[v] = 0
		}
	}
}

// NetworkLogZ returns log Σ_x exp LogScore(x), -Inf when every joint state has
// probability zero. It panics above MaxStates joint states.
func NetworkLogZ(n *mrf.Network) float64 {
	var scores []float64
	each(n.Card, func(x []int) { scores = append(scores, n.LogScore(x)) })
	return floats.LogSumExp(scores)
}

// NetworkMax returns a most probable joint state, the first in lexicographic
// order among equals, and its LogScore. It panics above MaxStates joint states.
func NetworkMax(n *mrf.Network) (x []int, logScore float64) {
	logScore = math.Inf(-1)
	x = make([]int, len(n.Card))
	each(n.Card, func(candidate []int) {
		if score := n.LogScore(candidate); score > logScore {
			logScore = score
			copy(x, candidate)
		}
	})
	return x, logScore
}

// NetworkMarginals returns the marginal of every variable, [variable][state], and of every factor, [factor][entry of
// its table]. It panics above MaxStates joint states and where every joint state has probability zero.
func NetworkMarginals(n *mrf.Network) (variables, factors [][]float64) {
	logZ := NetworkLogZ(n)
	if math.IsInf(logZ, -1) {
		panic("oracle: marginals of a network in which every joint state has probability zero")
	}
	variables = make([][]float64, len(n.Card))
	for v, card := range n.Card {
		variables[v] = make([]float64, card)
	}
	factors = make([][]float64, len(n.Factors))
	for f := range n.Factors {
		factors[f] = make([]float64, len(n.Factors[f].LogTable))
	}
	each(n.Card, func(x []int) {
		probability := math.Exp(n.LogScore(x) - logZ)
		for v, state := range x {
			variables[v][state] += probability
		}
		for f := range n.Factors {
			at := 0
			for _, v := range n.Factors[f].Scope {
				at = at*n.Card[v] + x[v]
			}
			factors[f][at] += probability
		}
	})
	return variables, factors
}
