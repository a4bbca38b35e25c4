package gibbs

// Irreducible reports whether it is proved that a sampler which changes one node at a time can go from every possible
// joint state to every other. False means that it is not known. The domains must have been propagated.
//
// The proof is a state of every node that has a choice which goes with all that neighbours may be in: from any joint
// state all nodes can move there, one after the other, and moves can be taken back. Networks without hard zeros in
// edges have it, and so has the hard-core model.
func (d *Domains) Irreducible() bool {
	for s, size := range d.Size {
		if size > 1 && !d.hasSafeState(int32(s)) {
			return false
		}
	}
	return true
}

func (d *Domains) hasSafeState(s int32) bool {
	for state, possible := range d.of(s) {
		if possible && d.safe(s, state) {
			return true
		}
	}
	return false
}

// safe reports whether a state of s goes with every possible state of every neighbour.
func (d *Domains) safe(s int32, state int) bool {
	for _, in := range d.p.Graph.Incoming(s) {
		if !d.HasZero[in>>1] {
			continue
		}
		for y, possible := range d.of(d.p.Graph.Source(in)) {
			if possible && !d.allowed(in, y, state) {
				return false
			}
		}
	}
	return true
}
