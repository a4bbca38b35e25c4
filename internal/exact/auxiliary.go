package exact

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// maxAuxiliaryEntries bounds the entries of all tables that WithAuxiliary makes: 2 GiB.
const maxAuxiliaryEntries = 1 << 28

// Auxiliary is a network in which every factor of more than two variables has become a variable of its own.
type Auxiliary struct {
	// Network has the variables of the original network first, then the auxiliary ones. Its factors have at most two
	// variables. Factors 0 to F−1 stand for the original F, in their order: a small factor is itself, its table shared,
	// a large one is now the unary factor of its auxiliary variable. Those that tie auxiliary variables to their scopes
	// follow.
	Network *mrf.Network
	// Variables is the number of the original variables.
	Variables int
	// FactorOf[i] is the factor that the auxiliary variable Variables+i stands for.
	FactorOf []int
	// TieOf[i] is, for factor F+i, the large factor that it ties to one of its variables.
	TieOf []int
}

// WithAuxiliary turns a network of any arity into one of at most two variables in a factor. A factor ψ_f(x_1 … x_k)
// of k > 2 variables becomes a variable z_f with one state for each joint state of x_1 … x_k in which ψ_f is not
// zero, the unary factor ψ_f(z_f), and k factors that are 1 where z_f agrees with x_i and 0 elsewhere (Weiss and
// Freeman 2001). So every joint state x extends to one joint state (x, z) of the same score, and all others have
// probability zero: log Z, the marginals of x and the most probable states are those of the original.
//
// Factors that are zero everywhere keep one state, whose factor is zero. The network must be valid. More than
// maxAuxiliaryEntries new entries are an error that names the factor.
func WithAuxiliary(n *mrf.Network) (*Auxiliary, error) {
	network := &mrf.Network{Card: slices.Clone(n.Card), Factors: slices.Clone(n.Factors)}
	a := &Auxiliary{Variables: len(n.Card), Network: network}
	entries := 0
	for f := range n.Factors {
		factor := &n.Factors[f]
		if len(factor.Scope) <= 2 {
			continue
		}
		states, size := support(factor.LogTable), 0
		for _, v := range factor.Scope {
			if size += n.Card[v]; size > maxAuxiliaryEntries {
				break
			}
		}
		if size > (maxAuxiliaryEntries-entries)/len(states) {
			return nil, fmt.Errorf("mrf: factors[%d] joins %d variables in %d joint states: as an auxiliary variable it "+
				"takes too much memory; exact inference takes large factors as they are", f, len(factor.Scope), len(states))
		}
		entries += size * len(states)
		a.replace(n.Card, f, states)
	}
	return a, nil
}

// replace makes factor f, which is possible in the given joint states, a variable.
func (a *Auxiliary) replace(card []int, f int, states []int) {
	factor := a.Network.Factors[f]
	z := len(a.Network.Card)
	a.Network.Card = append(a.Network.Card, len(states))
	a.FactorOf = append(a.FactorOf, f)
	table := make([]float64, len(states))
	for i, joint := range states {
		table[i] = factor.LogTable[joint]
	}
	a.Network.Factors[f] = mrf.Factor{Scope: []int{z}, LogTable: table}
	stride := len(factor.LogTable)
	for _, v := range factor.Scope {
		stride /= card[v]
		tie := make([]float64, len(states)*card[v])
		for i, joint := range states {
			for x := range card[v] {
				if joint/stride%card[v] != x {
					tie[i*card[v]+x] = math.Inf(-1)
				}
			}
		}
		a.Network.Factors = append(a.Network.Factors, mrf.Factor{Scope: []int{z, v}, LogTable: tie})
		a.TieOf = append(a.TieOf, f)
	}
}

// support lists the entries that are not zero, the first one if all are.
func support(table []float64) []int {
	var entries []int
	for i, x := range table {
		if !math.IsInf(x, -1) {
			entries = append(entries, i)
		}
	}
	if len(entries) == 0 {
		return []int{0}
	}
	return entries
}
