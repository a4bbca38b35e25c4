package learn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestBlockSets: a pass has every block once, in sets of at most so many blocks, no two of which share an edge in any
// unit, near the order of the blocks.
func TestBlockSets(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		options := problemOptions{rows: rapid.IntRange(1, 7).Draw(r, "rows"), cols: rapid.IntRange(2, 7).Draw(r, "cols"), states: 2, nodeDim: 1, edgeDim: 1, l2: 1}
		p := randomProblem(t, 1, options)
		p.Data = append(p.Data, randomProblem(t, 2, options).Data...)
		blocks := rapid.IntRange(1, min(12, options.rows*options.cols)).Draw(r, "blocks")
		s := Settings{Together: rapid.IntRange(1, 5).Draw(r, "together"), Assign: blocksOf(blocks), Method: BBPL}.Resolved()
		l, err := newLearner(&p, &s)
		if err != nil {
			r.Fatal(err)
		}
		defer l.pool.Close()
		l.checkBlockSets(r, l.schedule.stepPass, s.Together)
		l.checkBlockSets(r, l.schedule.wholePass, blocks)
		if s.Together == 1 && !slices.IsSortedFunc(l.schedule.stepPass, func(a, b blockSet) int { return a[0] - b[0] }) {
			r.Errorf("sets of one block are not in the order of the blocks: %v", l.schedule.stepPass)
		}
	})
}

func (l *learner) checkBlockSets(t *rapid.T, sets []blockSet, most int) {
	seen := map[int]bool{}
	for _, set := range sets {
		if len(set) == 0 || len(set) > most {
			t.Fatalf("set %v, want 1 to %d blocks", set, most)
		}
		for _, block := range set {
			if seen[block] {
				t.Fatalf("block %d comes twice", block)
			}
			seen[block] = true
		}
		for _, u := range l.units {
			of := u.partition.Of
			ends, others := u.in.Graph.Ends()
			for e := range ends {
				a, b := int(of[ends[e]]), int(of[others[e]])
				if a != b && slices.Contains(set, a) && slices.Contains(set, b) {
					t.Fatalf("set %v has blocks %d and %d, which edge %d joins", set, a, b, e)
				}
			}
		}
	}
	oracle.MustEqual(t, len(seen), l.blocks, "blocks in a pass")
}

// TestBlockSetsFill: where blocks have few neighbours, sets are nearly full.
func TestBlockSetsFill(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 1, cols: 400, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	s := Settings{Method: BBPL, Together: 4, Cut: Cut{Kind: "range", Blocks: 40}}.Resolved()
	l := must(newLearner(&p, &s))
	defer l.pool.Close()
	if got := l.schedule.perPass(); got < 10 || got > 12 {
		t.Errorf("40 blocks of a chain, four at a time, take %d sets: %v", got, l.schedule.stepPass)
	}
}
