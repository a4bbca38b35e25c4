package infer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/mrf"
)

// Reduction is a network on its way to belief propagation: evidence has removed
// variables, factors on the same pair have become one edge, and larger factors
// auxiliary variables. It knows which variable and which factors of the original
// network a node and an edge are, so that files and errors can go by the numbers
// that users know.
type Reduction struct {
	// Pairwise is what BeliefPropagation takes: the variables without evidence, in
	// their order, and then the auxiliary ones.
	Pairwise *mrf.Pairwise

	original     *mrf.Network
	conditioned  *mrf.Conditioned
	auxiliary    *mrf.Auxiliary // nil where all factors have at most two variables left
	edgeOfFactor []int          // [factors, then ties] edge of Pairwise that holds it, or mrf.NoEdge
}

// Reduce brings n, given its evidence, into pairwise form. conditioned is what
// n.Condition returned. Factors that join more than two unobserved variables become
// auxiliary variables (mrf.Network.WithAuxiliary), which changes neither log Z nor
// marginals, and so no bound on them; it is an error if they take too much memory.
func Reduce(n *mrf.Network, conditioned *mrf.Conditioned) (*Reduction, error) {
	r := &Reduction{original: n, conditioned: conditioned}
	small := conditioned.Network
	if slices.ContainsFunc(small.Factors, func(f mrf.Factor) bool { return len(f.Scope) > 2 }) {
		a, err := small.WithAuxiliary()
		if err != nil {
			return nil, err
		}
		r.auxiliary, small = a, a.Network
	}
	var err error
	r.Pairwise, r.edgeOfFactor, err = small.Pairwise()
	return r, err
}

// ReducePairwise is Reduce for methods to which auxiliary variables are no use, and
// refuses larger factors: the hard zeros that tie such a variable keep single
// variables from changing, and a product of distributions from being spread.
func ReducePairwise(n *mrf.Network, conditioned *mrf.Conditioned) (*Reduction, error) {
	for f := range n.Factors {
		if free := len(conditioned.Network.Factors[f].Scope); free > 2 {
			scope := n.Factors[f].Scope
			return nil, fmt.Errorf("factor %d joins %d variables %v, %d of them without evidence: sampling and mean field take at most 2", f, len(scope), scope, free)
		}
	}
	return Reduce(n, conditioned)
}

// NumAuxiliary returns the number of auxiliary variables.
func (r *Reduction) NumAuxiliary() int { return len(r.Pairwise.Card) - len(r.conditioned.Variable) }

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
		if tie := f - len(r.original.Factors); tie >= 0 {
			f = r.auxiliary.TieOf[tie]
		}
		place = fmt.Sprintf("factor %d on variables %v: ", f, r.original.Factors[f].Scope)
	case int(numerical.Node) >= len(r.conditioned.Variable):
		f := r.auxiliary.FactorOf[int(numerical.Node)-len(r.conditioned.Variable)]
		place = fmt.Sprintf("factor %d on variables %v: ", f, r.original.Factors[f].Scope)
	case numerical.Node >= 0:
		place = fmt.Sprintf("variable %d: ", r.conditioned.Variable[numerical.Node])
	}
	return &bp.NumericalError{Node: -1, Edge: -1, Reason: place + numerical.Reason}
}
