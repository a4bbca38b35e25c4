package infer

import "math"

// Score counts how labels were predicted, over nodes with a true label.
type Score struct {
	// Confusion[truth][predicted] counts nodes.
	Confusion [][]int64
	// LogLoss is the sum of −log τ_s(true label), with τ cut at 1e-300.
	LogLoss float64
	// Calibration compares confidence with accuracy; see CalibrationBins.
	Calibration [CalibrationBins]CalibrationBin
}

// NewScore returns an empty score over states classes.
func NewScore(states int) *Score {
	s := &Score{Confusion: make([][]int64, states)}
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
	}
}

// Merge adds the counts of another score.
func (s *Score) Merge(o *Score) {
	for i, row := range o.Confusion {
		for j, n := range row {
			s.Confusion[i][j] += n
		}
	}
	s.LogLoss += o.LogLoss
	for i := range s.Calibration {
		s.Calibration[i].merge(&o.Calibration[i])
	}
}

// Count returns the number of nodes counted.
func (s *Score) Count() int64 {
	var n int64
	for _, row := range s.Confusion {
		for _, x := range row {
			n += x
		}
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

// Recall returns, per class, the share of its nodes that were predicted as it;
// NaN for a class without nodes.
func (s *Score) Recall() []float64 {
	return s.perClass(func(right, truth, _ int64) float64 { return float64(right) / float64(truth) })
}

// Precision returns, per class, the share of the nodes predicted as it that are
// it; NaN for a class never predicted.
func (s *Score) Precision() []float64 {
	return s.perClass(func(right, _, predicted int64) float64 { return float64(right) / float64(predicted) })
}

// IoU returns, per class, intersection over union of truth and prediction; NaN
// for a class that occurs in neither.
func (s *Score) IoU() []float64 {
	return s.perClass(func(right, truth, predicted int64) float64 {
		return float64(right) / float64(truth+predicted-right)
	})
}

// F1 returns, per class, the harmonic mean of precision and recall, 2·right/(truth +
// predicted); NaN for a class that occurs in neither.
func (s *Score) F1() []float64 {
	return s.perClass(func(right, truth, predicted int64) float64 {
		return 2 * float64(right) / float64(truth+predicted)
	})
}

func (s *Score) perClass(f func(right, truth, predicted int64) float64) []float64 {
	out := make([]float64, len(s.Confusion))
	for c := range out {
		var truth, predicted int64
		for j := range s.Confusion {
			truth += s.Confusion[c][j]
			predicted += s.Confusion[j][c]
		}
		out[c] = f(s.Confusion[c][c], truth, predicted)
	}
	return out
}

// Mean returns the mean of the values that are numbers; NaN if there are none.
func Mean(x []float64) float64 {
	total, n := 0.0, 0
	for _, v := range x {
		if !math.IsNaN(v) {
			total += v
			n++
		}
	}
	return total / float64(n)
}
