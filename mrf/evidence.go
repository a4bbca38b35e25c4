package mrf

import (
	"maps"
	"math"
	"slices"
)

// WithEvidence returns the network with a factor for each observed variable that is 1 at its state and 0 elsewhere:
// variables and states keep their numbers, log Z and marginals are those given the evidence. Tables are shared with
// n, not copied. See Condition, which removes observed variables instead, for the errors.
func (n *Network) WithEvidence(evidence map[int]int) (*Network, error) {
	if _, err := (&Network{Card: n.Card}).Condition(evidence); err != nil {
		return nil, err
	}
	given := &Network{Card: n.Card, Factors: slices.Clone(n.Factors)}
	for _, v := range slices.Sorted(maps.Keys(evidence)) {
		table := make([]float64, n.Card[v])
		for i := range table {
			table[i] = math.Inf(-1)
		}
		table[evidence[v]] = 0
		given.Factors = append(given.Factors, Factor{Scope: []int{v}, LogTable: table})
	}
	return given, nil
}
