package infer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/mrf"
)

// Reduction is a network on its way to belief propagation: evidence has removed
// variables, and factors on the same pair have become one edge. It knows which
// variable and which factors of the original network a node and an edge are, so
// that files and errors can go by the numbers that users know.
type Reduction struct {
	// Pairwise is what BeliefPropagation takes.
	Pairwise *mrf.Pairwise

	original     *mrf.Network
	conditioned  *mrf.Conditioned
	edgeOfFactor []int // [factors] edge of Pairwise that holds it, or mrf.NoEdge
}

// Reduce brings n, given its evidence, into pairwise form. conditioned is what
// n.Condition returned. A factor that joins more than two unobserved variables
// is an error.
func Reduce(n *mrf.Network, conditioned *mrf.Conditioned) (*Reduction, error) {
	for f := range n.Factors {
		if free := len(conditioned.Network.Factors[f].Scope); free > 2 {
			scope := n.Factors[f].Scope
			return nil, fmt.Errorf("factor %d joins %d variables %v, %d of them without evidence: belief propagation takes at most 2", f, len(scope), scope, free)
		}
	}
	p, edgeOfFactor, err := conditioned.Network.Pairwise()
	if err != nil {
		return nil, err
	}
	return &Reduction{Pairwise: p, original: n, conditioned: conditioned, edgeOfFactor: edgeOfFactor}, nil
}

// Locate puts a numerical error of inference on r.Pairwise into the numbers of
// the original network: its variables and factors. Other errors stay as they
// are.
func (r *Reduction) Locate(err error) error {
	var zero *ZeroError
	if errors.As(err, &zero) {
		return &ZeroError{r.Locate(zero.Found)}
	}
	var numerical *bp.NumericalError
	if !errors.As(err, &numerical) {
		return err
	}
	place := ""
	switch {
	case numerical.Edge >= 0:
		f := slices.Index(r.edgeOfFactor, int(numerical.Edge)) // the first that it holds
		place = fmt.Sprintf("factor %d on variables %v: ", f, r.original.Factors[f].Scope)
	case numerical.Node >= 0:
		place = fmt.Sprintf("variable %d: ", r.conditioned.Variable[numerical.Node])
	}
	return &bp.NumericalError{Node: -1, Edge: -1, Reason: place + numerical.Reason}
}
