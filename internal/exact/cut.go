package exact

import (
	"errors"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/flow"
	"github.com/blockbp/blockbp/internal/gibbs"
)

// NotSubmodularError says why a network cannot be solved by a minimum cut.
type NotSubmodularError struct{ Reason string }

// Error implements error.
func (e *NotSubmodularError) Error() string {
	return "a minimum cut needs a binary submodular network: " + e.Reason
}

// MinimumCut finds a most probable state of a binary submodular network exactly.
// With the energies E of an edge's joint states that is (Kolmogorov and Zabih 2004)
//
//	w = E(0,1) + E(1,0) − E(0,0) − E(1,1) ≥ 0   on every edge,
//
// if necessary after the two states of some nodes have changed names. States that hard zeros rule out do not count,
// so a node of more states may be binary after all. With E(0,0) = A, E(0,1) = B, E(1,0) = C, E(1,1) = D,
//
//	E(x_u, x_v) = A + (C−A) x_u + (D−C) x_v + w (1−x_u) x_v:
//
// what stands before x_u and x_v joins the node to the source or the sink, and w is the capacity from u to v. A
// *NotSubmodularError is returned for other networks, ErrZero where hard zeros contradict each other.
func (p *Problem) MinimumCut() (*Result, error) {
	if f := p.largeFactor(); f >= 0 {
		return nil, &NotSubmodularError{fmt.Sprintf("factor %d joins %d variables", f, len(p.network.Factors[f].Scope))}
	}
	if _, err := p.Pairwise(); err != nil {
		return nil, err
	}
	possible, ok := gibbs.Possible(p.pairwise)
	if !ok || math.IsInf(p.pairwise.Constant, -1) {
		return nil, ErrZero
	}
	c := &cut{Problem: p, possible: possible}
	if err := c.listStates(); err != nil {
		return nil, err
	}
	if err := c.rename(); err != nil {
		return nil, err
	}
	c.build()
	for s, x := range c.excess {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("mpe: the potentials of variable %d and its edges sum to %v: they are too large to be "+
				"added up; subtract a constant from each table", p.number(int32(s)), x)
		}
	}
	inside := flow.MinimumCut(p.pairwise.Graph, c.excess, c.forward, c.backward)
	r := &Result{States: make([]int, len(inside)), Optimal: true, Converged: true}
	for s, in := range inside {
		r.States[s] = int(c.states[s][1])
		if in {
			r.States[s] = int(c.states[s][0])
		}
	}
	r.Energy = -p.network.LogScore(r.States)
	r.LowerBound = r.Energy
	if math.IsNaN(r.Energy) || math.IsInf(r.Energy, 0) {
		return nil, errors.New("mpe: the minimum cut has an energy that is not finite: potentials are too large to be " +
			"added up; subtract a constant from each table")
	}
	return r, nil
}

// cut is a minimum-cut problem under construction.
type cut struct {
	*Problem
	possible []bool
	// states[s] are the states of node s that stand for 0 and 1; the same twice where only one is possible.
	states            [][2]int32
	excess            []float64 // [nodes] energy of 1 over that of 0
	forward, backward []float64 // [edges] energy of (0, 1) and of (1, 0) on top
}

// listStates finds the possible states of each node.
func (c *cut) listStates() error {
	c.states = make([][2]int32, len(c.pairwise.Card))
	for s := range c.states {
		count := 0
		for i, left := range c.possible[c.pairwise.NodeAt[s]:c.pairwise.NodeAt[s+1]] {
			if !left {
				continue
			}
			if count == 0 {
				c.states[s][0] = int32(i)
			}
			if count++; count > 2 {
				return &NotSubmodularError{fmt.Sprintf("variable %d has more than two possible states", c.number(int32(s)))}
			}
			c.states[s][1] = int32(i)
		}
	}
	return nil
}

// binary reports whether both states of a node are possible.
func (c *cut) binary(s int32) bool { return c.states[s][0] != c.states[s][1] }

// energies returns A, B, C and D of edge e.
func (c *cut) energies(e int32) (a, b, x, d float64) {
	u, v := c.pairwise.Graph.U(e), c.pairwise.Graph.V(e)
	table := c.pairwise.Edge[c.pairwise.EdgeAt[e]:c.pairwise.EdgeAt[e+1]]
	at := func(i, j int) float64 {
		return -table[c.states[u][i]*c.pairwise.Card[v]+c.states[v][j]]
	}
	return at(0, 0), at(0, 1), at(1, 0), at(1, 1)
}

// modularShare is the share of an edge's energies below which w is rounding.
const modularShare = 0x1p-50

// coupling returns w of edge e, 0 if one end is not binary.
func (c *cut) coupling(e int32) float64 {
	if !c.binary(c.pairwise.Graph.U(e)) || !c.binary(c.pairwise.Graph.V(e)) {
		return 0
	}
	// Every state left has a partner left, so A and D are not infinite where B or C is: w is a number.
	a, b, x, d := c.energies(e)
	w := (b - a) + (x - d)
	if math.Abs(w) <= modularShare*(math.Abs(a)+math.Abs(b)+math.Abs(x)+math.Abs(d)) && !math.IsInf(w, 0) {
		return 0
	}
	return w
}

// rename exchanges the states of nodes so that no w is negative, if that can be done: the ends of an edge with w < 0
// must be treated differently, those of one with w > 0 alike.
func (c *cut) rename() error {
	g := c.pairwise.Graph
	const unknown, keep, exchange = 0, 1, 2
	verdict := make([]uint8, len(c.states))
	coupling := make([]float64, g.NumEdges())
	for e := range coupling {
		coupling[e] = c.coupling(int32(e))
	}
	var queue []int32
	for root := range c.states {
		if verdict[root] != unknown {
			continue
		}
		verdict[root] = keep
		queue = append(queue[:0], int32(root))
		for len(queue) > 0 {
			s := queue[0]
			queue = queue[1:]
			for _, d := range g.Incoming(s) {
				t, w := g.Source(d), coupling[d>>1]
				if w == 0 {
					continue
				}
				want := verdict[s]
				if w < 0 {
					want = keep + exchange - want
				}
				switch verdict[t] {
				case unknown:
					verdict[t] = want
					queue = append(queue, t)
				case want:
				default:
					return &NotSubmodularError{fmt.Sprintf("no choice of names for the two states makes the edge between "+
						"variables %d and %d submodular as well as those of a loop that it closes",
						c.number(g.U(d>>1)), c.number(g.V(d>>1)))}
				}
			}
		}
	}
	for s, v := range verdict {
		if v == exchange {
			c.states[s][0], c.states[s][1] = c.states[s][1], c.states[s][0]
		}
	}
	return nil
}

// build adds up what stands before each x_s, and the capacities.
func (c *cut) build() {
	p := c.pairwise
	c.excess, c.forward, c.backward = make([]float64, len(c.states)), make([]float64, p.Graph.NumEdges()),
		make([]float64, p.Graph.NumEdges())
	for s, two := range c.states {
		c.excess[s] = p.Node[p.NodeAt[s]+int(two[0])] - p.Node[p.NodeAt[s]+int(two[1])]
	}
	for e := range c.forward {
		u, v := p.Graph.U(int32(e)), p.Graph.V(int32(e))
		a, b, x, d := c.energies(int32(e))
		w := c.coupling(int32(e))
		switch {
		case !c.binary(u):
			c.excess[v] += b - a // 0 if v is not binary either
		case !c.binary(v):
			c.excess[u] += x - a
		case !math.IsInf(x, 1):
			c.excess[u] += x - a
			c.excess[v] += d - x
			c.forward[e] = w
		case !math.IsInf(b, 1): // the same from the other end
			c.excess[v] += b - a
			c.excess[u] += d - b
			c.backward[e] = w
		default: // equal states only
			c.excess[u] += d - a
			c.forward[e], c.backward[e] = w, w
		}
	}
}
