package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// finalScores are the evaluations of the final model.
type finalScores struct {
	values map[string]runfolder.Float
	sets   []scoredSet
}

// scoredSet is one evaluation with what its report shows.
type scoredSet struct {
	name    string
	classes []string
	score   *infer.Score
	// likelihood of the labels, nil where it was not asked for.
	likelihood *infer.Likelihood
	rows       []figure.PanelRow // of images: a few, for the picture
	unproved   int               // joint states that may not be the most probable
}

// picturesPerSet is how many images of an evaluation set the report shows.
const picturesPerSet = 6

// finalEvaluation scores the final model on every evaluation set. It returns no
// scores where the run was interrupted, or is now.
func (t *training) finalEvaluation(r *learn.Result) (*finalScores, error) {
	if r.Status == learn.Interrupted || len(t.evals) == 0 {
		return &finalScores{}, nil
	}
	started := time.Now()
	defer func() { t.evaluated = time.Since(started) }()
	final := &finalScores{values: map[string]runfolder.Float{}}
	for _, e := range t.evals {
		scored, err := e.scoreWithPictures(t.app.ctx, inference{
			threads: t.flags.threads, progress: t.progress.counter("final evaluation on " + e.name),
			predictor: func() *infer.Predictor { return predictor(r.Model, t.problem.Counting, predictLimits) },
		})
		if t.app.ctx.Err() != nil {
			t.unevaluated = true
			return &finalScores{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("evaluation %s: %w", e.name, err)
		}
		final.sets = append(final.sets, *scored)
		for name, value := range metricsOf(e.name, scored.score) {
			final.values[name] = runfolder.Float(value)
		}
	}
	return final, nil
}

// scoreWithPictures scores a set and keeps, for images, what to draw of the first
// few.
func (e *evaluation) scoreWithPictures(ctx context.Context, w inference) (*scoredSet, error) {
	s := &scoredSet{name: e.name, classes: stateNames(e.set)}
	if w.assess != nil {
		w.assess.labels, w.assess.count = e.labels, e.count
		s.likelihood = &w.assess.total
	}
	var err error
	s.score, err = e.score(ctx, w, func(i int, b *infer.Beliefs) error {
		if b.Joint != nil && !b.Joint.Optimal {
			s.unproved++
		}
		if i >= len(e.set.Images) || i >= picturesPerSet {
			return nil
		}
		row, err := panelRow(e.set.Images[i], e.labels[i][0], b)
		s.rows = append(s.rows, row)
		return err
	})
	return s, err
}

// panelRow makes the picture row of one image.
func panelRow(source dataset.ImageSource, truth []int32, b *infer.Beliefs) (figure.PanelRow, error) {
	photo, err := readImage(source.Path)
	if err != nil {
		return figure.PanelRow{}, err
	}
	row := figure.PanelRow{Title: source.ID, Photo: photo, W: source.Width, H: source.Height}
	row.Prediction = toInts(b.Labels)
	if truth != nil {
		row.Truth = toInts(truth)
	}
	row.Confidence = make([]float64, len(b.Labels))
	for s, y := range b.Labels {
		row.Confidence[s] = b.Of(s)[y]
	}
	return row, nil
}

func toInts(x []int32) []int {
	y := make([]int, len(x))
	for i, v := range x {
		y[i] = int(v)
	}
	return y
}

// writeTrainingReport writes the plots and the one-page report of a run.
func (t *training) writeTrainingReport(r *learn.Result, n numbersOfResult, final *finalScores) error {
	run := t.run
	metrics, err := runfolder.ReadMetrics(run.Path(runfolder.MetricsFile))
	if err != nil {
		return err
	}
	page := &report.Report{Title: "Training report", Subtitle: fmt.Sprintf("%d instances, %d weights; blockbp %s", len(t.set.Instances), r.Model.Layout.Size, version())}
	local := t.settings.Method.Local()
	page.Callout(verdict(r), verdictText(r, local))
	for _, text := range n.Notes {
		page.Callout(report.CalloutWarn, "Note: "+text+".")
	}
	if err := t.reportSettings(page); err != nil {
		return err
	}
	page.Section("Result")
	page.KeyValues(resultValues(n))
	if n.L2Path != nil {
		page.Section("Choice of l2")
		page.Paragraph("Regularisers from large to small, each learned from the weights of the one before; the run itself began anew with the best.")
		table := n.L2Path.table()
		page.Table(table.Headers, table.Rows)
	}
	page.Section("Convergence")
	if local {
		page.Paragraph(objectiveTexts[t.settings.Method] + " A pass is one evaluation of objective and gradient over all data.")
	} else {
		page.Paragraph("The objective and the gradient are the running estimates of block learning: each block's share is as of its last visit, so they cost nothing extra and become exact at convergence. " + sourceOfValues(r) + " A pass is the work of one sweep over the whole network.")
	}
	for _, c := range convergenceCurves([]namedMetrics{{"", metrics}}) {
		if err := writeFigure(run, c.file, c.curves); err != nil {
			return err
		}
		page.Figure(c.curves, c.caption)
	}
	if curves, ok := evaluationCurves(metrics); ok {
		if err := writeFigure(run, "evaluation", curves); err != nil {
			return err
		}
		page.Figure(curves, "Evaluations during training.")
	}
	for i := range final.sets {
		if err := reportScore(run, page, &final.sets[i]); err != nil {
			return err
		}
	}
	reportWeights(page, r.Model)
	return run.WriteFile(report.ReportFile, page.Write)
}

func verdict(r *learn.Result) report.CalloutKind {
	switch r.Status {
	case learn.Converged:
		return report.CalloutOK
	case learn.Interrupted:
		return report.CalloutError
	}
	return report.CalloutWarn
}

// verdictText says how a run ended; local is set for objectives without inference.
func verdictText(r *learn.Result, local bool) string {
	text := fmt.Sprintf("%s: %s.", r.Status, r.Reason)
	if r.Checked && !local {
		text += fmt.Sprintf(" Checked over the whole network: gradient norm %.3g, largest change of a message %.3g", r.GradientNorm, r.Residual)
		if !r.InferenceConverged {
			text += " (it had not settled)"
		}
		if !math.IsNaN(r.Gap) {
			text += fmt.Sprintf(", primal–dual gap of the inference %.3g", float64(gapShown(r.Gap, r.Objective)))
		}
		text += "."
	}
	if !r.Convex {
		text += " The objective is not known to be convex: " + severalOptima(r.Status) + "."
	}
	return text
}

// severalOptima says what follows for a run whose objective may not be convex. Only
// one that converged claims an optimum.
func severalOptima(s learn.Status) string {
	if s == learn.Converged {
		return "this optimum may be one of several"
	}
	return "it may have several optima"
}

// sourceOfValues says how far the values of the result can be trusted.
func sourceOfValues(r *learn.Result) string {
	const place = "The values in the table above are "
	switch {
	case !r.Checked:
		return place + "such running estimates: the run ended before a check of the whole network."
	case !r.InferenceConverged:
		return place + fmt.Sprintf("approximate: they come from inference over the whole network at the final weights, which had not settled when it ended (the largest change of a message in its last pass was %.3g).", r.Residual)
	}
	return place + "exact, from inference over the whole network at the final weights."
}

func resultValues(n numbersOfResult) []report.KeyValue {
	return []report.KeyValue{
		{Key: "objective L", Value: orUnknown("%.10g", n.Objective)},
		{Key: "gradient norm", Value: orUnknown("%.3g", n.GradNorm) + " (at the start " + orUnknown("%.3g", n.FirstGradNorm) + ")"},
		{Key: "norm of the weights", Value: fmt.Sprintf("%.6g", n.ThetaNorm)},
		{Key: "iterations", Value: strconv.Itoa(n.Iterations)},
		{Key: "objective kind", Value: n.ObjectiveKind},
		{Key: "passes of messages", Value: passesText(n)},
		{Key: "passes of gradients", Value: fmt.Sprintf("%.1f", n.GradientPasses)},
		{Key: "seconds of training", Value: fmt.Sprintf("%.2f, of which checks %.2f; %.3g per iteration", n.TrainingSeconds, n.CheckSeconds, float64(n.SecondsPerIter))},
		{Key: "seconds of evaluation", Value: fmt.Sprintf("%.2f", n.EvaluationSeconds)},
		{Key: "peak memory", Value: mebibytes(n.PeakBytes)},
		{Key: "sha256 of the weights", Value: n.ThetaSHA256},
	}
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "n/a"
	}
	return fmt.Sprintf("%.2f %%", 100*x)
}

// weightsShown is how many of the largest weights a report lists.
const weightsShown = 20

func reportWeights(page *report.Report, m *crf.Model) {
	page.Section("Largest weights")
	var rows [][]string
	for _, i := range largestWeights(m, weightsShown) {
		rows = append(rows, []string{m.WeightName(i), fmt.Sprintf("%.5g", m.Weights[i])})
	}
	page.Table([]string{"weight", "value"}, rows)
}
