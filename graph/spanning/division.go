package spanning

import "github.com/blockbp/blockbp/graph"

// division is a way to split the amount of every edge between its two ends,
// with a capacity for what each node may hold. It is a flow problem on the nodes
// alone: what edge {s, t} has placed at s can be moved over to t, so it is the
// residual capacity of the arc from s to t. The excess of overfull nodes is to
// be moved to nodes with room: for all nodes together by settle (waves.go), for
// a single node by drain (paths.go).
type division struct {
	g        *graph.Graph
	share    []float64 // [directed edges] amount of edge d>>1 placed at Target(d)
	load     []float64 // [nodes] sum of the shares placed at the node
	capacity []float64 // [nodes] most that the node may hold
	// negligible is the amount that is not worth moving. Without it, rounding
	// would leave crumbs that take rounds of their own.
	negligible float64

	// level is the distance [nodes] from the overfull nodes or to the nodes with
	// room, or unreached; reached lists the nodes that have one, ascending by
	// level. arc and path belong to the search for paths: how many incoming
	// edges of a node are used up [nodes], and the directed edges from an
	// overfull node to the current one, each crossed from target to source.
	level, reached []int32
	arc, path      []int32

	scansLeft int64 // arcs that may still be looked at
}

// unreached is the level of a node that the last search did not reach.
const unreached = -1

// newDivision places half of each amount at either end. capacity is kept, not
// copied; the work is limited to the given number of arc scans.
func newDivision(g *graph.Graph, amount, capacity []float64, negligible float64, scans int64) *division {
	n := g.NumNodes()
	f := &division{
		g: g, capacity: capacity, negligible: negligible, scansLeft: scans,
		share: make([]float64, 2*g.NumEdges()), load: make([]float64, n),
		level: make([]int32, n), arc: make([]int32, n),
	}
	for s := range f.level {
		f.level[s] = unreached
	}
	for e, a := range amount {
		f.share[2*e], f.share[2*e+1] = a/2, a/2
		f.load[g.U(int32(e))] += a / 2
		f.load[g.V(int32(e))] += a / 2
	}
	return f
}

// room returns how much more node s may hold; it is negative for excess.
func (f *division) room(s int32) float64 { return f.capacity[s] - f.load[s] }

// forgetLevels makes all nodes unreached.
func (f *division) forgetLevels() {
	for _, s := range f.reached {
		f.level[s] = unreached
	}
	f.reached = f.reached[:0]
}

func (f *division) reach(s, level int32) {
	f.level[s] = level
	f.reached = append(f.reached, s)
}

// leave takes node s and its edges out of the problem.
func (f *division) leave(s int32) {
	for _, d := range f.g.Incoming(s) {
		f.load[f.g.Source(d)] -= f.share[d^1]
		f.share[d], f.share[d^1] = 0, 0
	}
	f.load[s], f.capacity[s] = 0, 0
}
