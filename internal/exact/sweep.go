package exact

import "slices"

// sweepRanks numbers the variables in reverse Cuthill–McKee order: a breadth first search from the rim of each
// component, neighbours by ascending degree, read backwards. Eliminating in that order sweeps a front across the
// network, which on grids is far narrower than what greedy rules find.
func sweepRanks(neighbours [][]int32) []uint32 {
	s := &searcher{neighbours: neighbours, seen: make([]int, len(neighbours))}
	rank := make([]uint32, len(neighbours))
	placed := make([]bool, len(neighbours))
	next := uint32(len(neighbours))
	for start := range neighbours {
		if placed[start] {
			continue
		}
		for _, v := range s.search(s.farthest(int32(start))) {
			placed[v] = true
			next--
			rank[v] = next
		}
	}
	return rank
}

// searcher runs breadth first searches on one graph.
type searcher struct {
	neighbours [][]int32
	seen       []int // [variable] number of the last search that met it
	searches   int
}

// farthest returns a variable at the rim of start's component: where a few
// searches, each from the end of the one before, come to their end.
func (s *searcher) farthest(start int32) int32 {
	const attempts = 4 // the depth hardly ever grows more often
	for range attempts {
		order := s.search(start)
		start = order[len(order)-1]
	}
	return start
}

// search returns start's component in the order of a breadth first search that visits neighbours by ascending degree.
func (s *searcher) search(start int32) []int32 {
	s.searches++
	s.seen[start] = s.searches
	order := []int32{start}
	for head := 0; head < len(order); head++ {
		from := len(order)
		for _, w := range s.neighbours[order[head]] {
			if s.seen[w] != s.searches {
				s.seen[w] = s.searches
				order = append(order, w)
			}
		}
		slices.SortStableFunc(order[from:], func(v, w int32) int { return len(s.neighbours[v]) - len(s.neighbours[w]) })
	}
	return order
}
