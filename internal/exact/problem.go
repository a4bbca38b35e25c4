package exact

import (
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// Problem is a network to find a most probable joint state of, in the forms that
// the methods take. It is made once, and must not change meanwhile.
type Problem struct {
	// FactorOf are the factors of more than two variables that Pairwise makes variables of, beyond those of the network.
	FactorOf []int

	network  *mrf.Network  // what joint states are of, with factors of any arity
	pairwise *mrf.Pairwise // nil until Pairwise makes it
}

// NewProblem is about a network of any arity. TRWS takes factors of more than two variables as auxiliary
// variables (WithAuxiliary). A network that is not valid is an error.
func NewProblem(n *mrf.Network) (*Problem, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	return &Problem{network: n}, nil
}

// FromPairwise is about a pairwise network, whose tables are shared, not copied.
func FromPairwise(p *mrf.Pairwise) *Problem {
	return &Problem{network: p.Network(), pairwise: p}
}

// Network returns the network, with factors of any arity.
func (p *Problem) Network() *mrf.Network { return p.network }

// Pairwise returns the pairwise form: the variables of the network, and then the auxiliary ones.
func (p *Problem) Pairwise() (*mrf.Pairwise, error) {
	if p.pairwise != nil {
		return p.pairwise, nil
	}
	small, factorOf, err := WithAuxiliary(p.network)
	if err == nil {
		p.FactorOf = factorOf
		p.pairwise, err = small.Pairwise()
	}
	return p.pairwise, err
}

// order lists the nodes of p.pairwise such that an auxiliary variable comes between the variables that it ties
// together: chains along the order then pass through it, which is what TRW-S needs to send anything on.
func (p *Problem) order() []int32 {
	order := make([]int32, 0, len(p.pairwise.Card))
	after := make([][]int32, len(p.network.Card)) // auxiliary variables that follow each variable
	for i, f := range p.FactorOf {
		scope := slices.Sorted(slices.Values(p.network.Factors[f].Scope))
		middle := scope[(len(scope)-1)/2]
		after[middle] = append(after[middle], int32(len(p.network.Card)+i))
	}
	for v := range p.network.Card {
		order = append(append(order, int32(v)), after[v]...)
	}
	return order
}
