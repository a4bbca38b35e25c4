package cli

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// reportScore adds one evaluation to a report.
func reportScore(run *runfolder.Run, page *report.Report, s *scoredSet) error {
	page.Section("Evaluation on " + s.name)
	page.Table([]string{"measure", "value"}, s.measures())
	page.Table(classTable(s.classes, s.score))
	figures := []struct {
		file    string
		figure  figure.Figure
		caption string
	}{
		{"confusion-" + s.name, figure.ConfusionMatrix{Title: "Confusion on " + s.name, Names: s.classes, Counts: s.score.Confusion},
			"Rows are the truth, columns the prediction; shares of each row."},
		{"classes-" + s.name, classBars(s), "Precision, recall, their harmonic mean F1, and intersection over union of every class."},
		{"reliability-" + s.name, reliability("Reliability on "+s.name, s),
			"Accuracy of the predictions of about the same confidence, in 15 bins: on the dashed line beliefs are calibrated, below it they are too sure of themselves."},
	}
	for _, f := range figures {
		if err := writeFigure(run, f.file, f.figure); err != nil {
			return err
		}
		page.Figure(f.figure, f.caption)
	}
	if len(s.rows) == 0 {
		return nil
	}
	panel := figure.Panel{Title: "Predictions on " + s.name, Rows: s.rows, Names: s.classes}
	return addPanel(run, page, "pictures-"+s.name, panel, "Photograph, truth, prediction and the belief in the predicted label, per pixel.")
}

// measures lists the figures of a score, for a table.
func (s *scoredSet) measures() [][]string {
	rows := [][]string{
		{"nodes compared", strconv.FormatInt(s.score.Count(), 10)},
		{"accuracy", percent(s.score.Accuracy())},
		{"mean class accuracy", percent(infer.Mean(s.score.Recall()))},
		{"mean F1", percent(infer.Mean(s.score.F1()))},
		{"mean IoU", percent(infer.Mean(s.score.IoU()))},
		{"mean log loss (nats)", fmt.Sprintf("%.4f", s.score.MeanLogLoss())},
		{"calibration error", percent(s.score.CalibrationError())},
	}
	if l := s.likelihood; l != nil && l.Labels > 0 {
		n := float64(l.Labels)
		rows = append(rows,
			[]string{"negative log-likelihood (nats per label)", fmt.Sprintf("%.4f", l.NegativeLog/n)},
			[]string{"  which is", likelihoodTexts[string(l.Bound)]},
			[]string{"pseudo-log-likelihood (nats per label)", fmt.Sprintf("%.4f", l.Pseudo/n)})
	}
	return rows
}

// likelihoodTexts say what a bound on a negative log-likelihood means.
var likelihoodTexts = map[string]string{"upper": "an upper bound", "exact": "exact", "none": "an approximation"}

func classTable(classes []string, score *infer.Score) (headers []string, rows [][]string) {
	recall, precision, f1, iou := score.Recall(), score.Precision(), score.F1(), score.IoU()
	for c, name := range classes {
		var truth int64
		for _, x := range score.Confusion[c] {
			truth += x
		}
		rows = append(rows, []string{name, strconv.FormatInt(truth, 10), percent(precision[c]), percent(recall[c]), percent(f1[c]), percent(iou[c])})
	}
	return []string{"class", "nodes", "precision", "recall", "F1", "IoU"}, rows
}

// classBars draws the measures of every class.
func classBars(s *scoredSet) figure.Bars {
	return figure.Bars{Title: "Classes on " + s.name, Label: "share", Names: s.classes, Series: []figure.BarSeries{
		{Name: "precision", Values: s.score.Precision()},
		{Name: "recall", Values: s.score.Recall()},
		{Name: "F1", Values: s.score.F1()},
		{Name: "IoU", Values: s.score.IoU()},
	}}
}

// reliability draws accuracy against confidence.
func reliability(title string, sets ...*scoredSet) figure.Curves {
	c := figure.Curves{Title: title, XLabel: "mean confidence", YLabel: "accuracy", Width: 420, Height: 420}
	for _, s := range sets {
		curve := figure.Series{Name: s.name}
		for i := range s.score.Calibration {
			if bin := &s.score.Calibration[i]; bin.Nodes > 0 {
				curve.X, curve.Y = append(curve.X, bin.MeanConfidence()), append(curve.Y, bin.Accuracy())
			}
		}
		c.Series = append(c.Series, curve)
	}
	c.Series = append(c.Series, figure.Series{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Dashed: true})
	return c
}
