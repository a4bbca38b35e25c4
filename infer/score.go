package infer

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Score counts how labels were predicted, over nodes with a true label.
type Score struct {
	// Confusion[truth][predicted] counts nodes.
	Confusion [][]int64
	// LogLoss is the sum of −log τ_s(true label), with τ cut at 1e-300.
	LogLoss float64

	confidence [confidenceBins]confidenceBin
	rankings   []ranking // [states]
}

// NewScore returns an empty score over states classes.
func NewScore(states int) *Score {
	s := &Score{Confusion: make([][]int64, states), rankings: make([]ranking, states)}
	for i := range s.Confusion {
		s.Confusion[i] = make([]int64, states)
	}
	return s
}

// Add counts the nodes for which count is true (nil: all) and truth is not −1.
func (s *Score) Add(b *Beliefs, truth []int32, count []bool) {
	for i, y := range truth {
		if y < 0 || (count != nil && !count[i]) {
			continue
		}
		s.Confusion[y][b.Labels[i]]++
		s.LogLoss -= math.Log(max(b.Of(i)[y], 1e-300))
		s.calibrate(b.Of(i)[b.Labels[i]], y == b.Labels[i])
		for c, belief := range b.Of(i) {
			s.rankings[c].add(belief, numeric.OneIf(c == int(y)))
		}
	}
}

// Count returns the number of nodes counted.
func (s *Score) Count() int64 {
	var n int64
	for _, row := range s.Confusion {
		n += numeric.Sum(row)
	}
	return n
}

// Accuracy is the share of nodes predicted right; NaN if there are none.
func (s *Score) Accuracy() float64 {
	var right int64
	for i := range s.Confusion {
		right += s.Confusion[i][i]
	}
	return float64(right) / float64(s.Count())
}

// MeanLogLoss is the mean of −log τ_s(true label) in nats.
func (s *Score) MeanLogLoss() float64 { return s.LogLoss / float64(s.Count()) }

// ClassScore says how the nodes of one class were predicted.
type ClassScore struct {
	Nodes int64 `json:"nodes"` // of this class
	// Recall is the share of them that were predicted as it; NaN for a class without nodes.
	Recall float64 `json:"recall"`
	// Precision is the share of the nodes predicted as it that are it; NaN for a class never predicted.
	Precision float64 `json:"precision"`
	// F1 is the harmonic mean of both, 2·right/(truth + predicted), and IoU intersection
	// over union of truth and prediction; NaN for a class that occurs in neither.
	F1  float64 `json:"f1"`
	IoU float64 `json:"iou"`
	// ROCAUC and AveragePrecision say how well beliefs tell the nodes of the class from the others that could be of it,
	// whatever the labels: the area under the ROC curve, and Σ_t (recall_t − recall_{t−1}) precision_t over all
	// thresholds t. NaN where all of these nodes are of the class, or none is. With more than 131,072 different beliefs,
	// odds that differ by 0.1 % may count as equal.
	ROCAUC           float64 `json:"roc_auc"`
	AveragePrecision float64 `json:"average_precision"`
}

// Classes returns the score of every class, and of each measure the mean over the classes for which it is a number.
func (s *Score) Classes() (each []ClassScore, mean ClassScore) {
	each = make([]ClassScore, len(s.Confusion))
	for c := range each {
		var truth, predicted int64
		for j := range s.Confusion {
			truth += s.Confusion[c][j]
			predicted += s.Confusion[j][c]
		}
		right := float64(s.Confusion[c][c])
		auc, precision := s.rankings[c].measures()
		each[c] = ClassScore{
			Nodes: truth, ROCAUC: auc, AveragePrecision: precision,
			Recall: right / float64(truth), Precision: right / float64(predicted),
			F1: 2 * right / float64(truth+predicted), IoU: right / float64(truth+predicted-s.Confusion[c][c]),
		}
	}
	meanOf := func(measure func(*ClassScore) float64) float64 {
		total, n := 0.0, 0
		for c := range each {
			if x := measure(&each[c]); !math.IsNaN(x) {
				total += x
				n++
			}
		}
		return total / float64(n)
	}
	return each, ClassScore{
		Nodes:     s.Count(),
		Recall:    meanOf(func(c *ClassScore) float64 { return c.Recall }),
		Precision: meanOf(func(c *ClassScore) float64 { return c.Precision }),
		F1:        meanOf(func(c *ClassScore) float64 { return c.F1 }),
		IoU:       meanOf(func(c *ClassScore) float64 { return c.IoU }),

		ROCAUC:           meanOf(func(c *ClassScore) float64 { return c.ROCAUC }),
		AveragePrecision: meanOf(func(c *ClassScore) float64 { return c.AveragePrecision }),
	}
}

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
