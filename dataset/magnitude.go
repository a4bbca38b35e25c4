package dataset

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
)

// largestFeature bounds the magnitude of features. Learning sums products of two
// of them, over all nodes and samples: beyond 1e154 the square alone is no float64
// any more, and the run would end with numbers that say nothing of the cause.
const largestFeature = 1e150

// tooLarge says what is wrong with a feature that is finite and yet too large to
// work with, and what to do; "" for all others.
func tooLarge(v float64) string {
	if math.Abs(v) <= largestFeature || math.IsInf(v, 0) || math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("feature is %v, want a magnitude of at most %v; rescale the features, for example to a standard deviation of 1", v, float64(largestFeature))
}

// checkMagnitudes reports the first feature of a matrix of two dimensions that is
// too large as *crf.Error. Single precision ends long before the limit.
func (m *matrix) checkMagnitudes() error {
	for i, v := range m.data {
		if problem := tooLarge(v); problem != "" {
			return &crf.Error{Index: []int{i / m.columns(), i % m.columns()}, Reason: problem}
		}
	}
	return nil
}
