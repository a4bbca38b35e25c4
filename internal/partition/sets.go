package partition

import "slices"

// openSets is how many sets may be waiting for more blocks: with more of them, Sets
// would stray far from the order of the blocks.
const openSets = 4

// Sets divides blocks into sets of at most so many, of which no two are neighbours. Each goes, in the
// order given, into the first of the sets still open that has none of its neighbours.
func Sets(order []int, neighbours [][]int32, most int) (sets [][]int) {
	of := make([]int, len(neighbours)) // 1 + the set of each block that was placed
	for _, block := range order {
		at := max(0, len(sets)-openSets)
		next := func(b int32) bool { return of[b] == at+1 }
		for at < len(sets) && (len(sets[at]) >= most || slices.ContainsFunc(neighbours[block], next)) {
			at++
		}
		if at == len(sets) {
			sets = append(sets, nil)
		}
		sets[at] = append(sets[at], block)
		of[block] = at + 1
	}
	return sets
}
