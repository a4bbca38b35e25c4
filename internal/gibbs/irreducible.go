package gibbs

// maxFoldWork bounds the comparisons of states that a proof may take: more is needed by no network but of many states
// and many hard zeros, of which the answer is then that nothing is proved.
const maxFoldWork = 1 << 30

// Irreducible reports whether it is proved that a sampler which changes one node at a time can go from every possible
// joint state to every other. False means that it is not known. The domains must have been propagated; they are left
// as they were.
//
// The proof folds states (Brightwell and Winkler, Gibbs measures and dismantlable graphs, 2000): where every
// neighbour state that goes with i goes with j too, a node in state i can move to j at any time, so i need not be
// considered any more. Where one state of every node is left, all joint states lead to the same one, and, since moves
// can be taken back, to each other. Networks without hard zeros in edges always fold, and so do those where every
// node has a state that goes with everything.
func (d *Domains) Irreducible() bool {
	start := len(d.trail)
	defer d.undo(start)
	var constrained []int32 // the others can take any state at any time
	for s := range int32(len(d.Size)) {
		if d.constrained(s) {
			constrained = append(constrained, s)
			d.enqueue(s)
		}
	}
	work := 0
	for len(d.queue) > 0 {
		s := d.queue[0]
		d.queue, d.queued[s] = d.queue[1:], false
		before := d.Size[s]
		if work += d.fold(s); work > maxFoldWork {
			return false
		}
		if d.Size[s] == before {
			continue
		}
		for _, in := range d.p.Graph.Incoming(s) {
			if d.HasZero[in>>1] {
				d.enqueue(d.p.Graph.Source(in))
			}
		}
	}
	for _, s := range constrained {
		if d.Size[s] > 1 {
			return false
		}
	}
	return true
}

// fold strikes out the states of s that another one can stand for, and returns how much it compared.
func (d *Domains) fold(s int32) (work int) {
	states := d.of(s)
	for i := range states {
		for j := range states {
			if i == j || !states[i] || !states[j] {
				continue
			}
			ok, compared := d.covers(s, j, i)
			if work += compared + 1; ok {
				d.strike(s, int32(i))
				break
			}
		}
	}
	return work
}

// covers reports whether state j of s goes with every possible state of every neighbour that i goes with.
func (d *Domains) covers(s int32, j, i int) (ok bool, work int) {
	for _, in := range d.p.Graph.Incoming(s) {
		if !d.HasZero[in>>1] {
			continue
		}
		source := d.of(d.p.Graph.Source(in))
		work += len(source)
		for y, known := range source {
			if known && d.allowed(in, y, i) && !d.allowed(in, y, j) {
				return false, work
			}
		}
	}
	return true, work
}
