package bp

import (
	"math"

	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Sweep visits the nodes of the block, none of which may be observed, in order.
// At node u it recomputes every message into u by (5) and then the belief of u by
// (4), which is exact block-coordinate descent on the dual value (7) where all
// c_s ≥ 0. Messages into nodes outside the block and their beliefs stay as they
// are.
//
// damping in [0, 1) is the weight of the old message. The residual is the
// largest change of a log-message λ/ρ, after damping, or of a log-belief; it is
// +Inf where a state became impossible. Beliefs count because they may be of older
// potentials, with messages that no longer belong to them and yet repeat
// themselves. The error is a *NumericalError.
func (w *Workspace) Sweep(net *Net, st *State, block *partition.Block, damping float64) (residual float64, err error) {
	for p := range block.Nodes {
		change, err := w.updateNode(net, st, block, p, damping)
		residual = larger(residual, change)
		if err != nil {
			return residual, err
		}
	}
	return residual, nil
}

// updateNode recomputes the messages into the p-th node of the block and its
// belief.
func (w *Workspace) updateNode(net *Net, st *State, block *partition.Block, p int, damping float64) (residual float64, err error) {
	u := block.Nodes[p]
	belief := net.belief(st, u)
	sum, before := w.sum[:len(belief)], w.second[:len(belief)]
	copy(sum, w.Potentials.Node[w.Potentials.NodeAt[p]:])
	copy(before, belief)
	rho := net.Counting.rhoNode[u]
	next, last := block.InStart[p], block.InStart[p+1]
	var possible bool
	for {
		// The kernel takes messages up to one that needs logarithms.
		w.gather(net, block, next, last)
		change, done, made := simd.NodeUpdate(belief, sum, st.LogBelief, st.LogMessage, w.arena, w.arriving, rho, damping, true)
		residual = larger(residual, change)
		if next += int32(done); next == last {
			possible = made
			break
		}
		if change, err = w.absorb(sum, net, st, block, next, damping); err != nil {
			return residual, err
		}
		residual = larger(residual, change)
		next++
	}
	if !possible {
		copy(belief, before)
		return residual, &NumericalError{u, -1, beliefTrouble(sum)}
	}
	for x, b := range belief {
		if b != before[x] {
			residual = larger(residual, math.Abs(b-before[x]))
		}
	}
	return residual, nil
}

// gather lists the messages lo ≤ i < hi of block.In for the kernel, up to the
// first that it can't compute: of an observed source, from a table in logarithms,
// or with more states than it has room for.
func (w *Workspace) gather(net *Net, block *partition.Block, lo, hi int32) {
	w.arriving = w.arriving[:0]
	for i := lo; i < hi; i++ {
		d := block.In[i]
		source := net.Graph.Source(d)
		t := &w.tables[w.which[block.InEdge[i]]]
		if t.log || net.observed(source) || net.Card[source] > kernelStates {
			return
		}
		w.arriving = append(w.arriving, simd.Incoming{
			Belief: net.beliefOffset(source), Reverse: net.messageOffset(d ^ 1), Message: net.messageOffset(d),
			Table: t.at, States: int(net.Card[source]), Rho: net.Counting.Edge[d>>1], Backward: d&1 != 0,
		})
	}
}

// absorb recomputes message i of block.In by itself and adds it to sum.
func (w *Workspace) absorb(sum []float64, net *Net, st *State, block *partition.Block, i int32, damping float64) (residual float64, err error) {
	d := block.In[i]
	out := w.out[:len(sum)]
	if !w.incoming(out, net, st, d, &w.tables[w.which[block.InEdge[i]]]) {
		return 0, &NumericalError{-1, d >> 1, "no joint state of its ends is possible: forbidden states contradict each other, so the partition function is zero"}
	}
	return simd.Absorb(net.message(st, d, net.Graph.Target(d)), out, sum, net.Counting.Edge[d>>1], damping), nil
}

// larger is max that keeps a NaN.
func larger(a, b float64) float64 {
	if b > a || b != b {
		return b
	}
	return a
}

func beliefTrouble(sum []float64) string {
	for _, x := range sum {
		if math.IsNaN(x) {
			return "belief is not a number: potentials or messages overflowed"
		}
	}
	return "no state is possible: forbidden states contradict each other, so the partition function is zero"
}

// incoming computes the log-message of directed edge d by (5), largest entry 0.
// It reports false where no joint state is possible.
func (w *Workspace) incoming(out []float64, net *Net, st *State, d int32, t *table) bool {
	source := net.Graph.Source(d)
	ks := int(net.Card[source])
	if net.observed(source) {
		// τ is one at the observed state, so the message is a row of the table.
		y := int(net.Observed[source])
		for x := range out {
			out[x] = t.logAt(jointIndex(d, y, x, ks, len(out)))
		}
		return shiftLargestToZero(out)
	}
	small := ks <= kernelStates
	if !t.log && small {
		kernel := simd.MessageForward
		if d&1 != 0 {
			kernel = simd.MessageBackward
		}
		if kernel(out, net.belief(st, source), net.message(st, d^1, source), t.values) {
			return true
		}
	}
	cavity := w.weight[:ks]
	largest := net.cavity(cavity, st, source, d^1)
	if isForbidden(largest) {
		return false
	}
	if !t.log && !small && w.largeMessage(out, cavity, largest, t, d) {
		return true
	}
	logMessage(out, cavity, t, d)
	return shiftLargestToZero(out)
}

// kernelStates is the number of source states up to which the kernels for whole
// messages need no scratch of their own.
const kernelStates = 64

// largeMessage is simd.MessageForward or MessageBackward in the workspace's
// scratch. It reports false where a sum is not to be trusted.
func (w *Workspace) largeMessage(out, cavity []float64, largest float64, t *table, d int32) (safe bool) {
	weight := w.rowSum[:len(cavity)]
	simd.ExpShift(weight, cavity, largest)
	if d&1 == 0 {
		simd.VectorTable(out, weight, t.values)
	} else {
		simd.TableVector(out, weight, t.values)
	}
	for _, x := range out {
		if !(x >= tooSmall && x <= math.MaxFloat64) {
			return false
		}
	}
	simd.Log(out, out)
	return shiftLargestToZero(out)
}

// cavity computes log τ_s − λ_d/ρ over the states of s, where d is a directed
// edge into s, and returns the largest entry. A state that either side forbids
// is −Inf.
func (n *Net) cavity(dst []float64, st *State, s, d int32) (largest float64) {
	belief, message := n.belief(st, s), n.message(st, d, s)
	if belief == nil {
		for i := range dst {
			dst[i] = math.Inf(-1)
		}
		dst[n.Observed[s]] = 0
		return 0
	}
	largest = math.Inf(-1)
	message = message[:len(belief)]
	dst = dst[:len(belief)]
	for i, b := range belief {
		x := b - message[i]
		if isForbidden(b) || isForbidden(message[i]) {
			x = math.Inf(-1)
		}
		dst[i] = x
		largest = larger(largest, x)
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
func logMessage(out, cavity []float64, t *table, d int32) {
	for x := range out {
		largest := math.Inf(-1)
		for y, c := range cavity {
			largest = larger(largest, c+t.logAt(jointIndex(d, y, x, len(cavity), len(out))))
		}
		if isForbidden(largest) {
			out[x] = largest
			continue
		}
		total := 0.0
		for y, c := range cavity {
			total += exp(c + t.logAt(jointIndex(d, y, x, len(cavity), len(out))) - largest)
		}
		out[x] = largest + math.Log(total)
	}
}

// shiftLargestToZero fixes the free constant of a message. It reports false if
// every entry is −Inf.
func shiftLargestToZero(m []float64) bool {
	largest := math.Inf(-1)
	for _, x := range m {
		largest = larger(largest, x)
	}
	if isForbidden(largest) {
		return false
	}
	for i := range m {
		m[i] -= largest
	}
	return true
}
