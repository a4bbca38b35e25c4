package learn

import "github.com/blockbp/blockbp/crf"

// totalWeight returns N of (8): the sum of the weights of all samples, which is
// their number unless instances were given weights of their own.
func totalWeight(data []*crf.Instance) (total float64) {
	for _, in := range data {
		total += in.Weight() * float64(len(in.Samples()))
	}
	return total
}

// sumStatistics returns M w̄ [weights]: the mean statistics of everything observed,
// weighted as in (8). total is that of totalWeight.
func sumStatistics(m *crf.Model, data []*crf.Instance, total float64) []float64 {
	sum := make([]float64, m.Layout.Size)
	adjoint := crf.NewAdjoint(m)
	largest := 1
	for _, spans := range [][]crf.Span{m.Layout.Node, m.Layout.Edge} {
		for _, span := range spans {
			largest = max(largest, span.States)
		}
	}
	one := make([]float64, largest)
	for _, in := range data {
		for _, labels := range in.Samples() {
			crf.AddStatistics(sum, m, adjoint, in, labels, in.Weight()/total, one)
		}
	}
	return sum
}
