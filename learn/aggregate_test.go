package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestTotalsAreOfWhatIsKept: what visits have added up is what the contributions and the beliefs of cut edges come to,
// and after a visit of all blocks that makes no sweeps, the gradient of the same beliefs in one block: with and without
// missing labels, with types of all kinds.
func TestTotalsAreOfWhatIsKept(t *testing.T) {
	any, kinds := false, problems(t)
	untiedEdges := untiedShape(must(graph.Grid(4, 4, graph.GridOptions{})), 2)
	untiedEdges.schema.NodeTypes[0].Copies, untiedEdges.schema.NodeTypes[0].Features = 0, 30
	kinds["untied edges"] = untiedEdges.build(t, 10)
	for kind, p := range kinds {
		l := p.iterated(t, Settings{Method: BBPL, Step: must(ParseStep("fixed:0.05")), GradientTolerance: 1e-300, Threads: 2})
		for _, u := range l.units {
			any = any || len(u.cutBeliefs) > 0
		}
		before, moments := slices.Clone(l.sums.total), slices.Clone(l.sums.moments)
		l.sumContributions()
		sameVector(t, kind+": totals summed anew", l.sums.total, before, 1e-12)
		sameVector(t, kind+": moments summed anew", l.sums.moments, moments, 1e-12)

		whole := p.startingAt(l.model.Weights)
		s := must(Settings{Method: Full}.resolve(&whole))
		one := must(newLearner(&whole, &s))
		defer one.pool.Close()
		for i, u := range one.units {
			copy(u.state.LogMessage, l.units[i].state.LogMessage)
			copy(u.state.LogBelief, l.units[i].state.LogBelief)
		}
		for _, x := range []*learner{l, one} {
			for _, blocks := range x.schedule.wholePass {
				must(x.visitBlocks(visit{kind: forestVisit, blocks: blocks}))
			}
		}
		sameVector(t, kind+": totals", l.sums.total, one.sums.total, 1e-9)
		sameVector(t, kind+": moments", l.sums.moments, one.sums.moments, 1e-9)
	}
	if !any {
		t.Error("no problem has cut edges")
	}
}

// iterated is a run after some passes.
func (p Problem) iterated(t *testing.T, s Settings) *learner {
	t.Helper()
	s = must(s.resolve(&p))
	l := must(newLearner(&p, &s))
	t.Cleanup(l.pool.Close)
	for l.progress.Check.Active {
		must(l.visitInWholePass())
	}
	for range 3*l.schedule.perPass() + 1 {
		oracle.OK(t, l.iterate())
	}
	return l
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

// TestCutEdgesHavePlaces: every cut edge has a place of its own, the same seen from both blocks.
func TestCutEdgesHavePlaces(t *testing.T) {
	g := must(gen.BarabasiAlbert(300, 2, source(5)))
	part := must(partition.FromAssignment(g, partition.BreadthFirst(g, 30), 30))
	j := &unitSet{blocks: 30, units: []*unit{{partition: part}}}
	j.placeCutEdges()
	u, w := j.units[0], &worker{unit: j.units[0]}
	at := map[int32][2]int32{} // place of an edge: the edge, and how often it was seen
	for x := range part.Blocks {
		block := &part.Blocks[x]
		w.block = block
		w.findPlaces()
		inside := int(block.Groups[0].Hi)
		for i, place := range w.placesOf(inside, len(block.Edges)) {
			e := block.Edges[inside+i]
			if known, ok := at[place]; ok && known[0] != e {
				t.Errorf("edges %d and %d have place %d", known[0], e, place)
			}
			at[place] = [2]int32{e, at[place][1] + 1}
		}
	}
	for place, seen := range at {
		if place < 0 || int(place) >= u.cutEdges.count || seen[1] != 2 {
			t.Errorf("place %d of %d is that of edge %d, seen from %d blocks", place, u.cutEdges.count, seen[0], seen[1])
		}
	}
	share := partition.CutShare(part.Graph, part.Of) * float64(part.Graph.NumEdges())
	if want := int(math.Round(share)); len(at) != want || u.cutEdges.count != want || want == 0 {
		t.Errorf("%d places are used, %d edges have one, want %d", len(at), u.cutEdges.count, want)
	}
}
