package flow

// Settle moves as much excess as possible from all nodes to nodes with room, and
// leaves Reached as Drain does. It returns false if the limit on the work ended
// it before.
//
// In each wave excess runs downhill, where the height of a node is its distance
// to the nearest node with room: from the highest nodes down, every overfull
// node gives all it can to nodes one lower. So excess from many nodes goes
// together along shared paths. What gets stuck on the way finds new heights in
// the next wave; the heights of overfull nodes only ever grow, so it ends. (This
// is the push-relabel method of Goldberg & Tarjan 1988 with exact heights.)
func (f *Residual) Settle() (finished bool) {
	for f.ScansLeft > 0 && f.findHeights() {
		for i := len(f.reached) - 1; i >= 0; i-- {
			if s := f.reached[i]; f.level[s] > 0 && f.Room(s) < -f.negligible {
				f.pushDown(s)
			}
		}
	}
	var overfull []int32 // their excess can go nowhere: Drain finds how far it reaches
	for s := range int32(f.g.NumNodes()) {
		if f.Room(s) < -f.negligible {
			overfull = append(overfull, s)
		}
	}
	return f.Drain(overfull, f.negligible)
}

// findHeights gives every node the length of its shortest residual path to a
// node with room, as its level, and reports whether an overfull node has one.
func (f *Residual) findHeights() (movable bool) {
	f.forgetLevels()
	for s := range int32(f.g.NumNodes()) {
		if f.Room(s) > f.negligible {
			f.reach(s, 0)
		}
	}
	for head := 0; head < len(f.reached); head++ {
		s := f.reached[head]
		incoming := f.g.Incoming(s)
		f.ScansLeft -= int64(len(incoming))
		for _, d := range incoming {
			// The arc from t to s has what the edge has placed at t.
			t := f.g.Source(d)
			if f.level[t] != unreached || f.residual[d^1] <= f.negligible {
				continue
			}
			f.reach(t, f.level[s]+1)
			movable = movable || f.Room(t) < -f.negligible
		}
	}
	return movable
}

// pushDown gives the excess of node s to nodes one lower.
func (f *Residual) pushDown(s int32) {
	incoming := f.g.Incoming(s)
	f.ScansLeft -= int64(len(incoming))
	for _, d := range incoming {
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
