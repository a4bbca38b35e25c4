package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

// stallSweeps is over how many sweeps the rise of the bound is measured: it can
// stand still for some while messages travel across the network.
const stallSweeps = 20

// Sequential runs TRW-S (Kolmogorov 2006) with decoding and local search until the best state found is proved
// optimal, the bound rises in stallSweeps sweeps by no more than a tolerance times 1 + |bound|, or so many sweeps or
// ctx end it. 0 stands for a tolerance of 1e-9, the bound to about nine digits, and for 4000 sweeps, as many as hard
// networks take to get there.
//
// In the order of the nodes every edge has a smaller and a larger end. n_s is the larger one of the numbers of edges
// from s to smaller nodes and to larger ones. The network is thus covered by chains that ascend in the order, n_s of
// them through node s, each with a share γ_s = 1/n_s of its potential. A forward sweep visits nodes in ascending
// order, a backward sweep in descending order. At s, with
//
//	θ̂_s = θ_s + Σ_t M_ts,
//
// the message along every edge that leads on in the direction of the sweep becomes
//
//	M_st(x_t) = max_{x_s} { γ_s θ̂_s(x_s) − M_ts(x_s) + θ_st(x_s, x_t) } − δ_st
//
// with δ_st its maximum. At the end of the sweep the largest scores of all chains sum to
//
//	D = Σ_edges δ_st + Σ_s γ_s (n_s − edges that lead on) max θ̂_s  ≥  max_x Σ θ(x),
//
// which never rises from one sweep to the next. −D is the LowerBound.
//
// p is the pairwise form of n, without auxiliary variables; nil: it is made, with them for larger factors.
//
// Errors are ErrZero where hard zeros contradict each other in a way that is seen
// at once, *NotFoundError, and potentials that overflow.
func Sequential(ctx context.Context, n *mrf.Network, p *mrf.Pairwise, tolerance float64, maxSweeps int,
) (*Result, error) {
	tolerance, maxSweeps = cmp.Or(tolerance, 1e-9), cmp.Or(maxSweeps, 4000)
	var factorOf []int
	if p == nil {
		var err error
		if p, factorOf, err = Pairwise(n); err != nil {
			return nil, err
		}
	}
	possible, ok := gibbs.Possible(p)
	if !ok || math.IsInf(p.Constant, -1) {
		return nil, ErrZero
	}
	s, r := newSequential(n, p, factorOf, possible), &Result{}
	var bounds []float64 // after each sweep
	bound := math.Inf(1)
	for more := true; more; {
		forward := r.Sweeps%2 == 0
		bound = min(bound, s.sweep(forward)) // each is one, up to rounding
		if math.IsNaN(bound) || math.IsInf(bound, 0) {
			return nil, fmt.Errorf("exact: the bound is computed as %v in sweep %d: potentials are too large to be added up; "+
				"subtract a constant from each table", bound, r.Sweeps)
		}
		bounds = append(bounds, bound)
		before := r.Sweeps - stallSweeps
		r.Converged = before >= 0 && bounds[before]-bound <= tolerance*(1+math.Abs(bound))
		r.Sweeps++
		more = !r.Converged && r.Sweeps < maxSweeps && ctx.Err() == nil
		if r.Sweeps <= decodeFirst || r.Sweeps%decodeEvery == 0 || !more {
			s.consider(ctx, !forward)
			r.Optimal = s.closes(bound)
			more = more && !r.Optimal
		}
	}
	if !r.Optimal && len(s.states) > 0 {
		s.searchRegions(ctx)
		r.Optimal = s.closes(bound)
	}
	if s.best.zeros > 0 {
		return nil, &NotFoundError{Sweeps: r.Sweeps, Violated: s.best.zeros}
	}
	r.Converged = r.Converged || r.Optimal
	r.States, r.Energy, r.LowerBound = s.states, -s.best.sum, -bound
	return r, nil
}

// A state is decoded after each of the first sweeps, which is where easy networks
// are solved, and then only after every so many, since decoding and local search
// take longer than a sweep. The number is odd, so that both directions have a turn.
const (
	decodeFirst = 10
	decodeEvery = 7
)

// roundingShare is the share of the sizes of all numbers that were added up below which the difference of two sums is
// rounding: some thousand times what one addition rounds by.
const roundingShare = 1e-12

// closes reports whether the best state reaches the bound, up to rounding. Potentials that play no part in it, such
// as those that all but forbid a state, do not count: they may be large.
func (s *sequential) closes(bound float64) bool {
	return s.best.zeros == 0 && bound-s.best.sum <= roundingShare*(s.size+s.best.size)
}

// sequential is the state of TRW-S.
type sequential struct {
	p         *mrf.Pairwise
	node      []float64 // θ_s as p.Node, −Inf for all states struck out
	order     []int32   // nodes
	rank      []int32   // [nodes] place in order
	messageAt []int     // [directed edges]
	message   []float64 // M of directed edge d over the states of its target; 0 for those struck out
	chains    []int     // [nodes] n_s
	size      float64   // Σ of the sizes of what the last D was added up from

	sum, own []float64 // scratch for one node's states
	scores   []score
	decoded  []int // [nodes of p]
	search   *localSearch
	promise  score // of the best state decoded, before local search
	best     score // of states
	states   []int // [variables]
	trial    []int
}

func newSequential(n *mrf.Network, p *mrf.Pairwise, factorOf []int, possible []bool) *sequential {
	s := &sequential{
		p: p, node: slices.Clone(p.Node), order: orderOf(n, factorOf),
		rank: make([]int32, len(p.Card)), chains: make([]int, len(p.Card)), messageAt: make([]int, 2*p.Graph.NumEdges()+1),
		decoded: make([]int, len(p.Card)), search: newLocalSearch(n),
		states: make([]int, len(n.Card)), trial: make([]int, len(n.Card)),
	}
	s.best.zeros = math.MaxInt
	s.promise = s.best
	for i, left := range possible {
		if !left {
			s.node[i] = math.Inf(-1)
		}
	}
	for i, node := range s.order {
		s.rank[node] = int32(i)
	}
	for d := range s.messageAt[1:] {
		s.messageAt[d+1] = s.messageAt[d] + int(p.Card[p.Graph.Target(int32(d))])
	}
	s.message = make([]float64, s.messageAt[len(s.messageAt)-1])
	most := 0
	for node, card := range p.Card {
		smaller, larger := 0, 0
		for _, d := range p.Graph.Incoming(int32(node)) {
			if s.rank[p.Graph.Source(d)] < s.rank[node] {
				smaller++
			} else {
				larger++
			}
		}
		s.chains[node] = max(1, smaller, larger)
		most = max(most, int(card))
	}
	s.sum, s.own, s.scores = make([]float64, most), make([]float64, most), make([]score, most)
	return s
}

// orderOf lists the nodes of the pairwise form such that an auxiliary variable comes between the variables that it ties
// together: chains along the order then pass through it, which is what TRW-S needs to send anything on.
func orderOf(n *mrf.Network, factorOf []int) (order []int32) {
	after := make([][]int32, len(n.Card)) // auxiliary variables that follow each variable
	for i, f := range factorOf {
		scope := slices.Sorted(slices.Values(n.Factors[f].Scope))
		middle := scope[(len(scope)-1)/2]
		after[middle] = append(after[middle], int32(len(n.Card)+i))
	}
	for v := range n.Card {
		order = append(append(order, int32(v)), after[v]...)
	}
	return order
}

// incoming returns M of directed edge d.
func (s *sequential) incoming(d int32) []float64 { return s.message[s.messageAt[d]:s.messageAt[d+1]] }

// potential returns θ_s of node s.
func (s *sequential) potential(node int32) []float64 {
	return s.node[s.p.NodeAt[node]:s.p.NodeAt[node+1]]
}

// leadsOn reports whether an edge from a node to a neighbour goes in the sweep's direction.
func (s *sequential) leadsOn(forward bool, from, to int32) bool {
	return (s.rank[to] > s.rank[from]) == forward
}

// sweep visits all nodes in one direction and returns D.
func (s *sequential) sweep(forward bool) float64 {
	bound := s.p.Constant
	s.size = math.Abs(bound)
	for i := range s.order {
		node := s.order[i]
		if !forward {
			node = s.order[len(s.order)-1-i]
		}
		bound += s.visit(forward, node)
	}
	return bound
}

// visit sends the messages of one node and returns what it adds to D.
func (s *sequential) visit(forward bool, node int32) (bound float64) {
	sum := s.sum[:s.p.Card[node]]
	copy(sum, s.potential(node))
	incoming := s.p.Graph.Incoming(node)
	for _, d := range incoming {
		add(sum, s.incoming(d))
	}
	ending, gamma := s.chains[node], 1/float64(s.chains[node])
	own := s.own[:len(sum)]
	for _, d := range incoming {
		if !s.leadsOn(forward, node, s.p.Graph.Source(d)) {
			continue
		}
		for i, m := range s.incoming(d) {
			own[i] = gamma*sum[i] - m
		}
		delta := s.send(d^1, own)
		s.size += math.Abs(delta)
		bound += delta
		ending--
	}
	if ending > 0 {
		rest := float64(ending) * gamma * slices.Max(sum)
		s.size += math.Abs(rest)
		bound += rest
	}
	return bound
}

// send computes the message along directed edge d from γ_s θ̂_s − M_ts, and returns δ.
func (s *sequential) send(d int32, own []float64) (delta float64) {
	e, message := d>>1, s.incoming(d)
	table := s.p.Edge[s.p.EdgeAt[e]:s.p.EdgeAt[e+1]]
	if d&1 == 0 {
		maxPlusRows(message, own, table)
	} else {
		maxPlusColumns(message, own, table)
	}
	target := s.potential(s.p.Graph.Target(d))
	delta = math.Inf(-1)
	for i, m := range message {
		if m > delta && !math.IsInf(target[i], -1) {
			delta = m
		}
	}
	for i := range message {
		if math.IsInf(target[i], -1) {
			message[i] = 0
		} else {
			message[i] -= delta
		}
	}
	return delta
}

// consider decodes a joint state and keeps it, after local search, if it is the best so far. Local search is spared
// where decoding alone promises less than before.
func (s *sequential) consider(ctx context.Context, forward bool) {
	s.decode(forward)
	copy(s.trial, s.decoded) // the variables come before the auxiliary ones
	decoded := s.search.place(s.trial)
	if !decoded.above(s.promise, 0) {
		return
	}
	s.promise = decoded
	if found := s.search.improve(ctx, s.trial); found.above(s.best, 0) {
		s.best = found
		copy(s.states, s.trial)
	}
}

// decode fixes one node after the other, in the given direction, at the best state
// given the neighbours that are fixed and the messages from those that are not:
//
//	x_s = argmax θ_s(x_s) + Σ_{t fixed} θ_st(x_s, x_t) + Σ_{t not fixed} M_ts(x_s)
//
// The messages from nodes not yet fixed must be those of the sweep just made, which came from there.
func (s *sequential) decode(forward bool) {
	for i := range s.order {
		node := s.order[i]
		if !forward {
			node = s.order[len(s.order)-1-i]
		}
		scores := s.scores[:s.p.Card[node]]
		for k, x := range s.potential(node) {
			scores[k] = score{}
			scores[k].add(x)
		}
		for _, d := range s.p.Graph.Incoming(node) {
			s.condition(scores, forward, node, d)
		}
		best := 0
		for k := range scores {
			// A state struck out is never part of an answer.
			if !math.IsInf(s.potential(node)[k], -1) &&
				(math.IsInf(s.potential(node)[best], -1) || scores[k].above(scores[best], 0)) {
				best = k
			}
		}
		s.decoded[node] = best
	}
}

// condition adds what the source of directed edge d says about the states of node.
func (s *sequential) condition(scores []score, forward bool, node, d int32) {
	other := s.p.Graph.Source(d)
	if s.leadsOn(forward, node, other) { // not yet fixed
		for k, m := range s.incoming(d) {
			scores[k].add(m)
		}
		return
	}
	table, fixed := s.p.Edge[s.p.EdgeAt[d>>1]:s.p.EdgeAt[d>>1+1]], s.decoded[other]
	for k := range scores {
		if d&1 == 0 { // other is U: it picks the row
			scores[k].add(table[fixed*len(scores)+k])
		} else {
			scores[k].add(table[k*int(s.p.Card[other])+fixed])
		}
	}
}

// maxPlusRows sets dst[j] = max_i own[i] + table[i][j].
func maxPlusRows(dst, own, table []float64) {
	numeric.Fill(dst, math.Inf(-1))
	for i, x := range own {
		row := table[i*len(dst):][:len(dst)]
		for j, y := range row {
			dst[j] = max(dst[j], x+y)
		}
	}
}

// maxPlusColumns sets dst[i] = max_j own[j] + table[i][j].
func maxPlusColumns(dst, own, table []float64) {
	for i := range dst {
		row, best := table[i*len(own):][:len(own)], math.Inf(-1)
		for j, x := range own {
			best = max(best, x+row[j])
		}
		dst[i] = best
	}
}
