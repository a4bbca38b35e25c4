package gibbs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

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
// reports false where a node has no state left: a proof, though not the only one, that no joint state is possible.
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

// maxBacktracks is how many wrong guesses a search for a possible joint state makes before it gives up: whether one
// exists is hard to decide in general, and the networks that people draw from need few or none.
const maxBacktracks = 20000

// What Search returns where it finds no joint state.
var (
	// ErrNone is a proof that there is none.
	ErrNone = errors.New("no joint state satisfies all hard zeros")
	// ErrGivenUp says that it made too many wrong guesses.
	ErrGivenUp = fmt.Errorf("no joint state of positive probability was found by a search with %d wrong guesses, so "+
		"there is nothing to start from: the hard zeros leave few or none; exact inference can tell", maxBacktracks)
)

// Search completes the domains to a joint state of positive probability, drawn at random, though not uniformly: x
// [nodes]. It guesses the state of a node that has lost some, strikes out what that makes impossible, and takes
// back guesses that leave some node without any. The domains must have been propagated; they are left as they were.
//
// The error is ErrNone or ErrGivenUp.
func (d *Domains) Search(rng *rand.Rand) (x []int32, err error) {
	start := len(d.trail)
	defer d.undo(start)
	order := rng.Perm(len(d.Size))
	var guesses []guess
	for backtracks, at := 0, 0; ; {
		s, ok := d.recent()
		for ; !ok && at < len(order); at++ {
			s, ok = int32(order[at]), d.open(int32(order[at]))
		}
		if !ok {
			return d.complete(rng), nil
		}
		kept := d.pick(s, rng)
		guesses = append(guesses, guess{struckOut{s, kept}, len(d.trail), max(0, at-1)})
		for i, known := range d.of(s) {
			if known && int32(i) != kept {
				d.strike(s, int32(i))
			}
		}
		for !d.Propagate() {
			if len(guesses) == 0 {
				return nil, ErrNone
			}
			if backtracks++; backtracks > maxBacktracks {
				return nil, ErrGivenUp
			}
			wrong := guesses[len(guesses)-1]
			guesses, at = guesses[:len(guesses)-1], wrong.at
			d.undo(wrong.trail)
			d.strike(wrong.node, wrong.state)
		}
	}
}

// open reports whether a node has several states left, and a hard zero of an edge concerns it.
func (d *Domains) open(s int32) bool {
	return d.Size[s] > 1 && slices.ContainsFunc(d.p.Graph.Incoming(s), func(in int32) bool { return d.HasZero[in>>1] })
}

// recent returns the open node with the fewest states among those that have lost some lately, of several the one with
// the most neighbours.
func (d *Domains) recent() (s int32, ok bool) {
	for _, lost := range d.trail[max(0, len(d.trail)-recentlyLost):] {
		fewer := d.Size[lost.node] - d.Size[s]
		if d.open(lost.node) && (!ok || fewer < 0 || fewer == 0 && d.p.Graph.Degree(lost.node) > d.p.Graph.Degree(s)) {
			s, ok = lost.node, true
		}
	}
	return s, ok
}

// recentlyLost is how many states that were struck out last tell of nodes to guess.
const recentlyLost = 256

// guess is a state that was tried, and the length of the trail and the place in the order before.
type guess struct {
	struckOut
	trail, at int
}

// pick draws one of the possible states of s.
func (d *Domains) pick(s int32, rng *rand.Rand) int32 {
	nth := rng.IntN(int(d.Size[s]))
	for i, known := range d.of(s) {
		if known {
			if nth == 0 {
				return int32(i)
			}
			nth--
		}
	}
	panic("gibbs: a node has fewer possible states than were counted")
}

// complete draws the states of the nodes that still have a choice: those that no hard zero of an edge concerns.
func (d *Domains) complete(rng *rand.Rand) []int32 {
	x := make([]int32, len(d.Size))
	for s := range x {
		x[s] = d.pick(int32(s), rng)
	}
	return x
}
