package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// evalFlags are the options of eval.
type evalFlags struct {
	data          dataFlags
	models        []string
	out, counting string
	split         string
	against       string
	threads       int
	tolerance     float64
	maxSweeps     int
	likelihood    bool
	decode        decoding
	json, quiet   bool
}

func (a *app) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval DATA... -m MODEL [-m OTHER] [flags]",
		Short: "Compare a model's predictions with the labels of data",
		Long: `Prints accuracy, mean class accuracy, F1, mean intersection over union, log loss,
calibration, the likelihood of the labels and the figures of every class. Several
models stand side by side.`,
		Example: `  blockbp eval images/ --features features/ --list test.txt -m run
  blockbp eval images/ --list test.txt --features features/ -m run -m run-without-edges -o compared
  blockbp eval citation/cora -m run --observed train --split test
  blockbp eval answer.MAR --against reference.MAR`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkAgainst(cmd); err != nil {
				return err
			}
			return a.eval(&f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.models, "model", "m", nil, "model file or run folder; may be repeated")
	fl.StringVarP(&f.out, "out", "o", "", "folder to make for a report with pictures and confusion matrices")
	fl.StringVar(&f.counting, "counting", "", "counting numbers other than those of training: convex, trw, bethe or a file")
	fl.StringVar(&f.split, "split", "", "graph tables: compare on the nodes of this split only; the labels of --observed are held")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "number of threads")
	fl.Float64Var(&f.tolerance, "tol", predictLimits.Tolerance, "change of a log-message at which inference counts as converged")
	fl.IntVar(&f.maxSweeps, "max-sweeps", predictLimits.MaxSweeps, "at most this many sweeps per instance")
	fl.BoolVar(&f.likelihood, "likelihood", true, "compute how probable the labels are; where some are unknown that takes a second inference")
	f.decode.register(fl)
	fl.StringVar(&f.against, "against", "", "compare a file of marginals (.MAR) with this reference, without a model")
	f.data.register(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// evaluatedModel is what eval says of one model. Likelihoods are in nats per label.
type evaluatedModel struct {
	Model            string           `json:"model"`
	Decode           decoding         `json:"decode"` // how beliefs became the labels compared
	Nodes            int64            `json:"nodes"`
	Accuracy         runfolder.Float  `json:"accuracy"`
	ClassAccuracy    runfolder.Float  `json:"class_accuracy"`
	F1               runfolder.Float  `json:"f1"`
	IoU              runfolder.Float  `json:"iou"`
	LogLoss          runfolder.Float  `json:"log_loss"`
	CalibrationError runfolder.Float  `json:"calibration_error"`
	NegativeLog      runfolder.Float  `json:"negative_log_likelihood"` // null where it was not asked for
	Bound            *counting.Bound  `json:"negative_log_likelihood_bound"`
	Pseudo           runfolder.Float  `json:"pseudo_log_likelihood"`
	Classes          []evaluatedClass `json:"classes"`
	Confusion        [][]int64        `json:"confusion"` // [truth][predicted]
	Calibration      []calibrationBin `json:"calibration"`
}

type evaluatedClass struct {
	Name      string          `json:"name"`
	Nodes     int64           `json:"nodes"`
	Recall    runfolder.Float `json:"recall"`
	Precision runfolder.Float `json:"precision"`
	F1        runfolder.Float `json:"f1"`
	IoU       runfolder.Float `json:"iou"`
}

// calibrationBin is a bin of confidences that holds any.
type calibrationBin struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Nodes      int64   `json:"nodes"`
	Confidence float64 `json:"mean_confidence"`
	Accuracy   float64 `json:"accuracy"`
}

func (a *app) eval(f *evalFlags, args []string) error {
	if f.against != "" {
		return a.evalAgainst(f, args)
	}
	if len(f.models) == 0 || len(args) == 0 {
		return usagef("eval: want blockbp eval DATA -m MODEL")
	}
	if f.threads < 1 {
		return usagef("--threads %d: want at least 1", f.threads)
	}
	switch {
	case !(f.tolerance > 0):
		return usagef("--tol %v: want a positive number", f.tolerance)
	case f.maxSweeps < 1:
		return usagef("--max-sweeps %d: want at least 1", f.maxSweeps)
	}
	if err := f.decode.check(); err != nil {
		return err
	}
	if err := f.data.validate(); err != nil {
		return err
	}
	if err := checkOutput(f.out); err != nil {
		return err
	}
	var models []*loadedModel
	for _, path := range f.models {
		m, err := loadModel(path)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	var scored []*scoredSet
	var results []evaluatedModel
	for _, m := range models {
		s, err := a.evalModel(f, m, args)
		if err != nil {
			return err
		}
		scored = append(scored, s)
		results = append(results, evaluated(m.path, f.decode, s))
	}
	if f.out != "" {
		if err := writeEvaluation(f.out, scored, results); err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(struct {
			Models []evaluatedModel `json:"models"`
		}{results})
	}
	return a.printEvaluation(scored)
}

func (a *app) evalModel(f *evalFlags, m *loadedModel, args []string) (*scoredSet, error) {
	counting, err := m.countingOf(f.counting)
	if err != nil {
		return nil, err
	}
	o := f.data.options(m)
	o.Observed = ""
	set, err := a.openData(args, o)
	if err != nil {
		return nil, err
	}
	e, err := newEvaluation(modelName(m.path), set, m.instances(set))
	if err != nil {
		return nil, err
	}
	if err := f.restrict(e, set); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	limits := infer.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps}
	work := inference{
		threads: f.threads, progress: newCounter(a.stderr, f.quiet, "evaluating "+e.name),
		predictor: func() *infer.Predictor {
			p := predictor(m.model, counting, limits)
			p.Joint = f.decode.joint(f.maxSweeps)
			return p
		},
	}
	if f.likelihood {
		work.assess = &assessment{}
	}
	s, err := e.scoreWithPictures(a.ctx, work)
	if err == nil && s.unproved > 0 {
		a.note("%s: the joint states of %d of %d instances are not proved to be the most probable", e.name, s.unproved, len(e.instances))
	}
	return s, err
}

// restrict holds the labels of the observed split and compares on one split.
func (f *evalFlags) restrict(e *evaluation, set *dataset.Set) error {
	if f.split == "" && f.data.observed == "" {
		return nil
	}
	if len(set.Splits) == 0 {
		return usagef("--split and --observed apply to graph tables only")
	}
	for _, o := range []struct{ flag, split string }{{"split", f.split}, {"observed", f.data.observed}} {
		if problem := unknownSplit(set, o.split); o.split != "" && problem != "" {
			return usagef("--%s: %s", o.flag, problem)
		}
	}
	for i := range e.instances {
		labels := e.labels[i][0] // tables have one sample
		count, held := make([]bool, len(labels)), make([]int32, len(labels))
		for s, of := range set.Splits[i] {
			held[s] = crf.Unobserved
			if f.data.observed != "" && of == f.data.observed {
				held[s] = labels[s]
			}
			count[s] = of == f.split || (f.split == "" && held[s] == crf.Unobserved)
		}
		e.count = append(e.count, count)
		if f.data.observed != "" {
			e.clamp = append(e.clamp, held)
		}
	}
	return nil
}

// modelName is how a model is called in tables: its run folder or its file.
func modelName(path string) string {
	name := filepath.Base(path)
	if name == modelFile {
		return filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func evaluated(path string, decode decoding, s *scoredSet) evaluatedModel {
	recall, precision, f1, iou := s.score.Recall(), s.score.Precision(), s.score.F1(), s.score.IoU()
	unknown := runfolder.Float(math.NaN())
	m := evaluatedModel{
		Model: path, Decode: decode, Nodes: s.score.Count(), Accuracy: runfolder.Float(s.score.Accuracy()),
		ClassAccuracy: runfolder.Float(infer.Mean(recall)), F1: runfolder.Float(infer.Mean(f1)), IoU: runfolder.Float(infer.Mean(iou)),
		LogLoss: runfolder.Float(s.score.MeanLogLoss()), CalibrationError: runfolder.Float(s.score.CalibrationError()),
		NegativeLog: unknown, Pseudo: unknown, Confusion: s.score.Confusion, Calibration: []calibrationBin{},
	}
	if l := s.likelihood; l != nil && l.Labels > 0 {
		n := float64(l.Labels)
		m.NegativeLog, m.Bound, m.Pseudo = runfolder.Float(l.NegativeLog/n), &l.Bound, runfolder.Float(l.Pseudo/n)
	}
	for c, name := range s.classes {
		var nodes int64
		for _, x := range s.score.Confusion[c] {
			nodes += x
		}
		m.Classes = append(m.Classes, evaluatedClass{name, nodes, runfolder.Float(recall[c]), runfolder.Float(precision[c]), runfolder.Float(f1[c]), runfolder.Float(iou[c])})
	}
	for i := range s.score.Calibration {
		if bin := &s.score.Calibration[i]; bin.Nodes > 0 {
			m.Calibration = append(m.Calibration, calibrationBin{float64(i) / infer.CalibrationBins, float64(i+1) / infer.CalibrationBins, bin.Nodes, bin.MeanConfidence(), bin.Accuracy()})
		}
	}
	return m
}

// printEvaluation prints the models side by side, and the classes of each.
func (a *app) printEvaluation(scored []*scoredSet) error {
	table := report.Table{Headers: []string{"measure"}}
	for _, s := range scored {
		table.Headers = append(table.Headers, s.name)
		for i, row := range s.measures() {
			if len(table.Headers) == 2 {
				table.Rows = append(table.Rows, row[:1])
			}
			table.Rows[i] = append(table.Rows[i], row[1])
		}
	}
	if _, err := fmt.Fprintln(a.stdout, table.Text()); err != nil {
		return err
	}
	for _, s := range scored {
		headers, rows := classTable(s.classes, s.score)
		if len(scored) > 1 {
			headers[0] = "class, by " + s.name
		}
		if _, err := fmt.Fprintln(a.stdout, report.Table{Headers: headers, Rows: rows}.Text()); err != nil {
			return err
		}
	}
	return nil
}

// writeEvaluation writes a folder with a report on all models.
func writeEvaluation(dir string, scored []*scoredSet, results []evaluatedModel) error {
	run, err := createOutput(dir)
	if err != nil {
		return err
	}
	if err := run.WriteJSON("eval.json", results); err != nil {
		return err
	}
	page := &report.Report{Title: "Evaluation"}
	iou := figure.Bars{Title: "Intersection over union per class", Label: "IoU", Names: scored[0].classes}
	f1 := figure.Bars{Title: "F1 per class", Label: "F1", Names: scored[0].classes}
	for _, s := range scored {
		iou.Series = append(iou.Series, figure.BarSeries{Name: s.name, Values: s.score.IoU()})
		f1.Series = append(f1.Series, figure.BarSeries{Name: s.name, Values: s.score.F1()})
	}
	for _, figure := range []struct {
		file    string
		figure  figure.Figure
		caption string
	}{
		{"iou", iou, "Intersection over union of truth and prediction."},
		{"f1", f1, "Harmonic mean of precision and recall."},
		{"reliability", reliability("Reliability", scored...), "Accuracy of the predictions of about the same confidence: on the dashed line beliefs are calibrated, below it they are too sure of themselves."},
	} {
		if err := writeFigure(run, figure.file, figure.figure); err != nil {
			return err
		}
		page.Figure(figure.figure, figure.caption)
	}
	if len(scored) > 1 && len(scored[0].rows) > 0 {
		if err := addPanel(run, page, "pictures", sideBySide(scored), "Photograph, truth, and the prediction of every model."); err != nil {
			return err
		}
	}
	for _, s := range scored {
		if err := reportScore(run, page, s); err != nil {
			return err
		}
	}
	return run.WriteFile(report.ReportFile, page.Write)
}

// sideBySide sets the pictures of all models beside each other.
func sideBySide(scored []*scoredSet) figure.Panel {
	panel := figure.Panel{Names: scored[0].classes}
	for i, row := range scored[0].rows {
		row.Prediction, row.Confidence = nil, nil
		for _, s := range scored {
			row.Models = append(row.Models, figure.ModelLabels{Name: s.name, Labels: s.rows[i].Prediction})
		}
		panel.Rows = append(panel.Rows, row)
	}
	return panel
}
