package bp

import (
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// batchEntries is how many entries the scratch of a batch has for messages: few
// enough for all that a batch works with to stay in the nearest cache, and enough
// to keep the processor busy.
const batchEntries = 1024

// batch is a number of nodes, no two of them neighbours, that are updated step by
// step together (internal/simd).
type batch struct {
	nodes    []simd.Node
	position []int32 // [nodes] in block.Nodes
	list     links   // that messages are taken from
	messages []simd.Message
	in       []int32 // [messages] position in list
	unsafe   []int32 // messages that need logarithms, by their places in messages
	// special are messages that the kernels can't compute, by position in list
	// and the place of the sum.
	special [][2]int32

	kernels                 *simd.Lists
	mostNodes, mostMessages int
	weights, out            []float64 // [messages × states]
	weightsUsed, outUsed    int32
	sums, totals            []float64 // [nodes × states], [nodes]
	residual                float64
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
	if cap(b.messages) < b.mostMessages {
		b.messages, b.in = make([]simd.Message, 0, b.mostMessages), make([]int32, 0, b.mostMessages)
	}
}

// begin takes messages from a list, and forgets what an error left behind.
func (b *batch) begin(list links) {
	b.list = list
	b.nodes, b.position, b.messages, b.in, b.special = b.nodes[:0], b.position[:0], b.messages[:0], b.in[:0], b.special[:0]
	b.weightsUsed, b.outUsed, b.residual = 0, 0, 0
}

// updateRun updates a run: the nodes lo ≤ i < hi of the block's order.
func (w *Workspace) updateRun(net *Net, st *State, block *partition.Block, lo, hi int32,
	damping float64) (residual float64, err error) {
	b := &w.batch
	b.begin(into(block))
	for i := lo; i < hi; i++ {
		if len(b.nodes) == b.mostNodes {
			if err := w.settle(net, st, block, damping); err != nil {
				return b.residual, err
			}
		}
		if err := w.addNode(net, st, block, i, damping); err != nil {
			return b.residual, err
		}
	}
	err = w.settle(net, st, block, damping)
	return b.residual, err
}

// addNode puts a node of the order and the messages into it on the lists.
func (w *Workspace) addNode(net *Net, st *State, block *partition.Block, place int32, damping float64) error {
	b := &w.batch
	p := block.Order[place]
	u := block.Nodes[p]
	at := w.Potentials.NodeAt[p]
	potentials := w.Potentials.Node[at:w.Potentials.NodeAt[p+1]]
	sum := 0
	if n := len(b.nodes); n > 0 {
		sum = int(b.nodes[n-1].Sum + b.nodes[n-1].States)
	}
	copy(b.sums[sum:], potentials)
	b.nodes = append(b.nodes, simd.Node{Belief: net.BeliefAt(u), Inverse: 1 / w.sweepRho(net)[u], Sum: int32(sum),
		States: int32(len(potentials))})
	b.position = append(b.position, p)
	for i, hi := block.InStart[place], block.InStart[place+1]; i < hi; {
		if len(b.messages) == b.mostMessages {
			if err := w.absorb(net, st, damping); err != nil {
				return err
			}
		}
		i = w.addMessages(net, i, hi, int32(sum), int32(len(potentials)))
	}
	return nil
}

// sendRun updates the messages lo ≤ i < hi out of the block. The first sum takes what nobody asks for:
// a belief outside has none.
func (w *Workspace) sendRun(
	net *Net, st *State, block *partition.Block, lo, hi int32, damping float64,
) (residual float64, err error) {
	b := &w.batch
	b.begin(outOf(block))
	for ; lo < hi; lo++ {
		if len(b.messages) == b.mostMessages {
			if err := w.absorb(net, st, damping); err != nil {
				return b.residual, err
			}
		}
		w.addMessages(net, lo, lo+1, 0, net.Card[net.Graph.Target(block.Out[lo])])
	}
	err = w.absorb(net, st, damping)
	return b.residual, err
}

// addMessages lists the messages lo ≤ i < hi of the batch's list, into a node of so many
// states, as far as there is room, and returns the first that it did not.
func (w *Workspace) addMessages(net *Net, lo, hi, sum, states int32) int32 {
	b, k := &w.batch, states
	n, weight, out, plain := len(b.messages), b.weightsUsed, b.outUsed, net.uniform > 0 && len(w.forms) == 0
	messages, in := b.messages[:b.mostMessages], b.in[:b.mostMessages]
	for ; lo < hi && n < len(messages); lo++ {
		d, source, q := b.list.directed[lo], b.list.source[lo], b.list.edge[lo]
		m := &messages[n]
		if plain {
			m.Belief, m.Reverse, m.Old = int(source)*net.uniform, int(d^1)*net.uniform, int(d)*net.uniform
		} else {
			if w.form(q).log || net.observed(source) {
				b.special = append(b.special, [2]int32{lo, sum})
				continue
			}
			k = net.Card[source]
			m.Belief, m.Reverse, m.Old = net.BeliefAt(source), net.MessageAt(d^1), net.MessageAt(d)
		}
		m.Table, m.Backward, m.Sum, m.Source, m.Target = w.at[q], d&1, sum, k, states
		if m.Rho = net.same; m.Rho == 0 {
			m.Rho = net.Counting.Edge[d>>1]
		}
		m.Weight, m.Out, in[n] = weight, out, lo
		n++
		weight += k
		out += states
	}
	b.messages, b.in, b.weightsUsed, b.outUsed = messages[:n], in[:n], weight, out
	return lo
}

// absorb recomputes the listed messages and adds them to the sums of their nodes.
func (w *Workspace) absorb(net *Net, st *State, damping float64) error {
	b := &w.batch
	if len(b.messages) > 0 {
		weights, out := b.weights[:b.weightsUsed], b.out[:b.outUsed]
		b.kernels.Cavities(b.weights, st.LogBelief, st.LogMessage, b.messages)
		simd.Exp(weights, weights)
		b.kernels.Products(b.out, b.weights, w.arena, b.messages)
		b.unsafe = b.unsafe[:0]
		if !simd.AllSafe(out) {
			b.findUnsafe()
		}
		simd.Log(out, out)
		for _, j := range b.unsafe {
			if err := w.redo(net, st, b.in[j], b.out[b.messages[j].Out:]); err != nil {
				return err
			}
		}
		b.residual = larger(b.residual, b.kernels.AbsorbAll(st.LogMessage, b.sums, b.out, b.messages, damping))
	}
	b.messages, b.in, b.weightsUsed, b.outUsed = b.messages[:0], b.in[:0], 0, 0
	for _, s := range b.special {
		d := b.list.directed[s[0]]
		target := net.Graph.Target(d)
		if err := w.redo(net, st, s[0], w.out); err != nil {
			return err
		}
		old := net.message(st, d, target)
		b.residual = larger(b.residual, simd.Absorb(old, w.out, b.sums[s[1]:], net.Counting.Edge[d>>1], damping))
	}
	b.special = b.special[:0]
	return nil
}

// findUnsafe lists the messages with a sum that is not to be trusted.
func (b *batch) findUnsafe() {
	for j := range b.messages {
		m := &b.messages[j]
		if !simd.AllSafe(b.out[m.Out:][:m.Target]) {
			b.unsafe = append(b.unsafe, int32(j))
		}
	}
}

// redo computes message i of the batch's list by itself, in whatever form it takes.
func (w *Workspace) redo(net *Net, st *State, i int32, out []float64) error {
	d := w.batch.list.directed[i]
	if !w.incoming(out[:net.Card[net.Graph.Target(d)]], net, st, d, w.batch.list.edge[i]) {
		return &NumericalError{-1, d >> 1, "no joint state of its ends is possible: forbidden states contradict each " +
			"other, so the partition function is zero"}
	}
	return nil
}

// settle absorbs what is still listed and computes the beliefs of the listed nodes
// by (4).
func (w *Workspace) settle(net *Net, st *State, block *partition.Block, damping float64) error {
	if err := w.absorb(net, st, damping); err != nil {
		return err
	}
	b := &w.batch
	if len(b.nodes) == 0 {
		return nil
	}
	last := &b.nodes[len(b.nodes)-1]
	used := last.Sum + last.States
	if done := b.kernels.Shift(b.sums, b.nodes); done < len(b.nodes) {
		n := &b.nodes[done]
		return &NumericalError{block.Nodes[b.position[done]], -1, beliefTrouble(b.sums[n.Sum:][:n.States])}
	}
	weights, totals := b.weights[:used], b.totals[:len(b.nodes)]
	simd.Exp(weights, b.sums)
	b.kernels.Totals(totals, weights, b.nodes)
	simd.Log(totals, totals)
	b.residual = larger(b.residual, b.kernels.Settle(st.LogBelief, b.sums, totals, b.nodes))
	b.nodes, b.position = b.nodes[:0], b.position[:0]
	return nil
}
