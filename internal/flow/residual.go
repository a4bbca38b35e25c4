package flow

import "github.com/blockbp/blockbp/graph"

// Residual is a flow problem under way: nodes that have excess or room, and what the arcs between neighbours can
// still carry. Excess is to be moved to nodes with room by Settle.
type Residual struct {
	g        *graph.Graph
	residual []float64 // [directed edges] what the arc from Target(d) to Source(d) can carry
	load     []float64 // [nodes] what the node holds
	capacity []float64 // [nodes] most that the node may hold
	// negligible is the amount that is not worth moving. Without it, rounding
	// would leave crumbs that take rounds of their own.
	negligible float64

	// level is the distance [nodes] from the overfull nodes or to the nodes with room, or unreached; reached lists the
	// nodes that have one, ascending by level.
	level, reached []int32
}

// unreached is the level of a node that the last search did not reach.
const unreached = -1

// newResidual is a problem without excess or capacity anywhere.
func newResidual(g *graph.Graph, negligible float64) *Residual {
	n := g.NumNodes()
	f := &Residual{
		g: g, negligible: negligible,
		residual: make([]float64, 2*g.NumEdges()), load: make([]float64, n), capacity: make([]float64, n),
		level: make([]int32, n),
	}
	for s := range f.level {
		f.level[s] = unreached
	}
	return f
}

// Divide is the problem of splitting the amount [edges] of every edge between its two ends, so that no node holds
// more than its capacity [nodes]. It begins with half of each amount at either end; what an edge has placed at one
// end can be moved over to the other, so it is the residual capacity of that arc. capacity is kept, not copied.
// Amounts up to negligible are not moved.
func Divide(g *graph.Graph, amount, capacity []float64, negligible float64) *Residual {
	f := newResidual(g, negligible)
	f.capacity = capacity
	for e, a := range amount {
		f.residual[2*e], f.residual[2*e+1] = a/2, a/2
		f.load[g.U(int32(e))] += a / 2
		f.load[g.V(int32(e))] += a / 2
	}
	return f
}

// Room returns how much more node s may hold; it is negative for excess.
func (f *Residual) Room(s int32) float64 { return f.capacity[s] - f.load[s] }

// Placed returns what the edge of d has at the target of d.
func (f *Residual) Placed(d int32) float64 { return f.residual[d] }
