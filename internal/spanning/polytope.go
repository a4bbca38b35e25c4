package spanning

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/flow"
)

// Status is the answer of CheckForestPolytope.
type Status int

// The answers. Unknown is the zero value: nothing is claimed by default.
const (
	Unknown Status = iota // the check would have taken too long
	Inside                // the numbers are in the spanning forest polytope
	Outside               // they are not, and the verdict says where
)

// String returns the answer in words.
func (s Status) String() string {
	switch s {
	case Inside:
		return "inside"
	case Outside:
		return "outside"
	}
	return "unknown"
}

// Verdict is what CheckForestPolytope found.
type Verdict struct {
	Status Status
	// Nodes is, if Status is Outside, a set S of nodes, ascending, for which the
	// sum of μ over the edges inside S exceeds |S| − 1. It is nil if instead a
	// single number is negative or not a number.
	Nodes []int32
	// Reason says in words what is violated, or why nothing is known; it is
	// empty if Status is Inside.
	Reason string
}

// Tolerance is the excess over a bound that CheckForestPolytope forgives, and
// relative to the largest amount or capacity, Shift. It is far above the
// rounding of sums and far below any violation that matters.
const Tolerance = 1e-9

// scanLimit bounds the work of CheckForestPolytope, in arcs looked at: one to
// a few seconds.
const scanLimit = 200_000_000

// negligible is the amount that the check does not bother to move, for μ of the
// order of 1. A node set is reached through at most its incident edges, so the
// error it makes stays below Tolerance up to 10⁵ cut edges of a violated set;
// and Outside is never claimed without summing up again.
const negligible = 1e-14

// forgiven is the excess that is not pursued: rounding leaves that much, and
// pursuing it would search the whole graph for every node.
const forgiven = Tolerance / 10

// CheckForestPolytope says whether μ, one number per edge, is a convex
// combination of the indicators of forests of the graph, that is (Edmonds 1971)
//
//	μ ≥ 0   and   Σ_{e inside S} μ_e ≤ |S| − 1   for every non-empty set S of nodes.
//
// Then the tree-reweighted free energy with these edge appearance numbers is
// concave and an upper bound on the log-partition function.
//
// The answer is exact up to Tolerance. Each component and each edge are tested
// first; nodes that bring at most 1 with them are set aside, which settles
// forests and much of sparse graphs. For the rest the inequalities with S ∋ r
// are equivalent to a flow problem for each node r: every edge can give μ_e to
// its two ends so that r receives nothing and every other node at most 1. From
// one node to the next the flow changes little, so the check is fast where the
// graph is local; the answer is Unknown when it would have to look at more than
// 2·10⁸ arcs.
//
// It panics if μ does not have one number per edge.
func CheckForestPolytope(g *graph.Graph, mu []float64) Verdict {
	if len(mu) != g.NumEdges() {
		panic(fmt.Sprintf("spanning: %d edge appearance numbers for %d edges", len(mu), g.NumEdges()))
	}
	if verdict := checkEdges(g, mu); verdict.Status == Outside {
		return verdict
	}
	if verdict := checkComponents(g, mu); verdict.Status == Outside {
		return verdict
	}
	return newPolytopeCheck(g, mu).run()
}

// checkEdges tests 0 ≤ μ_e ≤ 1.
func checkEdges(g *graph.Graph, mu []float64) Verdict {
	for e, m := range mu {
		u, v := g.U(int32(e)), g.V(int32(e))
		switch {
		case math.IsNaN(m) || m < -Tolerance:
			return Verdict{Status: Outside, Reason: fmt.Sprintf("edge %d (%d, %d) has edge appearance %v, want 0 to 1",
				e, u, v, m)}
		case m > 1+Tolerance:
			return outside([]int32{u, v}, m-1)
		}
	}
	return Verdict{}
}

// checkComponents tests S = each component.
func checkComponents(g *graph.Graph, mu []float64) Verdict {
	component, count := g.Components()
	total, nodes := make([]sum, count), make([]int, count)
	for _, c := range component {
		nodes[c]++
	}
	for e, m := range mu {
		total[component[g.U(int32(e))]].add(m)
	}
	for c := range total {
		if over := total[c].over(float64(nodes[c] - 1)); over > Tolerance {
			members := make([]int32, 0, nodes[c])
			for s, d := range component {
				if int(d) == c {
					members = append(members, int32(s))
				}
			}
			return outside(members, over)
		}
	}
	return Verdict{}
}

// outside returns the verdict that the sum over the edges inside a set of nodes
// is over its bound.
func outside(nodes []int32, over float64) Verdict {
	slices.Sort(nodes)
	bound := len(nodes) - 1
	return Verdict{
		Status: Outside,
		Nodes:  nodes,
		Reason: fmt.Sprintf("the edges among %d nodes have edge appearances that sum to %.12g, want at most %d (over by "+
			"%.3g)", len(nodes), float64(bound)+over, bound, over),
	}
}

// polytopeCheck goes through the nodes r. A node for which the inequalities with
// S ∋ r have been proved is removed, with its edges, from all that follows.
type polytopeCheck struct {
	g         *graph.Graph
	mu        []float64
	flow      *flow.Residual
	weight    []float64 // [nodes] sum of μ over the remaining edges
	removed   []bool
	light     []int32 // nodes to remove because they bring at most 1
	frontier  []int32 // nodes next to removed ones, the next candidates for r
	firstLeft int32   // nodes below it are removed
}

func newPolytopeCheck(g *graph.Graph, mu []float64) *polytopeCheck {
	n := g.NumNodes()
	amount, capacity := make([]float64, len(mu)), make([]float64, n)
	for e, m := range mu {
		amount[e] = max(0, m) // within the tolerance, see checkEdges
	}
	for s := range capacity {
		capacity[s] = 1
	}
	c := &polytopeCheck{
		g: g, mu: amount, flow: flow.Divide(g, amount, capacity, negligible, scanLimit),
		weight: make([]float64, n), removed: make([]bool, n),
	}
	for e, m := range amount {
		c.weight[g.U(int32(e))] += m
		c.weight[g.V(int32(e))] += m
	}
	for s, w := range c.weight {
		if w <= 1 {
			c.light = append(c.light, int32(s))
		}
	}
	return c
}

// run carries out the check.
func (c *polytopeCheck) run() Verdict {
	c.removeLight()
	// First without an r: at most 1 for every node.
	if verdict := c.judge(c.flow.Settle(), c.left()); verdict.Status != Inside {
		return verdict
	}
	for r := c.nextRoot(); r >= 0; r = c.nextRoot() {
		c.flow.SetCapacity(r, 0)
		root := []int32{r}
		if verdict := c.judge(c.flow.Drain(root, forgiven), root); verdict.Status != Inside {
			return verdict
		}
		c.remove(r)
		c.removeLight()
	}
	return Verdict{Status: Inside}
}

// judge says what follows from the excess that the flow has left at the nodes
// that were to be emptied. Since the nodes that it can reach are full and hold
// only edges among themselves, they are a violated set.
func (c *polytopeCheck) judge(finished bool, emptied []int32) Verdict {
	if !finished {
		return Verdict{Reason: fmt.Sprintf("the graph has %d nodes and %d edges: the check stopped after looking at %d "+
			"arcs", c.g.NumNodes(), c.g.NumEdges(), scanLimit)}
	}
	excess := 0.0
	for _, s := range emptied {
		excess += max(0, -c.flow.Room(s)-negligible)
	}
	if excess <= forgiven {
		return Verdict{Status: Inside}
	}
	nodes := slices.Clone(c.flow.Reached())
	over := c.overInside(nodes)
	switch {
	case over > Tolerance:
		return outside(nodes, over)
	case excess <= Tolerance:
		return Verdict{Status: Inside}
	}
	return Verdict{Reason: fmt.Sprintf("rounding leaves open whether the edges among %d nodes sum to more than %d",
		len(nodes), len(nodes)-1)}
}

// overInside returns by how much the sum of μ over the edges inside a set S
// exceeds |S| − 1. The set is the nodes that the flow has reached.
func (c *polytopeCheck) overInside(nodes []int32) float64 {
	var total sum
	for _, s := range nodes {
		for _, d := range c.g.Incoming(s) {
			if d&1 == 0 && c.flow.IsReached(c.g.Source(d)) { // each edge once
				total.add(c.mu[d>>1])
			}
		}
	}
	return total.over(float64(len(nodes) - 1))
}

// removeLight removes nodes that bring at most 1, until there are none: if S is
// violated and contains such a node, so is S without it.
func (c *polytopeCheck) removeLight() {
	for len(c.light) > 0 {
		s := c.light[len(c.light)-1]
		c.light = c.light[:len(c.light)-1]
		if !c.removed[s] {
			c.remove(s)
		}
	}
}

// remove takes a node and its edges out of the graph and the flow.
func (c *polytopeCheck) remove(s int32) {
	c.removed[s] = true
	for _, d := range c.g.Incoming(s) {
		t := c.g.Source(d)
		if c.removed[t] {
			continue
		}
		c.weight[t] -= c.mu[d>>1]
		if c.weight[t] <= 1 {
			c.light = append(c.light, t)
		}
		c.frontier = append(c.frontier, t)
	}
	c.flow.Leave(s)
}

// nextRoot returns a remaining node, preferably one next to the removed ones,
// where there is room, or -1.
func (c *polytopeCheck) nextRoot() int32 {
	for len(c.frontier) > 0 {
		s := c.frontier[0]
		c.frontier = c.frontier[1:]
		if !c.removed[s] {
			return s
		}
	}
	for ; int(c.firstLeft) < len(c.removed); c.firstLeft++ {
		if !c.removed[c.firstLeft] {
			return c.firstLeft
		}
	}
	return -1
}

// left returns the nodes that are not removed.
func (c *polytopeCheck) left() []int32 {
	var nodes []int32
	for s, gone := range c.removed {
		if !gone {
			nodes = append(nodes, int32(s))
		}
	}
	return nodes
}
