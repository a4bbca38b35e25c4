package spanning

// drain moves as much excess as possible from the given nodes to nodes with
// room, along shortest paths in phases of ascending length (Dinic 1970). It
// looks at the neighbourhood of the given nodes only, as far as it must.
// Excess up to forgiven starts no new phase. It returns false if the limit on
// the work ended it before.
//
// Afterwards the nodes in reached are those that the remaining excess can still
// reach: none of them has room, and whatever of an edge is placed at one of
// them belongs to an edge whose other end is reached too.
func (f *division) drain(sources []int32, forgiven float64) (finished bool) {
	for f.scansLeft > 0 {
		if !f.findLevels(sources, forgiven) {
			return f.scansLeft > 0
		}
		for _, s := range sources {
			if f.level[s] == 0 {
				f.push(s)
			}
		}
	}
	return false
}

// findLevels gives nodes their distance from the overfull sources, and reports
// whether a node with room was reached. The search ends with the level of the
// first such node.
func (f *division) findLevels(sources []int32, forgiven float64) (found bool) {
	f.forgetLevels()
	for _, s := range sources {
		if f.room(s) < -forgiven && f.level[s] == unreached {
			f.reach(s, 0)
			f.arc[s] = 0
		}
	}
	last := int32(0) // the level of the nodes with room, once one is found
	for head := 0; head < len(f.reached); head++ {
		s := f.reached[head]
		if found && f.level[s] == last {
			break
		}
		incoming := f.g.Incoming(s)
		f.scansLeft -= int64(len(incoming))
		for _, d := range incoming {
			t := f.g.Source(d)
			if f.level[t] != unreached || f.share[d] <= f.negligible {
				continue
			}
			f.reach(t, f.level[s]+1)
			f.arc[t] = 0
			if f.room(t) > f.negligible {
				found, last = true, f.level[t]
			}
		}
	}
	return found
}

// push moves excess of one node along shortest paths until it is gone or there
// are no more such paths.
func (f *division) push(source int32) {
	f.path = f.path[:0]
	for s := source; f.room(source) < -f.negligible; {
		switch {
		case f.level[s] > 0 && f.room(s) > f.negligible:
			s = f.augment(source, s)
		case f.advance(s):
			s = f.g.Source(f.path[len(f.path)-1])
		case len(f.path) == 0:
			return
		default: // a dead end: go back and leave the arc to it for good
			d := f.path[len(f.path)-1]
			f.path = f.path[:len(f.path)-1]
			s = f.g.Target(d)
			f.arc[s]++
		}
	}
}

// advance extends the path from s by the next arc that leads one level further,
// if there is one.
func (f *division) advance(s int32) bool {
	incoming := f.g.Incoming(s)
	for ; int(f.arc[s]) < len(incoming); f.arc[s]++ {
		f.scansLeft--
		d := incoming[f.arc[s]]
		if f.share[d] > f.negligible && f.level[f.g.Source(d)] == f.level[s]+1 {
			f.path = append(f.path, d)
			return true
		}
	}
	return false
}

// augment moves along the path, from source to end, what it can take. It cuts
// the path back to before its first arc that is used up, and returns the node
// where the path now ends.
func (f *division) augment(source, end int32) int32 {
	f.scansLeft -= int64(2 * len(f.path))
	amount := min(-f.room(source), f.room(end))
	for _, d := range f.path {
		amount = min(amount, f.share[d])
	}
	f.load[source] -= amount
	f.load[end] += amount
	for i := len(f.path) - 1; i >= 0; i-- {
		d := f.path[i]
		f.share[d] -= amount
		f.share[d^1] += amount
		if f.share[d] <= f.negligible {
			f.path, end = f.path[:i], f.g.Target(d)
		}
	}
	return end
}
