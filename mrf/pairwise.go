package mrf

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/graph"
)

// Pairwise merges the network's factors into one table per node and one per edge: unary factors of a variable are
// multiplied, so are all factors on the same two variables, in whichever order they name them, and factors without a
// variable become Constant.
//
// Edges are numbered in the order in which their first factor appears and take its orientation: U is the first
// variable of its scope.
//
// A network that is not valid, a factor of more than two variables and a product beyond float64's range, which could
// pass for a hard zero, are errors that name the factor.
func (n *Network) Pairwise() (*Pairwise, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	p := &Pairwise{Card: make([]int32, len(n.Card)), NodeAt: make([]int, len(n.Card)+1)}
	for s, card := range n.Card {
		if card > math.MaxInt32 {
			return nil, fmt.Errorf("mrf: variable %d has %d states, a pairwise network supports at most %d",
				s, card, math.MaxInt32)
		}
		p.Card[s] = int32(card)
		p.NodeAt[s+1] = p.NodeAt[s] + card
	}
	p.Node = make([]float64, p.NodeAt[len(n.Card)])
	edgeOfFactor, err := p.layEdges(n)
	if err != nil {
		return nil, err
	}
	for f := range n.Factors {
		if !p.multiply(&n.Factors[f], edgeOfFactor[f]) {
			return nil, fmt.Errorf("mrf: factors[%d]: its logarithms, added to those of other factors on the same "+
				"variables, overflow; subtract a constant from its table", f)
		}
	}
	return p, nil
}

// layEdges gives every pair of variables that shares a factor an edge, builds the graph and lays out the edge tables,
// all zero. It returns which edge holds each factor of two variables.
func (p *Pairwise) layEdges(n *Network) (edgeOfFactor []int, err error) {
	edgeOfFactor = make([]int, len(n.Factors))
	var u, v []int32
	edgeOf := make(map[[2]int]int)
	p.EdgeAt = []int{0}
	for f := range n.Factors {
		scope := n.Factors[f].Scope
		if len(scope) > 2 {
			return nil, fmt.Errorf("mrf: factors[%d] joins %d variables %v, a pairwise network needs at most 2; exact "+
				"inference takes larger factors", f, len(scope), scope)
		}
		if len(scope) < 2 {
			continue
		}
		pair := [2]int{min(scope[0], scope[1]), max(scope[0], scope[1])}
		edge, known := edgeOf[pair]
		if !known {
			edge = len(u)
			edgeOf[pair] = edge
			u, v = append(u, int32(scope[0])), append(v, int32(scope[1]))
			p.EdgeAt = append(p.EdgeAt, p.EdgeAt[edge]+len(n.Factors[f].LogTable))
		}
		edgeOfFactor[f] = edge
	}
	p.Edge = make([]float64, p.EdgeAt[len(u)])
	p.Graph, err = graph.FromEdges(len(n.Card), u, v)
	return edgeOfFactor, err
}

// multiply adds the factor's logarithms to the table it belongs to. It reports
// false if a sum of finite logarithms is not finite.
func (p *Pairwise) multiply(factor *Factor, edge int) (finite bool) {
	switch len(factor.Scope) {
	case 0:
		constant := []float64{p.Constant}
		finite = addTo(constant, factor.LogTable)
		p.Constant = constant[0]
		return finite
	case 1:
		return addTo(p.Node[p.NodeAt[factor.Scope[0]]:], factor.LogTable)
	}
	table := p.Edge[p.EdgeAt[edge]:p.EdgeAt[edge+1]]
	if int32(factor.Scope[0]) == p.Graph.U(int32(edge)) {
		return addTo(table, factor.LogTable)
	}
	first, second := int(p.Card[factor.Scope[0]]), int(p.Card[factor.Scope[1]])
	turned := make([]float64, len(table))
	copyStrided(turned, factor.LogTable, []int{first, second}, []int{second, 1})
	return addTo(table, turned)
}

// addTo adds src to the first len(src) entries of dst. It reports false if a sum of finite numbers is not finite.
func addTo(dst, src []float64) (finite bool) {
	finite = true
	for i, value := range src {
		sum := dst[i] + value
		if math.IsInf(sum, 0) && !math.IsInf(dst[i], 0) && !math.IsInf(value, 0) {
			finite = false
		}
		dst[i] = sum
	}
	return finite
}

// Network returns the same distribution as a list of factors: first the constant, if it is not zero, then one unary
// factor per node, then one factor per edge in the order and orientation of the edges, so that Pairwise on the result
// gives p back. The tables are shared with p, not copied.
func (p *Pairwise) Network() *Network {
	n := &Network{Card: make([]int, len(p.Card))}
	n.Factors = make([]Factor, 0, 1+len(p.Card)+p.Graph.NumEdges())
	if p.Constant != 0 {
		n.Factors = append(n.Factors, Factor{LogTable: []float64{p.Constant}})
	}
	for s, card := range p.Card {
		n.Card[s] = int(card)
		lo, hi := p.NodeAt[s], p.NodeAt[s+1]
		n.Factors = append(n.Factors, Factor{Scope: []int{s}, LogTable: p.Node[lo:hi:hi]})
	}
	u, v := p.Graph.Ends()
	for e := range u {
		lo, hi := p.EdgeAt[e], p.EdgeAt[e+1]
		n.Factors = append(n.Factors, Factor{Scope: []int{int(u[e]), int(v[e])}, LogTable: p.Edge[lo:hi:hi]})
	}
	return n
}
