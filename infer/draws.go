package infer

import "slices"

// drawStore keeps joint states, in a byte each where all nodes have at most 256 states.
type drawStore struct {
	nodes  int
	narrow []uint8 // [draws*nodes], or else
	wide   []int32
}

// newDrawStore makes room for draws of nodes with these numbers of states.
func newDrawStore(draws int, card []int32) *drawStore {
	d := &drawStore{nodes: len(card)}
	if slices.ContainsFunc(card, func(k int32) bool { return k > 1<<8 }) {
		d.wide = make([]int32, draws*d.nodes)
	} else {
		d.narrow = make([]uint8, draws*d.nodes)
	}
	return d
}

// put keeps x as a draw.
func (d *drawStore) put(draw int, x []int32) {
	if d.wide != nil {
		copy(d.wide[draw*d.nodes:], x)
		return
	}
	row := d.narrow[draw*d.nodes:][:d.nodes]
	for s, state := range x {
		row[s] = uint8(state)
	}
}

// of returns the state of node s in a draw.
func (d *drawStore) of(draw, s int) int32 {
	if d.wide != nil {
		return d.wide[draw*d.nodes+s]
	}
	return int32(d.narrow[draw*d.nodes+s])
}
