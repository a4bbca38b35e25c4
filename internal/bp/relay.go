package bp

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Sweeps one after another need not wait for each other's end: a sweep may visit a stretch of
// nodes as soon as the one before has visited all of their neighbours, and what momentum adds
// between the two likewise. So several are under way
// at once, on goroutines of their own where there are some. Each node is updated from the same
// neighbours as without: results are the same bytes.

const (
	// relayed is how many sweeps are made at once. More would use more threads; but all of them
	// are made before anybody looks whether the first was enough, and pictures take about ten.
	relayed = 4
	// leastStretches is from how many stretches on that is done: a sweep follows the one before
	// two stretches behind in a picture, so that fewer leave nothing to do at once.
	leastStretches = 4 * relayed
)

// relay is some sweeps that are made at once.
type relay struct {
	net       *Net
	block     *partition.Block
	forecast  bool         // whether the forecast sees the sweeps
	ends      []int32      // [stretches] where they end, in block.Runs
	ready     []int32      // [stretches] how many stretches the sweep before must have visited
	spans     []span       // of messages, those of a stretch one behind the other; with momentum
	spansAt   []int32      // [stretches + 1] where they begin
	lanes     []*Workspace // [relayed] scratch
	residuals [relayed]float64
	changes   [relayed]float64 // of beliefs, the largest

	mutex  sync.Mutex
	moved  sync.Cond
	done   [2 * relayed]int32 // stretches that each pass is through with: two passes a sweep
	failed int                // the first pass with an error; those behind it stop
	err    error
}

// relays reports whether sweeps over a block may be made at once.
func (w *Workspace) relays(net *Net, block *partition.Block, moves bool) bool {
	if len(block.Nodes) < leastStretches*partition.WindowNodes || net.held != nil && !w.unheld {
		return false
	}
	w.planRelay(net, block, moves)
	return true
}

// planRelay finds the stretches of a block, how they follow each other and, for sweeps with
// momentum, which messages move on with each.
func (w *Workspace) planRelay(net *Net, block *partition.Block, moves bool) {
	r := &w.relay
	if r.net == net && r.block == block && (!moves || len(r.spansAt) > 0) {
		return
	}
	r.net, r.block, r.ends, r.ready, r.moved.L = net, block, r.ends[:0], r.ready[:0], &r.mutex
	r.spansAt = r.spansAt[:0]
	const size = partition.WindowNodes
	stretch := make([]int32, net.Graph.NumNodes()) // of nodes of the block; 0 of others, which no sweep changes
	for p, s := range block.Nodes {
		stretch[s] = int32(p / size)
	}
	n := int32(len(block.Nodes))
	for i, end := range block.Runs {
		if lo := int32(len(r.ends)) * size; i > 0 && end == min(lo+size, n) {
			last := int32(len(r.ends))
			for _, source := range block.InSource[block.InStart[lo]:block.InStart[end]] {
				last = max(last, stretch[source])
			}
			r.ends, r.ready = append(r.ends, int32(i)), append(r.ready, last+1)
		}
	}
	if moves {
		r.planSpans(net, stretch)
	}
}

// span is a part lo ≤ i < hi of a state's messages.
type span struct{ lo, hi int }

// planSpans deals the messages to the stretches. The two of an edge are read and written by the
// updates of its ends alone, so that they may move on with the first of these: then the messages
// of a picture are few spans.
func (r *relay) planSpans(net *Net, stretch []int32) {
	r.spansAt = append(r.spansAt[:0], make([]int32, len(r.ends)+1)...)
	for k := range net.spans(stretch) {
		r.spansAt[k+1]++
	}
	for k := range r.ends {
		r.spansAt[k+1] += r.spansAt[k]
	}
	r.spans = numeric.Resize(r.spans, int(r.spansAt[len(r.ends)]))
	next := slices.Clone(r.spansAt)
	for k, s := range net.spans(stretch) {
		r.spans[next[k]] = s
		next[k]++
	}
}

// spans yields the messages of a state, in order, each span with the stretch of its edges: the
// first of those of their ends that are not observed.
func (n *Net) spans(stretch []int32) iter.Seq2[int32, span] {
	return func(yield func(int32, span) bool) {
		at, of, from := 0, int32(-1), 0
		for e := range int32(n.Graph.NumEdges()) {
			first, before := int32(math.MaxInt32), at
			for d := 2 * e; d < 2*e+2; d++ {
				if t := n.Graph.Target(d); !n.observed(t) {
					first = min(first, stretch[t])
					at += int(n.Card[t])
				}
			}
			if at > before && first != of {
				if before > from && !yield(of, span{from, before}) {
					return
				}
				of, from = first, before
			}
		}
		if at > from {
			yield(of, span{from, at})
		}
	}
}

// sweepTogether makes these sweeps, at most relayed of them, after relays. It is
// Sweep for each and, where it is asked, forecast.add.
func (w *Workspace) sweepTogether(net *Net, st *State, block *partition.Block, steps []step, forecast bool) error {
	r := &w.relay
	r.forecast = forecast
	for len(r.lanes) < len(steps) {
		r.lanes = append(r.lanes, &Workspace{})
	}
	for s, step := range steps {
		lane := r.lanes[s]
		lane.Potentials, lane.arena, lane.at, lane.forms = w.Potentials, w.arena, w.at, w.forms
		lane.wide, lane.logarithms, lane.unheld, lane.swept = w.wide, w.logarithms, w.unheld, w.swept
		lane.fit(net.maxCard, net.maxPair)
		lane.batch.fit(net.maxCard)
		lane.uniform.on = lane.fitUniform(net, st, block)
		if lane.uniform.on {
			lane.beginUniform(step.damping)
		}
		r.residuals[s], r.changes[s] = 0, 0
	}
	clear(r.done[:])
	w.swept, r.failed, r.err = true, 2*len(steps), nil
	threads := min(max(1, w.Threads), len(steps))
	_ = parallel.Each(context.Background(), threads, threads, func(t int) {
		defer r.stopUnless(t, threads)
		for pass, k := r.next(t, threads); k >= 0; pass, k = r.next(t, threads) {
			r.finish(pass, w.passStretch(net, st, pass, k, steps[pass/2]))
		}
	})
	if !forecast {
		return r.err
	}
	for s := range steps {
		w.forecast.note(r.changes[s], r.residuals[s])
	}
	return r.err
}

// passStretch is what a pass does in stretch k. The first pass of a sweep makes y of x, and the
// second sweeps.
func (w *Workspace) passStretch(net *Net, st *State, pass int, k int32, step step) error {
	r := &w.relay
	s, from := pass/2, int32(0)
	if k > 0 {
		from = r.ends[k-1]
	}
	if lo, hi := r.block.Runs[from], r.block.Runs[r.ends[k]]; pass%2 == 0 {
		if step.moves {
			for _, s := range r.spans[r.spansAt[k]:r.spansAt[k+1]] {
				simd.Extrapolate(st.LogMessage[s.lo:s.hi], w.last.messages[s.lo:], step.momentum)
			}
			w.extrapolateBeliefs(net, st, r.block.Nodes[lo:hi], step.momentum)
		}
		return nil
	}
	lane, block := r.lanes[s], r.block
	update := lane.updateRun
	if lane.uniform.on {
		update = lane.updateUniform
	}
	for i := from; i < r.ends[k]; i++ {
		change, err := update(net, st, block, block.Runs[i], block.Runs[i+1], step.damping)
		r.residuals[s] = larger(r.residuals[s], change)
		if err != nil {
			return err
		}
	}
	if !r.forecast {
		return nil
	}
	lo, hi := int(block.Runs[from]), int(block.Runs[r.ends[k]])
	r.changes[s] = max(r.changes[s], w.forecast.addNodes(net, st, block, lo, hi, w.Potentials.NodeAt[lo], &lane.forecast.now))
	return nil
}

// next returns what the t-th of so many goroutines does next, a pass and a stretch of it, as soon as
// there is something; −1 for the stretch when all is done. The last pass that can comes first,
// while the caches have what those before it have left.
func (r *relay) next(t, threads int) (pass int, stretch int32) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		left := false
		for pass := r.failed - 1; pass >= 0; pass-- {
			if k := r.done[pass]; pass/2%threads == t && int(k) < len(r.ends) {
				if pass == 0 || r.done[pass-1] >= r.ready[k] {
					return pass, k
				}
				left = true
			}
		}
		if !left {
			return 0, -1
		}
		r.moved.Wait()
	}
}

// finish notes that a pass is through with another stretch, or why it could not.
func (r *relay) finish(pass int, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.done[pass]++; err != nil && pass < r.failed {
		r.failed, r.err = pass, err
	}
	r.moved.Broadcast()
}

// stopUnless lets no goroutine wait for what the t-th would have done, if that has panicked.
func (r *relay) stopUnless(t, threads int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for pass := range r.failed {
		if pass/2%threads == t && int(r.done[pass]) < len(r.ends) {
			r.failed = pass
			break
		}
	}
	r.moved.Broadcast()
}
