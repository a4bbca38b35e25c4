package bp

import (
	"slices"

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
// that move together slower (results/README.md). Accelerated sweeps may be over-relaxed, which enlarges answers, too:
// they have half of the most. Where it is too little messages are damped, too.
const leastProx = 0.25

// proximal returns ρ_s + κ_s of all nodes, in plain sweeps and in accelerated ones; nil where none has a prox.
func proximal(g *graph.Graph, c *counting.Numbers) (rho [2][]float64) {
	for s, x := range c.Node {
		if x >= 0 {
			continue
		}
		answer := 0.0
		for _, d := range g.Incoming(int32(s)) {
			count := c.Edge[d>>1]
			answer += count * max(0, 1-count/c.Rho[g.Source(d)])
		}
		most := min(answer, -x)
		if most > 0 && rho[0] == nil {
			rho = [2][]float64{slices.Clone(c.Rho), slices.Clone(c.Rho)}
		}
		if most > 0 {
			rho[0][s] += max(leastProx*most, min(answer-c.Rho[s], -x)/2)
			rho[1][s] += most / 2
		}
	}
	return rho
}

// smallestProx stands for the log-belief of a state that was impossible, so that other
// potentials can make it possible again. exp of it is 0.
const smallestProx = -800

// addProx adds κ_s log τ_s to the potentials of the nodes of the block, for a sweep with ρ_s + κ_s.
func (w *Workspace) addProx(net *Net, st *State, block *partition.Block) {
	pot, rho := &w.Potentials, w.sweepRho(net)
	w.free = append(w.free[:0], pot.Node...)
	for p, s := range block.Nodes {
		kappa := rho[s] - net.rhoNode[s]
		if kappa == 0 {
			continue
		}
		theta := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
		for x, b := range net.belief(st, s) {
			theta[x] += kappa * max(b, smallestProx)
		}
	}
}

// prox returns ρ_s + κ_s of the nodes in a sweep, nil where none has a prox.
func (w *Workspace) prox(net *Net) []float64 {
	switch {
	case w.noProx:
		return nil
	case w.accelerated:
		return net.proximal[1]
	}
	return net.proximal[0]
}

// sweepRho returns what sums of potentials and messages are divided by in a sweep.
func (w *Workspace) sweepRho(net *Net) []float64 {
	if rho := w.prox(net); rho != nil {
		return rho
	}
	return net.rhoNode
}
