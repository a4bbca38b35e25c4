package ground

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
)

// Piecewise is the negative piecewise log-likelihood (Sutton and McCallum 2005):
// every factor, of a node or of an edge, is a model of its own,
//
//	Σ_s [log Σ_i exp θ_s(i) − θ_s(x_s)] + Σ_uv [log Σ_ij exp θ_uv(i,j) − θ_uv(x_u,x_v)]
//
// over the nodes that have a label and the edges both of whose ends have one. With all labels known it is an upper
// bound on the negative log-likelihood: a product of sums has all terms of the sum of products, and more. The zero
// value works. It is a LocalObjective.
//
// Of two labels of different class weights, ω_u > ω_v, the piece of their edge counts ω_v times,
// and ω_u − ω_v times what it says of x_u given x_v.
type Piecewise struct {
	// ClassWeights are ω, [node type][state], all positive; nil: ones.
	ClassWeights [][]float64

	potential Potentials
	adjoint   Adjoint
	factor    []float64   // derivative by the potentials of one factor
	tables    [][]float64 // [distinct tables of the block] probabilities of an edge's piece
	logSums   []float64   // [distinct tables] log Σ exp
	given     []float64   // probabilities of the states of an end, given the other
}

// Add implements LocalObjective.
func (l *Piecewise) Add(ctx context.Context, gradient []float64, m *crf.Model, in *crf.Instance,
	whole *partition.Block, weight float64) (value float64) {
	l.potential.Ground(m, in, whole)
	for s := range int32(in.Graph.NumNodes()) {
		theta := l.potential.Node[l.potential.NodeAt[s]:l.potential.NodeAt[s+1]]
		l.factor = append(l.factor[:0], theta...)
		logSum := Softmax(l.factor)
		share, used := l.piece(theta, logSum, weight, in, func(labels []int32) (int, float64) {
			return int(labels[s]), ClassWeight(l.ClassWeights, in, s, labels[s])
		})
		value += share
		if used && gradient != nil {
			l.adjoint.AddNodes(gradient, m, in, []int32{s}, l.factor)
		}
	}
	if gradient != nil {
		l.adjoint.ReleaseAll(gradient, m, in)
	}
	l.normaliseTables(m, in, whole)
	for e := range int32(in.Graph.NumEdges()) {
		if parallel.Ended(ctx) != nil {
			break
		}
		u, v, id := in.Graph.U(e), in.Graph.V(e), l.potential.TableID[e]
		l.factor = append(l.factor[:0], l.tables[id]...)
		theta := l.potential.Table[l.potential.EdgeAt[e]:][:len(l.factor)]
		share, used := l.piece(theta, l.logSums[id], weight, in, func(labels []int32) (int, float64) {
			if labels[u] == crf.Unobserved || labels[v] == crf.Unobserved {
				return crf.Unobserved, 0
			}
			least := min(ClassWeight(l.ClassWeights, in, u, labels[u]), ClassWeight(l.ClassWeights, in, v, labels[v]))
			return int(labels[u])*in.States(v) + int(labels[v]), least
		})
		value += share
		if used && l.ClassWeights != nil {
			value += l.conditionals(theta, weight, in, u, v)
		}
		if used && gradient != nil {
			l.adjoint.AddEdges(gradient, m, in, []int32{e}, l.factor)
		}
	}
	return value
}

// piece adds one factor's terms up over the samples, given θ and log Σ exp θ, and turns l.factor from probabilities
// into the derivative. labelOf gives the (joint) state that a sample's labels choose, and its weight, or
// crf.Unobserved. used is false where none does.
func (l *Piecewise) piece(theta []float64, logSum, weight float64, in *crf.Instance,
	labelOf func([]int32) (int, float64)) (value float64, used bool) {
	terms := 0.0
	for i, labels := range in.Samples() {
		if y, omega := labelOf(labels); y != crf.Unobserved {
			terms += omega * in.SampleWeight(i)
		}
	}
	for x := range l.factor {
		l.factor[x] *= weight * terms
	}
	for i, labels := range in.Samples() {
		if y, omega := labelOf(labels); y != crf.Unobserved {
			omega *= in.SampleWeight(i)
			value += omega * weight * (logSum - theta[y])
			l.factor[y] -= omega * weight
		}
	}
	return value, terms > 0
}

// conditionals adds up, over the samples with labels at both ends of an edge, what its piece says
// of the label with the larger weight, given the other, and the derivative to l.factor.
func (l *Piecewise) conditionals(theta []float64, weight float64, in *crf.Instance, u, v int32) (value float64) {
	for i, labels := range in.Samples() {
		weight, yu, yv := weight*in.SampleWeight(i), labels[u], labels[v]
		if yu == crf.Unobserved || yv == crf.Unobserved {
			continue
		}
		excess := weight * (ClassWeight(l.ClassWeights, in, u, yu) - ClassWeight(l.ClassWeights, in, v, yv))
		y, states, at, stride := yu, in.States(u), int(yv), in.States(v) // the column of yv
		if excess < 0 {
			excess, y, states, at, stride = -excess, yv, in.States(v), int(yu)*in.States(v), 1 // the row of yu
		}
		if excess == 0 {
			continue
		}
		l.given = numeric.Resize(l.given, states)
		for x := range l.given {
			l.given[x] = theta[at+x*stride]
		}
		value += excess * (Softmax(l.given) - theta[at+int(y)*stride])
		l.given[y]--
		for x, p := range l.given {
			l.factor[at+x*stride] += excess * p
		}
	}
	return value
}

// normaliseTables computes probabilities and log Σ exp of every distinct edge
// table once: edges with equal features share them.
func (l *Piecewise) normaliseTables(m *crf.Model, in *crf.Instance, whole *partition.Block) {
	n := l.potential.NumTables
	l.logSums = numeric.Resize(l.logSums, n)
	for len(l.tables) < n {
		l.tables = append(l.tables, nil)
	}
	numeric.Fill(l.logSums, math.NaN()) // not computed yet
	for q, e := range whole.Edges {
		id := l.potential.TableID[q]
		if math.IsNaN(l.logSums[id]) {
			states := m.Layout.Edge[in.EdgeType(e)].States
			l.tables[id] = append(l.tables[id][:0], l.potential.Table[l.potential.EdgeAt[q]:][:states]...)
			l.logSums[id] = Softmax(l.tables[id])
		}
	}
}
