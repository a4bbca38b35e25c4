package bp

import (
	"math"

	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Momentum finds velocities of messages: how far the last visit moved them. To carry
// messages on in that direction makes many sweeps into few where they settle slowly: it
// is Nesterov's acceleration of the descent on the dual value (7), and changes what
// sweeps start from, not where they end. One goroutine at a time may use it.
type Momentum struct {
	before []float64 // messages into the block, in the order of Block.In
}

// mostVelocity is the largest change of a log-message in a visit that is carried on:
// beyond, and where a state became possible or impossible, there is nothing to follow.
const mostVelocity = simd.MostVelocity

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

// Carry moves every message into a node of the block on by share times its velocity,
// and the beliefs of the nodes by as much as (4) says. All blocks are carried on before
// any is visited: one alone would be swept back to what its surroundings ask for.
func Carry(net *Net, st *State, velocity []float32, block *partition.Block, share float64) {
	for i := range len(block.Order) {
		s := block.Nodes[block.Order[i]]
		belief, rho := net.belief(st, s), net.Counting.RhoNode(s)
		if k := net.uniform; k > 0 && net.Counting.same != 0 {
			in := block.In[block.InStart[i]:block.InStart[i+1]]
			simd.Carry(belief, st.LogMessage, velocity, in, k, share, net.Counting.same/rho)
			continue
		}
		for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
			at := net.messageOffset(d)
			message, v := st.LogMessage[at:][:len(belief)], velocity[at:][:len(belief)]
			toBelief := net.Counting.Edge[d>>1] / rho
			for x := range belief {
				change := share * float64(v[x])
				message[x] += change
				belief[x] += toBelief * change
			}
		}
	}
}

// Remember notes where the messages of a block were before Carry took them on by a
// share of their velocities, 0 if it did not. It comes before the sweeps of a visit.
func (m *Momentum) Remember(net *Net, st *State, velocity []float32, block *partition.Block, share float64) {
	if k := net.uniform; k > 0 {
		m.before = fit(m.before, len(block.In)*k+simd.Padding)
		simd.Remember(m.before, st.LogMessage, velocity, block.In, k, share)
		return
	}
	m.before = m.before[:0]
	for i := range len(block.Order) {
		k := int(net.Card[block.Nodes[block.Order[i]]])
		for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
			at := net.messageOffset(d)
			v := velocity[at:][:k]
			for x, message := range st.LogMessage[at:][:k] {
				m.before = append(m.before, message-share*float64(v[x]))
			}
		}
	}
}

// Measure finds how far carrying and sweeps have moved the messages of a block: their
// velocities from now on. It comes after the sweeps, and returns the product of the new
// with the old velocities, and the new ones' square.
func (m *Momentum) Measure(net *Net, st *State, velocity []float32, block *partition.Block) (product, square float64) {
	if k := net.uniform; k > 0 {
		return simd.Measure(m.before, st.LogMessage, velocity, block.In, k)
	}
	before := m.before
	for i := range len(block.Order) {
		k := int(net.Card[block.Nodes[block.Order[i]]])
		for _, d := range block.In[block.InStart[i]:block.InStart[i+1]] {
			at := net.messageOffset(d)
			message, v, old := st.LogMessage[at:][:k], velocity[at:][:k], before[:k]
			before = before[k:]
			for x, b := range old {
				change := message[x] - b
				if !(math.Abs(change) < mostVelocity) {
					change = 0
				}
				product += change * float64(v[x])
				square += change * change
				v[x] = float32(change)
			}
		}
	}
	return product, square
}
