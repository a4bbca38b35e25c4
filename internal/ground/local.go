package ground

import (
	"context"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
)

// LocalObjective is a sum of terms that each normalise over a few variables only, so that value and gradient need no
// inference: PseudoLikelihood, for one. It carries scratch; use one per goroutine.
type LocalObjective interface {
	// Add returns weight times the sum of the terms of all samples of an instance, in nats and at the weights of m, and
	// adds its gradient to gradient [weights], or none where that is nil. whole is the one block of
	// partition.Whole(in.Graph). Terms are convex in the weights. A term that a missing label leaves without its
	// variables is left out. Where ctx ends before, what is returned and added is of no use.
	Add(ctx context.Context, gradient []float64, m *crf.Model, in *crf.Instance, whole *partition.Block,
		weight float64) float64
}

// ClassWeight is that of a label, [node type][state] having them all: 1 where they are nil, or the label
// is unobserved.
func ClassWeight(weights [][]float64, in *crf.Instance, s, y int32) float64 {
	if weights == nil || y == crf.Unobserved {
		return 1
	}
	return weights[in.NodeType(s)][y]
}

// softmax replaces logits by probabilities and returns the logarithm of what they
// were divided by, log Σ exp. Logits of −Inf get probability zero.
func softmax(p []float64) (logSum float64) {
	largest := math.Inf(-1)
	for _, x := range p {
		largest = max(largest, x)
	}
	sum := 0.0
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
