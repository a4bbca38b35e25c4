package learn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/distributed"
)

// TestBlockSets: a pass has every block once, in sets of at most so
// many blocks, no two of which share an edge in any unit, near the order of the
// blocks.
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
		l.checkBlockSets(r, l.schedule, s.Together)
		l.checkBlockSets(r, l.whole, blocks)
		if s.Together == 1 && !slices.IsSortedFunc(l.schedule, func(a, b blockSet) int { return a[0] - b[0] }) {
			r.Errorf("sets of one block are not in the order of the blocks: %v", l.schedule)
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
	if len(seen) != l.blocks {
		t.Fatalf("%d blocks in a pass, want %d", len(seen), l.blocks)
	}
}

// TestBlockSetsFill: where blocks have few neighbours, sets are nearly full.
func TestBlockSetsFill(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 1, cols: 400, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	s := Settings{Method: BBPL, Together: 4, Cut: Cut{Kind: "range", Blocks: 40}}.Resolved()
	l := must(newLearner(&p, &s))
	defer l.pool.Close()
	if got := l.perPass(); got < 10 || got > 12 {
		t.Errorf("40 blocks of a chain, four at a time, take %d sets: %v", got, l.schedule)
	}
}

// chainInBlocks has a chain in blocks of two nodes, of which so many are visited together.
func chainInBlocks(t *testing.T, blocks, together int) *learner {
	t.Helper()
	p := randomProblem(t, 1, problemOptions{rows: 1, cols: 2 * blocks, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	s := Settings{Method: BBPL, Together: together, Cut: Cut{Kind: "range", Blocks: blocks}}.Resolved()
	l := must(newLearner(&p, &s))
	t.Cleanup(l.pool.Close)
	return l
}

// TestBlocksOfSetsFollowEachOther: a large set has as many blocks of each of mostParts stretches of the
// network as of any other, and these lie beside each other, but for those that share edges. A check
// visits all that share none.
func TestBlocksOfSetsFollowEachOther(t *testing.T) {
	const blocks = 16 * mostParts
	l := chainInBlocks(t, blocks, 4*mostParts)
	for i, set := range l.schedule {
		of := make([]int, mostParts)
		for k, b := range set {
			if of[b*mostParts/blocks]++; k%4 > 0 && b != set[k-1]+2 {
				t.Errorf("set %d: block %d follows block %d", i, b, set[k-1])
			}
		}
		if slices.Min(of) != 4 || slices.Max(of) != 4 {
			t.Errorf("set %d has so many blocks of each stretch: %v", i, of)
		}
	}
	if len(l.schedule) != 4 || len(l.whole) != 2 {
		t.Errorf("%d sets, and %d of a check, want 4 and 2", len(l.schedule), len(l.whole))
	}
}

// severalProcesses is a Group of which only the size is asked.
type severalProcesses struct{ Group }

func (severalProcesses) Size() int { return 8 }
func (severalProcesses) Rank() int { return 0 }

// TestOrderOfJobs: several processes visit the same blocks as one, those of each part in the same order,
// and each chunk has blocks of all parts.
func TestOrderOfJobs(t *testing.T) {
	const blocks = 16 * mostParts
	l := chainInBlocks(t, blocks, 8*mostParts)
	byParts := func(list []int) [][]int {
		of := make([][]int, mostParts)
		for _, b := range list {
			of[l.part[b]] = append(of[l.part[b]], b)
		}
		return of
	}
	for _, sets := range [][]blockSet{l.schedule, l.whole} {
		for _, set := range sets {
			one := slices.Clone(set)
			if !slices.IsSorted(one) {
				t.Errorf("one process visits %v", one)
			}
			l.settings.team = distributed.NewTeam(severalProcesses{})
			l.orderJobs([]blockSet{set})
			l.settings.team = distributed.NewTeam(nil)
			if !slices.EqualFunc(byParts(one), byParts(set), slices.Equal[[]int]) {
				t.Error("blocks of a part are others, or in another order")
			}
			for chunk := range slices.Chunk(set, l.atATime(set)) {
				for i, of := range byParts(chunk) {
					if most := len(chunk)/mostParts + 2; len(of) > most || len(of) < most-4 {
						t.Errorf("a chunk of %d blocks has %d of part %d", len(chunk), len(of), i)
					}
				}
			}
		}
	}
}
