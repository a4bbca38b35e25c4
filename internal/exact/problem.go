package exact

import (
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// Problem is a network to find a most probable joint state of, in the forms that
// the methods take. It is made once, and must not change meanwhile.
type Problem struct {
	// Variable are the numbers of the variables in messages, such as those that they
	// had before evidence removed others; nil means their own.
	Variable []int

	network *mrf.Network // what joint states are of, with factors of any arity
	// pairwise is the same with auxiliary variables, if any, after those of
	// network: nil until prepare makes it.
	pairwise  *mrf.Pairwise
	auxiliary *Auxiliary // nil where all factors have at most two variables
}

// NewProblem is about a network of any arity. Cut and TRWS take factors of more
// than two variables as auxiliary variables (WithAuxiliary). A network
// that is not valid is an error.
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

// prepare makes the pairwise form.
func (p *Problem) prepare() error {
	if p.pairwise != nil {
		return nil
	}
	small := p.network
	if p.largeFactor() >= 0 {
		a, err := WithAuxiliary(p.network)
		if err != nil {
			return err
		}
		p.auxiliary, small = a, a.Network
	}
	pairwise, _, err := small.Pairwise()
	p.pairwise = pairwise
	return err
}

// number returns the number of a variable in messages.
func (p *Problem) number(v int32) int {
	if p.Variable == nil {
		return int(v)
	}
	return p.Variable[v]
}

// largeFactor returns the first factor of more than two variables, or −1.
func (p *Problem) largeFactor() int {
	return slices.IndexFunc(p.network.Factors, func(f mrf.Factor) bool { return len(f.Scope) > 2 })
}

// order lists the nodes of p.pairwise such that an auxiliary variable comes between
// the variables that it ties together: chains along the order then pass through
// it, which is what TRW-S needs to send anything on.
func (p *Problem) order() []int32 {
	order := make([]int32, 0, len(p.pairwise.Card))
	after := make([][]int32, len(p.network.Card)) // auxiliary variables that follow each variable
	if p.auxiliary != nil {
		for i, f := range p.auxiliary.FactorOf {
			middle := median(p.network.Factors[f].Scope)
			after[middle] = append(after[middle], int32(p.auxiliary.Variables+i))
		}
	}
	for v := range p.network.Card {
		order = append(append(order, int32(v)), after[v]...)
	}
	return order
}
