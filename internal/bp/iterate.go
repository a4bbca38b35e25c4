package bp

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/partition"
)

// Limits say when to stop iterating on a block.
type Limits struct {
	// Tolerance on the residual: the largest change of a log-message λ/ρ or a
	// log-belief in a sweep, without damping.
	Tolerance float64
	// MaxSweeps bounds the number of sweeps; 0 makes none.
	MaxSweeps int
	// Damping is the weight of the old message in the first sweeps, in (−1, 1); see Sweep.
	Damping float64
	// Unheld: no node is held by the belief that it has (hold). Beliefs are those that (4)
	// gives to messages, which steps of Newton's method ask for.
	Unheld bool
	// Turns: sweeps go back and forth in turn. Where counting numbers are exact, and every node has
	// at most one neighbour before it, as in chains, so do two of them, and the iteration ends
	// after an even number only.
	Turns bool
	// Beliefs, above 0, ends the iteration also where beliefs are settled: none is expected to
	// change by more than that in all further sweeps together, and the most likely state of
	// at most one node in a thousand (forecast). Sweeps are over-relaxed where that pays.
	Beliefs float64
	// Outward: messages along cut edges move out of the block, too, as in the paper's Algorithm 2 (Sweep).
	Outward bool
	// Together: over a large block relayed sweeps are made at once, and what ends the iteration is
	// looked at after these only. Beliefs asks for the same.
	Together bool
}

// Outcome tells how an iteration on a block ended.
type Outcome struct {
	Sweeps    int
	Work      int     // updates of messages and nodes in all sweeps
	First     float64 // residual of the first sweep: how far it was from a fixed point
	Residual  float64 // of the last sweep
	Converged bool    // Residual ≤ Tolerance · (1 − Damping), and beliefs that agree; or settled beliefs
	Damping   float64 // of the last sweep
	// Left is by how much a belief is expected to change still, and Unsure how many nodes may
	// come to another most likely state: 0 at a fixed point, +Inf and all nodes where nothing
	// can be said. Only where Limits.Beliefs asks for it.
	Left   float64
	Unsure int
}

// stallWindow is how many sweeps may pass without a new smallest residual before
// damping is raised: fewer would punish slow but steady convergence.
const stallWindow = 20

// dampings are the weights of the old message that are tried in turn.
var dampings = []float64{0.3, 0.5, 0.7, 0.85, 0.95}

// Iterate sweeps over the block until the residual is small enough. Unless it is
// known that no c_s is negative (Facts.Dual) a sweep need not improve anything,
// so it damps when the residual stops falling. It stops early, without error,
// when ctx ends. The error is a *NumericalError.
func (w *Workspace) Iterate(ctx context.Context, net *Net, st *State, block *partition.Block, limits Limits) (Outcome, error) {
	var o Outcome
	w.unheld, w.outward = limits.Unheld, limits.Outward
	work := block.Work()
	if w.outward {
		work += len(block.Out)
	}
	best, bestAt, damping := math.Inf(1), 0, limits.Damping
	if limits.Beliefs > 0 {
		w.forecast.begin(net, st, block)
		o.Left, o.Unsure = math.Inf(1), len(block.Nodes)
		defer func() { w.backward = false }()
	}
	if limits.Turns {
		defer func() { w.backward = false }()
	}
	relaxed := limits.Beliefs > 0 && limits.Damping == 0 && net.Counting.Facts.Convex
	turning := 0
	moves, began, over := false, 0, momentumDamping // with momentum, since, over-relaxed by
	switch facts := net.Counting.Facts; {
	case relaxed && facts.Bound == counting.Exact: // on a forest, where plain messages are right at once
		relaxed, turning = false, limits.MaxSweeps
	case relaxed && !facts.Dual:
		turning = turningSweeps
	case relaxed:
		moves = true
		w.last.fit(net)
	}
	together := 1
	if (limits.Beliefs > 0 || limits.Together) && w.relays(net, block, moves) {
		together = relayed
	}
	for o.Sweeps < limits.MaxSweeps && ctx.Err() == nil {
		n := 1
		if o.Sweeps >= turning {
			n = min(together, limits.MaxSweeps-o.Sweeps)
		}
		w.steps = w.steps[:0]
		for i := range n {
			s := step{}
			switch {
			case moves:
				damping, s.moves, s.momentum = over, true, Momentum(o.Sweeps+i-began)
			case relaxed:
				damping = eagerDamping
			}
			s.damping = damping
			w.steps = append(w.steps, s)
		}
		w.backward = o.Sweeps < turning && o.Sweeps%2 == 1 || limits.Turns && o.Sweeps%2 == 0
		first, residual, err := w.sweeps(net, st, block, limits.Beliefs > 0)
		if o.Sweeps == 0 {
			o.First = first
		}
		o.Sweeps += n
		o.Work += n * work
		o.Residual, o.Damping = residual, damping
		if err != nil {
			return o, err
		}
		// A damped message moves only a part of its way, so the residual is scaled
		// back before it may count as converged.
		if residual <= limits.Tolerance*(1-damping) && !(limits.Turns && o.Sweeps%2 == 1) {
			o.Converged = w.settled(net, st, block, limits.Tolerance)
			if o.Converged || residual == 0 { // at 0 no sweep can change anything any more
				o.Left, o.Unsure = 0, 0
				return o, nil
			}
		}
		if limits.Beliefs > 0 {
			times := 0.0
			o.Left, times = w.forecast.left()
			if last := o.Sweeps == limits.MaxSweeps; o.Left <= limits.Beliefs || last {
				o.Unsure = w.forecast.unsure(net, block, times)
				if o.Left <= limits.Beliefs && float64(o.Unsure) <= mostUnsure*float64(len(block.Nodes)) {
					o.Converged = true
					return o, nil
				}
			}
		}
		if residual < best {
			best, bestAt = residual, o.Sweeps
		}
		if o.Sweeps-bestAt >= stallWindow {
			switch {
			case moves:
				began, over = o.Sweeps, 0
			case damping < 0:
				relaxed, damping = false, 0
				w.forecast.forget()
			case !net.Counting.Facts.Dual:
				damping = MoreDamping(damping)
			}
			best, bestAt = residual, o.Sweeps
		}
	}
	return o, nil
}

// sweeps makes a sweep, or several at once, with the dampings at hand, and returns the residuals of
// the first and the last. The forecast sees them where it is asked.
func (w *Workspace) sweeps(net *Net, st *State, block *partition.Block, forecast bool) (first, last float64, err error) {
	if n := len(w.steps); n > 1 {
		err := w.sweepTogether(net, st, block, w.steps, forecast)
		return w.relay.residuals[0], w.relay.residuals[n-1], err
	}
	if s := w.steps[0]; s.moves {
		w.extrapolate(st, s.momentum)
	}
	last, err = w.Sweep(net, st, block, w.steps[0].damping)
	if err == nil && forecast {
		w.forecast.add(net, st, block, last)
	}
	return last, last, err
}

const (
	// eagerDamping over-relaxes sweeps without momentum (results/2026-11-predict.md).
	eagerDamping = -0.3
	// turningSweeps go forth and back in turn where some c_s < 0: such numbers carry what one
	// node tells far, and a sweep only as far as its order goes. Then sweeps in one direction
	// take over, in which alone over-relaxation pays. On a forest all take turns.
	turningSweeps = 10
)

// MoreDamping returns the next larger damping to try.
func MoreDamping(damping float64) float64 {
	for _, d := range dampings {
		if d > damping {
			return d
		}
	}
	return damping
}

// roundingUnit is the relative distance of neighbouring float64 numbers.
const roundingUnit = 0x1p-52

// settled confirms that a residual within the tolerance means a fixed point. A
// message of size m moves in steps of m·2⁻⁵²: where these are larger than the
// tolerance nothing seems to change although the beliefs contradict each other,
// so the beliefs themselves are compared. Entries of a message differ by no more
// than those of its table, so that only wide tables need a look.
func (w *Workspace) settled(net *Net, st *State, block *partition.Block, tolerance float64) bool {
	resolved := tolerance / roundingUnit
	if !w.wide && maxRange <= resolved {
		return true
	}
	for place, p := range block.Order {
		s := block.Nodes[p]
		for i := block.InStart[place]; i < block.InStart[place+1]; i++ {
			if exceeds(net.message(st, block.In[i], s), resolved) && !w.agrees(net, st, block, int(p), i, tolerance) {
				return false
			}
		}
	}
	return true
}

// exceeds reports whether a message has an entry that is larger than size and yet
// finite.
func exceeds(message []float64, size float64) bool {
	for _, m := range message {
		if m < -size && !isForbidden(m) {
			return true
		}
	}
	return false
}

// agrees reports whether the belief of the p-th node and that of the edge of
// block.In[i], summed over the states of its other end, are the same.
func (w *Workspace) agrees(net *Net, st *State, block *partition.Block, p int, i int32, tolerance float64) bool {
	d, q := block.In[i], int(block.InEdge[i])
	pair := w.pair[:net.pairStates(d>>1)]
	if _, err := w.EdgeBelief(pair, net, st, block, q); err != nil {
		return false
	}
	k, others := int(net.Card[block.Nodes[p]]), len(pair)/int(net.Card[block.Nodes[p]])
	for x, b := range net.belief(st, block.Nodes[p]) {
		sum := 0.0
		for y := range others {
			sum += pair[jointIndex(d, y, x, others, k)]
		}
		if !(math.Abs(sum-exp(b)) <= tolerance) {
			return false
		}
	}
	return true
}
