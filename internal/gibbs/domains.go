package gibbs

import (
	"math"

	"github.com/blockbp/blockbp/mrf"
)

// Domains are the states of every node that hard zeros leave possible, as far as is known. States can be struck out,
// and put back in the opposite order. Potentials of NaN and +Inf count as possible.
type Domains struct {
	p        *mrf.Pairwise
	possible []bool  // [states of all nodes] at p.NodeAt
	Size     []int32 // [nodes] number of possible states: read it only
	HasZero  []bool  // [edges] whether the table holds a hard zero: read it only
	queue    []int32 // nodes that lost states since their neighbours were revised
	queued   []bool  // [nodes]
	trail    []struckOut
}

// struckOut is a state that is no longer possible.
type struckOut struct{ node, state int32 }

// New returns what the potentials of single nodes leave possible.
func New(p *mrf.Pairwise) *Domains {
	n := len(p.Card)
	d := &Domains{
		p: p, possible: make([]bool, len(p.Node)), Size: make([]int32, n),
		HasZero: make([]bool, p.Graph.NumEdges()), queued: make([]bool, n),
	}
	for s := range n {
		for i, x := range p.Node[p.NodeAt[s]:p.NodeAt[s+1]] {
			if !math.IsInf(x, -1) {
				d.possible[p.NodeAt[s]+i] = true
				d.Size[s]++
			}
		}
		d.enqueue(int32(s))
	}
	for e := range d.HasZero {
		for _, x := range p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]] {
			d.HasZero[e] = d.HasZero[e] || math.IsInf(x, -1)
		}
	}
	return d
}

// of returns which states of node s are possible.
func (d *Domains) of(s int32) []bool { return d.possible[d.p.NodeAt[s]:d.p.NodeAt[s+1]] }

func (d *Domains) enqueue(s int32) {
	if !d.queued[s] {
		d.queue, d.queued[s] = append(d.queue, s), true
	}
}

// Possible strikes out every state that its node's table forbids, and what Propagate does. possible[p.NodeAt[s]+i]
// says whether state i of node s is left; the others have probability zero. ok is false where that is proved of every
// joint state; possible is then not complete.
func Possible(p *mrf.Pairwise) (possible []bool, ok bool) {
	d := New(p)
	ok = d.Propagate()
	return d.possible, ok
}

// strike makes a possible state impossible.
func (d *Domains) strike(s, state int32) {
	d.possible[d.p.NodeAt[s]+int(state)] = false
	d.Size[s]--
	d.trail = append(d.trail, struckOut{s, state})
	d.enqueue(s)
}

// undo puts back what was struck out since the trail had the given length.
func (d *Domains) undo(length int) {
	for _, was := range d.trail[length:] {
		d.possible[d.p.NodeAt[was.node]+int(was.state)] = true
		d.Size[was.node]++
	}
	d.trail = d.trail[:length]
	for _, s := range d.queue {
		d.queued[s] = false
	}
	d.queue = d.queue[:0]
}

// Propagate strikes out every state without a possible state at some neighbour, again and again (arc consistency). It
// reports false where a node has no state left: a proof that no joint state is possible, though not the only one that
// there can be.
func (d *Domains) Propagate() bool {
	for len(d.queue) > 0 {
		s := d.queue[0]
		d.queue, d.queued[s] = d.queue[1:], false
		if d.Size[s] == 0 {
			return false
		}
		for _, in := range d.p.Graph.Incoming(s) {
			if d.HasZero[in>>1] {
				d.revise(in ^ 1)
			}
		}
	}
	return true
}

// revise strikes out the states of the target of directed edge e that have no possible state at its source.
func (d *Domains) revise(e int32) {
	source, target := d.of(d.p.Graph.Source(e)), d.of(d.p.Graph.Target(e))
	for state, known := range target {
		if known && !d.supported(e, source, state) {
			d.strike(d.p.Graph.Target(e), int32(state))
		}
	}
}

// supported reports whether a state of the target of directed edge e goes with one of the states at its source.
func (d *Domains) supported(e int32, source []bool, state int) bool {
	for y, known := range source {
		if known && d.allowed(e, y, state) {
			return true
		}
	}
	return false
}

// allowed reports whether directed edge e allows the states y of its source and x of its target together.
func (d *Domains) allowed(e int32, y, x int) bool {
	p, table := d.p, d.p.Edge[d.p.EdgeAt[e>>1]:]
	if e&1 == 0 { // the source is U: its state picks a row
		return !math.IsInf(table[y*int(p.Card[p.Graph.Target(e)])+x], -1)
	}
	return !math.IsInf(table[x*int(p.Card[p.Graph.Source(e)])+y], -1)
}
