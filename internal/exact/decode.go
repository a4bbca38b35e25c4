package exact

import (
	"context"
	"math"
)

// consider decodes a joint state and keeps it, after local search, if it is the best so far. Local search is spared
// where decoding alone promises less than before.
func (s *sequential) consider(ctx context.Context, forward bool) {
	s.decode(forward)
	copy(s.trial, s.decoded) // the variables come before the auxiliary ones
	decoded := s.search.place(s.trial)
	if !decoded.above(s.promise, 0) {
		return
	}
	s.promise = decoded
	if found := s.search.improve(ctx, s.trial); found.above(s.best, 0) {
		s.best = found
		copy(s.states, s.trial)
	}
}

// decode fixes one node after the other, in the given direction, at the best state
// given the neighbours that are fixed and the messages from those that are not:
//
//	x_s = argmax θ_s(x_s) + Σ_{t fixed} θ_st(x_s, x_t) + Σ_{t not fixed} M_ts(x_s)
//
// The messages from nodes not yet fixed must be those of the sweep just made, which came from there.
func (s *sequential) decode(forward bool) {
	for i := range s.order {
		node := s.order[i]
		if !forward {
			node = s.order[len(s.order)-1-i]
		}
		scores := s.scores[:s.p.Card[node]]
		for k, x := range s.potential(node) {
			scores[k] = score{}
			scores[k].add(x)
		}
		for _, d := range s.p.Graph.Incoming(node) {
			s.condition(scores, forward, node, d)
		}
		best := 0
		for k := range scores {
			// A state struck out is never part of an answer.
			if !math.IsInf(s.potential(node)[k], -1) &&
				(math.IsInf(s.potential(node)[best], -1) || scores[k].above(scores[best], 0)) {
				best = k
			}
		}
		s.decoded[node] = best
	}
}

// condition adds what the source of directed edge d says about the states of node.
func (s *sequential) condition(scores []score, forward bool, node, d int32) {
	other := s.p.Graph.Source(d)
	if s.leadsOn(forward, node, other) { // not yet fixed
		for k, m := range s.incoming(d) {
			scores[k].add(m)
		}
		return
	}
	table, fixed := s.p.Edge[s.p.EdgeAt[d>>1]:s.p.EdgeAt[d>>1+1]], s.decoded[other]
	for k := range scores {
		if d&1 == 0 { // other is U: it picks the row
			scores[k].add(table[fixed*len(scores)+k])
		} else {
			scores[k].add(table[k*int(s.p.Card[other])+fixed])
		}
	}
}
