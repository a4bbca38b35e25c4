package gibbs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
)

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
// [nodes]. It guesses the state of the node with the fewest left, strikes out what that makes impossible, and takes
// back guesses that leave some node without any. The domains must have been propagated; they are left as they were.
//
// The error is ErrNone or ErrGivenUp.
func (d *Domains) Search(rng *rand.Rand) (x []int32, err error) {
	start := len(d.trail)
	defer d.undo(start)
	open := newUndecided(d, rng)
	var guesses []guess
	backtracks, seen := 0, len(d.trail) // up to which changes are noted
	for s, ok := open.first(); ok; s, ok = open.first() {
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
			restored := slices.Clone(d.trail[wrong.trail:])
			d.undo(wrong.trail)
			open.note(restored)
			seen = wrong.trail
			d.strike(wrong.node, wrong.state)
		}
		open.note(d.trail[seen:])
		seen = len(d.trail)
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
	panic("gibbs: a node has fewer possible states than were counted")
}

// keepOnly strikes out all other states of a node.
func (d *Domains) keepOnly(kept struckOut) {
	for i, known := range d.of(kept.node) {
		if known && int32(i) != kept.state {
			d.strike(kept.node, int32(i))
		}
	}
}

// complete draws the states of the nodes that still have a choice: those that no hard zero of an edge concerns.
func (d *Domains) complete(rng *rand.Rand) []int32 {
	x := make([]int32, len(d.Size))
	for s := range x {
		x[s] = d.pick(int32(s), rng)
	}
	return x
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

// undecided are the nodes that have several states left and a hard zero at some edge,
// those with the fewest states first.
type undecided struct {
	d     *Domains
	queue *numeric.Queue
	size  []int32 // [nodes] as the queue knows it
}

const decided = math.MaxInt32

func newUndecided(d *Domains, rng *rand.Rand) *undecided {
	u := &undecided{d: d, size: make([]int32, len(d.Size))}
	rank := make([]uint32, len(d.Size)) // between equals
	for s := range rank {
		u.size[s], rank[s] = u.sizeOf(int32(s)), rng.Uint32()
	}
	u.queue = numeric.NewQueue(len(rank), func(s, t int32) bool {
		return u.size[s] < u.size[t] || u.size[s] == u.size[t] && rank[s] < rank[t]
	})
	return u
}

func (u *undecided) sizeOf(s int32) int32 {
	if u.d.Size[s] > 1 && u.d.constrained(s) {
		return u.d.Size[s]
	}
	return decided
}

// note takes nodes whose states have changed to their places.
func (u *undecided) note(changed []struckOut) {
	for _, c := range changed {
		u.size[c.node] = u.sizeOf(c.node)
		u.queue.Fix(c.node)
	}
}

// first returns the node to guess; ok is false where nothing is left to guess.
func (u *undecided) first() (s int32, ok bool) {
	if u.queue.Len() == 0 || u.size[u.queue.First()] == decided {
		return 0, false
	}
	return u.queue.First(), true
}
