package infer

import "math"

// CalibrationBins is the number of bins of equal width that confidences, the
// beliefs in the predicted labels, are sorted into (as by Guo et al. 2017). Bin i
// holds those in (i/n, (i+1)/n].
const CalibrationBins = 15

// CalibrationBin counts the predictions of about the same confidence.
type CalibrationBin struct {
	Nodes      int64
	Right      int64   // of them predicted right
	Confidence float64 // sum of the confidences
}

func (b *CalibrationBin) merge(o *CalibrationBin) {
	b.Nodes += o.Nodes
	b.Right += o.Right
	b.Confidence += o.Confidence
}

// Accuracy is the share of the bin's nodes predicted right, and MeanConfidence what
// it would be of calibrated beliefs; NaN for an empty bin.
func (b *CalibrationBin) Accuracy() float64 { return float64(b.Right) / float64(b.Nodes) }

// MeanConfidence is the mean of the confidences; NaN for an empty bin.
func (b *CalibrationBin) MeanConfidence() float64 { return b.Confidence / float64(b.Nodes) }

// calibrate counts one prediction.
func (s *Score) calibrate(confidence float64, right bool) {
	bin := &s.Calibration[min(max(int(math.Ceil(confidence*CalibrationBins))-1, 0), CalibrationBins-1)]
	bin.Nodes++
	bin.Confidence += confidence
	if right {
		bin.Right++
	}
}

// CalibrationError is the expected calibration error Σ_bins n_b/n |accuracy −
// confidence| (Naeini, Cooper and Hauskrecht 2015); NaN if there are no nodes.
func (s *Score) CalibrationError() float64 {
	total, nodes := 0.0, int64(0)
	for i := range s.Calibration {
		b := &s.Calibration[i]
		total += math.Abs(float64(b.Right) - b.Confidence)
		nodes += b.Nodes
	}
	return total / float64(nodes)
}
