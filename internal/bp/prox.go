package bp

import (
	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
)

// A node s with c_s < 0 and many neighbours makes plain sweeps circle. What it sends along an edge comes back from the
// other end o with the factor c_uv/ρ_o − 1, below zero, times the squared correlation of the ends, at most 1. All edges
// together answer a change of log τ_s by up to −g_s times it,
//
//	g_s = Σ_o c_so/ρ_s (1 − c_so/ρ_o),
//
// and messages overshoot where that is below −1. So the node gets a proximal term, a prox: to (2)
// is added −κ_s KL(τ_s ‖ τ_s of before), with which (4) reads
//
//	τ_s ∝ exp{(θ_s + Σ_v λ_vs + κ_s log τ_s of before)/(ρ_s + κ_s)}.
//
// It changes no fixed point. With κ_s = −c_s, the most that can be needed, no count of a node is negative any more, and
// with κ_s = ρ_s g_s the answer is met in full. On a forest with c_uv = 1 there is none.

// leastProx of the most that can be needed, the smaller of ρ_s g_s and −c_s, holds a node in any case. Where half of
// ρ_s (g_s − 1) is more, that does, up to half of −c_s: with less an answer is enlarged. More of either makes beliefs
// that move together slower (results/README.md). Where it is too little messages are damped, too.
const leastProx = 0.25

// proximal returns ρ_s + κ_s of all nodes, nil where none has a prox.
func proximal(g *graph.Graph, c *counting.Numbers) (rho []float64) {
	for s, x := range c.Node {
		if x >= 0 {
			continue
		}
		answer := 0.0
		for _, d := range g.Incoming(int32(s)) {
			count := c.Edge[d>>1]
			answer += count * max(0, 1-count/c.Rho[g.Source(d)])
		}
		if kappa := max(leastProx*min(answer, -x), min(answer-c.Rho[s], -x)/2); kappa > 0 {
			if rho == nil {
				rho = append(rho, c.Rho...)
			}
			rho[s] += kappa
		}
	}
	return rho
}

// smallestProx stands for the log-belief of a state that was impossible, so that other
// potentials can make it possible again. exp of it is 0.
const smallestProx = -800

// addProx adds κ_s log τ_s to the potentials of the nodes of the block, for a sweep with ρ_s + κ_s.
func (w *Workspace) addProx(net *Net, st *State, block *partition.Block) {
	pot := &w.Potentials
	w.free = append(w.free[:0], pot.Node...)
	for p, s := range block.Nodes {
		kappa := net.proximal[s] - net.rhoNode[s]
		if kappa == 0 {
			continue
		}
		theta := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
		for x, b := range net.belief(st, s) {
			theta[x] += kappa * max(b, smallestProx)
		}
	}
}

// sweepRho returns what sums of potentials and messages are divided by in a sweep.
func (w *Workspace) sweepRho(net *Net) []float64 {
	if net.proximal != nil && !w.noProx {
		return net.proximal
	}
	return net.rhoNode
}
