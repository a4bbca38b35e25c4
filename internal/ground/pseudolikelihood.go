package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// PseudoLikelihood is the negative log-pseudo-likelihood (Besag 1975)
//
//	−Σ_s ω(x_s) log p(x_s | x_N(s)),   p(x_s = i | x_N(s)) ∝ exp{θ_s(i) + Σ_v θ_sv(i, x_v)}
//
// over the nodes s that have a label. Edges to neighbours without one are left
// out of the conditionals: summing over hidden labels would join the terms again.
// The zero value works. It is a LocalObjective.
type PseudoLikelihood struct {
	// ClassWeights are ω, [node type][state], all positive; nil: ones. Each term is
	// a distribution of one variable, so that its label may weigh it.
	ClassWeights [][]float64

	potential Potentials
	adjoint   Adjoint
	residual  []float64 // [samples][node states] ω (p − one-hot label), laid out like Potentials.Node
	total     []float64 // [node states] their sum over the samples
	table     []float64 // derivative by one edge's table
	logits    []float64 // of one node
}

// Add implements LocalObjective.
func (l *PseudoLikelihood) Add(gradient []float64, m *crf.Model, in *crf.Instance, whole *partition.Block,
	weight float64) (value float64) {
	l.potential.Ground(m, in, whole)
	stride := len(l.potential.Node)
	l.residual = numeric.Resize(l.residual, len(in.Samples())*stride)
	clear(l.residual)
	for i, labels := range in.Samples() {
		residual := l.residual[i*stride:][:stride]
		for s, y := range labels {
			if y == crf.Unobserved {
				continue
			}
			at := l.potential.NodeAt[s]
			p := residual[at:l.potential.NodeAt[s+1]]
			omega := weight * ClassWeight(l.ClassWeights, in, int32(s), y)
			value -= omega * l.conditional(p, in, labels, int32(s))
			p[y]--
			for x := range p {
				p[x] *= omega
			}
		}
	}
	if gradient != nil {
		l.scatter(gradient, m, in, stride)
	}
	return value
}

// LogLikelihood returns Σ_s log p(x_s | x_N(s)) in nats over the labelled nodes s
// for which count is true (nil: all), and their number. Neighbours count by their
// labels, whether they are counted themselves or not.
func (l *PseudoLikelihood) LogLikelihood(m *crf.Model, in *crf.Instance, whole *partition.Block, labels []int32,
	count []bool) (sum float64, nodes int64) {
	l.potential.Ground(m, in, whole)
	for s, y := range labels {
		if y == crf.Unobserved || count != nil && !count[s] {
			continue
		}
		l.logits = numeric.Resize(l.logits, in.States(int32(s)))
		sum += l.conditional(l.logits, in, labels, int32(s))
		nodes++
	}
	return sum, nodes
}

// conditional writes p(x_s | labels of the neighbours of s) to p [states of s] and
// returns the logarithm of that of the node's own label.
func (l *PseudoLikelihood) conditional(p []float64, in *crf.Instance, labels []int32, s int32) float64 {
	copy(p, l.potential.Node[l.potential.NodeAt[s]:])
	for _, d := range in.Graph.Incoming(s) {
		if at, stride, ok := columnOf(in, d, labels, len(p)); ok {
			table := l.potential.Table[l.potential.EdgeAt[d>>1]:]
			for x := range p {
				p[x] += table[at+x*stride]
			}
		}
	}
	own := p[labels[s]]
	return own - softmax(p)
}

// columnOf returns where, in the table of the edge of d, the entries stand that go
// with the label of d's source; ok is false where it has none. Directed edge 2e
// leads from U, whose state is slow.
func columnOf(in *crf.Instance, d int32, labels []int32, states int) (at, stride int, ok bool) {
	source := in.Graph.Source(d)
	y := labels[source]
	switch {
	case y == crf.Unobserved:
		return 0, 0, false
	case d&1 == 0:
		return int(y) * states, 1, true
	}
	return int(y), in.States(source), true
}

// scatter multiplies the residuals by the features into the gradient: those of a
// node as they are, and in an edge's table those of each end in the row or column
// of the other end's label.
func (l *PseudoLikelihood) scatter(gradient []float64, m *crf.Model, in *crf.Instance, stride int) {
	l.total = numeric.Resize(l.total, stride)
	copy(l.total, l.residual)
	for at := stride; at < len(l.residual); at += stride {
		simd.AddScaled(l.total, l.residual[at:][:stride], 1)
	}
	for s := range int32(in.Graph.NumNodes()) {
		l.adjoint.AddNode(gradient, m, in, s, l.total[l.potential.NodeAt[s]:l.potential.NodeAt[s+1]])
	}
	l.adjoint.ReleaseAll(gradient, m, in)
	for e := range int32(in.Graph.NumEdges()) {
		l.table = numeric.Resize(l.table, m.Layout.Edge[in.EdgeType(e)].States)
		if l.edgeDerivative(in, e, stride) {
			l.adjoint.AddEdge(gradient, m, in, e, l.table)
		}
	}
}

// edgeDerivative writes the derivative by the table of edge e, over all samples,
// to l.table. It reports false where no sample has labels at both ends.
func (l *PseudoLikelihood) edgeDerivative(in *crf.Instance, e int32, stride int) (any bool) {
	clear(l.table)
	for i, labels := range in.Samples() {
		residual := l.residual[i*stride:][:stride]
		for _, d := range [2]int32{2 * e, 2*e + 1} {
			t := in.Graph.Target(d)
			r := residual[l.potential.NodeAt[t]:l.potential.NodeAt[t+1]]
			at, step, ok := columnOf(in, d, labels, len(r))
			if !ok || labels[t] == crf.Unobserved {
				continue
			}
			any = true
			for x, v := range r {
				l.table[at+x*step] += v
			}
		}
	}
	return any
}
