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
//
// Without negative c_s, (2) is a sum of concave terms. Where c_s + ½ Σ_v c_sv is at least 1 for every node, the entropy
// Σ ρ_s H_s − Σ c_uv I_uv is at least that of independent nodes, Σ H_s, and so at least the true one: I_uv is at most
// ½ (H_u + H_v).
func (c *Numbers) Prove(g *graph.Graph) {
	c.Facts = Facts{Convex: !c.hasNegative(), Bound: Upper}
	for s, rho := range c.Rho {
		if (c.Node[s]+rho)/2 < 1-countTolerance {
			c.Facts.Bound = None
		}
	}
	isOne := func(x float64) bool { return math.Abs(x-1) <= countTolerance }
	if g.IsForest() && !slices.ContainsFunc(slices.Concat(c.Edge, c.Rho), func(x float64) bool { return !isOne(x) }) {
		c.Facts = Facts{Convex: true, Bound: Exact} // they are those of Bethe
		c.certify(parents(g))
		return
	}
	c.certify(nil)
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

// leastForests is how many spanning forests are averaged, at least, for the edge
// appearances of SampledTreeReweighted.
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
	c, err := TreeReweighted(g, sample.Appearance())
	if err != nil {
		return nil, err
	}
	c.certify(sample.Parent)
	return c, nil
}
