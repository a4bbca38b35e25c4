package bp

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/graph/partition"
)

// Limits say when to stop iterating on a block.
type Limits struct {
	// Tolerance on the residual: the largest change of a log-message in a sweep.
	Tolerance float64
	// MaxSweeps bounds the number of sweeps; 0 makes none.
	MaxSweeps int
	// Damping is the weight of the old message in the first sweeps, in [0, 1).
	Damping float64
}

// Outcome tells how an iteration on a block ended.
type Outcome struct {
	Sweeps    int
	First     float64 // residual of the first sweep: how far it was from a fixed point
	Residual  float64 // of the last sweep
	Converged bool    // Residual ≤ Tolerance
	Damping   float64 // of the last sweep
}

// stallWindow is how many sweeps may pass without a new smallest residual before
// damping is raised: fewer would punish slow but steady convergence.
const stallWindow = 20

// dampings are the weights of the old message that are tried in turn.
var dampings = []float64{0.3, 0.5, 0.7, 0.85, 0.95}

// Iterate sweeps over the block until the residual is small enough. Where some
// c_s is negative (trw, bethe) a sweep need not improve anything, so it damps
// when the residual stops falling. It stops early, without error, when ctx ends.
func (w *Workspace) Iterate(ctx context.Context, net *Net, st *State, block *partition.Block, limits Limits) (Outcome, error) {
	var o Outcome
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
			o.Converged = true
			return o, nil
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
