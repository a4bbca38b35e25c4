package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
)

// statistics sums over the data what a step rule may know of them.
type statistics struct {
	layout *crf.Layout
	data   []*crf.Instance
	// nodeScale and edgeScale return (weight of the instance)/ρ of a node or edge: what its
	// features' second moments are multiplied by in the curvature of L.
	nodeScale, edgeScale func(in *crf.Instance, element int32) float64
}

// nodes counts them.
func (s *statistics) nodes() (nodes int) {
	for _, in := range s.data {
		nodes += in.Graph.NumNodes()
	}
	return nodes
}

// frequencies are those of states in the labels.
func (s *statistics) frequencies() []float64 { return labelFrequencies(s.layout, s.data) }

// ofNodes and ofEdges are second moments of features of a type.
func (s *statistics) ofNodes(t int) *kronecker {
	return newKronecker(s.layout.Node[t], s.data, true, t, s.nodeScale)
}

func (s *statistics) ofEdges(t int) *kronecker {
	return newKronecker(s.layout.Edge[t], s.data, false, t, s.edgeScale)
}

// totalWeight returns N of (8): the sum of the weights of all samples, which is
// their number unless instances were given weights of their own.
func totalWeight(data []*crf.Instance) (total float64) {
	for _, in := range data {
		total += in.Weight() * float64(len(in.Samples()))
	}
	return total
}

// magnitude returns the norm of M w̄ with every hidden label taken for the first: how
// large the sums are of which a gradient is the difference.
// observed is M w̄ of what is not hidden.
func magnitude(m *crf.Model, p *Problem, total float64, observed []float64) float64 {
	if !anyHidden(p.Data) {
		return math.Sqrt(simd.Dot(observed, observed))
	}
	sum := addStatistics(m, p, total, func(t weightedLabels) []int32 { return withoutHidden(t.truth) })
	return math.Sqrt(simd.Dot(sum, sum))
}

func anyHidden(data []*crf.Instance) bool {
	for _, in := range data {
		for _, labels := range in.Samples() {
			if slices.Contains(labels, crf.Unobserved) {
				return true
			}
		}
	}
	return false
}

// sumStatistics returns M w̄ [weights]: the mean statistics of everything observed,
// weighted as in (8). total is that of totalWeight.
func sumStatistics(m *crf.Model, p *Problem, total float64) []float64 {
	return addStatistics(m, p, total, func(t weightedLabels) []int32 { return t.labels })
}

// addStatistics adds up the statistics of every term, of labels that labelsOf takes from it.
func addStatistics(m *crf.Model, p *Problem, total float64, labelsOf func(weightedLabels) []int32) []float64 {
	sum := make([]float64, m.Layout.Size)
	var adjoint ground.Adjoint
	for _, in := range p.Data {
		for _, term := range p.terms(in) {
			adjoint.AddStatistics(sum, m, in, labelsOf(term), term.weight*in.Weight()/total)
		}
	}
	m.Layout.Symmetrise(sum)
	return sum
}
