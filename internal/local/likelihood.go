package local

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// likelihood is the negative log-likelihood
//
//	Σ_n [log Z(θ_n) − ⟨θ_n, w_n⟩],    or log Z(θ_n) − log Z(θ_n | known labels)
//
// for a sample with missing ones. Its gradient is M (τ − w), τ being exact marginals: those of belief propagation where
// one sweep back and one forth are exact, as on chains, and elsewhere of the elimination of variables.
//
// Of Composite it is the sum over the blocks of that given the labels outside (Samdani and Roth 2012): the likelihood
// of a network without the edges between blocks, each end of which has the column of the other's label in its
// potential, or nothing where that is missing.
type likelihood struct {
	objective *Objective   // has plans and terms, for all goroutines
	space     bp.Workspace // its potentials are those of elimination, too
	state     bp.State
	adjoint   ground.Adjoint
	network   mrf.Network
	around    []int32   // labels that blocks are given
	table     []float64 // of an edge between blocks
	beliefs   []float64 // of nodes or edges computed together
}

// Add implements ground.LocalObjective, without what labels add of complete samples. NaN: inference cannot compute it.
func (l *likelihood) Add(ctx context.Context, gradient []float64, m *crf.Model, in *crf.Instance,
	block *partition.Block, weight float64) (value float64) {
	terms, whole := l.objective.terms[in], l.objective.blocks[in] == nil
	for lo, hi := 0, 0; lo < len(terms) && ctx.Err() == nil; lo = hi { // those that log Z is the same of
		weights := 0.0
		for ; hi < len(terms) && (whole || &terms[hi].Truth[0] == &terms[lo].Truth[0]); hi++ {
			weights += terms[hi].Weight
		}
		l.ground(m, in, block, terms[lo].Truth)
		value += weights * l.infer(gradient, m, in, block, weight*weights)
	}
	for _, t := range terms {
		if slices.Contains(t.Labels, crf.Unobserved) && ctx.Err() == nil {
			l.ground(m, in, block, t.Truth)
			if whole && ground.Completions(in, t.Labels) <= mostCompletions {
				value -= t.Weight * l.complete(gradient, m, in, t.Labels, -weight*t.Weight)
				continue
			}
			hold(&l.space.Potentials, t.Labels)
			value -= t.Weight * l.infer(gradient, m, in, block, -weight*t.Weight)
		}
	}
	return weight * value
}

// ground makes the potentials, given the labels around blocks.
func (l *likelihood) ground(m *crf.Model, in *crf.Instance, block *partition.Block, labels []int32) {
	pot, of := &l.space.Potentials, l.objective.blocks[in]
	pot.Ground(m, in, block)
	l.around = labels
	for e := range block.Edges {
		if between(of, in, e) {
			u, v := in.Graph.U(int32(e)), in.Graph.V(int32(e))
			l.columns(in, u, v, pot.Node[pot.NodeAt[u]:], pot.Node[pot.NodeAt[v]:],
				func(end, entry *float64) { *end += *entry }, pot.Table[pot.EdgeAt[e]:])
		}
	}
}

// columns calls do with each state of either end of an edge, and the entry of its table with the label of the other.
func (l *likelihood) columns(in *crf.Instance, u, v int32, ofU, ofV []float64, do func(end, entry *float64),
	table []float64) {
	states, yu, yv := in.States(v), int(l.around[u]), int(l.around[v])
	for x := 0; x < in.States(u) && yv != crf.Unobserved; x++ {
		do(&ofU[x], &table[x*states+yv])
	}
	for x := 0; x < states && yu != crf.Unobserved; x++ {
		do(&ofV[x], &table[yu*states+x])
	}
}

// mostCompletions of a sample are added up one by one: each takes what a complete sample takes.
const mostCompletions = 1 << 8

// complete is infer given known labels, by adding up the joint states of the hidden ones.
func (l *likelihood) complete(gradient []float64, m *crf.Model, in *crf.Instance, labels []int32,
	weight float64) (logZ float64) {
	pot, scores := &l.space.Potentials, l.beliefs[:0]
	ground.EachCompletion(in, labels, func(full []int32) { scores = append(scores, pot.LogScore(in, full)) })
	l.beliefs = scores
	if logZ = floats.LogSumExp(scores); gradient != nil {
		next := 0
		ground.EachCompletion(in, labels, func(full []int32) {
			l.adjoint.AddChange(gradient, m, in, ground.Whole(in), nil, full, weight*math.Exp(scores[next]-logZ))
			next++
		})
	}
	return logZ
}

// hold leaves nodes with known labels no other state.
func hold(pot *ground.Potentials, labels []int32) {
	pot.Forbidding = true
	for s, y := range labels {
		table := pot.Node[pot.NodeAt[s]:pot.NodeAt[s+1]]
		for x := range table {
			if y != crf.Unobserved && x != int(y) {
				table[x] = math.Inf(-1)
			}
		}
	}
}

// infer returns log Z of the potentials, which it may overwrite, and adds so much of M τ to a gradient that is not nil.
func (l *likelihood) infer(gradient []float64, m *crf.Model, in *crf.Instance, whole *partition.Block,
	weight float64) (logZ float64) {
	net := l.objective.nets[in]
	if net == nil {
		return l.eliminate(gradient, m, in, weight)
	}
	l.state.Fit(net)
	err := l.space.Prepare(net, whole)
	if err == nil {
		_, err = l.space.Iterate(context.Background(), net, &l.state, whole, bp.Limits{MaxSweeps: 2, Turns: true})
	}
	for lo, n := 0, len(whole.Nodes); lo < n && err == nil; {
		hi := ground.NodeRun(in, whole.Nodes, lo, min(lo+ground.RowsPerBatch, n))
		span := &m.Layout.Node[in.NodeType(whole.Nodes[lo])]
		l.beliefs = numeric.Resize(l.beliefs, (hi-lo)*span.States)
		logZ += l.space.NodeBeliefs(l.beliefs, net, &l.state, whole, lo, hi)
		if gradient != nil {
			floats.Scale(weight, l.beliefs)
			l.adjoint.AddNodes(gradient, m, in, whole.Nodes[lo:hi], l.beliefs)
		}
		lo = hi
	}
	if gradient != nil {
		l.adjoint.ReleaseAll(gradient, m, in)
	}
	for lo, n := 0, len(whole.Edges); lo < n && err == nil; {
		span := &m.Layout.Edge[in.EdgeType(whole.Edges[lo])]
		together := min(ground.RowsPerBatch, max(1, entriesTogether/span.States))
		hi := ground.EdgeRun(in, whole.Edges, lo, min(lo+together, n))
		l.beliefs = numeric.Resize(l.beliefs, (hi-lo)*span.States)
		var free float64
		free, err = l.space.EdgeBeliefs(l.beliefs, net, &l.state, whole, lo, hi)
		logZ += free
		if gradient != nil {
			floats.Scale(weight, l.beliefs)
			l.adjoint.AddEdges(gradient, m, in, whole.Edges[lo:hi], l.beliefs)
		}
		lo = hi
	}
	if err != nil {
		return math.NaN()
	}
	return logZ
}

// entriesTogether bounds the beliefs of edges that are computed in one call: 32 KiB stay in the nearest cache.
const entriesTogether = 4096

// eliminate is infer by elimination of variables.
func (l *likelihood) eliminate(gradient []float64, m *crf.Model, in *crf.Instance, weight float64) (logZ float64) {
	pot, nodes := &l.space.Potentials, in.Graph.NumNodes()
	of := l.objective.blocks[in]
	fill(&l.network, in, of, func(s, _ int) []float64 { return pot.Node[pot.NodeAt[s]:pot.NodeAt[s+1]] },
		func(e, entries int) []float64 { return pot.Table[pot.EdgeAt[e]:][:entries] })
	answer, err := l.objective.plans[in].On(&l.network).RunFactors(context.Background())
	if err != nil {
		return math.NaN()
	}
	if gradient == nil {
		return answer.LogZ
	}
	for f, table := range answer.Factors {
		if e := f - nodes; f >= nodes && between(of, in, e) {
			u, v := in.Graph.U(int32(e)), in.Graph.V(int32(e))
			l.table = numeric.Resize(l.table, in.States(u)*in.States(v))
			clear(l.table)
			l.columns(in, u, v, answer.Marginals[u], answer.Marginals[v], func(end, entry *float64) { *entry += *end }, l.table)
			table = l.table
		}
		if floats.Scale(weight, table); f < nodes {
			l.adjoint.AddNodes(gradient, m, in, []int32{int32(f)}, table)
		} else {
			l.adjoint.AddEdges(gradient, m, in, []int32{int32(f - nodes)}, table)
		}
	}
	l.adjoint.ReleaseAll(gradient, m, in)
	return answer.LogZ
}

// shapeOf is the network of an instance in blocks without its potentials.
func shapeOf(in *crf.Instance, of []int32) *mrf.Network {
	zeros := []float64(nil) // all tables are parts of one
	table := func(_, entries int) []float64 {
		if entries > len(zeros) {
			zeros = make([]float64, entries)
		}
		return zeros[:entries]
	}
	n := &mrf.Network{}
	fill(n, in, of, table, table)
	return n
}

// fill makes the network of an instance, of tables of nodes and of edges with so many entries. Those of edges between
// blocks have no variables, and one entry, 0.
func fill(n *mrf.Network, in *crf.Instance, of []int32, node, edge func(i, entries int) []float64) {
	n.Card, n.Factors = n.Card[:0], n.Factors[:0]
	for s := range in.Graph.NumNodes() {
		states := in.States(int32(s))
		n.Card = append(n.Card, states)
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{s}, LogTable: node(s, states)})
	}
	u, v := in.Graph.Ends()
	for e := range u {
		if between(of, in, e) {
			n.Factors = append(n.Factors, mrf.Factor{LogTable: make([]float64, 1)})
			continue
		}
		table := edge(e, in.States(u[e])*in.States(v[e]))
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{int(u[e]), int(v[e])}, LogTable: table})
	}
}
