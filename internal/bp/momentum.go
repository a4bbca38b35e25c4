package bp

import (
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Momentum finds velocities of messages: how far the last visit moved them. To carry
// messages on in that direction makes many sweeps into few where they settle slowly: it
// is Nesterov's acceleration of the descent on the dual value (7), and changes what
// sweeps start from, not where they end. One goroutine at a time may use it.
type Momentum struct {
	before []float64 // messages into the block, in the order of Block.In
}

// NewVelocity returns room for the velocities of the messages of a state of this net,
// laid out as State.LogMessage, all zero.
func (n *Net) NewVelocity() []float32 { return make([]float32, n.numMessages) }

// messageOffset says where the log-message of a directed edge begins in a State; the
// target is not observed.
func (n *Net) messageOffset(d int32) int {
	if n.uniform > 0 {
		return int(d) * n.uniform
	}
	return n.messageAt[d]
}

// alone lists a message or a node that lies at the beginning of a slice, and aloneIn says
// that it is the only one.
var (
	alone   = [1]int32{}
	aloneIn = [2]int32{0, 1}
)

// eachRun calls do for the messages into nodes of the block, in the order of Block.In, as
// kernels take them: a list of messages of so many states, of which message 0 would be at
// from. That are all of them at once where all have as many states.
func (n *Net) eachRun(block *partition.Block, do func(in []int32, from, states int)) {
	if n.uniform > 0 {
		do(block.In, 0, n.uniform)
		return
	}
	for i, p := range block.Order {
		k := int(n.Card[block.Nodes[p]])
		for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
			do(alone[:], n.messageAt[d], k)
		}
	}
}

// Carry moves every message into a node of the block on by factor times its velocity,
// and the beliefs of the nodes by as much as (4) says. All blocks are carried on before
// any is visited: one alone would be swept back to what its surroundings ask for.
func Carry(net *Net, st *State, velocity []float32, block *partition.Block, factor float64) {
	if k := net.uniform; k > 0 && net.same != 0 {
		simd.Carry(st.LogBelief, st.LogMessage, velocity, block.Nodes, block.Order, block.InStart, block.In, net.rhoNode, k, factor, net.same)
		return
	}
	for i, p := range block.Order {
		s := block.Nodes[p]
		belief := net.belief(st, s)
		for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
			at := net.messageOffset(d)
			simd.Carry(belief, st.LogMessage[at:], velocity[at:], alone[:], alone[:], aloneIn[:], alone[:], net.rhoNode[s:], len(belief), factor, net.Counting.Edge[d>>1])
		}
	}
}

// MomentumBytes returns what Remember takes for a block.
func MomentumBytes(net *Net, block *partition.Block) float64 {
	n := 0
	net.eachRun(block, func(in []int32, _, k int) { n += len(in) * k })
	return 8 * float64(n+simd.Padding)
}

// Remember notes where the messages of a block were before Carry took them on by
// factor times their velocities, 0 if it did not. It comes before the sweeps of a visit.
func (m *Momentum) Remember(net *Net, st *State, velocity []float32, block *partition.Block, factor float64) {
	n := 0
	net.eachRun(block, func(in []int32, _, k int) { n += len(in) * k })
	m.before = numeric.Resize(m.before, n+simd.Padding)
	before := m.before
	net.eachRun(block, func(in []int32, from, k int) {
		simd.Remember(before, st.LogMessage[from:], velocity[from:], in, k, factor)
		before = before[len(in)*k:]
	})
}

// Measure finds how far carrying and sweeps have moved the messages of a block: their
// velocities from now on. It comes after the sweeps, and returns the product of the new
// with the old velocities, and the new ones' square.
func (m *Momentum) Measure(net *Net, st *State, velocity []float32, block *partition.Block) (product, square float64) {
	before := m.before
	net.eachRun(block, func(in []int32, from, k int) {
		p, s := simd.Measure(before, st.LogMessage[from:], velocity[from:], in, k)
		product, square = product+p, square+s
		before = before[len(in)*k:]
	})
	return product, square
}
