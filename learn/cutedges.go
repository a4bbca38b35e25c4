package learn

import (
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// A visit of either of its blocks changes the belief of a cut edge. So each keeps what it was at the last visit, and a
// visit adds M (τ_new − τ_old) of its cut edges to the totals: work and memory of a visit follow the edges of its
// block, and not the number of blocks that it is next to, which is large on graphs without an order.

// cutEdges says where the beliefs of a unit's cut edges are kept, by the number of the pair of blocks that they join:
// those of a pair follow each other in the order of the edges, which is the same seen from both blocks. Units with the
// same partition share it.
type cutEdges struct {
	firstEdge []int // [pairs] the first edge of each
	count     int   // edges
}

// placeCutEdges finds where all units keep their cut edges.
func (l *learner) placeCutEdges() {
	if !l.keepsCut() {
		return
	}
	ofPartition := map[*partition.Partition]*cutEdges{}
	for _, u := range l.units {
		if ofPartition[u.partition] == nil {
			c := &cutEdges{firstEdge: make([]int, u.partition.NumGroups)}
			for x := range u.partition.Blocks {
				for _, g := range u.partition.Blocks[x].Groups {
					if int(g.Other) > x {
						c.firstEdge[g.ID] = c.count
						c.count += int(g.Hi - g.Lo)
					}
				}
			}
			ofPartition[u.partition] = c
		}
		u.cutEdges = ofPartition[u.partition]
	}
}

// keepsCut reports whether there are cut edges that keep their beliefs.
func (l *learner) keepsCut() bool { return l.blocks > 1 }

// numbersPerCutEdge returns how many numbers are kept of a cut edge: its belief, which for untied types is elsewhere,
// its part of the upper bound, and its entropy times the counting number.
func (l *learner) numbersPerCutEdge() int {
	largest := 0
	for _, span := range l.model.Layout.Edge {
		if !span.Untied {
			largest = max(largest, span.States)
		}
	}
	return largest + 2
}

// cutNumbers returns how many numbers the cut edges of a unit keep, and cutRange where those of a group are.
func (l *learner) cutNumbers(u *unit) int {
	if !l.keepsCut() {
		return 0
	}
	return u.cutEdges.count * l.cutStride
}

func (l *learner) cutRange(u *unit, g *partition.Group) (at, n int) {
	return u.cutEdges.firstEdge[g.ID] * l.cutStride, int(g.Hi-g.Lo) * l.cutStride
}

// findPlaces finds where the cut edges of a block are kept.
func (w *worker) findPlaces(u *unit, block *partition.Block) {
	w.places = w.places[:0]
	for _, g := range block.Groups[1:] {
		for i := range g.Hi - g.Lo {
			w.places = append(w.places, int32(u.cutEdges.firstEdge[g.ID])+i)
		}
	}
}

// placesOf returns those of the edges lo ≤ q < hi.
func (w *worker) placesOf(block *partition.Block, lo, hi int) []int32 {
	inside := int(block.Groups[0].Hi)
	return w.places[lo-inside : hi-inside]
}

// changeEdges puts the beliefs of the cut edges lo ≤ q < hi of a block, all of one type, in their places, and adds up
// what that changes. It overwrites beliefs.
func (l *learner) changeEdges(w *worker, s *jobResult, u *unit, block *partition.Block, lo, hi int, beliefs []float64) {
	edges, places := block.Edges[lo:hi], w.placesOf(block, lo, hi)
	t := u.in.EdgeType(edges[0])
	span := &l.model.Layout.Edge[t]
	w.scratch = numeric.Resize(w.scratch, span.States)
	for i, e := range edges {
		kept := u.cutBeliefs[int(places[i])*l.cutStride:][:l.cutStride]
		belief, last := beliefs[i*span.States:][:span.States], kept[l.cutStride-2:]
		for j, is := range [2]float64{w.logs[i], u.net.Counting.Edge[e] * simd.Entropy(belief, w.scratch)} {
			s.cut[l.boundAt()+j] += w.scale * (is - last[j])
			last[j] = is
		}
		if span.Untied {
			l.takeUntied(w, s, span, u.in.EdgeFeatures(t), u.in.EdgeRow(e), belief)
			continue
		}
		simd.AddScaled(belief, kept, -1)
		addTo(kept[:span.States], belief) // in a kernel, and as new as rounding makes it
	}
	if !span.Untied {
		w.rescale(beliefs, nil)
		bp.AddRows(s.cut[l.edgeMoment[t]:][:span.States], beliefs)
		w.adjoint.ScatterEdges(s.cut[span.Part:][:span.Len], u.in, edges, beliefs)
	}
}

// sumCut adds up what is kept of the edges between a block and higher ones.
func (l *learner) sumCut(w *worker, s *jobResult, u *unit, blockIndex int) {
	block := &u.partition.Blocks[blockIndex]
	for _, g := range block.Groups {
		if !l.keepsCut() || int(g.Other) <= blockIndex {
			continue
		}
		at, _ := l.cutRange(u, &g)
		for i := g.Lo; i < g.Hi; i++ {
			kept := u.cutBeliefs[at:][:l.cutStride]
			at += l.cutStride
			simd.AddScaled(s.cut[l.boundAt():], kept[l.cutStride-2:], w.scale)
			t := u.in.EdgeType(block.Edges[i])
			if span := &l.model.Layout.Edge[t]; !span.Untied {
				belief := w.belief[:span.States]
				for j, x := range kept[:span.States] {
					belief[j] = w.scale * x
				}
				w.adjoint.ScatterEdges(s.cut[span.Part:][:span.Len], u.in, block.Edges[i:i+1], belief)
				simd.AddScaled(s.cut[l.edgeMoment[t]:][:span.States], belief, 1)
			}
		}
	}
}
