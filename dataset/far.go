package dataset

import "strconv"

// count is how many there are of what is numbered from 0, of which these numbers occur. A number in a file, such as a
// bin, can ask for any amount of memory: a model has a weight for every pair of states and every feature. What is
// numbered without large gaps has no number of 1024 or more that is four times the next smaller one, but by a mistake,
// which dataset.json can say is none.
func (l *loader) count(seen labelCounts, file, place, field string) int {
	const farMost, farFactor = 1 << 10, 4
	largest := max(0, seen.largest())
	delete(seen, largest)
	if next := max(0, seen.largest()); largest >= farMost && largest >= farFactor*(next+1) {
		l.failAt(file, place, "correct it, or give "+strconv.Quote(field)+" in "+ManifestName,
			"the largest number is %d, and the next below it is %d: it looks like a mistake", largest, next)
	}
	return int(largest) + 1
}
