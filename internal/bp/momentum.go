package bp

import (
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Where no c_s is negative a sweep is a descent on the convex dual (7), node by node. What is
// left after a few sweeps are changes that spread over a picture as heat does, and take as many
// sweeps as the square of its width. With x_k what sweep k leaves, the next one begins at
//
//	y_k = x_k + β_k (x_k − x_{k−1})
//
// (Nesterov, 1983), in log-messages and log-beliefs alike, as (4) is linear in them but for a
// constant of each belief, which no message depends on. Then the width counts, not its square
// (results/2026-11-momentum.md). Where some c_s is negative no dual is convex in messages, and
// such steps diverge.

// mostMomentum bounds β_k: with (k−1)/(k+2) alone, what is nearly at rest overshoots.
const mostMomentum = 0.9

// momentumDamping over-relaxes sweeps with momentum. Farther than that, they circle.
const momentumDamping = -0.1

// Momentum returns β of the sweep over a network, the first of which is 0.
func Momentum(sweep int) float64 {
	k := float64(sweep)
	return max(0, min(mostMomentum, (k-1)/(k+2)))
}

// last is what the sweep before the last has left, laid out as in a State.
type last struct{ messages, beliefs []float64 }

func (l *last) fit(net *Net) {
	l.messages, l.beliefs = numeric.Resize(l.messages, net.numMessages), numeric.Resize(l.beliefs, net.numBeliefs)
}

// extrapolate makes y of x everywhere.
func (w *Workspace) extrapolate(st *State, beta float64) {
	simd.Extrapolate(st.LogMessage, w.last.messages, beta)
	simd.Extrapolate(st.LogBelief, w.last.beliefs, beta)
}

// extrapolateNodes makes y of x in the beliefs of some nodes, none of them observed, and in the two
// messages along each edge of which one of them is the first free end: the updates of its ends alone
// read and write these. In a picture all of that lies in two pieces of memory.
func (w *Workspace) extrapolateNodes(net *Net, st *State, nodes []int32, beta float64) {
	beliefs := piece{st.LogBelief, w.last.beliefs, 0, 0}
	messages := piece{st.LogMessage, w.last.messages, 0, 0}
	for _, s := range nodes {
		k := int(net.Card[s])
		beliefs.add(net.BeliefAt(s), k, beta)
		for _, d := range net.Graph.Incoming(s) {
			switch o := net.Graph.Source(d); {
			case net.observed(o):
				messages.add(net.MessageAt(d), k, beta)
			case o > s:
				messages.add(net.MessageAt(d&^1), k+int(net.Card[o]), beta)
			}
		}
	}
	beliefs.add(-1, 0, beta)
	messages.add(-1, 0, beta)
}

// piece is a part lo ≤ i < hi of an array, which grows as long as more of it comes in order.
type piece struct {
	x, old []float64
	lo, hi int
}

// add lets the piece grow by n numbers from at on, or moves it on and begins another.
func (p *piece) add(at, n int, beta float64) {
	if at != p.hi {
		simd.Extrapolate(p.x[p.lo:p.hi], p.old[p.lo:], beta)
		p.lo, p.hi = at, at
	}
	p.hi += n
}
