package learn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTurns: a pass has every block of every bundle once, in turns of at most so
// many blocks, no two of which share an edge in any unit, near the order of the
// blocks.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		options := problemOptions{rows: rapid.IntRange(1, 7).Draw(r, "rows"), cols: rapid.IntRange(2, 7).Draw(r, "cols"), states: 2, nodeDim: 1, edgeDim: 1, l2: 1}
		p := randomProblem(t, 1, options)
		p.Data = append(p.Data, randomProblem(t, 2, options).Data...)
		blocks := rapid.IntRange(1, min(12, options.rows*options.cols)).Draw(r, "blocks")
		s := Settings{Pairs: rapid.Bool().Draw(r, "pairs"), Together: rapid.IntRange(1, 5).Draw(r, "together"), Assign: blocksOf(blocks)}.withDefaults()
		l, err := newLearner(&p, &s)
		if err != nil {
			r.Fatal(err)
		}
		defer l.pool.close()
		l.checkTurns(r, l.schedule, s.Together)
		l.checkTurns(r, l.checkSchedule, sharesAtATime)
		if s.Together == 1 && !slices.IsSortedFunc(l.schedule, func(a, b turn) int { return 1000*(a.bundle-b.bundle) + a.blocks[0] - b.blocks[0] }) {
			r.Errorf("turns of one block are not in the order of the blocks: %v", l.schedule)
		}
	})
}

func (l *learner) checkTurns(t *rapid.T, turns []turn, most int) {
	seen := map[[2]int]bool{}
	for _, turn := range turns {
		if len(turn.blocks) == 0 || len(turn.blocks) > most {
			t.Fatalf("turn %v, want 1 to %d blocks", turn, most)
		}
		for _, block := range turn.blocks {
			if seen[[2]int{turn.bundle, block}] {
				t.Fatalf("block %d of bundle %d comes twice", block, turn.bundle)
			}
			seen[[2]int{turn.bundle, block}] = true
		}
		for _, u := range l.bundles[turn.bundle].units {
			of := u.part.Of
			ends, others := u.in.Graph.Ends()
			for e := range ends {
				a, b := int(of[ends[e]]), int(of[others[e]])
				if a != b && slices.Contains(turn.blocks, a) && slices.Contains(turn.blocks, b) {
					t.Fatalf("turn %v has blocks %d and %d, which edge %d joins", turn.blocks, a, b, e)
				}
			}
		}
	}
	if len(seen) != len(l.bundles)*l.blocks {
		t.Fatalf("%d blocks in a pass, want %d", len(seen), len(l.bundles)*l.blocks)
	}
}

// TestTurnsFill: where blocks have few neighbours, turns are nearly full.
func TestTurnsFill(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 1, cols: 400, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	s := Settings{Together: 4, Cut: Cut{Kind: CutRanges, Blocks: 40}}.withDefaults()
	l := must(newLearner(&p, &s))
	defer l.pool.close()
	if got := l.perPass(); got < 10 || got > 12 {
		t.Errorf("40 blocks of a chain, four at a time, take %d turns: %v", got, l.schedule)
	}
}
