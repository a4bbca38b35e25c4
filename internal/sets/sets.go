// Package sets answers whether something is among others, however many there are. A search
// through a list, once for each entry of another, takes time with the square of their length,
// which a file may choose.
package sets

// Of returns the set of all entries of lists.
func Of[X comparable](lists ...[]X) map[X]bool {
	set := map[X]bool{}
	for _, list := range lists {
		for _, x := range list {
			set[x] = true
		}
	}
	return set
}
