package ground

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// PseudoLikelihood is the negative log-pseudo-likelihood (Besag 1975)
//
//	−Σ_s ω(x_s) log p(x_s | x_N(s)),   p(x_s = i | x_N(s)) ∝ exp{θ_s(i) + Σ_v θ_sv(i, x_v)}
//
// over the nodes s that have a label. Edges to neighbours without one are left out of the conditionals: summing over
// hidden labels would join the terms again. The zero value works. It is a LocalObjective.
type PseudoLikelihood struct {
	// ClassWeights are ω, [node type][state], all positive; nil: ones. Each term is
	// a distribution of one variable, so that its label may weigh it.
	ClassWeights [][]float64

	// Threads is how many goroutines share the work of an instance, 0: 1. Results do not depend on it.
	Threads int

	// Skipped [edges] are left out, as if they were not there; nil: none.
	Skipped []bool

	potential Potentials
	adjoint   Adjoint
	logits    []float64 // of one node
	count     []int32   // [node states] how many labels have each
	usual     []int32   // [nodes] the state that most have, −1: tiles are not to ask
	tiles     []tile    // that are computed at the same time
	last      []int32   // [nodes] of the last tile that the node is a source of, from 1 on, the number ...
	place     []int32   // ... and where its rows begin there
}

// Add implements LocalObjective.
func (l *PseudoLikelihood) Add(ctx context.Context, gradient []float64, m *crf.Model, in *crf.Instance,
	whole *partition.Block, weight float64) (value float64) {
	l.potential.Ground(m, in, whole)
	l.countLabels(in)
	l.last, l.place = numeric.Resize(l.last, in.Graph.NumNodes()), numeric.Resize(l.place, in.Graph.NumNodes())
	clear(l.last)
	if threads := max(1, l.Threads); len(l.tiles) != threads {
		l.tiles = make([]tile, threads)
	}
	for next, number, nodes := int32(0), int32(0), int32(in.Graph.NumNodes()); next < nodes && ctx.Err() == nil; {
		n := 0
		for ; n < len(l.tiles) && next < nodes; n++ {
			number++
			l.layOut(&l.tiles[n], in, next, number)
			next = l.tiles[n].hi
		}
		if parallel.Each(ctx, n, n, func(i int) { l.tiles[i].compute(l, in, weight, gradient != nil) }) != nil {
			break // some tiles were not computed
		}
		for i := range l.tiles[:n] {
			t := &l.tiles[i]
			if value += t.value; gradient != nil {
				t.scatter(l, gradient, m, in)
			}
		}
	}
	if gradient != nil {
		l.adjoint.ReleaseAll(gradient, m, in)
	}
	return value
}

// countLabels finds which states labels have: rows of tables for others are never read.
func (l *PseudoLikelihood) countLabels(in *crf.Instance) {
	l.count, l.usual = numeric.Resize(l.count, len(l.potential.Node)), numeric.Resize(l.usual, in.Graph.NumNodes())
	clear(l.count)
	for _, labels := range in.Samples() {
		for s, y := range labels {
			if y != crf.Unobserved {
				l.count[l.potential.NodeAt[s]+int(y)]++
			}
		}
	}
	for s := range l.usual {
		count := l.count[l.potential.NodeAt[s]:l.potential.NodeAt[s+1]]
		if l.usual[s] = -1; !l.potential.Forbidding {
			l.usual[s] = int32(slices.Index(count, slices.Max(count)))
		}
	}
}

// conditional writes p(x_s | labels of the neighbours of s) to p [states of s].
func (l *PseudoLikelihood) conditional(p []float64, in *crf.Instance, labels []int32, s int32) {
	copy(p, l.potential.Node[l.potential.NodeAt[s]:])
	for _, d := range in.Graph.Incoming(s) {
		if at, stride, ok := columnOf(in, d, labels, len(p)); ok {
			table := l.potential.Table[l.potential.EdgeAt[d>>1]:]
			for x := range p {
				p[x] += table[at+x*stride]
			}
		}
	}
	Softmax(p)
}

// columnOf returns where, in the table of the edge of d, the entries stand that go
// with the label of d's source; ok is false where it has none.
func columnOf(in *crf.Instance, d int32, labels []int32, states int) (at, stride int, ok bool) {
	source := in.Graph.Source(d)
	y := labels[source]
	if y == crf.Unobserved {
		return 0, 0, false
	}
	at, stride = entriesOf(d, int(y), states, in.States(source))
	return at, stride, true
}

// LocalObjective is a sum of terms that each normalise over a few variables only, so that value and gradient need no
// inference: PseudoLikelihood and Piecewise. It carries scratch; use one per goroutine.
type LocalObjective interface {
	// Add returns weight times the sum of the terms of all samples of an instance, in nats and at the weights of m, and
	// adds its gradient to gradient [weights], or none where that is nil. whole is the one block of
	// partition.Whole(in.Graph). Terms are convex in the weights. A term that a missing label leaves without its
	// variables is left out. Where ctx ends before, what is returned and added is of no use.
	Add(ctx context.Context, gradient []float64, m *crf.Model, in *crf.Instance, whole *partition.Block,
		weight float64) float64
}

// ClassWeight is that of a label, [node type][state] having them all: 1 where they are nil, or the label is unobserved.
func ClassWeight(weights [][]float64, in *crf.Instance, s, y int32) float64 {
	if weights == nil || y == crf.Unobserved {
		return 1
	}
	return weights[in.NodeType(s)][y]
}

// Softmax replaces logits by probabilities and returns the logarithm of what they
// were divided by, log Σ exp. Logits of −Inf get probability zero.
func Softmax(p []float64) (logSum float64) {
	largest, sum := simd.Max(p), 0.0
	for i, x := range p {
		p[i] = math.Exp(x - largest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return largest + math.Log(sum)
}

// ClassWeightsProblem says what is wrong with weights [node type][state] of classes, "" for ones that can be used; nil
// is no problem.
func ClassWeightsProblem(types []crf.NodeType, weights [][]float64) string {
	if weights == nil {
		return ""
	}
	if len(weights) != len(types) {
		return fmt.Sprintf("ClassWeights for %d node types, got %d", len(types), len(weights))
	}
	for a, of := range weights {
		if len(of) != len(types[a].States) {
			return fmt.Sprintf("ClassWeights[%d] for %d states, got %d", a, len(types[a].States), len(of))
		}
		for i, w := range of {
			if !(w > 0) || math.IsInf(w, 0) {
				return fmt.Sprintf("0 < ClassWeights[%d][%d] < ∞, got %v", a, i, w)
			}
		}
	}
	return ""
}
