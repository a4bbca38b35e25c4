package gibbs

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
)

// maxBacktracks is how many wrong guesses a search for a possible joint state
// makes before it gives up: whether one exists is hard to decide in general, and
// the networks that people draw from need few or none.
const maxBacktracks = 20000

// What Search returns where it finds no joint state.
var (
	// ErrNone is a proof that there is none.
	ErrNone = errors.New("no joint state satisfies all hard zeros")
	// ErrGivenUp says that it made too many wrong guesses.
	ErrGivenUp = fmt.Errorf("no joint state of positive probability was found by a search with %d wrong guesses, so "+
		"there is nothing to start from: the hard zeros leave few or none; exact inference can tell", maxBacktracks)
)

// Search completes the domains to a joint state of positive probability, drawn at
// random, though not uniformly: x [nodes]. It guesses the state of the node with
// the fewest left, strikes out what that makes impossible, and takes back guesses
// that leave some node without any. The domains must have been propagated; they
// are left as they were.
//
// The error is ErrNone or ErrGivenUp.
func (d *Domains) Search(rng *rand.Rand) (x []int32, err error) {
	start := len(d.trail)
	defer d.undo(start)
	f := newFrontier(d, rng)
	var guesses []guess
	backtracks := 0
	for s, ok := f.next(); ok; s, ok = f.next() {
		guesses = append(guesses, guess{struckOut{s, d.pick(s, rng)}, len(d.trail)})
		d.keepOnly(guesses[len(guesses)-1].struckOut)
		for !d.Propagate() {
			if len(guesses) == 0 {
				return nil, ErrNone
			}
			if backtracks++; backtracks > maxBacktracks {
				return nil, ErrGivenUp
			}
			wrong := guesses[len(guesses)-1]
			guesses = guesses[:len(guesses)-1]
			f.add(d.trail[wrong.trail:])
			d.undo(wrong.trail)
			f.seen = wrong.trail
			d.strike(wrong.node, wrong.state)
		}
		f.add(d.trail[f.seen:])
		f.seen = len(d.trail)
	}
	return d.complete(rng), nil
}

// guess is a state that was tried, and the length of the trail before.
type guess struct {
	struckOut
	trail int
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
	panic("zeros: a node has fewer possible states than were counted")
}

// keepOnly strikes out all other states of a node.
func (d *Domains) keepOnly(kept struckOut) {
	for i, known := range d.of(kept.node) {
		if known && int32(i) != kept.state {
			d.strike(kept.node, int32(i))
		}
	}
}

// complete draws the states of the nodes that still have a choice: those that no
// hard zero of an edge concerns.
func (d *Domains) complete(rng *rand.Rand) []int32 {
	x := make([]int32, len(d.Size))
	for s := range x {
		x[s] = d.pick(int32(s), rng)
	}
	return x
}

// frontier is a queue of the nodes that have several states left and a hard zero
// at some edge, those with the fewest states first. Entries are not removed where
// the number changes: newer ones are added.
type frontier struct {
	d       *Domains
	rank    []uint32 // [nodes] decides between equals
	entries []frontierEntry
	seen    int // length of the trail up to which changes are in the queue
}

type frontierEntry struct{ node, size int32 }

func newFrontier(d *Domains, rng *rand.Rand) *frontier {
	f := &frontier{d: d, rank: make([]uint32, len(d.Size)), seen: len(d.trail)}
	for s := range d.Size {
		f.rank[s] = rng.Uint32()
		if d.Size[s] > 1 && d.constrained(int32(s)) {
			f.entries = append(f.entries, frontierEntry{int32(s), d.Size[s]})
		}
	}
	heap.Init(f)
	return f
}

// constrained reports whether a hard zero of an edge concerns the node.
func (d *Domains) constrained(s int32) bool {
	for _, in := range d.p.Graph.Incoming(s) {
		if d.HasZero[in>>1] {
			return true
		}
	}
	return false
}

// add puts the nodes of changed states into the queue, with the number that they
// have when they are looked at.
func (f *frontier) add(changed []struckOut) {
	for _, c := range changed {
		heap.Push(f, frontierEntry{c.node, f.d.Size[c.node]})
	}
}

// next returns the node to guess; ok is false where nothing is left to guess.
func (f *frontier) next() (s int32, ok bool) {
	for len(f.entries) > 0 {
		e := heap.Pop(f).(frontierEntry)
		switch size := f.d.Size[e.node]; {
		case size > 1 && size == e.size:
			return e.node, true
		case size > 1:
			heap.Push(f, frontierEntry{e.node, size})
		}
	}
	return 0, false
}

// Len implements heap.Interface.
func (f *frontier) Len() int { return len(f.entries) }

// Less implements heap.Interface.
func (f *frontier) Less(i, j int) bool {
	a, b := f.entries[i], f.entries[j]
	if a.size != b.size {
		return a.size < b.size
	}
	return f.rank[a.node] < f.rank[b.node]
}

// Swap implements heap.Interface.
func (f *frontier) Swap(i, j int) { f.entries[i], f.entries[j] = f.entries[j], f.entries[i] }

// Push implements heap.Interface.
func (f *frontier) Push(x any) { f.entries = append(f.entries, x.(frontierEntry)) }

// Pop implements heap.Interface.
func (f *frontier) Pop() any {
	last := len(f.entries) - 1
	e := f.entries[last]
	f.entries = f.entries[:last]
	return e
}
