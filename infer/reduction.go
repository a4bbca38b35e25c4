package infer

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/mrf"
)

// reduction is a network on its way to belief propagation: evidence has removed variables, factors on the same pair
// have become one edge, and larger factors auxiliary variables. It knows which variable and which factors of the
// original network a node and an edge are, so that files and errors can go by the numbers that users know.
type reduction struct {
	// pairwise is what inference takes: the variables without evidence, in their order, and then the auxiliary ones.
	pairwise *mrf.Pairwise

	original    *mrf.Network
	conditioned *mrf.Conditioned
	factorOf    []int // of the auxiliary variables
}

// reduce brings n, given evidence, into pairwise form. Factors that join more than two unobserved variables become
// auxiliary variables, which changes neither log Z nor marginals, and so no bound on them; where they take too much
// memory, the error is that the method is unsuited.
//
// check looks at the network that evidence leaves before anything is made of it.
func reduce(n *mrf.Network, evidence map[int]int, check func(*mrf.Network) error) (*reduction, error) {
	conditioned, err := condition(n, evidence)
	if err != nil {
		return nil, err
	}
	if err := check(conditioned.Network); err != nil {
		return nil, err
	}
	r := &reduction{original: n, conditioned: conditioned}
	if r.pairwise, r.factorOf, err = exact.Pairwise(conditioned.Network); err != nil {
		return nil, unsuitedError{err}
	}
	return r, nil
}

// condition checks a network and fixes its observed variables.
func condition(n *mrf.Network, evidence map[int]int) (*mrf.Conditioned, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	return n.Condition(evidence)
}

// numAuxiliary returns the number of auxiliary variables.
func (r *reduction) numAuxiliary() int { return len(r.pairwise.Card) - len(r.conditioned.Variable) }

// locate puts a numerical error of inference on r.pairwise into the numbers of the original network: its variables
// and large factors. Other errors stay as they are.
func (r *reduction) locate(err error) error {
	var numerical *bp.NumericalError
	if !errors.As(err, &numerical) {
		return err
	}
	place := ""
	switch e := numerical.Edge; {
	case e >= 0:
		place = r.nameOf(r.pairwise.Graph.U(e)) + " and " + r.nameOf(r.pairwise.Graph.V(e)) + ": "
	case numerical.Node >= 0:
		place = r.nameOf(numerical.Node) + ": "
	}
	located := &bp.NumericalError{Node: -1, Edge: -1, Reason: place + numerical.Reason}
	if errors.Is(err, ErrZero) {
		return zeroAt(located)
	}
	return located
}

// nameOf says what a node is in the original network.
func (r *reduction) nameOf(node int32) string {
	if variables := r.conditioned.Variable; int(node) < len(variables) {
		return fmt.Sprintf("variable %d", variables[node])
	}
	f := r.factorOf[int(node)-len(r.conditioned.Variable)]
	return fmt.Sprintf("factor %d on variables %v", f, r.original.Factors[f].Scope)
}
