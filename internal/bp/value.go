package bp

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Values are sums over a block of what certifies an inference.
type Values struct {
	// FreeEnergy is ⟨θ,τ⟩ + Σ c H(τ) at the current beliefs: B at a fixed point, if
	// the counting numbers are convex.
	FreeEnergy float64
	// Primal is the same at beliefs that were made consistent first: a lower
	// bound on B up to rounding, −Inf if that would take a forbidden state.
	Primal float64
	// Dual is D(λ) of (7), an upper bound on B at any messages; +Inf where the counting
	// numbers are not Certified, so that (7) does not apply.
	Dual float64
}

// Add adds the values of another block, times a weight. Edges that are cut between two
// blocks must be counted in one of them only; Evaluate counts them in the block of U.
func (v *Values) Add(o Values, weight float64) {
	v.FreeEnergy += weight * o.FreeEnergy
	v.Primal += weight * o.Primal
	v.Dual += weight * o.Dual
}

// Evaluate computes the values of the block's nodes and of those of its edges
// whose first end U lies in it. of is the partition's assignment of nodes to
// blocks and id the number of this block.
func (w *Workspace) Evaluate(net *Net, st *State, block *partition.Block, of []int32, id int32) (Values, error) {
	return w.evaluate(net, st, block, of, id, true)
}

// Dual computes the dual value alone.
func (w *Workspace) Dual(net *Net, st *State, block *partition.Block, of []int32, id int32) (float64, error) {
	values, err := w.evaluate(net, st, block, of, id, false)
	return values.Dual, err
}

func (w *Workspace) evaluate(net *Net, st *State, block *partition.Block, of []int32, id int32, primal bool) (Values, error) {
	var sum Values
	for _, p := range block.Order {
		free := w.NodeBelief(w.out[:net.Card[block.Nodes[p]]], net, st, block, int(p))
		sum.FreeEnergy += free
		sum.Primal += free
	}
	split := net.Counting.Split != nil
	if split {
		w.beginConditionals(net, block)
	}
	for q, e := range block.Edges {
		own := of[net.Graph.U(e)] == id
		if !own && !split {
			continue
		}
		pair := w.pair[:net.pairStates(e)]
		// c_uv log Σ exp{(θ_uv − λ'_uv − λ'_vu)/c_uv} over the joint states that nothing
		// forbids is c_uv times the logarithm that normalises the belief.
		logZ, product, err := w.edgeBelief(pair, net, st, block, q)
		if err != nil {
			return sum, err
		}
		if split {
			w.addConditional(pair, logZ, net, st, block, q)
		}
		if !own {
			continue
		}
		rho := net.Counting.Edge[e]
		sum.FreeEnergy += rho * (logZ - product)
		sum.Dual += rho * logZ
		if primal {
			w.makeConsistent(pair, net, st, block.Edges[q:q+1], 0)
			sum.Primal += w.tableFreeEnergy(pair, rho, q)
		}
	}
	for i := range block.Order {
		sum.Dual += w.nodeDual(net, st, block, i)
	}
	return sum, nil
}

// tableFreeEnergy returns ⟨θ,τ⟩ + ρ H(τ) of the q-th edge at any pair belief.
func (w *Workspace) tableFreeEnergy(pair []float64, rho float64, q int) float64 {
	logs, theta := w.logs[:len(pair)], w.values(int32(q), len(pair))
	f := w.form(int32(q))
	if !f.log {
		table := w.logs[len(pair):][:len(pair)]
		simd.Log(table, theta)
		theta = table
	}
	simd.Log(logs, pair)
	value := 0.0
	for i, x := range pair {
		if x != 0 { // a NaN must not pass for a forbidden state
			value += x * (theta[i] + f.shift - logs[i])
		}
	}
	return rho * value
}

// The dual variables of (7) are not the messages of (4) to (6) but
//
//	λ'_vs = λ_vs − ρ_sv log τ_s,
//
// with which (6) reads τ_uv ∝ exp{(θ_uv − λ'_uv − λ'_vu)/ρ_uv} and (4) reads
// τ_s ∝ exp{(θ_s + Σ_v λ'_vs)/c_s}: the maximisers of the two terms of (7). Any
// log τ gives a legal λ', so D is a bound before convergence too.

// With a split (counting.Numbers.Split) the terms of the edges are conjugates of concave
// c_uv H(τ_uv) − Σ_s c_{s,uv} H(τ_s), where τ_s are the marginals of τ_uv itself. The
// belief (6), with marginals t_s, maximises such a term for the dual variables
//
//	λ'_vs = λ_vs − ρ_sv log τ_s + c_{s,sv} log t_s
//
// and the maximum is ρ_uv log Z_uv as before. The terms of the nodes have c'_s for c_s.

// beginConditionals makes room for Σ_e c_{s,e} log t_s of the block's nodes.
func (w *Workspace) beginConditionals(net *Net, block *partition.Block) {
	pot := &w.Potentials
	w.conditional = numeric.Resize(w.conditional, len(pot.Node))
	clear(w.conditional)
	w.conditionalAt = numeric.Resize(w.conditionalAt, 2*len(block.Edges))
	for i := range w.conditionalAt {
		w.conditionalAt[i] = -1
	}
	for i, p := range block.Order {
		for j := block.InStart[i]; j < block.InStart[i+1]; j++ {
			w.conditionalAt[2*block.InEdge[j]+block.In[j]&1] = pot.NodeAt[p]
		}
	}
}

// addConditional adds c_{s,e} log t_s to the conditionals of those ends of the q-th edge
// of the block that lie in it, t_s being the marginals of the edge's belief.
func (w *Workspace) addConditional(pair []float64, logZ float64, net *Net, st *State, block *partition.Block, q int) {
	d := 2 * block.Edges[q]
	rows, columns := int(net.Card[net.Graph.U(d>>1)]), int(net.Card[net.Graph.V(d>>1)])
	if c, at := net.Counting.Split[d+1], w.conditionalAt[2*q+1]; c > 0 && at >= 0 {
		t := w.rowSum[:rows]
		for i := range t {
			t[i] = 0
			for _, x := range pair[i*columns:][:columns] {
				t[i] += x
			}
		}
		w.addLogs(w.conditional[at:][:rows], c, t, logZ, net, st, d+1, int32(q))
	}
	if c, at := net.Counting.Split[d], w.conditionalAt[2*q]; c > 0 && at >= 0 {
		t := w.colSum[:columns]
		sumColumns(t, pair)
		w.addLogs(w.conditional[at:][:columns], c, t, logZ, net, st, d, int32(q))
	}
}

// smallMarginal is the marginal of an edge's belief below which it is computed with
// logarithms: weights that underflow, from exp(−708) on, and entries of a table as far
// from each other as maxRange can make one of k·exp(−108) wrong.
const smallMarginal = 1e-30

// addLogs adds c log t to dst: t are the marginals of the belief of the q-th edge at the
// target of d.
func (w *Workspace) addLogs(dst []float64, c float64, t []float64, logZ float64, net *Net, st *State, d, q int32) {
	logs := w.logs[:len(t)]
	simd.Log(logs, t)
	if slices.Min(t) < smallMarginal {
		w.marginalLogs(logs, t, logZ, net, st, d, q)
	}
	for x, l := range logs {
		dst[x] += c * l
	}
}

// marginalLogs replaces the logarithms of small marginals of an edge's belief.
func (w *Workspace) marginalLogs(logs, t []float64, logZ float64, net *Net, st *State, d, q int32) {
	own, other := w.sum[:len(t)], w.second[:net.Card[net.Graph.Source(d)]]
	net.cavity(own, st, net.Graph.Target(d), d)
	net.cavity(other, st, net.Graph.Source(d), d^1)
	for x := range t {
		if t[x] >= smallMarginal {
			continue
		}
		largest := math.Inf(-1)
		for y, b := range other {
			largest = larger(largest, b+w.logAt(q, jointIndex(d, y, x, len(other), len(t))))
		}
		logs[x] = math.Inf(-1)
		if isForbidden(largest) || isForbidden(own[x]) {
			continue
		}
		total := 0.0
		for y, b := range other {
			total += exp(b + w.logAt(q, jointIndex(d, y, x, len(other), len(t))) - largest)
		}
		logs[x] = own[x] + largest + math.Log(total) + w.form(q).shift - logZ
	}
}

// nodeDual returns c'_s log Σ exp{(θ_s + Σ_v λ'_vs)/c'_s} of the i-th node of the
// order, its limit max{θ_s + Σ λ'_vs} for c'_s = 0, and +Inf for a negative c_s without
// a split.
func (w *Workspace) nodeDual(net *Net, st *State, block *partition.Block, i int) float64 {
	p := block.Order[i]
	u := block.Nodes[p]
	pot := &w.Potentials
	theta := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
	if net.observed(u) {
		return theta[net.Observed[u]]
	}
	sum, count := w.sum[:len(theta)], net.Counting.Node[u]
	copy(sum, theta)
	belief := net.belief(st, u)
	for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
		rho := net.Counting.Edge[d>>1]
		for x, m := range net.message(st, d, u) {
			sum[x] += rho * (m - belief[x])
		}
		if net.Counting.Split != nil {
			count += net.Counting.Split[d]
		}
	}
	if net.Counting.Split != nil {
		count = max(0, count) // a larger one, for rounding, still bounds B
		for x, l := range w.conditional[pot.NodeAt[p]:pot.NodeAt[p+1]] {
			sum[x] += l
		}
	}
	for x, b := range belief {
		if isForbidden(b) {
			sum[x] = b
		}
	}
	return softMax(sum, count)
}

// softMax returns c log Σ exp(x/c): max x for c = 0, +Inf for c < 0.
func softMax(x []float64, c float64) float64 {
	largest := math.Inf(-1)
	for _, v := range x {
		largest = larger(largest, v)
	}
	switch {
	case c < 0:
		return math.Inf(1)
	case c == 0 || isForbidden(largest):
		return largest
	}
	total := 0.0
	for _, v := range x {
		total += exp((v - largest) / c)
	}
	return largest + c*math.Log(total)
}

func sumColumns(colSum, pair []float64) {
	clear(colSum)
	for at := 0; at < len(pair); at += len(colSum) {
		for j, x := range pair[at:][:len(colSum)] {
			colSum[j] += x
		}
	}
}
