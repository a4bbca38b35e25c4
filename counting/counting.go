package counting

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// Numbers are the entropy counting numbers c_s and c_uv of the free energy
//
//	(2)  B(θ) = max_τ ⟨θ,τ⟩ + Σ_s c_s H(τ_s) + Σ_uv c_uv H(τ_uv)
//
// and the node weights (3) ρ_s = c_s + Σ_v c_sv of the message updates.
type Numbers struct {
	Name string
	Node []float64 // [nodes] c_s
	Edge []float64 // [edges] c_uv = ρ_uv, positive
	// Facts says what is known about this free energy on this graph: what the constructor knows, or what Prove has found.
	Facts Facts

	// Split [directed edges] are c_{s,e} ≥ 0, s being the target of the directed edge, which
	// write the entropies of (2) as a sum of concave terms,
	//
	//	Σ_s c'_s H(τ_s) + Σ_e c'_e H(τ_e) + Σ_{s,e} c_{s,e} (H(τ_e) − H(τ_s)),
	//	c'_s = c_s + Σ_e c_{s,e} ≥ 0,   c'_uv = c_uv − c_{u,uv} − c_{v,uv} ≥ 0,
	//
	// and so give a dual value to numbers with negative c_s. nil where all c_s ≥ 0, which
	// need none, and where none is known.
	Split []float64

	// Rho [nodes] is ρ_s of equation (3), positive. New computes it.
	Rho []float64
	// EdgeClass [edges] numbers the distinct values of Edge, below Classes: edges of one class that share a potential
	// table share its exponentials too. nil where there are more than 256 of them.
	EdgeClass []uint8
	Classes   int
}

// Facts are the provable properties of a choice of counting numbers.
type Facts struct {
	// Convex: the function of τ in (2) is provably concave on the local polytope,
	// so every fixed point has the value B, wherever the iteration started.
	Convex bool
	// Dual: all c_s ≥ 0, so node-sequential updates never raise the dual value (7).
	Dual bool
	// Certified: the dual value is an upper bound on B at any messages, because of Dual
	// or of a Split, so that its distance from a primal value certifies an inference.
	Certified bool
	// Bound says how B compares with the true log-partition function.
	Bound Bound
}

// Bound says how the value of an inference compares with log Z.
type Bound string

// The kinds of value.
const (
	Upper Bound = "upper" // log Z ≤ value
	Exact Bound = "exact" // log Z = value
	None  Bound = "none"  // an approximation of unknown sign
)

// maxClasses is the largest number of distinct edge counting numbers for which
// exponentials of shared tables are shared: it fits the uint8 of Numbers.EdgeClass.
const maxClasses = 256

// What can be computed with. Potentials are divided by counting numbers, and messages multiplied by them.
const (
	// smallestCount and largestCount bound c_uv, ρ_s and |c_s|, so that quotients and sums of them stay finite.
	smallestCount, largestCount = 1e-100, 1e100
	// largestRatio bounds c_uv/ρ_s: by it the rounding of a message is multiplied on its way into a belief.
	largestRatio = 1e9
)

// New returns counting numbers given by hand, after checking that they can be computed with: c_uv and ρ_s between
// 1e-100 and 1e100, c_uv at most 1e9 times the ρ_s of its ends. Nothing is claimed of them until Prove is called. The
// slices are kept without copying.
func New(name string, g *graph.Graph, node, edge []float64) (*Numbers, error) {
	if len(node) != g.NumNodes() || len(edge) != g.NumEdges() {
		return nil, fmt.Errorf("counting numbers for %d nodes and %d edges, the network has %d and %d",
			len(node), len(edge), g.NumNodes(), g.NumEdges())
	}
	c := &Numbers{Name: name, Node: node, Edge: edge, Rho: make([]float64, len(node)), Facts: Facts{Bound: None}}
	for e, x := range edge {
		if want := wantedCount(x); want != "" {
			return nil, fmt.Errorf("counting number of edge %d (%d – %d) is %v, want %s", e, g.U(int32(e)), g.V(int32(e)), x,
				want)
		}
	}
	for s := range node {
		if err := c.weigh(g, int32(s)); err != nil {
			return nil, err
		}
	}
	c.classify()
	return c, nil
}

// wantedCount says what a number that potentials are divided by should be, or nothing where it can be used.
func wantedCount(x float64) string {
	switch {
	case !(x > 0) || math.IsInf(x, 0):
		return "a positive number"
	case x < smallestCount || x > largestCount:
		return fmt.Sprintf("one from %g to %g: potentials divided by it overflow or vanish; multiplying all counting "+
			"numbers and potentials by one factor changes no belief", smallestCount, largestCount)
	}
	return ""
}

// weigh computes ρ_s of equation (3).
func (c *Numbers) weigh(g *graph.Graph, s int32) error {
	rho := c.Node[s]
	if !(math.Abs(rho) <= largestCount) {
		return fmt.Errorf("counting number of node %d is %v, want a number from %g to %g",
			s, rho, -largestCount, largestCount)
	}
	for _, d := range g.Incoming(s) {
		rho += c.Edge[d>>1]
	}
	if want := wantedCount(rho); want != "" {
		return fmt.Errorf("node %d: its counting number and those of its edges sum to %v (ρ_s of equation 3), want %s",
			s, rho, want)
	}
	for _, d := range g.Incoming(s) {
		if e := d >> 1; c.Edge[e] > largestRatio*rho {
			return fmt.Errorf("counting number of edge %d (%d – %d) is %v, more than %g times %v, the sum of those of node "+
				"%d and its edges (ρ_s of equation 3): beliefs of the node would be rounding errors; raise its counting number",
				e, g.U(e), g.V(e), c.Edge[e], largestRatio, rho, s)
		}
	}
	c.Rho[s] = rho
	return nil
}

// Convex returns c_s = c_uv = 1: strongly convex, an upper bound, loose. It is the choice of the paper's authors.
func Convex(g *graph.Graph) *Numbers {
	n, m := g.NumNodes(), g.NumEdges()
	ones := constants(max(n, m), 1)
	c := must(New("convex", g, ones[:n:n], ones[:m:m]))
	c.Facts = Facts{Convex: true, Dual: true, Certified: true, Bound: Upper}
	return c
}

// Bethe returns c_s = 1 − deg s, c_uv = 1: ordinary belief propagation. It is exact on forests. Elsewhere it bounds
// nothing, and Facts does not call it convex. It is so where no component has more than one loop: Prove finds that.
func Bethe(g *graph.Graph) *Numbers {
	node := make([]float64, g.NumNodes())
	for s := range node {
		node[s] = 1 - float64(g.Degree(int32(s)))
	}
	c := must(New("bethe", g, node, constants(g.NumEdges(), 1)))
	if g.IsForest() {
		c.Facts = Facts{Convex: true, Bound: Exact}
		c.certify(parents(g))
	}
	return c
}

// edgeCover returns c_uv = min(1/deg u, 1/deg v) and c_s = 1 − Σ_v c_sv, an edge cover: every variable is counted once,
// and no number is negative. It is looser than trees and tighter than Convex.
//
// With the variables in any order, H(τ_S) ≥ Σ_{s∈S} H(s | all before s) for a node or an edge S. The counts of the S
// with s sum to 1, so that Σ c_S H(τ_S) ≥ Σ_s H(s | all before s), the entropy of the whole (Shearer): an upper bound.
func edgeCover(g *graph.Graph) *Numbers {
	node, edge := constants(g.NumNodes(), 1), make([]float64, g.NumEdges())
	u, v := g.Ends()
	for e := range edge {
		edge[e] = 1 / float64(max(g.Degree(u[e]), g.Degree(v[e])))
		node[u[e]] -= edge[e]
		node[v[e]] -= edge[e]
	}
	for s := range node {
		node[s] = max(0, node[s]) // where it is 0, but for rounding
	}
	c := must(New("cover", g, node, edge))
	c.countOnce()
	c.Facts = Facts{Convex: true, Dual: true, Certified: true, Bound: Upper}
	return c
}

// countOnce sets ρ_s to 1 for numbers that sum to it by definition; their sums may be off by rounding.
func (c *Numbers) countOnce() {
	c.Rho = constants(len(c.Rho), 1)
}

// treeReweighted returns c_s = 1 − Σ_v μ_sv, c_uv = μ_uv for edge appearances μ [edges] that lie in the spanning-forest
// polytope, as the averages of sampled forests do, with the split that they tell: convex, and an upper bound.
func treeReweighted(g *graph.Graph, appearance, split []float64) (*Numbers, error) {
	node := constants(g.NumNodes(), 1)
	u, v := g.Ends()
	for e, mu := range appearance {
		node[u[e]] -= mu
		node[v[e]] -= mu
	}
	c, err := New("trw", g, node, appearance)
	if err != nil {
		return nil, err
	}
	c.countOnce()
	c.Facts = Facts{Convex: true, Bound: Upper}
	if g.IsForest() && !slices.ContainsFunc(appearance, func(mu float64) bool { return mu != 1 }) {
		c.Facts.Bound = Exact
	}
	c.certify(split)
	return c, nil
}

// classify numbers the distinct edge counting numbers if there are few.
func (c *Numbers) classify() {
	number := make(map[float64]uint8)
	class := make([]uint8, len(c.Edge))
	for e, x := range c.Edge {
		if _, known := number[x]; !known {
			if len(number) == maxClasses {
				return
			}
			number[x] = uint8(len(number))
		}
		class[e] = number[x]
	}
	c.EdgeClass, c.Classes = class, len(number)
}

func constants(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

// must is for counting numbers that are legal by construction.
func must(c *Numbers, err error) *Numbers {
	if err != nil {
		panic("counting: " + err.Error())
	}
	return c
}
