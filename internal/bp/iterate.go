package bp

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/partition"
)

// Limits say when to stop iterating on a block.
type Limits struct {
	// Tolerance on the residual: the largest change of a log-message λ/ρ or a log-belief in a sweep, without damping.
	Tolerance float64
	// MaxSweeps bounds the number of sweeps; 0 makes none.
	MaxSweeps int
	// Damping is the weight of the old message in the first sweeps, in (−1, 1); see Sweep.
	Damping float64
	// NoProx: no node has a prox (prox.go): beliefs are those that (4) gives to messages, as Newton's method needs.
	NoProx bool
	// Turns: sweeps go back and forth in turn, and the iteration ends after an even number of them. Where counting numbers
	// are exact, and every node has at most one neighbour before it, as in chains, two sweeps find the marginals.
	Turns bool
	// Accelerated, of a whole network: sweeps go back and forth in turn where counting numbers are exact. Elsewhere they
	// have momentum where no c_s is negative, are over-relaxed with other numbers that are proved convex, and take turns
	// with the rest. Sweeps with momentum over a large network are made several at once (wavefront); only after these is
	// it decided whether the iteration ends.
	Accelerated bool
	// Beliefs, above 0, ends the iteration also where beliefs are settled: none is expected to change by more than that in
	// all further sweeps together, and the most likely state of at most one node in a thousand (forecast).
	Beliefs float64
	// Outward: messages along cut edges move out of the block, too, as in the paper's Algorithm 2 (Sweep).
	Outward bool
}

// Outcome tells how an iteration on a block ended.
type Outcome struct {
	Sweeps        int
	Work          int     // updates of messages and nodes in all sweeps
	FirstResidual float64 // of the first sweep: how far it was from a fixed point
	Residual      float64 // of the last sweep
	Converged     bool    // Residual ≤ Tolerance · (1 − Damping), and beliefs agree; or Limits.Beliefs holds
	Damping       float64 // of the last sweep
	// Left is by how much a belief is expected to change still, and Unsure how many nodes may come to another most likely
	// state: 0 at a fixed point, +Inf and all nodes where nothing can be said. Only where Limits.Beliefs asks for it.
	Left   float64
	Unsure int
}

// stallWindow is how many sweeps may pass without a new smallest residual before momentum begins anew, or damping is
// raised: fewer would punish slow but steady convergence. waveWindow is half a wave of momentum where λ is 0.985.
const stallWindow, waveWindow = 20, 25

// dampings are the weights of the old message that are tried in turn. Accelerated sweeps of convex numbers of which
// some c_s is negative begin with the first (results/README.md).
var dampings = []float64{overRelaxed, 0, 0.3, 0.5, 0.7, 0.85, 0.95}

const overRelaxed = -0.3

// MoreDamping returns the next larger damping to try.
func MoreDamping(damping float64) float64 {
	if i := slices.IndexFunc(dampings, func(d float64) bool { return d > damping }); i >= 0 {
		return dampings[i]
	}
	return damping
}

// plan is how the sweeps of an iteration are made.
type plan struct {
	hasMomentum bool
	together    int     // how many are made at once
	damping     float64 // of each
	began       int     // the sweep with which momentum began
	momentum    float64 // the largest β
	best        float64 // the best β when that was chosen last
}

// choose makes the plan, and sets limits.Turns where sweeps are to turn.
func (w *Workspace) choose(net *Net, block *partition.Block, limits *Limits) plan {
	how, facts := plan{together: 1, damping: limits.Damping}, net.Counting.Facts
	switch {
	case !limits.Accelerated:
	case facts.Dual && facts.Bound != counting.Exact:
		how.hasMomentum, how.damping, how.momentum = true, momentumDamping, mostMomentum
		w.last.fit(net)
		if w.planWavefront(net, block) {
			how.together = waves
		}
	case facts.Convex && facts.Bound != counting.Exact:
		how.damping = overRelaxed
	default: // on a forest a sweep each way finds the marginals, and elsewhere changes travel both ways
		limits.Turns = true
	}
	return how
}

// Iterate sweeps over the block until the residual is small enough. It changes the plan where the residual has not
// fallen for stallWindow sweeps. Where no c_s is negative (Facts.Dual) plain sweeps descend on the dual value, and only
// momentum or over-relaxation can be the cause: momentum begins anew, and over-relaxation ends. Else a sweep need not
// improve anything, and is damped more. It stops early, without error, when ctx ends. The error is a *NumericalError.
func (w *Workspace) Iterate(ctx context.Context, net *Net, st *State, block *partition.Block, limits Limits) (Outcome,
	error) {
	var o Outcome
	w.noProx, w.outward, w.accelerated, w.residuals = limits.NoProx, limits.Outward, limits.Accelerated, w.residuals[:0]
	defer func() { w.backward = false }()
	work := block.Work()
	if w.outward {
		work += len(block.Out)
	}
	how := w.choose(net, block, &limits)
	if limits.Beliefs > 0 {
		w.forecast.begin(net, st, block, how.together)
		o.Left, o.Unsure = math.Inf(1), len(block.Nodes)
	}
	best, bestAt := math.Inf(1), 0
	for o.Sweeps < limits.MaxSweeps && ctx.Err() == nil {
		w.backward = limits.Turns && o.Sweeps%2 == 0
		n := min(how.together, limits.MaxSweeps-o.Sweeps)
		first, last, err := w.sweeps(net, st, block, how, o.Sweeps-how.began, n)
		if o.Sweeps == 0 {
			o.FirstResidual = first
		}
		o.Sweeps += n
		o.Work += n * work
		o.Residual, o.Damping = last, how.damping
		if err != nil || w.ended(net, st, block, limits, &o) {
			return o, err
		}
		w.tune(&how, last)
		if last < best {
			best, bestAt = last, o.Sweeps
		}
		if o.Sweeps-bestAt >= stallWindow && !w.falls(&how) {
			best, bestAt, how.began, w.residuals = last, o.Sweeps, o.Sweeps, w.residuals[:0]
			most := how.damping > 0 && net.proximal[mostProx] != nil
			if !most && (!net.Counting.Facts.Dual || how.damping < 0) {
				how.damping = MoreDamping(how.damping)
			}
			w.forecast.restart()
		}
	}
	return o, nil
}

// Trace makes so many plain sweeps, back and forth in turn, without a prox, whatever has settled, and returns the
// residual of the last. It calls before, unless that is nil, ahead of each.
func (w *Workspace) Trace(ctx context.Context, net *Net, st *State, block *partition.Block, sweeps int,
	before func(sweep int)) (residual float64, err error) {
	w.noProx, w.outward = true, false
	defer func() { w.backward = false }()
	for k := 0; k < sweeps && err == nil && ctx.Err() == nil; k++ {
		if before != nil {
			before(k)
		}
		w.backward = k%2 == 0
		residual, err = w.Sweep(net, st, block, 0)
	}
	return residual, err
}

// beta returns β of a sweep, so many after momentum began.
func (p *plan) beta(after int) float64 { return min(Momentum(after), p.momentum) }

// tune chooses the momentum of further sweeps after 8, 12, 16, 24, 32, … of them, from how fast residuals have fallen
// since half as many. The largest of the last eighth counts: momentum makes waves, in which one may be small by chance.
// Sweeps that are made several at once have fewer: each is compared with the last but one, and the slower fall counts.
func (w *Workspace) tune(how *plan, residual float64) {
	w.residuals = append(w.residuals, residual)
	n := len(w.residuals)
	half, h, most, before := n/2, max(1, n/8), mostOfFew, 0.0
	due := n >= 8 && bits.Len(uint(n))-bits.TrailingZeros(uint(n)) <= 2
	if how.together == waves {
		half, h, most, before, due = 2, 1, mostMomentum, how.best, n > 2
	}
	if !how.hasMomentum || !due {
		return
	}
	z := math.Pow(slices.Max(w.residuals[n-h:])/slices.Max(w.residuals[n-half-h:n-half]), 1/float64(half*how.together))
	best := bestMomentum(z, how.beta(n*how.together))
	how.momentum, how.best = min(most, moreMomentum+max(best, before)), best
}

// falls reports whether residuals fall: the largest of half a wave of momentum is below that of half a wave before.
func (w *Workspace) falls(how *plan) bool {
	r, n, h := w.residuals, len(w.residuals), waveWindow
	return how.hasMomentum && how.together == 1 && (n < 2*h || slices.Max(r[n-h:]) < slices.Max(r[n-2*h:n-h]))
}

// sweeps makes n sweeps, so many after momentum began, and returns the residuals of the first and the last.
func (w *Workspace) sweeps(net *Net, st *State, block *partition.Block, how plan, after,
	n int) (first, last float64, err error) {
	if n > 1 {
		return w.sweepTogether(net, st, after, n, how)
	}
	if how.hasMomentum {
		w.forecast.momentum = max(w.forecast.momentum, how.beta(after))
		w.last.extrapolate(st, 0, net.numMessages, 0, net.numBeliefs, how.beta(after))
	}
	last, err = w.Sweep(net, st, block, how.damping)
	return last, last, err
}

// ended reports whether an iteration is at its end, and says in o how it ended.
func (w *Workspace) ended(net *Net, st *State, block *partition.Block, limits Limits, o *Outcome) bool {
	// A damped message moves only a part of its way, so the residual is scaled back before it may count as converged.
	if o.Residual <= limits.Tolerance*(1-o.Damping) && !(limits.Turns && o.Sweeps%2 == 1) {
		o.Converged = w.settled(net, st, block, limits.Tolerance)
		if o.Converged || o.Residual == 0 { // at 0 no sweep can change anything any more
			o.Left, o.Unsure = 0, 0
			return true
		}
	}
	if limits.Beliefs > 0 {
		w.forecast.add(net, st, block, o.Residual)
		times := 0.0
		o.Left, times = w.forecast.left()
		if o.Left <= limits.Beliefs || o.Sweeps == limits.MaxSweeps {
			o.Unsure = w.forecast.unsure(net, block, times)
			o.Converged = o.Left <= limits.Beliefs && float64(o.Unsure) <= mostUnsure*float64(len(block.Nodes))
		}
	}
	return o.Converged
}

// roundingUnit is the relative distance of neighbouring float64 numbers.
const roundingUnit = 0x1p-52

// settled confirms that a residual within the tolerance means a fixed point. A message of size m moves in steps of
// m·2⁻⁵². Where these are larger than the tolerance nothing seems to change although beliefs contradict each other, so
// that beliefs are compared. As entries of a message differ by no more than those of its table, only wide tables need a
// look, and those with forbidden states, where messages that are held at the bound farthest would go on to change.
func (w *Workspace) settled(net *Net, st *State, block *partition.Block, tolerance float64) bool {
	resolved := tolerance / roundingUnit
	if !w.wide && maxRange <= resolved {
		return true
	}
	for place, p := range block.Order {
		s := block.Nodes[p]
		for i := block.InStart[place]; i < block.InStart[place+1]; i++ {
			message, q := net.message(st, block.In[i], s), block.InEdge[i]
			if exceeds(message, resolved) && !w.agrees(net, st, block, int(p), i, tolerance) ||
				w.runsOff(net, message, q, net.pairStates(block.Edges[q]), farthest-1) {
				return false
			}
		}
	}
	return true
}

// exceeds reports whether a message has an entry that is larger than size and yet finite.
func exceeds(message []float64, size float64) bool {
	return slices.ContainsFunc(message, func(m float64) bool { return m < -size && !isForbidden(m) })
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
