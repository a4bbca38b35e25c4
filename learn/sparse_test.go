package learn

import (
	"fmt"
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/partition"
)

// tighten undoes separateSparse: every pair of blocks gets a contribution.
func (l *learner) tighten(t *testing.T) {
	t.Helper()
	for _, b := range l.bundles {
		if err := b.numberGroups(l.bundles[0].units[0]); err != nil {
			t.Fatal(err)
		}
		b.separateSparse(0, 1)
		b.contribution = make([]float64, b.groups()*l.stride)
		for _, u := range b.units {
			if u.keptBeliefs = nil; u.sparseEdges.numbers != 0 {
				t.Fatalf("%d numbers are kept of sparse edges, want none", u.sparseEdges.numbers)
			}
		}
	}
}

// TestSparseAgrees: keeping beliefs of edges gives the gradient and the objective
// that keeping contributions gives, with and without missing labels, with types of
// all kinds, in one bundle and in many; and adding up changes gives what summing
// anew does.
func TestSparseAgrees(t *testing.T) {
	any, kinds := false, problems(t)
	untiedEdges := untiedShape(must(graph.Grid(4, 4, graph.GridOptions{})), 2)
	untiedEdges.schema.NodeTypes[0].Copies, untiedEdges.schema.NodeTypes[0].Features = 0, 30
	kinds["untied edges"] = untiedEdges.build(t, 10)
	for kind, p := range kinds {
		for _, pairs := range []bool{false, true} {
			s := Settings{Method: BBPL, Step: must(ParseStep("fixed:0.05")), GradientTolerance: 1e-300, Pairs: pairs, Threads: 2}
			s = s.Resolved()
			var got [2]*learner
			for i := range got {
				l := must(newLearner(&p, &s))
				defer l.pool.Close()
				if i == 1 {
					l.tighten(t)
				}
				for l.progress.Check.Active {
					must(l.checkStep())
				}
				for range 3*l.perPass() + 1 {
					if err := l.iterate(); err != nil {
						t.Fatal(err)
					}
				}
				got[i] = l
			}
			sparse, tight := got[0], got[1]
			for _, b := range sparse.bundles {
				for _, u := range b.units {
					any = any || len(u.keptBeliefs) > 0
				}
			}
			where := fmt.Sprintf("%s, pairs %t", kind, pairs)
			sameVector(t, where+": gradient", sparse.gradient, tight.gradient, 1e-9)
			sameVector(t, where+": weights", sparse.model.Weights, tight.model.Weights, 1e-9)
			sameVector(t, where+": moments", sparse.moments, tight.moments, 1e-9)
			before, moments := append([]float64(nil), sparse.total...), append([]float64(nil), sparse.moments...)
			sparse.resum()
			sameVector(t, where+": totals summed anew", sparse.total, before, 1e-12)
			sameVector(t, where+": moments summed anew", sparse.moments, moments, 1e-12)
		}
	}
	if !any {
		t.Error("no problem has a sparse pair of blocks")
	}
}

// sameVector compares two vectors by their largest entry.
func sameVector(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	scale := 1.0
	for _, x := range want {
		scale = max(scale, math.Abs(x))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*scale) {
			t.Errorf("%s[%d] is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// TestSparsePlaces: an edge of a sparse pair has a place of its own, the same seen from
// both blocks; pairs of few edges are sparse and others not.
func TestSparsePlaces(t *testing.T) {
	const stride, perEdge = 20, 9 // so that up to two edges are few
	b := scaleFree(t, 300, 30)
	pairs := b.countEdges()
	b.separateSparse(stride, perEdge)
	u := b.units[0]
	at := map[int][2]int32{} // place of an edge: the edge, and how often it was seen
	tight := map[int32]bool{}
	for x := range u.part.Blocks {
		for i, g := range u.part.Blocks[x].Groups {
			few := int(g.Hi-g.Lo) <= 2 && int(g.Other) != x
			if few != (u.slots[x][i] == isSparse) {
				t.Errorf("group %d of block %d with %d edges has slot %d", i, x, g.Hi-g.Lo, u.slots[x][i])
			}
			if !few {
				tight[b.touched[x][u.slots[x][i]]] = true
				continue
			}
			for q := g.Lo; q < g.Hi; q++ {
				e, place := u.part.Blocks[x].Edges[q], u.sparseEdges.first[x][i]+int(q-g.Lo)
				if known, ok := at[place]; ok && known[0] != e {
					t.Errorf("edges %d and %d have place %d", known[0], e, place)
				}
				at[place] = [2]int32{e, at[place][1] + 1}
			}
		}
	}
	for place, seen := range at {
		if place < 0 || place >= u.sparseEdges.count || seen[1] != 2 {
			t.Errorf("place %d of %d is that of edge %d, seen from %d blocks", place, u.sparseEdges.count, seen[0], seen[1])
		}
	}
	if len(at) != u.sparseEdges.count || u.sparseEdges.numbers != perEdge*len(at) || len(at) == 0 {
		t.Errorf("%d places are used, %d edges are sparse, %d numbers are kept", len(at), u.sparseEdges.count, u.sparseEdges.numbers)
	}
	if len(tight) != b.groups() || len(tight) == 0 || len(tight) >= len(pairs) {
		t.Errorf("%d of %d groups are used, of %d pairs", len(tight), b.groups(), len(pairs))
	}
}

// scaleFree is a bundle of one unit on a Barabási–Albert graph in blocks.
func scaleFree(t *testing.T, nodes, blocks int) *bundle {
	t.Helper()
	g := must(gen.BarabasiAlbert(nodes, 2, source(5)))
	part := must(partition.FromAssignment(g, must(partition.BreadthFirst(g, blocks)), blocks))
	b := &bundle{units: []*unit{{in: &crf.Instance{}, part: part}}}
	if err := b.numberGroups(b.units[0]); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVisitDoesNotGrow: in blocks of one size what a visit writes to, and what is
// kept per node, does not grow with the network, although the pairs of blocks do.
func TestVisitDoesNotGrow(t *testing.T) {
	const blockNodes, stride, perEdge = 50, 873, 65 // 8 states, 20 and 10 features
	measure := func(blocks int) (pairs, touched, kept float64) {
		b := scaleFree(t, blocks*blockNodes, blocks)
		pairs = float64(b.groups()) / float64(blocks)
		b.separateSparse(stride, perEdge)
		most := 0
		for x, ids := range b.touched {
			most = max(most, len(ids)+b.sparseSlots(x))
		}
		return pairs, float64(most), float64(b.groups()*stride+b.units[0].sparseEdges.numbers) / float64(blocks)
	}
	smallPairs, smallTouched, smallKept := measure(10)
	pairs, touched, kept := measure(160)
	if pairs < 4*smallPairs {
		t.Errorf("pairs per block grew from %v to %v: the graph tests nothing", smallPairs, pairs)
	}
	if touched > smallTouched+1 || kept > 2*smallKept {
		t.Errorf("contributions per visit grew from %v to %v, numbers kept per block from %v to %v", smallTouched, touched, smallKept, kept)
	}
}
