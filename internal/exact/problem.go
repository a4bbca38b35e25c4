package exact

import (
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// Problem is a network to find a most probable joint state of, in the forms that
// the methods take. It is made once, and must not change meanwhile.
type Problem struct {
	// Auxiliary is the network with variables for its large factors, nil where all factors have at most two variables;
	// EdgeOfFactor is what mrf.Network.Pairwise says of it. Pairwise makes both.
	Auxiliary    *Auxiliary
	EdgeOfFactor []int

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
	small := p.network
	if slices.ContainsFunc(p.network.Factors, func(f mrf.Factor) bool { return len(f.Scope) > 2 }) {
		a, err := WithAuxiliary(p.network)
		if err != nil {
			return nil, err
		}
		p.Auxiliary, small = a, a.Network
	}
	var err error
	p.pairwise, p.EdgeOfFactor, err = small.Pairwise()
	return p.pairwise, err
}

// order lists the nodes of p.pairwise such that an auxiliary variable comes between the variables that it ties
// together: chains along the order then pass through it, which is what TRW-S needs to send anything on.
func (p *Problem) order() []int32 {
	order := make([]int32, 0, len(p.pairwise.Card))
	after := make([][]int32, len(p.network.Card)) // auxiliary variables that follow each variable
	if p.Auxiliary != nil {
		for i, f := range p.Auxiliary.FactorOf {
			scope := slices.Sorted(slices.Values(p.network.Factors[f].Scope))
			middle := scope[(len(scope)-1)/2]
			after[middle] = append(after[middle], int32(p.Auxiliary.Variables+i))
		}
	}
	for v := range p.network.Card {
		order = append(append(order, int32(v)), after[v]...)
	}
	return order
}
