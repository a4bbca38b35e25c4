package bp

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Where beliefs are what is wanted, sweeps can end long before messages are at rest: messages of hundreds of nats may
// change by a tenth without a trace in any belief. With d_k the largest change of a belief in sweep k, and r what it is
// multiplied by in a sweep, what is still to come is
//
//	d_k (r + r² + …) = d_k r/(1 − r).
//
// A single change may be small by chance: those of over-relaxed sweeps alternate, and the node that moves the most is
// another one now and then. So d is the largest of the last h sweeps, and r^h its quotient by that of the h before. A
// slow change of sure beliefs hides behind a fast one of others, but residuals show it: r is the larger of the two. The
// changes that contract the fastest are gone first, so that r grows: the sum above was too small by up to a factor of
// two (results/README.md), and so counts twice. More damping makes changes smaller at once without a contraction: d and
// r begin anew. Changes that have asked for much momentum β go on as waves, |z| = √(λβ) with λ near 1 (momentum.go),
// and fall no faster with less of it: then r is at least √β, whatever a few small changes say.

const (
	// forecastFactor is by how much sums are enlarged, because r grows.
	forecastFactor = 2
	// h is leastForecast sweeps or, if that is more, one in forecastShare of all looks: the last few tell what comes, and
	// it takes more of them where changes are slow. A look after sweeps that were made at once counts these as one.
	leastForecast, forecastShare = 2, 8
	// mostUnsure is the share of labels that may still change where beliefs are settled.
	mostUnsure = 1e-3
	// sameBelief is a difference between two beliefs by which nobody can tell which state is
	// the more likely one. In a symmetric network there is none, ever.
	sameBelief = 1e-6
	// forecastStates are worked on at a time: few enough for the nearest cache.
	forecastStates = 1024
)

// forecast tells from the changes of beliefs, between looks at them, how far they have to go.
type forecast struct {
	before    []float64 // [states of the block's nodes] beliefs at the last look
	change    []float64 // [nodes] the largest change of a node's states at the last look
	now       []float64 // scratch
	changes   []float64 // [looks] the largest change of a belief since the look before
	residuals []float64 // [looks] of the last sweep before
	least     int       // the least h
	rate      float64   // r at the last look
	momentum  float64   // the largest β of the sweeps
}

// begin forgets what was seen. There is a look after so many sweeps.
func (f *forecast) begin(net *Net, st *State, block *partition.Block, sweeps int) {
	f.changes, f.least = f.changes[:0], (leastForecast+sweeps-1)/sweeps
	states := 0
	for _, s := range block.Nodes {
		states += int(net.Card[s])
	}
	f.before, f.change = numeric.Resize(f.before, states), numeric.Resize(f.change, len(block.Nodes))
	f.now = numeric.Resize(f.now, max(forecastStates, net.maxCard))
	f.add(net, st, block, 0)
	f.restart()
}

// restart forgets the changes seen so far, as further sweeps are made by another plan. It takes no fewer to forecast.
func (f *forecast) restart() {
	f.least = max(f.least, len(f.changes)/forecastShare)
	f.changes, f.residuals, f.rate, f.momentum = f.changes[:0], f.residuals[:0], 0, 0
}

// add looks at the beliefs, and notes by how much they have changed since the last look.
func (f *forecast) add(net *Net, st *State, block *partition.Block, residual float64) {
	largest, before := 0.0, f.before
	for p := 0; p < len(block.Nodes); {
		from, used := p, 0
		for ; p < len(block.Nodes) && used+int(net.Card[block.Nodes[p]]) <= len(f.now); p++ {
			used += copy(f.now[used:], net.belief(st, block.Nodes[p]))
		}
		now := f.now[:used]
		simd.Exp(now, now)
		for i := from; i < p; i++ {
			change := 0.0
			for j, b := range now[:net.Card[block.Nodes[i]]] {
				change = max(change, math.Abs(b-before[j]))
				before[j] = b
			}
			f.change[i] = change
			largest = max(largest, change)
			now, before = now[net.Card[block.Nodes[i]]:], before[net.Card[block.Nodes[i]]:]
		}
	}
	f.changes, f.residuals = append(f.changes, largest), append(f.residuals, residual)
}

// left returns the largest change of a belief that is to be expected from all further sweeps,
// and how many times its last change a node may move.
func (f *forecast) left() (change, times float64) {
	h := max(f.least, len(f.changes)/forecastShare)
	if len(f.changes) < 2*h {
		return math.Inf(1), math.Inf(1)
	}
	d, slow := quotient(f.changes, h)
	if d == 0 {
		return 0, 0
	}
	_, slower := quotient(f.residuals, h)
	last := f.rate
	f.rate = math.Pow(max(slow, slower), 1/float64(h))
	r := max(f.rate, last)
	if !(r < 1) {
		return math.Inf(1), math.Inf(1)
	}
	if f.momentum > mostMomentum {
		r = max(r, math.Sqrt(f.momentum))
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
		if 2*times*f.change[i] > max(first-second, sameBelief) {
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
