package learn

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestUnitsShareResults: units add up to the same in one job as in a job each, also where weights differ, as of clamped
// units, for all kinds of visits.
func TestUnitsShareResults(t *testing.T) {
	several := false
	for kind, p := range problems(t) {
		for _, v := range []visit{{kind: stepVisit}, {kind: consistentVisit}} {
			var ls [2]*learner
			for i := range ls {
				q := p.startingAt(p.randomWeights(1, 0.5))
				s := must(Settings{Method: BBPL, Assign: blocksOf(3), Threads: 2}.resolve(&q))
				l := must(newLearner(&q, &s))
				defer l.pool.Close()
				if i == 1 {
					several = several || len(l.units) > 1
					l.unitBounds = []int{0, len(l.units)}
				}
				for range 2 {
					for _, t := range l.schedule.wholePass {
						v := v
						v.blocks, v.limits = t, l.messages.wholeLimits()
						must(l.visitBlocks(v))
					}
				}
				ls[i] = l
			}
			where := fmt.Sprintf("%s, kind %d", kind, v.kind)
			sameVector(t, where+": totals", ls[1].sums.total, ls[0].sums.total, 1e-12)
			sameVector(t, where+": moments", ls[1].sums.moments, ls[0].sums.moments, 1e-11)
			ls[1].sumContributions()
			sameVector(t, where+": totals summed anew", ls[1].sums.total, ls[0].sums.total, 1e-12)
		}
	}
	if !several {
		t.Error("no problem has several units")
	}
}

// TestDivideUnits: jobs have all units, each once and in order, about as much work each, and are no more than asked for.
func TestDivideUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := 1 << rapid.IntRange(10, 22).Draw(t, "stride")
		b, most, total := &unitSet{}, 0, 0
		for _, work := range rapid.SliceOfN(rapid.IntRange(0, 50), 1, 400).Draw(t, "work") {
			b.units = append(b.units, &unit{partition: &partition.Partition{Blocks: []partition.Block{{Nodes: make([]int32, work)}}}})
			most, total = max(most, 1+work), total+1+work
		}
		b.divideUnits(stride)
		want := min(len(b.units), resultsAtATime, max(leastJobs, resultNumbers/stride))
		oracle.MustEqual(t, b.perBlock(), want, "jobs of %d units", len(b.units))
		oracle.Equal(t, []int{b.unitBounds[0], b.unitBounds[want]}, []int{0, len(b.units)}, "the first and the last unit")
		oracle.Equal(t, slices.IsSorted(b.unitBounds), true, "whether %v are in order", b.unitBounds)
		for i, lo := range b.unitBounds[:want] {
			work := 0
			for _, u := range b.units[lo:b.unitBounds[i+1]] {
				work += 1 + u.work()
			}
			if work == 0 || work > total/want+most+1 {
				t.Errorf("job %d of %d has %d of %d, and the largest unit %d", i, want, work, total, most)
			}
		}
	})
}
