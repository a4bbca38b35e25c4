package exact

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

// maxAuxiliaryEntries bounds the entries of all tables that WithAuxiliary makes: 2 GiB.
const maxAuxiliaryEntries = 1 << 28

// Pairwise is the pairwise form of a valid network: its variables, and then the auxiliary ones, which stand for the
// factors factorOf.
func Pairwise(n *mrf.Network) (p *mrf.Pairwise, factorOf []int, err error) {
	with, factorOf, err := WithAuxiliary(n)
	if err != nil {
		return nil, nil, err
	}
	p, err = with.Pairwise()
	return p, factorOf, err
}

// WithAuxiliary turns a network of any arity into one of at most two variables in a factor. A factor ψ_f(x_1 … x_k)
// of k > 2 variables becomes a variable z_f with one state for each joint state of x_1 … x_k in which ψ_f is not
// zero, the unary factor ψ_f(z_f), and k factors that are 1 where z_f agrees with x_i and 0 elsewhere (Weiss and
// Freeman 2001). So every joint state x extends to one joint state (x, z) of the same score, and all others have
// probability zero: log Z, the marginals of x and the most probable states are those of the original.
//
// Factors that are zero everywhere keep one state, whose factor is zero. The network must be valid. More than
// maxAuxiliaryEntries new entries are an error that names the factor.
//
// The variables of n come first in the result, and its factors: small ones share their tables with n, large ones are
// unary. Those that tie auxiliary variables to their scopes follow. factorOf are the factors that these stand for.
func WithAuxiliary(n *mrf.Network) (with *mrf.Network, factorOf []int, err error) {
	with = &mrf.Network{Card: slices.Clone(n.Card), Factors: slices.Clone(n.Factors)}
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
			return nil, nil, fmt.Errorf("mrf: factors[%d] joins %d variables in %d joint states: as an auxiliary variable it "+
				"takes too much memory; exact inference takes large factors as they are", f, len(factor.Scope), len(states))
		}
		entries += size * len(states)
		factorOf = append(factorOf, f)
		replace(with, f, states)
	}
	return with, factorOf, nil
}

// replace makes factor f, which is possible in the given joint states, a variable.
func replace(n *mrf.Network, f int, states []int) {
	factor, z := n.Factors[f], len(n.Card)
	n.Card = append(n.Card, len(states))
	table := numeric.Map(states, func(joint int) float64 { return factor.LogTable[joint] })
	n.Factors[f] = mrf.Factor{Scope: []int{z}, LogTable: table}
	stride := len(factor.LogTable)
	for _, v := range factor.Scope {
		stride /= n.Card[v]
		tie := make([]float64, len(states)*n.Card[v])
		for i, joint := range states {
			for x := range n.Card[v] {
				if joint/stride%n.Card[v] != x {
					tie[i*n.Card[v]+x] = math.Inf(-1)
				}
			}
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{z, v}, LogTable: tie})
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
