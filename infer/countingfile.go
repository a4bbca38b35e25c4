package infer

import (
	"fmt"
	"io"

	"github.com/blockbp/blockbp/counting"
)

// readCounting reads counting numbers that are given for the original network:
// node i is its variable i, and edge e is the e-th, from 0, of its factors with
// two variables, whatever evidence is given. See counting.Read for the text.
//
// They become numbers for r.pairwise by two rules, neither of which changes the
// free energy or any ρ_s:
//
//   - A variable t with evidence has the entropy 0, so H_st = H_s: the number of
//     an edge st is added to that of node s. The number of node t does not matter.
//   - Factors on the same two variables have the same belief, so their entropies
//     are equal: their numbers are added.
//
// The sums must be such that counting.New takes them. The result has its Facts
// proved. Errors begin with name.
func (r *reduction) readCounting(text io.Reader, name string) (*counting.Numbers, error) {
	pairs, err := r.pairwiseFactors()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	node, edge, err := counting.Read(text, name, len(r.original.Card), len(pairs))
	if err != nil {
		return nil, err
	}
	left, merged := r.fold(pairs, node, edge)
	if err := r.checkNodes(left, merged); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c, err := counting.New(name, r.pairwise.Graph, left, merged)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (numbered without observed variables, and with one edge for all factors on a pair)",
			name, err)
	}
	c.Prove(r.pairwise.Graph)
	return c, nil
}

// pairwiseFactors lists the original factors of two variables. A larger factor
// of which evidence leaves two variables or more is an error: it has no number in a
// file.
func (r *reduction) pairwiseFactors() ([]int, error) {
	var pairs []int
	for f := range r.original.Factors {
		switch n := len(r.original.Factors[f].Scope); {
		case n == 2:
			pairs = append(pairs, f)
		case n > 2 && len(r.conditioned.Network.Factors[f].Scope) >= 2:
			return nil, fmt.Errorf("factor %d joins %d variables, of which evidence leaves %d: there are counting numbers "+
				"for factors of 2 variables only; use convex, cover, trw or bethe",
				f, n, len(r.conditioned.Network.Factors[f].Scope))
		}
	}
	return pairs, nil
}

// fold turns the numbers [variables] and [pairs] of the original network into
// those of r.pairwise.
func (r *reduction) fold(pairs []int, node, edge []float64) (left, merged []float64) {
	left, merged = make([]float64, len(r.conditioned.Variable)), make([]float64, r.pairwise.Graph.NumEdges())
	nodeOf := make(map[int]int, len(left))
	for s, v := range r.conditioned.Variable {
		nodeOf[v] = s
		left[s] = node[v]
	}
	for e, f := range pairs {
		if into := r.edgeOfFactor[f]; into >= 0 {
			merged[into] += edge[e]
			continue
		}
		for _, v := range r.original.Factors[f].Scope {
			if s, free := nodeOf[v]; free {
				left[s] += edge[e]
			}
		}
	}
	return left, merged
}

// checkNodes reports, in the numbers of the original network, what counting.New
// would refuse in its own.
func (r *reduction) checkNodes(left, merged []float64) error {
	g := r.pairwise.Graph
	for s, c := range left {
		for _, d := range g.Incoming(int32(s)) {
			c += merged[d>>1]
		}
		if !(c > 0) {
			return fmt.Errorf("node %d: its counting number and those of its edges sum to %v, want a positive sum (ρ_s of "+
				"equation 3)", r.conditioned.Variable[s], c)
		}
	}
	return nil
}
