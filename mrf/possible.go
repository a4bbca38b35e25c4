package mrf

import "math"

// Possible strikes out every state that its node's table forbids, and then, again
// and again, every state without a possible state at some neighbour (arc
// consistency). possible[NodeAt[s]+i] says whether state i of node s is left; the
// others have probability zero.
//
// ok is false if some node has no state left, which proves that every joint state
// has probability zero; possible is then not complete. That is not the only proof
// there can be: on graphs with loops states may be left that no joint state of
// positive probability has. NaN and +Inf count as possible.
func (p *Pairwise) Possible() (possible []bool, ok bool) {
	possible = make([]bool, len(p.Node))
	for i, x := range p.Node {
		possible[i] = !math.IsInf(x, -1)
	}
	queue := make([]int32, len(p.Card))
	queued := make([]bool, len(p.Card))
	for s := range p.Card {
		queue[s], queued[s] = int32(s), true
	}
	for len(queue) > 0 {
		s := queue[0]
		queue, queued[s] = queue[1:], false
		if !anyOf(possible[p.NodeAt[s]:p.NodeAt[s+1]]) {
			return possible, false
		}
		for _, d := range p.Graph.Incoming(s) {
			t := p.Graph.Source(d)
			if p.strikeOut(possible, d^1) && !queued[t] {
				queue, queued[t] = append(queue, t), true
			}
		}
	}
	return possible, true
}

// strikeOut strikes out the states of the target of directed edge d that have no
// possible state at its source, and reports whether there were any.
func (p *Pairwise) strikeOut(possible []bool, d int32) (changed bool) {
	e, s, t := d>>1, p.Graph.Source(d), p.Graph.Target(d)
	source, target := possible[p.NodeAt[s]:p.NodeAt[s+1]], possible[p.NodeAt[t]:p.NodeAt[t+1]]
	stepSource, stepTarget := len(target), 1 // through the table, row-major over (U, V)
	if d&1 != 0 {
		stepSource, stepTarget = 1, len(source)
	}
	table := p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]]
	for x, known := range target {
		supported := false
		for y := range source {
			supported = supported || source[y] && !math.IsInf(table[y*stepSource+x*stepTarget], -1)
		}
		if known && !supported {
			target[x], changed = false, true
		}
	}
	return changed
}

func anyOf(values []bool) bool {
	for _, v := range values {
		if v {
			return true
		}
	}
	return false
}
