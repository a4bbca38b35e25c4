package counting

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// countTolerance is the rounding allowed in counting numbers given by hand.
const countTolerance = 1e-9

// Prove finds out what can be said of counting numbers given by hand and sets Facts. What is not proved is not
// claimed: Convex may be false for a free energy that is convex, and Bound None for one that is a bound.
func (c *Numbers) Prove(g *graph.Graph) {
	split, convex := c.provablyConvex(g)
	c.Facts = Facts{Convex: convex, Bound: None}
	c.certify(split)
	switch {
	case c.isBethe(g) && g.IsForest():
		c.Facts.Bound = Exact
	case c.boundsLogZ(g):
		c.Facts.Bound = Upper
	}
}

// certify notes what gives a dual value, given the split of numbers that need one, nil where none is known.
func (c *Numbers) certify(split []float64) {
	c.Split = nil
	c.Facts.Dual = !c.hasNegative()
	if !c.Facts.Dual {
		c.Split = split
	}
	c.Facts.Certified = c.Facts.Dual || c.Split != nil
}

func (c *Numbers) hasNegative() bool {
	return slices.ContainsFunc(c.Node, func(x float64) bool { return x < 0 })
}

// provablyConvex tests the condition of Heskes (2006) and Weiss, Yanover and Meltzer (2007): edge entropies can be
// split into conditional entropies H_uv − H_s, which are concave, so that every negative c_s is covered. What an edge
// does not give to one end it gives to the other, so the same numbers must fit into the capacities ρ_s: c'_uv = 0,
// and c'_s is the room that is left.
//
// If all nodes of a component can have as much room, they have: small c'_s let the
// dual value fall slowly. For numbers in the spanning-forest polytope that is so.
func (c *Numbers) provablyConvex(g *graph.Graph) (split []float64, ok bool) {
	if c.hasNegative() { // without, nobody needs the split, and such tight capacities take long
		split, ok = shift(g, c.Edge, c.evenRoom(g))
	}
	if !ok {
		split, ok = shift(g, c.Edge, c.Rho)
	}
	for e := 0; e < len(split); e += 2 { // what one end has not received is its conditional entropy's
		split[e], split[e+1] = split[e+1], split[e]
	}
	return split, ok
}

// evenRoom returns ρ_s less the room that a node of its component has on average when all amounts are shifted.
func (c *Numbers) evenRoom(g *graph.Graph) []float64 {
	component, components := g.Components()
	room, nodes := make([]float64, components), make([]float64, components)
	for s, i := range component {
		room[i] += c.Rho[s]
		nodes[i]++
	}
	for e, x := range c.Edge {
		room[component[g.U(int32(e))]] -= x
	}
	capacity := make([]float64, len(c.Rho))
	for s, i := range component {
		capacity[s] = c.Rho[s] - max(0, room[i])/nodes[i]
	}
	return capacity
}

func (c *Numbers) isBethe(g *graph.Graph) bool {
	other := func(x float64) bool { return math.Abs(x-1) > countTolerance }
	return !slices.ContainsFunc(c.Edge, other) && !slices.ContainsFunc(c.Rho, other)
}

// boundsLogZ tests whether the entropy Σ ρ_s H_s − Σ c_uv I_uv is at least that of independent nodes, Σ H_s, and so at
// least the true one. Since I_uv ≤ min(H_u, H_v), it is enough that the c_uv can be shifted into the nodes' ρ_s − 1.
func (c *Numbers) boundsLogZ(g *graph.Graph) bool {
	spare := make([]float64, len(c.Rho))
	for s, rho := range c.Rho {
		if rho < 1-countTolerance {
			return false
		}
		spare[s] = math.Max(0, rho-1)
	}
	_, ok := shift(g, c.Edge, spare)
	return ok
}

// leastForests is how many spanning forests are averaged, at least, for the edge appearances of SampledTreeReweighted.
const leastForests = 16

// SampledTreeReweighted returns tree-reweighted counting numbers whose edge appearances are the average of random
// spanning forests that prefer edges chosen less often so far, drawn until every edge is covered.
func SampledTreeReweighted(g *graph.Graph, seed uint64) (*Numbers, error) {
	return sampledTreeReweighted(context.Background(), g, seed)
}

// sampledTreeReweighted gives up with the error of ctx once that has ended.
func sampledTreeReweighted(ctx context.Context, g *graph.Graph, seed uint64) (*Numbers, error) {
	least := leastForests
	if g.IsForest() {
		least = 1 // there is no other
	}
	sample, err := coverForests(ctx, g, rand.New(rand.NewPCG(seed, 0x7472772d626f756e)), least)
	if err != nil {
		return nil, err
	}
	return treeReweighted(g, sample.Appearance(), sample.Parent)
}
