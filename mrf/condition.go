package mrf

import (
	"fmt"
	"maps"
	"slices"
)

// unobserved is the entry of Conditioned.Observed for a variable without evidence.
const unobserved = -1

// Conditioned is a network given the states of some of its variables. It holds
// the network over the others and what is needed to report results for all.
type Conditioned struct {
	// Network is over the unobserved variables only, renumbered from 0 in their old order. Its log Z is the logarithm of
	// the sum over joint states that agree with the evidence: nothing is renormalised. Factors keep their order; one
	// whose variables are all observed stays as a constant.
	Network *Network
	// Variable[i] is the original number of the new network's variable i.
	Variable []int
	// Observed[v] is the given state of the original variable v, or −1.
	Observed []int
	card     []int // of the original variables
}

// Condition fixes the variables in evidence, a map from variable to its observed state, and removes them by slicing
// every table. The network must be valid. A variable or state that does not exist is an error.
func (n *Network) Condition(evidence map[int]int) (*Conditioned, error) {
	c := &Conditioned{Observed: slices.Repeat([]int{unobserved}, len(n.Card)), card: n.Card}
	for _, v := range slices.Sorted(maps.Keys(evidence)) { // sorted: the same error every time
		state := evidence[v]
		if v < 0 || v >= len(n.Card) {
			return nil, fmt.Errorf("mrf: evidence for variable %d, which does not exist: variables are 0 to %d",
				v, len(n.Card)-1)
		}
		if state < 0 || state >= n.Card[v] {
			return nil, fmt.Errorf("mrf: evidence gives variable %d state %d, want 0 to %d", v, state, n.Card[v]-1)
		}
		c.Observed[v] = state
	}
	renumbered := make([]int, len(n.Card))
	c.Network = &Network{Factors: make([]Factor, len(n.Factors))}
	for v, state := range c.Observed {
		if state == unobserved {
			renumbered[v] = len(c.Variable)
			c.Variable = append(c.Variable, v)
			c.Network.Card = append(c.Network.Card, n.Card[v])
		}
	}
	for f := range n.Factors {
		c.Network.Factors[f] = n.Factors[f].slice(n.Card, c.Observed, renumbered)
	}
	return c, nil
}

// slice returns the factor with observed variables fixed and the others renumbered.
func (f *Factor) slice(card, observed, renumbered []int) Factor {
	var result Factor
	var cards, strides []int // of the free variables
	base, size := 0, 1
	for i, stride := len(f.Scope)-1, 1; i >= 0; i-- {
		v := f.Scope[i]
		if observed[v] != unobserved {
			base += observed[v] * stride
		} else {
			result.Scope = append(result.Scope, renumbered[v])
			cards, strides = append(cards, card[v]), append(strides, stride)
			size *= card[v]
		}
		stride *= card[v]
	}
	result.LogTable = make([]float64, size)
	copyStrided(result.LogTable, f.LogTable[base:], cards, strides)
	slices.Reverse(result.Scope)
	return result
}

// copyStrided fills dst, a table over variables with the given cards, fastest
// variable first, from src, in which they have the given strides.
func copyStrided(dst, src []float64, cards, strides []int) {
	digits := make([]int, len(cards))
	from := 0
	for to := range dst {
		dst[to] = src[from]
		for i := range digits {
			digits[i]++
			from += strides[i]
			if digits[i] < cards[i] {
				break
			}
			from -= digits[i] * strides[i]
			digits[i] = 0
		}
	}
}

// Marginals extends marginals of the conditioned network, [new variable][state], to all original variables: an
// observed one has probability 1 at its state. The rows of unobserved variables are shared, not copied.
func (c *Conditioned) Marginals(marginals [][]float64) [][]float64 {
	all := make([][]float64, len(c.Observed))
	for i, v := range c.Variable {
		all[v] = marginals[i]
	}
	for v, state := range c.Observed {
		if state != unobserved {
			all[v] = make([]float64, c.card[v])
			all[v][state] = 1
		}
	}
	return all
}

// States extends a joint state of the conditioned network to all original variables.
func (c *Conditioned) States(x []int) []int {
	all := slices.Clone(c.Observed)
	for i, v := range c.Variable {
		all[v] = x[i]
	}
	return all
}
