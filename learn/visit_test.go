package learn

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/partition"
)

// TestUnitsShareResults: units add up to the same in one job as in a job each, also where weights differ, as of clamped
// units, for all kinds of visits.
func TestUnitsShareResults(t *testing.T) {
	several := false
	for kind, p := range problems(t) {
		for _, v := range []visit{{}, {nearly: true}, {bounds: true, certify: true}} {
			var ls [2]*learner
			for i := range ls {
				q := p.startingAt(p.randomWeights(1, 0.5))
				s := must(Settings{Method: BBPL, Assign: blocksOf(3), Threads: 2}.resolve(&q))
				l := must(newLearner(&q, &s))
				defer l.pool.Close()
				if b := l.bundles[0]; i == 1 {
					several = several || len(b.units) > 1
					b.shares = []int{0, len(b.units)}
				}
				for range 2 {
					for _, t := range l.whole {
						v := v
						v.bundle, v.blocks, v.contribute, v.limits = l.bundles[t.bundle], t.blocks, true, l.wholeLimits()
						must(l.visitBlocks(v))
					}
				}
				ls[i] = l
			}
			where := fmt.Sprintf("%s, bounds: %t", kind, v.bounds)
			sameVector(t, where+": totals", ls[1].total, ls[0].total, 1e-12)
			sameVector(t, where+": moments", ls[1].moments, ls[0].moments, 1e-11)
			ls[1].resum()
			sameVector(t, where+": totals summed anew", ls[1].total, ls[0].total, 1e-12)
		}
	}
	if !several {
		t.Error("no problem has several units")
	}
}

// TestDivideUnits: jobs have all units, each once and in order, about as much work each, and are no more than asked for.
func TestDivideUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &learner{blocks: 1, stride: 1 << rapid.IntRange(10, 22).Draw(t, "stride")}
		l.settings = &Settings{}
		b, most, total := &bundle{}, 0, 0
		for _, work := range rapid.SliceOfN(rapid.IntRange(0, 50), 1, 400).Draw(t, "work") {
			b.units = append(b.units, &unit{part: &partition.Partition{Blocks: []partition.Block{{Nodes: make([]int32, work)}}}})
			most, total = max(most, 1+work), total+1+work
		}
		l.divideUnits(b)
		want := min(len(b.units), resultsAtATime, max(leastShares, resultNumbers/l.stride))
		if b.jobs() != want || b.shares[0] != 0 || b.shares[want] != len(b.units) || !slices.IsSorted(b.shares) {
			t.Fatalf("%d units in %d jobs, want %d: %v", len(b.units), b.jobs(), want, b.shares)
		}
		for i, lo := range b.shares[:want] {
			work := 0
			for _, u := range b.units[lo:b.shares[i+1]] {
				work += 1 + u.work()
			}
			if work == 0 || work > total/want+most+1 {
				t.Errorf("job %d of %d has %d of %d, and the largest unit %d", i, want, work, total, most)
			}
		}
	})
}
