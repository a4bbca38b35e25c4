package bp

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Sweep visits the nodes of the block, none of which may be observed, in order. At node u it recomputes every message
// into u by (5) and then the belief of u by (4). Beliefs of nodes outside the block stay as they are.
//
// Without Limits.Outward messages out of the block stay, too, and where all c_s ≥ 0 that is exact
// block-coordinate descent on the dual value (7).
//
// With Limits.Outward it is a sweep of the paper's Algorithm 2, whose visits update every message of
// E_i: after (4), u sends along its cut edges by (5), so that the belief of such an edge goes on having
// the belief of its outside node among its sums. With numbers that are proved convex, a converged visit
// from consistent beliefs maximises (2) over all that the block can change.
//
// damping in (−1, 1) is the weight of the old message; below 0 messages are over-relaxed: they go farther than (5)
// says. Nodes with c_s < 0 have a prox (prox.go), and where some could overshoot a larger one stands for damping. The
// residual is the largest change of a log-message λ/ρ, after damping, or of a log-belief; it is +Inf where a state
// became impossible. Beliefs count because they may be of older potentials, with messages that no longer belong to them
// and yet repeat themselves. The error is a *NumericalError.
func (w *Workspace) Sweep(net *Net, st *State, block *partition.Block, damping float64) (residual float64, err error) {
	damping = w.beginSweep(net, st, block, damping)
	defer w.endSweep(net)
	for i := range len(block.Runs) - 1 {
		r := i
		if w.backward {
			r = len(block.Runs) - 2 - i
		}
		change, err := w.updateRun(net, st, block, block.Runs[r], block.Runs[r+1], damping)
		residual = max(residual, change)
		if err != nil {
			return residual, err
		}
	}
	if w.outward { // no message into the block depends on these
		change, err := w.send(net, st, block, damping)
		return max(residual, change), err
	}
	return residual, nil
}

// beginSweep prepares a sweep, and returns the damping of its messages.
func (w *Workspace) beginSweep(net *Net, st *State, block *partition.Block, damping float64) float64 {
	w.batch.fit(net.maxCard)
	damping = w.chooseProx(net, damping)
	if w.hasProx(net) {
		w.addProx(net, st, block)
	}
	return damping
}

func (w *Workspace) endSweep(net *Net) {
	if w.hasProx(net) {
		copy(w.Potentials.Node, w.free) // takes back what addProx has added
	}
}

func beliefTrouble(sum []float64) string {
	if slices.ContainsFunc(sum, math.IsNaN) {
		return "belief is not a number: potentials or messages overflowed"
	}
	return "no state is possible: forbidden states contradict each other, so the partition function is zero"
}

// incoming computes the log-message of directed edge d, of the q-th edge of the block, by (5) along a band
// or with logarithms, largest entry 0: where the kernels can't. It reports false where no joint state is possible.
func (w *Workspace) incoming(out []float64, net *Net, st *State, d, q int32) bool {
	source := net.Graph.Source(d)
	ks := int(net.Card[source])
	if net.observed(source) {
		// τ is one at the observed state, so the message is a row of the table.
		y := int(net.Observed[source])
		for x := range out {
			out[x] = w.logAt(q, jointIndex(d, y, x, ks, len(out)))
		}
		return shiftLargestToZero(out)
	}
	cavity := w.weight[:ks]
	largest := net.cavity(cavity, st, source, d^1)
	if isForbidden(largest) {
		return false
	}
	weights := w.second[:ks]
	for y, c := range cavity {
		weights[y] = c - largest
	}
	simd.Exp(weights, weights)
	if !w.form(q).band.Product(out, weights, w.values(q, ks*len(out)), d&1 != 0) || !simd.Log(out, out) {
		w.logMessage(out, cavity, d, q)
	}
	possible := shiftLargestToZero(out)
	if w.runsOff(net, out, q, ks*len(out), farthest) {
		for x, m := range out {
			if !isForbidden(m) {
				out[x] = max(m, -farthest)
			}
		}
	}
	return possible
}

// farthest bounds entries of a message across a table with forbidden states, which sweeps with convex numbers may drive
// on until all but rounding is lost. Across other tables they differ by no more than those of the table.
const farthest = 1e6

// runsOff reports whether a message has an entry beyond far, and the table of the q-th edge, of n, a forbidden one.
func (w *Workspace) runsOff(net *Net, message []float64, q int32, n int, far float64) bool {
	for i := 0; i < n && net.Counting.Facts.Convex && exceeds(message, far); i++ {
		if isForbidden(w.logAt(q, i)) {
			return true
		}
	}
	return false
}

// cavity computes log τ_s − λ_d/ρ over the states of s, where d is a directed edge into s, and returns the largest
// entry. A state that either side forbids is −Inf.
func (n *Net) cavity(dst []float64, st *State, s, d int32) (largest float64) {
	belief, message := n.belief(st, s), n.message(st, d, s)
	if belief == nil {
		numeric.Fill(dst, math.Inf(-1))
		dst[n.Observed[s]] = 0
		return 0
	}
	largest = math.Inf(-1)
	for i, b := range belief {
		x := b - message[i]
		if isForbidden(b) || isForbidden(message[i]) {
			x = math.Inf(-1)
		}
		dst[i] = x
		largest = max(largest, x)
	}
	return largest
}

// jointIndex returns the entry of an edge table at state y of the source and x
// of the target of directed edge d; the table is row-major over (U, V).
func jointIndex(d int32, y, x, sourceStates, targetStates int) int {
	if d&1 == 0 {
		return y*targetStates + x
	}
	return x*sourceStates + y
}

// logMessage computes out[x] = log Σ_y exp(cavity[y] + log table) with the
// largest term taken out of the sum: slow, and right for every range.
func (w *Workspace) logMessage(out, cavity []float64, d, q int32) {
	for x := range out {
		largest := math.Inf(-1)
		for y, c := range cavity {
			largest = max(largest, c+w.logAt(q, jointIndex(d, y, x, len(cavity), len(out))))
		}
		if isForbidden(largest) {
			out[x] = largest
			continue
		}
		total := 0.0
		for y, c := range cavity {
			total += exp(c + w.logAt(q, jointIndex(d, y, x, len(cavity), len(out))) - largest)
		}
		out[x] = largest + math.Log(total)
	}
}

// shiftLargestToZero fixes the free constant of a message. It reports false if every entry is −Inf.
func shiftLargestToZero(m []float64) bool {
	largest := slices.Max(m)
	if isForbidden(largest) {
		return false
	}
	for i := range m {
		m[i] -= largest
	}
	return true
}
