package counting

// disjointSets is a union-find structure: the parent of each element, or for a root minus the size of its set.
type disjointSets []int32

// reset makes every element a set of its own.
func (p disjointSets) reset() {
	for s := range p {
		p[s] = -1
	}
}

// find returns the root of the set of s, halving the path on the way.
func (p disjointSets) find(s int32) int32 {
	for {
		parent := p[s]
		if parent < 0 {
			return s
		}
		grandparent := p[parent]
		if grandparent < 0 {
			return parent
		}
		p[s] = grandparent
		s = grandparent
	}
}

// join unites the sets of s and t and reports whether they were different.
func (p disjointSets) join(s, t int32) bool {
	s, t = p.find(s), p.find(t)
	if s == t {
		return false
	}
	if p[s] > p[t] { // the set of s is the smaller one
		s, t = t, s
	}
	p[s] += p[t]
	p[t] = s
	return true
}
