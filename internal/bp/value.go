package bp

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Values are sums over a block of what certifies an inference.
type Values struct {
	// FreeEnergy is ⟨θ,τ⟩ + Σ c H(τ) at the current beliefs: B at a fixed point, if the counting numbers are convex.
	FreeEnergy float64
	// Primal is the same at beliefs that were made consistent first: a lower bound on B up to rounding, −Inf if
	// consistent beliefs would take a forbidden state.
	Primal float64
	// Dual is D(λ) of (7), an upper bound on B at any messages; +Inf where the counting
	// numbers are not Certified, so that (7) does not apply.
	Dual float64
}

// Evaluate computes the values of a block with all of its edges: those of the network if the block is all of it.
// Primal, which is most of the work, is NaN unless it is asked for.
func (w *Workspace) Evaluate(net *Net, st *State, block *partition.Block, primal bool) (Values, error) {
	sum := Values{Primal: math.NaN()}
	for _, p := range block.Order {
		sum.FreeEnergy += w.NodeBeliefs(w.out[:net.Card[block.Nodes[p]]], net, st, block, int(p), int(p)+1)
	}
	if primal {
		sum.Primal = sum.FreeEnergy
	}
	split := net.Counting.Split != nil
	if split {
		w.BeginSplit(block)
	}
	for q, e := range block.Edges {
		pair, rho := w.pair[:net.pairStates(e)], net.Counting.Edge[e]
		// c_uv log Σ exp{(θ_uv − λ'_uv − λ'_vu)/c_uv} over the joint states that nothing
		// forbids is c_uv times the logarithm that normalises the belief.
		logZ, product, err := w.edgeBelief(pair, net, st, block, q)
		if err != nil {
			return sum, err
		}
		if split {
			if err := w.AddSplit(pair, net, st, block, q, q+1); err != nil {
				return sum, err
			}
		}
		sum.FreeEnergy += rho * (logZ - product)
		sum.Dual += rho * logZ
		if primal {
			w.makeConsistent(pair, nil, net, st, block.Edges[q:q+1], simd.Finest)
			sum.Primal += w.PairFreeEnergy(pair, net, block, q)
		}
	}
	sum.Dual += w.NodeTerms(net, st, block, nil)
	return sum, nil
}

// PairFreeEnergy returns ⟨θ_uv,τ_uv⟩ + ρ_uv H(τ_uv) of the q-th edge of the block at any belief.
func (w *Workspace) PairFreeEnergy(pair []float64, net *Net, block *partition.Block, q int) float64 {
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
	return net.Counting.Edge[block.Edges[q]] * value
}

// The dual variables of (7) are not the messages of (4) to (6) but
//
//	λ'_vs = λ_vs − ρ_sv log τ_s,
//
// with which (6) reads τ_uv ∝ exp{(θ_uv − λ'_uv − λ'_vu)/ρ_uv} and (4) reads τ_s ∝ exp{(θ_s + Σ_v λ'_vs)/c_s}: the
// maximisers of the two terms of (7). Any log τ gives a legal λ', so D is a bound before convergence too.

// With a split (counting.Numbers.Split) the terms of the edges are conjugates of concave
// c_uv H(τ_uv) − Σ_s c_{s,uv} H(τ_s), where τ_s are the marginals of τ_uv itself. The
// belief (6), with marginals t_s, maximises such a term for the dual variables
//
//	λ'_vs = λ_vs − ρ_sv log τ_s + c_{s,sv} log t_s
//
// and the maximum is ρ_uv log Z_uv as before. The terms of the nodes have c'_s for c_s.

// The terms of the edges need not be computed to have their sum. At the states y of any labelling
//
//	ρ log Z_uv = θ_uv(y_u,y_v) − ρ log τ_uv(y_u,y_v) − Σ_s (λ_vs(y_s) − ρ log τ_s(y_s))
//
// so that, a_s(x) being θ_s(x) + Σ_v (λ_vs(x) − ρ_sv log τ_s(x)),
//
//	D = ⟨θ, w(y)⟩ − Σ_uv ρ log τ_uv(y_u,y_v) + Σ_s (c'_s log Σ_x exp{(a_s(x) + Σ_v c_{s,sv} log t_s(x))/c'_s} −
// a_s(y_s)).

// BeginSplit prepares for what a split adds to the terms of the block's nodes: AddSplit is called next for all edges of
// the block, then NodeTerms.
func (w *Workspace) BeginSplit(block *partition.Block) {
	pot := &w.Potentials
	w.conditional = numeric.Resize(w.conditional, len(pot.Node))
	clear(w.conditional)
	w.conditionalAt = numeric.Resize(w.conditionalAt, 2*len(block.Edges))
	numeric.Fill(w.conditionalAt, -1)
	for i, p := range block.Order {
		at := pot.NodeAt[p]
		for j := block.InStart[i]; j < block.InStart[i+1]; j++ {
			w.conditionalAt[2*block.InEdge[j]+block.In[j]&1] = at
		}
	}
}

// back lists one message, against the direction of its edge, for kernels.
var back = [1]int32{1}

// AddSplit adds c_{s,e} log t_s for those ends of the edges lo ≤ q < hi of the block that lie in it. t_s are the
// marginals of the edges' beliefs, as EdgeBeliefs has written these.
func (w *Workspace) AddSplit(beliefs []float64, net *Net, st *State, block *partition.Block, lo, hi int) error {
	first, n := block.Edges[lo], hi-lo
	ku, kv := int(net.Card[net.Graph.U(first)]), int(net.Card[net.Graph.V(first)])
	for len(w.ones) < n*ku+kv+simd.Padding {
		w.ones = append(w.ones, 1)
	}
	w.marginals = numeric.Resize(w.marginals, n*(ku+kv)+simd.Padding)
	// Sums of rows are those of one message to all of them, and sums of columns of one message each.
	w.forth, w.numbers, w.places = w.forth[:0], w.numbers[:0], w.places[:0]
	for i := range n {
		w.forth, w.numbers, w.places = append(w.forth, 0), append(w.numbers, int32(i)), append(w.places, i*ku*kv)
	}
	kernels := simd.ForRows(max(n*ku, kv))
	kernels.Products(w.marginals, w.ones, beliefs, back[:], w.numbers, w.places, simd.Sizes{Source: kv, Target: n * ku})
	kernels.Products(w.marginals[n*ku:], w.ones, beliefs, w.forth, w.numbers, w.places, simd.Sizes{Source: ku, Target: kv})
	w.marginals = w.marginals[:n*(ku+kv)]
	rows, columns := w.marginals[:n*ku], w.marginals[n*ku:]
	simd.Log(w.marginals, w.marginals)
	for i, e := range block.Edges[lo:hi] {
		for side, logs := range [2][]float64{columns[i*kv:][:kv], rows[i*ku:][:ku]} {
			q, d := lo+i, 2*e+int32(side)
			at := w.conditionalAt[2*q+side]
			if at < 0 || addLogs(w.conditional[at:], logs, net.Counting.Split[d]) {
				continue
			}
			if err := w.addSmall(w.conditional[at:], logs, net, st, block, d, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// smallMarginal is the logarithm of a marginal below which it is not computed from an edge's belief: weights that
// underflow, from exp(−708) on, and entries of a table as far apart as maxRange can make one of k·exp(−108) wrong.
const smallMarginal = -70

// addLogs adds c times logarithms of marginals to dst. It does nothing and reports false if one is too small to be
// trusted.
func addLogs(dst, logs []float64, c float64) bool {
	if c == 0 {
		return true
	}
	if slices.ContainsFunc(logs, func(l float64) bool { return !(l >= smallMarginal) }) {
		return false
	}
	for x, l := range logs {
		dst[x] += c * l
	}
	return true
}

// addSmall is addLogs where some marginals of the belief of the q-th edge, at the target of d, are small.
func (w *Workspace) addSmall(dst, logs []float64, net *Net, st *State, block *partition.Block, d int32, q int) error {
	logZ, _, err := w.edgeBelief(w.pair[:net.pairStates(d>>1)], net, st, block, q)
	if err != nil {
		return err
	}
	w.marginalLogs(logs, logZ, net, st, d, int32(q))
	for x, l := range logs {
		dst[x] += net.Counting.Split[d] * l
	}
	return nil
}

// marginalLogs replaces the logarithms of small marginals of an edge's belief.
func (w *Workspace) marginalLogs(logs []float64, logZ float64, net *Net, st *State, d, q int32) {
	own, other := w.sum[:len(logs)], w.second[:net.Card[net.Graph.Source(d)]]
	net.cavity(own, st, net.Graph.Target(d), d)
	net.cavity(other, st, net.Graph.Source(d), d^1)
	message := w.weight[:len(logs)]
	w.logMessage(message, other, d, q)
	for x, m := range message {
		switch {
		case logs[x] >= smallMarginal:
		case isForbidden(m) || isForbidden(own[x]):
			logs[x] = math.Inf(-1)
		default:
			logs[x] = own[x] + m + w.form(q).shift - logZ
		}
	}
}

// splitEntries is how many entries of beliefs SplitValue computes together: few enough for the nearest cache.
const splitEntries = 2048

// SplitValue returns NodeTerms after BeginSplit and AddSplit, for a block whose edge beliefs were not kept.
func (w *Workspace) SplitValue(net *Net, st *State, block *partition.Block, labels []int32) (float64, error) {
	w.BeginSplit(block)
	for lo := 0; lo < len(block.Edges); {
		states := net.pairStates(block.Edges[lo])
		hi := net.edgeRun(block.Edges, lo, lo+min(max(1, splitEntries/states), ground.RowsPerBatch))
		w.beliefs = numeric.Resize(w.beliefs, (hi-lo)*states)
		if _, err := w.EdgeBeliefs(w.beliefs, net, st, block, lo, hi); err != nil {
			return 0, err
		}
		if err := w.AddSplit(w.beliefs, net, st, block, lo, hi); err != nil {
			return 0, err
		}
		lo = hi
	}
	return w.NodeTerms(net, st, block, labels), nil
}

// NodeTerms returns the sum of the nodes' terms of the dual value, c'_s log Σ_x exp{a_s(x)/c'_s}, its limit max a_s
// for c'_s = 0, and +Inf for a negative c_s without a split. With labels y, which nothing forbids, it is what the dual
// value has more than ⟨θ, w(y)⟩ − Σ_uv ρ log τ_uv(y_u,y_v) − Σ_s c_s log τ_s(y_s), for nodes of which none is observed.
func (w *Workspace) NodeTerms(net *Net, st *State, block *partition.Block, labels []int32) (total float64) {
	soft := &w.soft
	soft.fit(net.maxCard)
	split, pot := net.Counting.Split, &w.Potentials
	for i, p := range block.Order {
		u := block.Nodes[p]
		theta := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
		if net.observed(u) {
			total += theta[net.Observed[u]]
			continue
		}
		if len(soft.arguments)+len(theta) > cap(soft.arguments) {
			total += soft.sum()
		}
		sum, count, belief := soft.add(theta), net.Counting.Node[u], net.belief(st, u)
		rhos := 0.0
		for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
			rho, message := net.Counting.Edge[d>>1], net.message(st, d, u)[:len(sum)]
			for x, m := range message {
				sum[x] += rho * m
			}
			rhos += rho
			if split != nil {
				count += split[d]
			}
		}
		belief = belief[:len(sum)]
		for x, b := range belief {
			sum[x] -= rhos * b
		}
		if labels != nil {
			y := labels[u]
			total -= sum[y] - net.Counting.Node[u]*belief[y]
		}
		if split != nil {
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
		soft.counts = append(soft.counts, count)
	}
	return total + soft.sum()
}

// softMaxima are terms c log Σ exp(x/c) that are computed together.
type softMaxima struct {
	arguments []float64
	starts    []int // of the arguments of each
	counts    []float64
	totals    []float64
}

// softEntries is how many arguments are computed together: few enough for the nearest cache.
const softEntries = 512

// fit makes room for terms of up to k arguments, and forgets all terms.
func (s *softMaxima) fit(k int) {
	if n := max(softEntries, k); cap(s.arguments) < n {
		s.arguments, s.counts, s.totals = make([]float64, 0, n), make([]float64, 0, n), make([]float64, n)
		s.starts = make([]int, 0, n+1)
	}
	s.arguments, s.starts, s.counts = s.arguments[:0], s.starts[:0], s.counts[:0]
}

// add begins a term with arguments, and returns where they are.
func (s *softMaxima) add(arguments []float64) []float64 {
	at := len(s.arguments)
	s.starts = append(s.starts, at)
	s.arguments = append(s.arguments, arguments...)
	return s.arguments[at:]
}

// sum returns the sum of all terms, max x for c = 0 and +Inf for c < 0, and forgets them.
func (s *softMaxima) sum() (total float64) {
	totals := s.totals[:len(s.counts)]
	s.starts = append(s.starts, len(s.arguments))
	for i, c := range s.counts {
		x := s.arguments[s.starts[i]:s.starts[i+1]]
		largest := slices.Max(x)
		switch {
		case c < 0:
			largest = math.Inf(1)
			clear(x)
		case c == 0 || isForbidden(largest):
			clear(x)
			s.counts[i] = 0
		default:
			for j, v := range x {
				x[j] = (v - largest) / c
			}
		}
		total += largest
	}
	simd.Exp(s.arguments, s.arguments)
	for i := range totals {
		totals[i] = numeric.Sum(s.arguments[s.starts[i]:s.starts[i+1]])
	}
	simd.Log(totals, totals)
	for i, c := range s.counts {
		total += c * totals[i]
	}
	s.arguments, s.starts, s.counts = s.arguments[:0], s.starts[:0], s.counts[:0]
	return total
}
