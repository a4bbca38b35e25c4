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
// they have half of the most.
const leastProx = 0.25

// The three kinds of ρ_s + κ_s: of plain sweeps, of accelerated ones, and of those that are damped.
const (
	plainProx = iota
	halfProx
	mostProx
	kindsOfProx
)

// proximal returns ρ_s + κ_s of all nodes, of each kind; nil where none has a prox. Damped messages would bring answers
// back a sweep late, and enlarge them. Where some node can overshoot damping is therefore a larger prox, and messages
// go their whole way; where none can there is no such kind, and messages are damped.
func proximal(g *graph.Graph, c *counting.Numbers) (rho [kindsOfProx][]float64) {
	overshoots := false
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
		if !(most > 0) {
			continue
		}
		for i := range rho {
			if rho[i] == nil {
				rho[i] = slices.Clone(c.Rho)
			}
		}
		overshoots = overshoots || answer > c.Rho[s]
		rho[plainProx][s] += max(leastProx*most, min(answer-c.Rho[s], -x)/2)
		rho[halfProx][s] += most / 2
		rho[mostProx][s] += most
	}
	if !overshoots {
		rho[mostProx] = nil
	}
	return rho
}

// smallestProx stands for the log-belief of a state that was impossible, so that other
// potentials can make it possible again. exp of it is 0.
const smallestProx = -800

// chooseProx chooses ρ_s + κ_s of a sweep, and returns the damping that is left to messages.
func (w *Workspace) chooseProx(net *Net, damping float64) float64 {
	w.rho = net.rhoNode
	switch prox := &net.proximal; {
	case w.noProx || prox[plainProx] == nil:
	case damping > 0 && prox[mostProx] != nil:
		w.rho, damping = prox[mostProx], 0
	case w.accelerated:
		w.rho = prox[halfProx]
	default:
		w.rho = prox[plainProx]
	}
	return damping
}

// addProx adds κ_s log τ_s to the potentials of the nodes of the block, for a sweep with ρ_s + κ_s.
func (w *Workspace) addProx(net *Net, st *State, block *partition.Block) {
	pot := &w.Potentials
	w.free = append(w.free[:0], pot.Node...)
	for p, s := range block.Nodes {
		kappa := w.rho[s] - net.rhoNode[s]
		if kappa == 0 {
			continue
		}
		theta := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
		for x, b := range net.belief(st, s) {
			theta[x] += kappa * max(b, smallestProx)
		}
	}
}

// hasProx reports whether nodes have a prox in the sweep.
func (w *Workspace) hasProx(net *Net) bool { return !w.noProx && net.proximal[plainProx] != nil }
