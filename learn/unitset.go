package learn

import (
	"cmp"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
)

// unitSet has all units, which are visited together, block by block, and share one contribution to the gradient for
// each block. A job is the visit of a block in some of the units.
type unitSet struct {
	units      []*unit
	blocks     int     // D
	unitBounds []int   // [jobs of a block + 1] the first unit of each job, and the number of units (divideUnits)
	parts      []int32 // [block·units + unit] the part of a block in a unit (parts.go)
	// contribution [blocks][stride] is that of the last visits: see contribution.go.
	contribution []float64
}

// hasNodes reports whether a block has nodes in any unit.
func (s *unitSet) hasNodes(block int) bool {
	return slices.ContainsFunc(s.units, func(u *unit) bool { return len(u.partition.Blocks[block].Nodes) > 0 })
}

// neighbours lists, for every block, the others that an edge of some unit joins it to.
func (s *unitSet) neighbours() (all [][]int32) {
	s.eachPartition(func(p *partition.Partition) {
		if all == nil {
			all = make([][]int32, len(p.Blocks))
		}
		for x := range p.Blocks {
			for _, g := range p.Blocks[x].Groups[1:] {
				all[x] = append(all[x], g.Other)
			}
		}
	})
	return all
}

// divideUnits deals the units to jobs, which have about as much work each.
func (s *unitSet) divideUnits(stride int) {
	n, total, done := min(len(s.units), resultsAtATime, max(leastJobs, resultNumbers/stride)), 0, 0
	for _, u := range s.units {
		total += 1 + u.work()
	}
	s.unitBounds = append(s.unitBounds[:0], 0)
	for i, u := range s.units {
		// As many units are left as shares, at least.
		if i > 0 && (done*n >= len(s.unitBounds)*total || len(s.units)-i <= n-len(s.unitBounds)) && len(s.unitBounds) < n {
			s.unitBounds = append(s.unitBounds, i)
		}
		done += 1 + u.work()
	}
	s.unitBounds = append(s.unitBounds, len(s.units))
}

// perBlock returns how many jobs visit a block.
func (s *unitSet) perBlock() int { return len(s.unitBounds) - 1 }

// weight is the factor by which the sums of a job enter the totals: that of its first unit, or 1 if that is 0. Other
// units are scaled relatively to it (worker.scale).
func (s *unitSet) weight(first int) float64 { return cmp.Or(s.units[first].weight, 1) }

// jobsOf is how many jobs visit some blocks.
func (s *unitSet) jobsOf(blocks []int) int { return len(blocks) * s.perBlock() }

// job returns the block of a job, and the range lo to hi of units in which it is visited: all jobs of the first block
// come first.
func (s *unitSet) job(blocks []int, i int) (block, lo, hi int) {
	n := s.perBlock()
	return blocks[i/n], s.unitBounds[i%n], s.unitBounds[i%n+1]
}

// placeOfJob is that of a job among those of all blocks.
func (s *unitSet) placeOfJob(blocks []int, job int) int {
	n := s.perBlock()
	return blocks[job/n]*n + job%n
}

// atATime is how many jobs are done before their results are taken: those of some blocks, whole ones, and as many each
// time, except for the last.
func (s *unitSet) atATime(blocks []int) int {
	most := max(1, resultsAtATime/s.perBlock())
	times := (len(blocks) + most - 1) / most
	return (len(blocks) + times - 1) / times * s.perBlock()
}

// oneUnit reports whether there is one unit: each process then keeps the contributions of its own blocks.
func (s *unitSet) oneUnit() bool { return len(s.units) == 1 }

// partOf returns the part in whose sum a block is.
func (s *unitSet) partOf(block int) int32 {
	if s.oneUnit() {
		return s.parts[block]
	}
	return 0
}

// jobAt returns a unit and a block, by their place in s.parts.
func (s *unitSet) jobAt(at int) (u *unit, block int) {
	return s.units[at%len(s.units)], at / len(s.units)
}

// eachPartition calls do for every partition, which units may share, once.
func (s *unitSet) eachPartition(do func(*partition.Partition)) {
	seen := map[*partition.Partition]bool{}
	for _, u := range s.units {
		if !seen[u.partition] {
			seen[u.partition] = true
			do(u.partition)
		}
	}
}

// placeCutEdges finds where all units keep their cut edges.
func (s *unitSet) placeCutEdges() {
	ofPartition := map[*partition.Partition]*cutEdges{}
	for _, u := range s.units {
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

// resultsAtATime bounds how many results are kept before they are added up, in the order of the jobs.
const resultsAtATime = 256

// Units share the result of a job where one for each would have more than resultNumbers, down to leastJobs jobs a
// block: with the many features of texts, of which a sentence has few, going over all weights takes longer than
// inference. More threads than leastJobs have nothing to do there.
const (
	resultNumbers = 1 << 22
	leastJobs     = 8
)

// cutEdges says where the beliefs of a unit's cut edges are kept, by the number of the pair of blocks that they join:
// those of a pair follow each other in the order of the edges, which is the same seen from both blocks. Units with the
// same partition share it.
type cutEdges struct {
	firstEdge []int // [pairs] the first edge of each
	count     int   // edges
}

// blockSets divides the blocks into sets of at most so many. A set has about as many blocks of
// each of mostParts stretches of the network, so that it stands for the whole network. In such an order each block
// goes into the first of the sets still open that has none of its neighbours. Blocks that are empty in all units are
// left out: no visit changes anything there, and a step after one would be one of stale beliefs.
func (s *unitSet) blockSets(most int) (all []blockSet) {
	most = max(1, most)
	sets := (s.blocks + most - 1) / most
	// All sets are about as large. If some had room for more, blocks of the beginning of the network would fill it, and
	// leave its end to the last sets.
	most = (s.blocks + sets - 1) / sets
	// Of each stretch a set has blocks that follow each other: they lie together in files. One set needs no stretches.
	length := sets
	if sets > 1 {
		length = max(sets, (s.blocks+mostParts-1)/mostParts)
	}
	var order []int
	for at := range length {
		for block := at; block < s.blocks; block += length {
			if s.hasNodes(block) {
				order = append(order, block)
			}
		}
	}
	for _, blocks := range partition.Sets(order, s.neighbours(), most) {
		all = append(all, blocks)
	}
	return all
}

// inOrder puts the blocks of sets, where there is one unit, whose jobs of each part follow the order of
// the blocks, in the order in which they are visited. One process goes through the network, as files are
// read best. Of several each has as much to do in every chunk: they take from all parts in turn.
func (s *unitSet) inOrder(sets []blockSet, processes int) {
	for _, blocks := range sets {
		if !s.oneUnit() {
			continue
		}
		slices.Sort(blocks)
		if processes == 1 {
			continue
		}
		turn, of := make(map[int]int, len(blocks)), [mostParts]int{}
		for _, block := range blocks {
			turn[block] = of[s.parts[block]]
			of[s.parts[block]]++
		}
		slices.SortStableFunc(blocks, func(x, y int) int { return cmp.Compare(turn[x], turn[y]) })
	}
}

// untiedNumbers returns how many untied weights the elements of a job have.
func (s *unitSet) untiedNumbers(layout *crf.Layout, blocks []int, job int) (n int) {
	block, lo, hi := s.job(blocks, job)
	for _, u := range s.units[lo:hi] {
		u.eachUntied(layout, block, func(span *crf.Span, _ int) { n += span.Copy() })
	}
	return n
}
