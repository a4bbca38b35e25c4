package infer

import "math"

// confidenceBins is the number of bins of equal width that confidences, the beliefs in the predicted labels, are
// sorted into (as by Guo et al. 2017). Bin i holds those in (i/n, (i+1)/n].
const confidenceBins = 15

// confidenceBin counts the predictions of about the same confidence.
type confidenceBin struct {
	nodes, right int64   // all, and those predicted right
	sum          float64 // of the confidences
}

// calibrate counts one prediction.
func (s *Score) calibrate(confidence float64, right bool) {
	bin := &s.confidence[min(max(int(math.Ceil(confidence*confidenceBins))-1, 0), confidenceBins-1)]
	bin.nodes++
	bin.sum += confidence
	if right {
		bin.right++
	}
}

// CalibrationBin compares the confidence of predictions, the beliefs in the predicted labels, with their accuracy.
type CalibrationBin struct {
	From       float64 `json:"from"` // confidences in (From, To]
	To         float64 `json:"to"`
	Nodes      int64   `json:"nodes"`           // that were predicted with such a confidence, at least one
	Confidence float64 `json:"mean_confidence"` // the mean of it
	Accuracy   float64 `json:"accuracy"`        // the share of the nodes predicted right; calibrated beliefs are as large
}

// Calibration returns the bins, of 15 of equal width, that hold any node.
func (s *Score) Calibration() (bins []CalibrationBin) {
	for i := range s.confidence {
		if b := &s.confidence[i]; b.nodes > 0 {
			n := float64(b.nodes)
			bins = append(bins, CalibrationBin{float64(i) / confidenceBins, float64(i+1) / confidenceBins, b.nodes, b.sum / n,
				float64(b.right) / n})
		}
	}
	return bins
}

// CalibrationError is the expected calibration error Σ_bins n_b/n |accuracy −
// confidence| (Naeini, Cooper and Hauskrecht 2015); NaN if there are no nodes.
func (s *Score) CalibrationError() float64 {
	total, nodes := 0.0, int64(0)
	for i := range s.confidence {
		b := &s.confidence[i]
		total += math.Abs(float64(b.right) - b.sum)
		nodes += b.nodes
	}
	return total / float64(nodes)
}
