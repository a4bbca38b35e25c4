package counting

import (
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// residual is the flow problem of dividing the amount of every edge between its two ends: nodes hold amounts, some
// more than they may, and excess is moved over edges to nodes with room.
type residual struct {
	g        *graph.Graph
	placed   []float64 // [directed edges] what the edge has at the target, which it can move to the source
	load     []float64 // [nodes] what the node holds
	capacity []float64 // [nodes] most that the node may hold
	// negligible is the amount that is not worth moving. Without it, rounding
	// would leave crumbs that take rounds of their own.
	negligible float64

	// level is the distance [nodes] to the nodes with room, or unreached; reached lists the
	// nodes that have one, ascending by level.
	level, reached []int32
}

// unreached is the level of a node that the last search did not reach.
const unreached = -1

// newResidual begins with half of each amount [edges] at either end.
func newResidual(g *graph.Graph, amount, capacity []float64, negligible float64) *residual {
	n := g.NumNodes()
	f := &residual{g: g, placed: make([]float64, 2*g.NumEdges()), load: make([]float64, n), capacity: capacity,
		negligible: negligible, level: slices.Repeat([]int32{unreached}, n)}
	for e, a := range amount {
		f.placed[2*e], f.placed[2*e+1] = a/2, a/2
		f.load[g.U(int32(e))] += a / 2
		f.load[g.V(int32(e))] += a / 2
	}
	return f
}

// room returns how much more node s may hold; it is negative for excess.
func (f *residual) room(s int32) float64 { return f.capacity[s] - f.load[s] }

// overfull reports whether node s has excess that is worth moving.
func (f *residual) overfull(s int32) bool { return f.room(s) < -f.negligible }

// settle moves as much excess as possible from all nodes to nodes with room.
//
// In each wave excess runs downhill, where the height of a node is its distance to the nearest node with room: from
// the highest nodes down, every overfull node gives all it can to nodes one lower. So excess from many nodes goes
// together along shared paths. What gets stuck on the way finds new heights in the next wave; the heights of overfull
// nodes only ever grow, so it ends. (This is the push-relabel method of Goldberg & Tarjan 1988 with exact heights.)
func (f *residual) settle() {
	for f.findHeights() {
		for i := len(f.reached) - 1; i >= 0; i-- {
			if s := f.reached[i]; f.level[s] > 0 && f.overfull(s) {
				f.pushDown(s)
			}
		}
	}
}

// findHeights gives every node the length of its shortest residual path to a
// node with room, as its level, and reports whether an overfull node has one.
func (f *residual) findHeights() (movable bool) {
	for _, s := range f.reached {
		f.level[s] = unreached
	}
	f.reached = f.reached[:0]
	for s := range int32(len(f.level)) {
		if f.room(s) > f.negligible {
			f.level[s], f.reached = 0, append(f.reached, s)
		}
	}
	for head := 0; head < len(f.reached); head++ {
		s := f.reached[head]
		for _, d := range f.g.Incoming(s) {
			// What the edge has at the other end can come here.
			if t := f.g.Source(d); f.level[t] == unreached && f.placed[d^1] > f.negligible {
				f.level[t], f.reached = f.level[s]+1, append(f.reached, t)
				movable = movable || f.overfull(t)
			}
		}
	}
	return movable
}

// pushDown gives the excess of node s to nodes one lower.
func (f *residual) pushDown(s int32) {
	for _, d := range f.g.Incoming(s) {
		t := f.g.Source(d)
		if f.level[t] != f.level[s]-1 {
			continue
		}
		amount := min(f.placed[d], -f.room(s))
		f.placed[d] -= amount
		f.placed[d^1] += amount
		f.load[s] -= amount
		f.load[t] += amount
		if f.room(s) >= -f.negligible {
			return
		}
	}
}
