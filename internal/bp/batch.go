package bp

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// batchEntries is how many entries the scratch of a batch has for messages: few enough for all that a batch works with
// to stay in the nearest cache, and enough to keep the processor busy.
const batchEntries = 1024

// leastLog is the logarithm of the least sum that is trusted.
var leastLog = math.Log(tooSmall)

// batch is a number of nodes, no two of them neighbours, that are updated step by step together (internal/simd).
type batch struct {
	nodes []simd.Node
	// sources and targets have as many states, where they differ: none where a message needs logarithms.
	sources, targets        []int32
	kernels                 *simd.Lists
	mostNodes, mostMessages int
	weights, out            []float64 // [messages × states]
	sums, totals            []float64 // [nodes × states], [nodes]
}

// links are directed edges with the positions in Block.Edges of their edges and with their sources:
// those into a block, or those out of it.
type links struct{ directed, edge, source []int32 }

func into(b *partition.Block) links  { return links{b.In, b.InEdge, b.InSource} }
func outOf(b *partition.Block) links { return links{b.Out, b.OutEdge, b.OutSource} }

// fit makes room for nodes of up to k states.
func (b *batch) fit(k int) {
	k = max(1, k)
	b.kernels, b.mostMessages = simd.ForRows(k), max(1, batchEntries/k)
	b.mostNodes = max(1, batchEntries/2/k)
	if n := b.mostMessages*k + simd.Padding; len(b.out) < n {
		b.weights, b.out = make([]float64, n), make([]float64, n)
		b.sums = make([]float64, n)
		b.totals = make([]float64, batchEntries)
	}
}

// updateRun updates a run: the nodes lo ≤ i < hi of the block's order.
func (w *Workspace) updateRun(net *Net, st *State, block *partition.Block, lo, hi int32,
	damping float64) (residual float64, err error) {
	for first := lo; first < hi && err == nil; first = lo {
		var change float64
		lo = w.listNodes(net, block, first, hi)
		change, err = w.absorb(net, st, into(block), block.InStart[first], block.InStart[lo], w.Potentials.Node, damping)
		residual = max(residual, change)
		if err == nil {
			change, err = w.settle(st, block, first)
			residual = max(residual, change)
		}
	}
	return residual, err
}

// listNodes lists nodes of the order from the lo-th on, as many as there is room for and at least one, and returns the
// first that it did not.
func (w *Workspace) listNodes(net *Net, block *partition.Block, lo, hi int32) int32 {
	b, at, rho, sum := &w.batch, w.Potentials.NodeAt, w.rho, 0
	begin := block.InStart[lo]
	last := begin + int32(b.mostMessages)
	hi = min(hi, lo+int32(b.mostNodes))
	order, ends := block.Order[lo:hi], block.InStart[lo+1:hi+1]
	nodes := slices.Grow(b.nodes[:0], len(order))[:len(order)]
	b.nodes = nodes
	for i, p := range order {
		end := ends[i]
		if end > last && i > 0 {
			b.nodes = nodes[:i]
			break
		}
		u, k := block.Nodes[p], at[p+1]-at[p]
		n := &nodes[i] // field by field: as a whole it would be copied once more
		n.Belief, n.Inverse, n.Potential = net.BeliefAt(u), 1/rho[u], at[p]
		n.Sum, n.States, n.Messages = int32(sum), int32(k), end-begin
		sum, begin = sum+k, end
	}
	return lo + int32(len(b.nodes))
}

// send updates the messages out of the block. The first sum takes what nobody asks for: a belief outside has none.
func (w *Workspace) send(net *Net, st *State, block *partition.Block, damping float64) (residual float64, err error) {
	b := &w.batch
	lo, hi := int32(0), int32(len(block.Out))
	for first := lo; first < hi && err == nil; first = lo {
		k := net.Card[net.Graph.Target(block.Out[first])]
		most := min(hi, first+int32(b.mostMessages))
		for lo < most && (net.uniform > 0 || net.Card[net.Graph.Target(block.Out[lo])] == k) {
			lo++
		}
		var change float64
		b.nodes = append(b.nodes[:0], simd.Node{States: k, Messages: lo - first})
		change, err = w.absorb(net, st, outOf(block), first, lo, b.sums, damping)
		residual = max(residual, change)
	}
	return residual, err
}

// absorb recomputes the messages lo ≤ i < hi of a list and adds them to the sums of the listed nodes, which begin with
// their potentials.
func (w *Workspace) absorb(net *Net, st *State, list links, lo, hi int32, potentials []float64,
	damping float64) (residual float64, err error) {
	b := &w.batch
	rho := net.Counting.Edge
	if net.same != 0 {
		rho = nil
	}
	inverse := b.nodes[0].Inverse
	for more := true; more; potentials = b.sums {
		end := min(hi, lo+int32(b.mostMessages))
		if more = end < hi; len(b.nodes) == 1 { // as many messages as there is room for
			if b.nodes[0].Messages, b.nodes[0].Inverse = end-lo, inverse; more {
				b.nodes[0].Inverse = 0
			}
		}
		if err := w.recompute(net, st, list, lo, end); err != nil {
			return residual, err
		}
		residual = max(residual, b.kernels.Absorb(st.LogMessage, b.sums, potentials, b.out, list.directed[lo:end],
			net.messageAt, rho, net.same, b.nodes, damping))
		b.nodes[0].Potential, lo = int(b.nodes[0].Sum), end
	}
	return residual, nil
}

// recompute leaves the messages lo ≤ i < hi of a list in b.out.
func (w *Workspace) recompute(net *Net, st *State, list links, lo, hi int32) error {
	b := &w.batch
	n, weights, sent := w.sizes(net, list, lo, hi)
	source, directed := list.source[lo:hi], list.directed[lo:hi]
	edge := list.edge[lo:hi]
	if n.Source == 2 && n.Target == 2 &&
		b.kernels.Pairs(b.out, st.LogBelief, st.LogMessage, w.arena, source, directed, edge, w.at) {
		return nil
	}
	out := b.out[:sent]
	if weights > 0 {
		b.kernels.Cavities(b.weights, st.LogBelief, st.LogMessage, source, directed, net.beliefAt, net.messageAt, n)
		simd.Exp(b.weights[:weights], b.weights)
		b.kernels.Products(b.out, b.weights, w.arena, directed, edge, w.at, n)
		if simd.Log(out, out) {
			return nil
		}
	}
	unsafe := func(log float64) bool { return !(log >= leastLog && log <= math.MaxFloat64) }
	for i, d := range directed {
		message := out[:net.Card[net.Graph.Target(d)]]
		if (weights == 0 || slices.ContainsFunc(message, unsafe)) && !w.incoming(message, net, st, d, edge[i]) {
			return &NumericalError{-1, d >> 1, "no joint state of its ends is possible: forbidden states contradict each " +
				"other, so the partition function is zero"}
		}
		out = out[len(message):]
	}
	return nil
}

// sizes returns how many states the ends of the messages lo ≤ i < hi of a list have, those of the listed nodes, and how
// many weights and numbers to send that makes.
func (w *Workspace) sizes(net *Net, list links, lo, hi int32) (n simd.Sizes, weights, sent int) {
	b := &w.batch
	if k := net.uniform; k > 0 && len(w.forms) == 0 {
		return simd.Sizes{Source: k, Target: k}, int(hi-lo) * k, int(hi-lo) * k
	}
	b.sources, b.targets = b.sources[:0], b.targets[:0]
	for _, node := range b.nodes {
		for end := lo + node.Messages; lo < end; lo++ {
			s, k := list.source[lo], int32(0)
			if f := w.form(list.edge[lo]); !f.log && f.band == (simd.Band{}) && net.BeliefAt(s) >= 0 {
				k = net.Card[s]
			}
			b.sources, b.targets = append(b.sources, k), append(b.targets, node.States)
			weights, sent = weights+int(k), sent+int(node.States)
		}
	}
	return simd.Sizes{Sources: b.sources, Targets: b.targets}, weights, sent
}

// settle computes the beliefs of the listed nodes, the order's from the first on, by (4).
func (w *Workspace) settle(st *State, block *partition.Block, first int32) (residual float64, err error) {
	b := &w.batch
	last := &b.nodes[len(b.nodes)-1]
	used := last.Sum + last.States
	weights, totals := b.weights[:used], b.totals[:len(b.nodes)]
	simd.Exp(weights, b.sums)
	b.kernels.Totals(totals, weights, b.nodes)
	if !simd.Log(totals, totals) {
		bad := slices.IndexFunc(totals, func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat64) })
		s, n := block.Nodes[block.Order[int(first)+bad]], &b.nodes[bad]
		return 0, &NumericalError{s, -1, beliefTrouble(b.sums[n.Sum:][:n.States])}
	}
	return b.kernels.Settle(st.LogBelief, b.sums, totals, b.nodes), nil
}
