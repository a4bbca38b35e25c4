package flow

// Drain moves as much excess as possible from the given nodes to nodes with
// room, along shortest paths in phases of ascending length (Dinic 1970). It
// looks at the neighbourhood of the given nodes only, as far as it must.
// Excess up to forgiven starts no new phase. It returns false if the limit on
// the work ended it before.
//
// Afterwards Reached lists the nodes that the remaining excess can still reach.
func (f *Residual) Drain(sources []int32, forgiven float64) (finished bool) {
	for f.ScansLeft > 0 {
		if !f.findLevels(sources, forgiven) {
			return f.ScansLeft > 0
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
func (f *Residual) findLevels(sources []int32, forgiven float64) (found bool) {
	f.forgetLevels()
	for _, s := range sources {
		if f.Room(s) < -forgiven && f.level[s] == unreached {
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
		f.ScansLeft -= int64(len(incoming))
		for _, d := range incoming {
			t := f.g.Source(d)
			if f.level[t] != unreached || f.residual[d] <= f.negligible {
				continue
			}
			f.reach(t, f.level[s]+1)
			f.arc[t] = 0
			if f.Room(t) > f.negligible {
				found, last = true, f.level[t]
			}
		}
	}
	return found
}

// push moves excess of one node along shortest paths until it is gone or there
// are no more such paths.
func (f *Residual) push(source int32) {
	f.path = f.path[:0]
	for s := source; f.Room(source) < -f.negligible; {
		switch {
		case f.level[s] > 0 && f.Room(s) > f.negligible:
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
func (f *Residual) advance(s int32) bool {
	incoming := f.g.Incoming(s)
	for ; int(f.arc[s]) < len(incoming); f.arc[s]++ {
		f.ScansLeft--
		d := incoming[f.arc[s]]
		if f.residual[d] > f.negligible && f.level[f.g.Source(d)] == f.level[s]+1 {
			f.path = append(f.path, d)
			return true
		}
	}
	return false
}

// augment moves along the path, from source to end, what it can take. It cuts
// the path back to before its first arc that is used up, and returns the node
// where the path now ends.
func (f *Residual) augment(source, end int32) int32 {
	f.ScansLeft -= int64(2 * len(f.path))
	amount := min(-f.Room(source), f.Room(end))
	for _, d := range f.path {
		amount = min(amount, f.residual[d])
	}
	f.load[source] -= amount
	f.load[end] += amount
	for i := len(f.path) - 1; i >= 0; i-- {
		d := f.path[i]
		f.residual[d] -= amount
		f.residual[d^1] += amount
		if f.residual[d] <= f.negligible {
			f.path, end = f.path[:i], f.g.Target(d)
		}
	}
	return end
}
