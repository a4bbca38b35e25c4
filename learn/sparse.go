package learn

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// A pair of blocks is sparse where so few edges join it that their beliefs take less
// room than a contribution to the gradient. Then the beliefs are kept, edge by edge,
// and a visit adds M (τ_new − τ_old) of all its sparse pairs up in one contribution
// that goes into the totals and is forgotten. On a graph whose blocks are next to a
// great many others, with an edge or two to each, work and memory of a visit then
// follow the edges of the block, and not the number of blocks of the network.

// isSparse is the slot of a group of a sparse pair.
const isSparse = -1

// sparseEdges says where the beliefs of a unit's sparse pairs are kept. Units with the
// same partition share it.
type sparseEdges struct {
	first [][]int // [block][group of the block] place of its first edge, where it is sparse
	count int     // edges
	// numbers is the length of unit.keptBeliefs.
	numbers int
}

// separateSparse takes the sparse pairs out of the numbering of the bundle. stride is the
// length of a contribution, and perEdge what is kept of an edge.
func (b *bundle) separateSparse(stride, perEdge int) {
	edges := b.countEdges()
	sparse := make([]bool, len(edges))
	number := make([]int32, len(edges)) // among those that are not sparse
	next := int32(0)
	for id, n := range edges {
		sparse[id] = n >= 0 && n*perEdge < stride
		number[id] = next
		if !sparse[id] {
			next++
		}
	}
	places := map[*partition.Partition]*sparseEdges{}
	for _, u := range b.units {
		if places[u.part] == nil {
			places[u.part] = b.placeSparse(u, sparse)
		}
		u.sparseEdges = places[u.part]
		u.sparseEdges.numbers = u.sparseEdges.count * perEdge
	}
	b.hasSparse = make([]bool, len(b.touched))
	for x, ids := range b.touched {
		kept := ids[:0]
		for _, id := range ids {
			if sparse[id] {
				b.hasSparse[x] = true
				continue
			}
			kept = append(kept, number[id])
		}
		b.touched[x] = kept
	}
	b.first = make([]int32, 1, len(b.touched)+1)
	for _, ids := range b.touched {
		next := b.first[len(b.first)-1]
		for _, id := range ids {
			next = max(next, id+1)
		}
		b.first = append(b.first, next)
	}
}

// countEdges returns how many edges join each pair of blocks, in all units; −1 for a
// block with itself, which is never sparse: its contribution has the nodes.
func (b *bundle) countEdges() []int {
	edges := make([]int, b.groups())
	for _, u := range b.units {
		for x := range u.part.Blocks {
			for i, g := range u.part.Blocks[x].Groups {
				id := b.touched[x][u.slots[x][i]]
				switch {
				case int(g.Other) == x:
					edges[id] = -1
				case int(g.Other) > x: // once per pair
					edges[id] += int(g.Hi - g.Lo)
				}
			}
		}
	}
	return edges
}

// placeSparse gives every edge of a sparse pair of a unit its place, the same seen from both
// blocks, and counts the slots of a block without the sparse ones.
func (b *bundle) placeSparse(u *unit, sparse []bool) *sparseEdges {
	p := u.part
	places := &sparseEdges{first: make([][]int, len(p.Blocks))}
	of := make([]int, len(sparse)) // first edge of a pair, as the lower block has found it
	var shift []int32              // [touched pairs] how many sparse ones come before
	for x := range p.Blocks {
		shift = shift[:0]
		n := int32(0)
		for _, id := range b.touched[x] {
			shift = append(shift, n)
			if sparse[id] {
				n++
			}
		}
		groups := p.Blocks[x].Groups
		places.first[x] = make([]int, len(groups))
		for i, g := range groups {
			slot := u.slots[x][i]
			id := b.touched[x][slot]
			u.slots[x][i] = slot - shift[slot]
			if !sparse[id] {
				continue
			}
			if int(g.Other) > x {
				of[id] = places.count
				places.count += int(g.Hi - g.Lo)
			}
			u.slots[x][i], places.first[x][i] = isSparse, of[id]
		}
	}
	return places
}

// sparseSlots returns how many contributions a visit of the block needs besides those
// of the pairs it touches.
func (b *bundle) sparseSlots(block int) int {
	if b.hasSparse[block] {
		return 1
	}
	return 0
}

// keptPerEdge returns how many numbers are kept of an edge of a sparse pair: its belief, which
// for untied types is kept elsewhere, its part of the upper bound, and its entropy times the
// counting number.
func (l *learner) keptPerEdge() int {
	largest := 0
	for _, span := range l.model.Layout.Edge {
		if !span.Untied {
			largest = max(largest, span.States)
		}
	}
	return largest + 2
}

// contributeSparse does what contributeEdges does for the run of sparse groups that
// begins with the g-th of the block, and returns the end of this run.
func (l *learner) contributeSparse(w *worker, s *unitResult, u *unit, blockIndex, g int) (end int, err error) {
	block, slots := &u.part.Blocks[blockIndex], u.slots[blockIndex]
	for end = g; end < len(slots) && slots[end] == isSparse; {
		end++
	}
	change := s.tied[len(s.tied)-l.stride:]
	for q, hi := int(block.Groups[g].Lo), int(block.Groups[end-1].Hi); q < hi; {
		to := ground.EdgeRun(u.in, block.Edges, q, min(q+l.edgesTogether, hi))
		w.places = w.places[:0]
		for i := q; i < to; i++ {
			for int(block.Groups[g].Hi) <= i {
				g++
			}
			w.places = append(w.places, int32(u.sparseEdges.first[blockIndex][g]+i-int(block.Groups[g].Lo)))
		}
		// What is kept lies anywhere in memory, and so do features.
		w.adjoint.PrefetchEdges(u.in, block.Edges[q:to])
		simd.PrefetchRows(u.keptBeliefs, w.places, l.perSparseEdge)
		span := &l.model.Layout.Edge[u.in.EdgeType(block.Edges[q])]
		free, err := l.edgeBeliefs(w, nil, u, block, q, to)
		if err != nil {
			return end, err
		}
		beliefs := w.belief[:(to-q)*span.States]
		if _, err := w.crossEdges(u, block, q, to, beliefs, free); err != nil {
			return end, err
		}
		for i := 0; w.bounds && u.labels == nil && !u.byConsistent() && i < to-q; i++ {
			w.logs[i] = w.space.PairFreeEnergy(beliefs[i*span.States:][:span.States], u.net, block, q+i)
		}
		if w.certify {
			_, feasible, err := l.consistentEdges(w, beliefs, u, block, q, to)
			if err != nil {
				return end, err
			}
			s.infeasible = s.infeasible || !feasible
		}
		if w.bounds && u.byConsistent() {
			w.freeEnergies(u, block, q, beliefs)
		}
		l.changeEdges(w, s, u, change, block.Edges[q:to], span, beliefs)
		q = to
	}
	return end, nil
}

// changeEdges puts the beliefs of edges of one type in their places and adds what that
// changes to change. It overwrites beliefs.
func (l *learner) changeEdges(w *worker, s *unitResult, u *unit, change []float64, edges []int32, span *crf.Span, beliefs []float64) {
	for i, e := range edges {
		kept := u.keptBeliefs[int(w.places[i])*l.perSparseEdge:][:l.perSparseEdge]
		belief, last := beliefs[i*span.States:][:span.States], kept[l.perSparseEdge-2:]
		for j, is := range [2]float64{w.logs[i], u.net.Counting.Edge[e] * simd.Entropy(belief)} {
			change[l.crossAt()+j] += is - last[j]
			last[j] = is
		}
		if span.Untied {
			l.takeUntied(s, span, u.in.EdgeRow(e), belief)
			continue
		}
		for j, x := range belief {
			belief[j], kept[j] = x-kept[j], x
		}
		simd.AddScaled(change[l.edgeMoment[u.in.EdgeType(e)]:][:span.States], belief, 1)
	}
	if !span.Untied {
		w.adjoint.ScatterEdges(change[span.Part:][:span.Len], u.in, edges, beliefs)
	}
}

// resumSparse adds up what is kept of the edges of a block in sparse pairs with higher blocks.
func (l *learner) resumSparse(w *worker, s *unitResult, u *unit, blockIndex int) {
	if len(u.keptBeliefs) == 0 {
		l.beginTied(s, u, 0)
		return
	}
	l.beginTied(s, u, 1)
	sum, block := s.tied, &u.part.Blocks[blockIndex]
	for i, g := range block.Groups {
		if u.slots[blockIndex][i] != isSparse || int(g.Other) < blockIndex {
			continue // not sparse, or of the other block
		}
		for q := g.Lo; q < g.Hi; q++ {
			e := block.Edges[q]
			kept := u.keptBeliefs[(u.sparseEdges.first[blockIndex][i]+int(q-g.Lo))*l.perSparseEdge:][:l.perSparseEdge]
			addTo(sum[l.crossAt():], kept[l.perSparseEdge-2:])
			t := u.in.EdgeType(e)
			if span := &l.model.Layout.Edge[t]; !span.Untied {
				w.adjoint.ScatterEdge(sum[span.Part:][:span.Len], u.in, e, kept[:span.States])
				simd.AddScaled(sum[l.edgeMoment[t]:][:span.States], kept[:span.States], 1)
			}
		}
	}
}

// addChange adds a contribution to the totals.
func (l *learner) addChange(change []float64) {
	for _, span := range l.tied {
		simd.AddScaled(l.total[span.At:][:span.Len], change[span.Part:][:span.Len], 1)
	}
	addTo(l.moments, change[l.model.Layout.TiedSize:])
}
