package flow

// Settle moves as much excess as possible from all nodes to nodes with room. Afterwards reached lists the nodes that
// the excess left over can still reach: none of them has room, and no arc that can carry anything leads out of them.
//
// In each wave excess runs downhill, where the height of a node is its distance to the nearest node with room: from
// the highest nodes down, every overfull node gives all it can to nodes one lower. So excess from many nodes goes
// together along shared paths. What gets stuck on the way finds new heights in the next wave; the heights of overfull
// nodes only ever grow, so it ends. (This is the push-relabel method of Goldberg & Tarjan 1988 with exact heights.)
func (f *Residual) Settle() {
	for f.findHeights() {
		for i := len(f.reached) - 1; i >= 0; i-- {
			if s := f.reached[i]; f.level[s] > 0 && f.overfull(s) {
				f.pushDown(s)
			}
		}
	}
	f.search(f.overfull, 0)
}

// overfull reports whether node s has excess that is worth moving.
func (f *Residual) overfull(s int32) bool { return f.Room(s) < -f.negligible }

// findHeights gives every node the length of its shortest residual path to a
// node with room, as its level, and reports whether an overfull node has one.
func (f *Residual) findHeights() (movable bool) {
	// The arc from a node to the one that it is reached from has what the edge has placed there.
	f.search(func(s int32) bool { return f.Room(s) > f.negligible }, 1)
	for _, s := range f.reached {
		movable = movable || f.overfull(s)
	}
	return movable
}

// search gives nodes their distance from the sources as their level. Arcs are crossed along
// what they carry, from target to source of the directed edge, or with reverse 1 against it.
func (f *Residual) search(source func(s int32) bool, reverse int32) {
	for _, s := range f.reached {
		f.level[s] = unreached
	}
	f.reached = f.reached[:0]
	for s := range int32(len(f.level)) {
		if source(s) {
			f.level[s], f.reached = 0, append(f.reached, s)
		}
	}
	for head := 0; head < len(f.reached); head++ {
		s := f.reached[head]
		for _, d := range f.g.Incoming(s) {
			if t := f.g.Source(d); f.level[t] == unreached && f.residual[d^reverse] > f.negligible {
				f.level[t], f.reached = f.level[s]+1, append(f.reached, t)
			}
		}
	}
}

// pushDown gives the excess of node s to nodes one lower.
func (f *Residual) pushDown(s int32) {
	for _, d := range f.g.Incoming(s) {
		t := f.g.Source(d)
		if f.level[t] != f.level[s]-1 {
			continue
		}
		amount := min(f.residual[d], -f.Room(s))
		f.residual[d] -= amount
		f.residual[d^1] += amount
		f.load[s] -= amount
		f.load[t] += amount
		if f.Room(s) >= -f.negligible {
			return
		}
	}
}
