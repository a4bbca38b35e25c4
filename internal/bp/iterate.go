package bp

import (
	"context"
	"math"

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
}

// Outcome tells how an iteration on a block ended.
type Outcome struct {
	Sweeps    int
	First     float64 // residual of the first sweep: how far it was from a fixed point
	Residual  float64 // of the last sweep
	Converged bool    // Residual ≤ Tolerance · (1 − Damping), and beliefs that agree
	Damping   float64 // of the last sweep
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
	w.unheld = limits.Unheld
	best, bestAt, damping := math.Inf(1), 0, limits.Damping
	for o.Sweeps < limits.MaxSweeps && ctx.Err() == nil {
		residual, err := w.Sweep(net, st, block, damping)
		o.Sweeps++
		o.Residual, o.Damping = residual, damping
		if o.Sweeps == 1 {
			o.First = residual
		}
		if err != nil {
			return o, err
		}
		// A damped message moves only a part of its way, so the residual is scaled
		// back before it may count as converged.
		if residual <= limits.Tolerance*(1-damping) {
			o.Converged = w.settled(net, st, block, limits.Tolerance)
			if o.Converged || residual == 0 { // at 0 no sweep can change anything any more
				return o, nil
			}
		}
		if residual < best {
			best, bestAt = residual, o.Sweeps
		}
		if !net.Counting.Facts.Dual && o.Sweeps-bestAt >= stallWindow {
			damping = MoreDamping(damping)
			best, bestAt = residual, o.Sweeps
		}
	}
	return o, nil
}

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
