package mrf

import "fmt"

// LogScore returns Σ_f LogTable_f(x_scope(f)), the logarithm of the unnormalised probability of the joint state x;
// -Inf where a factor is zero. x[v] is the state of variable v. The network must be valid; an x of another length or
// with a state that does not exist is a programmer's mistake and panics.
func (n *Network) LogScore(x []int) float64 {
	if len(x) != len(n.Card) {
		panic(fmt.Sprintf("mrf: LogScore of %d states, want one for each of %d variables", len(x), len(n.Card)))
	}
	for v, state := range x {
		if state < 0 || state >= n.Card[v] {
			panic(fmt.Sprintf("mrf: LogScore with state %d of variable %d, want 0 to %d", state, v, n.Card[v]-1))
		}
	}
	score := 0.0
	for f := range n.Factors {
		factor := &n.Factors[f]
		at := 0
		for _, v := range factor.Scope {
			at = at*n.Card[v] + x[v]
		}
		score += factor.LogTable[at]
	}
	return score
}

// LogScore returns Constant + Σ_s θ_s(x_s) + Σ_uv θ_uv(x_u,x_v), the exponent of EQUATIONS (1) without A(θ). x[s] is
// the state of node s; its length and range are not checked beyond what slices check.
func (p *Pairwise) LogScore(x []int) float64 {
	score := p.Constant
	for s, state := range x {
		score += p.Node[p.NodeAt[s]+state]
	}
	u, v := p.Graph.Ends()
	for e := range u {
		score += p.Edge[p.EdgeAt[e]+x[u[e]]*int(p.Card[v[e]])+x[v[e]]]
	}
	return score
}
