package bp

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// EdgeBelief writes the belief (6) of the q-th edge of the block,
//
//	τ_uv(x_u,x_v) ∝ τ_u(x_u) τ_v(x_v) exp{(θ_uv(x_u,x_v) − λ_uv(x_v) − λ_vu(x_u))/ρ_uv},
//
// into dst [states of U × states of V], row-major, and returns the edge's share
// of the free energy, ⟨θ_uv,τ_uv⟩ + c_uv H(τ_uv).
func (w *Workspace) EdgeBelief(dst []float64, net *Net, st *State, block *partition.Block,
	q int) (freeEnergy float64, err error) {
	logZ, product, err := w.edgeBelief(dst, net, st, block, q)
	return net.Counting.Edge[block.Edges[q]] * (logZ - product), err
}

// edgeBelief is EdgeBelief, except for what it returns: the logarithm of what the
// belief was divided by, and Σ log (τ_u/m_u) τ_uv + Σ log (τ_v/m_v) τ_uv, m being the
// messages along the edge. The share of the free energy is ρ_uv times the difference.
func (w *Workspace) edgeBelief(dst []float64, net *Net, st *State, block *partition.Block, q int) (logZ,
	product float64, err error) {
	e := block.Edges[q]
	u, v := net.Graph.U(e), net.Graph.V(e)
	ku, kv := int(net.Card[u]), int(net.Card[v])
	t := w.form(int32(q))
	if w.kernelEdges(dst, net, st, block, q, q+1, ku, kv) == 1 {
		return w.logZ[0] + t.shift, w.product[0], nil
	}
	left, right := w.sum[:ku], w.second[:kv]
	largestLeft, largestRight := net.cavity(left, st, u, 2*e+1), net.cavity(right, st, v, 2*e)

	total, shift := 0.0, largestLeft+largestRight
	if !t.log {
		total = w.multiplicativePair(dst, left, right, largestLeft, largestRight, w.values(int32(q), ku*kv))
	}
	if !(total >= tooSmall) {
		total, shift = w.logPair(dst, left, right, int32(q))
	}
	if !(total > 0 && total <= math.MaxFloat64) {
		return 0, 0, &NumericalError{-1, e, "belief is not a distribution: messages overflowed, or forbidden states " +
			"contradict each other"}
	}
	scale := 1 / total
	// log τ_uv = left + right + θ/ρ − log Z, so the free energy needs no logarithm
	// of the k² beliefs: ⟨θ,τ⟩ + ρ H(τ) = ρ (log Z − Σ left·τ_u − Σ right·τ_v).
	logZ = math.Log(total) + shift + t.shift
	colSum := w.colSum[:kv]
	clear(colSum)
	for i := range ku {
		row := dst[i*kv:][:kv]
		rowSum := 0.0
		for j, x := range row {
			x *= scale
			row[j] = x
			rowSum += x
			colSum[j] += x
		}
		if rowSum > 0 {
			product += rowSum * left[i]
		}
	}
	for j, x := range colSum {
		if x > 0 {
			product += x * right[j]
		}
	}
	return logZ, product, nil
}

// multiplicativePair computes the unnormalised belief from the exponentiated table and returns its sum.
func (w *Workspace) multiplicativePair(dst, left, right []float64, largestLeft, largestRight float64,
	values []float64) (total float64) {
	columns := w.weight[:len(right)]
	for j, c := range right {
		columns[j] = exp(c - largestRight)
	}
	for i, a := range left {
		row := exp(a - largestLeft)
		for j, c := range columns {
			at := i*len(columns) + j
			dst[at] = row * values[at] * c
			total += dst[at]
		}
	}
	return total
}

// logPair does the same with logarithms throughout, and returns what it subtracted before the exponential.
func (w *Workspace) logPair(dst, left, right []float64, q int32) (total, shift float64) {
	shift = math.Inf(-1)
	k := len(right)
	for i, a := range left {
		for j, c := range right {
			x := a + c + w.logAt(q, i*k+j)
			dst[i*k+j] = x
			shift = max(shift, x)
		}
	}
	if isForbidden(shift) {
		return 0, shift
	}
	for i, x := range dst[:len(left)*k] {
		dst[i] = exp(x - shift)
		total += dst[i]
	}
	return total, shift
}

// EdgeBeliefs writes the beliefs of the edges lo ≤ q < hi of the block, all with as many states at U and as many at V,
// into dst, one behind the other, and returns the sum of what EdgeBelief returns. dst may be longer.
func (w *Workspace) EdgeBeliefs(dst []float64, net *Net, st *State, block *partition.Block, lo,
	hi int) (freeEnergy float64, err error) {
	u, v := net.Graph.Ends()
	ku, kv := int(net.Card[u[block.Edges[lo]]]), int(net.Card[v[block.Edges[lo]]])
	rest := dst[:(hi-lo)*ku*kv]
	for q := lo; q < hi; q++ {
		n := w.kernelEdges(rest, net, st, block, q, hi, ku, kv)
		for i := range n {
			freeEnergy += net.rho(block.Edges[q+i]) * (w.logZ[i] + w.form(int32(q+i)).shift - w.product[i])
		}
		rest, q = rest[n*ku*kv:], q+n
		if q == hi {
			break
		}
		value, err := w.EdgeBelief(rest[:ku*kv], net, st, block, q)
		if err != nil {
			return freeEnergy, err
		}
		freeEnergy += value
		rest = rest[ku*kv:]
	}
	return freeEnergy, nil
}

// AddRows adds the rows of a matrix to sum, the length of which is theirs, unless it is nil.
func AddRows(sum, matrix []float64) {
	for n := len(sum); n > 0 && len(matrix) > 0; {
		rows := min(len(ones), len(matrix)/n)
		simd.ScatterMatrix(sum, ones[:rows], matrix[:rows*n], rows, 1, n)
		matrix = matrix[rows*n:]
	}
}

var ones = [16]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}

// kernelEdges writes the beliefs of edges from the lo-th on up to one that needs logarithms, returns how many they are,
// and leaves what they add to the free energy in w.logZ and w.product.
func (w *Workspace) kernelEdges(dst []float64, net *Net, st *State, block *partition.Block, lo, hi, ku, kv int) int {
	u, v := net.Graph.Ends()
	w.logZ, w.product = numeric.Resize(w.logZ, hi-lo), numeric.Resize(w.product, hi-lo)
	plain := net.uniform > 0 && len(w.forms) == 0
	if plain && ku == 2 && simd.PairBeliefs(dst, w.logZ, w.product, st.LogBelief, st.LogMessage, w.arena,
		block.Edges[lo:hi], u, v, w.at[lo:hi]) {
		return hi - lo
	}
	w.together.Begin(hi-lo, ku, kv, net.beliefAt, net.messageAt)
	for q, e := range block.Edges[lo:hi] {
		a, c := u[e], v[e]
		if !plain && (w.form(int32(lo+q)).log || net.BeliefAt(a) < 0 || net.BeliefAt(c) < 0) {
			break
		}
		w.together.Add(e, a, c)
	}
	return w.together.WriteBeliefs(dst, w.logZ, w.product, st.LogBelief, st.LogMessage, w.arena, w.at[lo:hi])
}

// NodeBeliefs writes the beliefs of the nodes lo ≤ p < hi of the block, all with as
// many states, into dst, one behind the other, and returns the sum of their free energies. dst may be longer.
func (w *Workspace) NodeBeliefs(dst []float64, net *Net, st *State, block *partition.Block, lo,
	hi int) (freeEnergy float64) {
	nodes := block.Nodes[lo:hi]
	k := int(net.Card[nodes[0]])
	dst = dst[:len(nodes)*k]
	w.nodeLogs = numeric.Resize(w.nodeLogs, len(dst)+simd.Padding)
	logs, theta := w.nodeLogs[:len(dst)], w.Potentials.Node[w.Potentials.NodeAt[lo]:]
	if net.uniform > 0 {
		simd.Gather(logs, st.LogBelief, nodes, k)
	} else {
		for i, u := range nodes {
			copy(logs[i*k:][:k], net.belief(st, u)) // nothing, if it is observed
		}
	}
	simd.Exp(dst, logs)
	for i, u := range nodes {
		first := i * k
		if net.observed(u) {
			net.Belief(dst[first:][:k], st, u)
			freeEnergy += theta[first+int(net.Observed[u])]
			continue
		}
		count, share := net.Counting.Node[u], 0.0
		for j := first; j < first+k; j++ {
			if x := dst[j]; x > 0 {
				share += x * (theta[j] - count*logs[j])
			}
		}
		freeEnergy += share
	}
	return freeEnergy
}

// LogBelief returns log τ_s(x) of a node that is not observed.
func (n *Net) LogBelief(st *State, s, x int32) float64 { return n.belief(st, s)[x] }

// LogPair returns log τ_uv(x,y) of the q-th edge of the block, however small it is.
func (w *Workspace) LogPair(net *Net, st *State, block *partition.Block, q int, x, y int32) (float64, error) {
	e := block.Edges[q]
	u, v := net.Graph.U(e), net.Graph.V(e)
	kv := int(net.Card[v])
	logZ, _, err := w.edgeBelief(w.pair[:int(net.Card[u])*kv], net, st, block, q)
	if err != nil {
		return 0, err
	}
	left, right := w.sum[:net.Card[u]], w.second[:kv]
	net.cavity(left, st, u, 2*e+1)
	net.cavity(right, st, v, 2*e)
	return left[x] + right[y] + w.logAt(int32(q), int(x)*kv+int(y)) + w.form(int32(q)).shift - logZ, nil
}

// inPasses is for bounds, which are as good as the beliefs are near, and for gradients, which know nothing below what
// is left to spread (results/README.md): who asks for them says how much that is. Large tables get 20 scalings.
var inPasses = simd.Scaling{Most: 20, Newton: 4}

// Consistent changes the beliefs of the edges lo ≤ q < hi of the block, as EdgeBeliefs has written them, so that their
// sums are the beliefs of the nodes, and returns the sum of ρ_uv H(τ_uv), which it leaves in entropies. At most a share
// spread of the mass of an edge goes where it may, not where it is nearest, unless four steps of Newton's method leave
// more. With the nodes' beliefs they are feasible in (2), unless that took a forbidden state, which only masked tables
// have: such a state gets zero.
func (w *Workspace) Consistent(beliefs, entropies []float64, net *Net, st *State, block *partition.Block, lo, hi int,
	masked bool, spread float64) (entropy float64, feasible bool) {
	how := inPasses
	how.Enough = max(spread, simd.Finest.Enough)
	w.makeConsistent(beliefs, entropies, net, st, block.Edges[lo:hi], how)
	for i := range entropies {
		entropies[i] *= net.Counting.Edge[block.Edges[lo+i]]
		entropy += entropies[i]
	}
	return entropy, !masked || w.forbid(beliefs, lo, hi)
}

// forbid takes forbidden states out of beliefs, and reports whether there were none.
func (w *Workspace) forbid(beliefs []float64, lo, hi int) (none bool) {
	none = true
	n := len(beliefs) / (hi - lo)
	for i, b := range beliefs {
		if b != 0 && isForbidden(w.logAt(int32(lo+i/n), i%n)) {
			beliefs[i], none = 0, false
		}
	}
	return none
}

// consistency is what makeConsistent works with.
type consistency struct{ rows, columns, scratch []float64 }

// makeConsistent changes the beliefs of edges of one shape so that their sums are the beliefs
// of the nodes, and leaves their entropies unless entropy is nil (simd.Consistent).
func (w *Workspace) makeConsistent(beliefs, entropy []float64, net *Net, st *State, edges []int32, how simd.Scaling) {
	c := &w.consistency
	ku, kv := c.gather(net, st, edges)
	c.scratch = numeric.Resize(c.scratch, simd.ConsistentRoom(ku, kv))
	simd.Consistent(beliefs, entropy, c.rows, c.columns, c.scratch, ku, kv, how)
}

// gather fills in the beliefs of the ends of edges of one shape, which it returns.
func (c *consistency) gather(net *Net, st *State, edges []int32) (ku, kv int) {
	u, v := net.Graph.Ends()
	ku, kv = int(net.Card[u[edges[0]]]), int(net.Card[v[edges[0]]])
	c.rows, c.columns = numeric.Resize(c.rows, len(edges)*ku), numeric.Resize(c.columns, len(edges)*kv)
	net.beliefsOf(c.rows, st, edges, u, ku)
	net.beliefsOf(c.columns, st, edges, v, kv)
	return ku, kv
}

// beliefsOf writes the beliefs of the nodes at one end of edges, of k states each.
func (n *Net) beliefsOf(dst []float64, st *State, edges, ends []int32, k int) {
	for i, e := range edges {
		row := dst[i*k:][:k]
		if b := n.belief(st, ends[e]); b != nil {
			copy(row, b)
			continue
		}
		numeric.Fill(row, math.Inf(-1))
		row[n.Observed[ends[e]]] = 0
	}
	simd.Exp(dst, dst)
}
