package bp

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Where beliefs are what is wanted, sweeps can end long before messages are at rest: messages
// of hundreds of nats may change by a tenth without a trace in any belief. With d_k the largest
// change of a belief in sweep k, and r what it is multiplied by in a sweep, what is still to
// come is
//
//	d_k (r + r² + …) = d_k r/(1 − r).
//
// A single change is chance: those of over-relaxed sweeps take turns, and the node that moves
// the most is another one now and then. So d is the largest of the last h sweeps, and r^h its
// quotient by that of the h before. A slow change of sure beliefs hides behind a fast one of
// others, where messages show it: r is the larger one of beliefs and of residuals. The changes
// that contract the fastest are gone first, and r grows: the sum above was too small by up to a
// factor of two (results/2026-11-predict.md), and so counts twice.

const (
	// forecastFactor is by how much sums are enlarged, because r grows.
	forecastFactor = 2
	// leastForecast is the least h, and forecastShare the share of all sweeps that h is: of
	// many sweeps only the last few tell of what comes, and more of them if they are slow.
	leastForecast, forecastShare = 2, 8
	// mostUnsure is the share of labels that may still change where beliefs are settled.
	mostUnsure = 1e-3
	// sameBelief is a difference between two beliefs by which nobody can tell which state is
	// the more likely one. In a symmetric network there is none, ever.
	sameBelief = 1e-6
	// forecastStates are worked on at a time: few enough for the nearest cache.
	forecastStates = 1024
)

// forecast tells from the changes of beliefs how far they have to go.
type forecast struct {
	before    []float64 // [states of the block's nodes] beliefs after the last sweep
	change    []float64 // [nodes] the largest of a node's states in the last sweep
	reach     []float64 // [nodes] the larger change of the last two sweeps
	now       []float64
	changes   []float64 // [sweeps] the largest
	residuals []float64 // [sweeps]
	forgotten int       // sweeps before them
	rate      float64   // r at the sweep before
}

// begin forgets what was seen.
func (f *forecast) begin(net *Net, st *State, block *partition.Block) {
	*f = forecast{before: f.before[:0], change: f.change, reach: f.reach, now: f.now, changes: f.changes[:0], residuals: f.residuals[:0]}
	n := len(block.Nodes)
	f.change, f.reach = numeric.Resize(f.change, n), numeric.Resize(f.reach, n)
	clear(f.change)
	for _, s := range block.Nodes {
		f.before = append(f.before, net.belief(st, s)...)
	}
	simd.Exp(f.before, f.before)
	f.now = numeric.Resize(f.now, max(forecastStates, net.maxCard))
}

// add sees the beliefs after a sweep.
func (f *forecast) add(net *Net, st *State, block *partition.Block, residual float64) {
	f.note(f.addNodes(net, st, block, 0, len(block.Nodes), 0, &f.now), residual)
}

// note takes the largest changes of a sweep.
func (f *forecast) note(change, residual float64) {
	f.changes, f.residuals = append(f.changes, change), append(f.residuals, residual)
}

// addNodes sees the beliefs of the nodes lo ≤ p < hi of the block, of which the first has at states
// before it, and returns the largest change.
func (f *forecast) addNodes(net *Net, st *State, block *partition.Block, lo, hi, at int, scratch *[]float64) (largest float64) {
	*scratch = numeric.Resize(*scratch, max(forecastStates, net.maxCard))
	all := *scratch
	for p := lo; p < hi; {
		from, used := p, 0
		for ; p < hi && used+int(net.Card[block.Nodes[p]]) <= len(all); p++ {
			used += copy(all[used:], net.belief(st, block.Nodes[p]))
		}
		simd.Exp(all[:used], all[:used])
		for i, x := from, 0; i < p; i++ {
			k := int(net.Card[block.Nodes[i]])
			now, before := all[x:x+k], f.before[at:at+k]
			change := 0.0
			for j, b := range now {
				change = max(change, math.Abs(b-before[j]))
				before[j] = b
			}
			f.reach[i], f.change[i] = max(f.change[i], change), change
			largest = max(largest, change)
			x, at = x+k, at+k
		}
	}
	return largest
}

// forget drops what sweeps of another kind have told: their changes are larger or smaller.
func (f *forecast) forget() {
	f.forgotten += len(f.changes)
	f.changes, f.residuals, f.rate = f.changes[:0], f.residuals[:0], 0
}

// left returns the largest change of a belief that is to be expected from all further sweeps,
// and how many times its last change a node may move.
func (f *forecast) left() (change, times float64) {
	h := max(leastForecast, (f.forgotten+len(f.changes))/forecastShare)
	if len(f.changes) < 2*h {
		return math.Inf(1), math.Inf(1)
	}
	d, slow := quotient(f.changes, h)
	if d == 0 {
		return 0, 0
	}
	_, slower := quotient(f.residuals, h)
	last := f.rate
	f.rate = math.Pow(larger(slow, slower), 1/float64(h))
	r := larger(f.rate, last)
	if !(r < 1) {
		return math.Inf(1), math.Inf(1)
	}
	times = forecastFactor * r / (1 - r)
	return times * d, times
}

// unsure counts the nodes whose most likely state may become another one, where they move so
// many times their last change.
func (f *forecast) unsure(net *Net, block *partition.Block, times float64) (n int) {
	if math.IsInf(times, 1) {
		return len(block.Nodes)
	}
	at := 0
	for i, s := range block.Nodes {
		first, second := 0.0, 0.0
		for _, b := range f.before[at : at+int(net.Card[s])] {
			if b > first {
				first, second = b, first
			} else if b > second {
				second = b
			}
		}
		if 2*times*f.reach[i] > max(first-second, sameBelief) {
			n++
		}
		at += int(net.Card[s])
	}
	return n
}

// quotient returns the largest of the last h values, and its quotient by that of the h before.
func quotient(values []float64, h int) (last, quotient float64) {
	n := len(values)
	last = slices.Max(values[n-h:])
	return last, last / slices.Max(values[n-2*h:n-h])
}
