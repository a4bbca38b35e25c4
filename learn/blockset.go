package learn

import (
	"cmp"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
)

// blockSet is what is visited at a time: blocks of which no two share an edge, so that they can be
// visited in parallel. Each reads, of others, only what none of them changes.
type blockSet []int

// blockSets divides the blocks into sets of at most so many. A set has about as many blocks of
// each of mostParts stretches of the network, so that it stands for the whole network. In such an order each block
// goes into the first of the sets still open that has none of its neighbours. Blocks that are empty in all units are
// left out: no visit changes anything there, and a step after one would be one of stale beliefs.
func (l *learner) blockSets(most int) (all []blockSet) {
	most = max(1, most)
	sets := (l.blocks + most - 1) / most
	// Sets are as large as each other. Where some had room for more, blocks of the beginning of the
	// network would fill it, and the last sets have the end of the network alone.
	most = (l.blocks + sets - 1) / sets
	// Of each stretch a set has blocks that follow each other: they lie together in files. A single set
	// has no need of stretches.
	length := sets
	if sets > 1 {
		length = max(sets, (l.blocks+mostParts-1)/mostParts)
	}
	var order []int
	for at := range length {
		for block := at; block < l.blocks; block += length {
			if l.hasNodes(block) {
				order = append(order, block)
			}
		}
	}
	for _, blocks := range partition.Sets(order, l.neighbours(), most) {
		all = append(all, blocks)
	}
	return all
}

// orderJobs puts the blocks of sets, where there is one unit, whose jobs of each part follow the order of
// the blocks, in the order in which they are visited. One process goes through the network, as files are
// read best. Of several each has as much to do in every chunk: they take from all parts in turn.
func (l *learner) orderJobs(sets []blockSet) {
	for _, blocks := range sets {
		if !l.alone() {
			continue
		}
		slices.Sort(blocks)
		if l.settings.team.Size() == 1 {
			continue
		}
		turn, of := make(map[int]int, len(blocks)), [mostParts]int{}
		for _, block := range blocks {
			turn[block] = of[l.part[block]]
			of[l.part[block]]++
		}
		slices.SortStableFunc(blocks, func(x, y int) int { return cmp.Compare(turn[x], turn[y]) })
	}
}

// hasNodes reports whether a block has nodes in any unit.
func (j *unitSet) hasNodes(block int) bool {
	return slices.ContainsFunc(j.units, func(u *unit) bool { return len(u.partition.Blocks[block].Nodes) > 0 })
}

// neighbours lists, for every block, the others that an edge of some unit joins it to.
func (j *unitSet) neighbours() (all [][]int32) {
	j.eachPartition(func(p *partition.Partition) {
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

// visitShares returns, for every set of a pass, its share of all nodes and edges; of an edge each end has half.
// Networks count by their weights.
func (l *learner) visitShares() []float64 {
	shares, total := make([]float64, len(l.schedule)), 0.0
	for i, blocks := range l.schedule {
		for _, x := range blocks {
			for _, u := range l.units {
				block := &u.partition.Blocks[x]
				elements := float64(len(block.Nodes)) + float64(int(block.Groups[0].Hi)+len(block.Edges))/2
				shares[i] += max(0, u.weight) * elements
			}
		}
		total += shares[i]
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares
}

// eachUntied calls f for the weights of the untied elements of a set of a pass.
func (l *learner) eachUntied(visit int, f func(at, n int)) {
	for _, x := range l.schedule[visit] {
		for _, u := range l.units {
			l.eachUntiedOf(u, x, func(span *crf.Span, row int) { f(span.At+row*span.Copy(), span.Copy()) })
		}
	}
}
