package cli

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/record"
)

// evalFlags are the options of eval.
type evalFlags struct {
	data          dataFlags
	models        []string
	out, counting string
	split         string
	threads       int
	json, quiet   bool
}

func (a *app) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval DATA... -m MODEL [-m OTHER] [flags]",
		Short: "Compare a model's predictions with the labels of data",
		Long: `Prints accuracy, mean class accuracy, mean intersection over union, log loss and
the figures of every class. Several models stand side by side.`,
		Example: `  blockbp eval images/ --features features/ --list test.txt -m run
  blockbp eval images/ --list test.txt --features features/ -m run -m run-without-edges -o compared
  blockbp eval citation/cora -m run --observed train --split test`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eval(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.models, "model", "m", nil, "model file or run folder; may be repeated")
	fl.StringVarP(&f.out, "out", "o", "", "folder to make for a report with pictures and confusion matrices")
	fl.StringVar(&f.counting, "counting", "", "counting numbers other than those of training: convex, trw, bethe or a file")
	fl.StringVar(&f.split, "split", "", "graph tables: compare on the nodes of this split only; the labels of --observed are held")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "number of threads")
	f.data.register(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// evaluatedModel is what eval says of one model.
type evaluatedModel struct {
	Model         string           `json:"model"`
	Nodes         int64            `json:"nodes"`
	Accuracy      record.Float     `json:"accuracy"`
	ClassAccuracy record.Float     `json:"class_accuracy"`
	IoU           record.Float     `json:"iou"`
	LogLoss       record.Float     `json:"log_loss"`
	Classes       []evaluatedClass `json:"classes"`
	Confusion     [][]int64        `json:"confusion"` // [truth][predicted]
}

type evaluatedClass struct {
	Name      string       `json:"name"`
	Recall    record.Float `json:"recall"`
	Precision record.Float `json:"precision"`
	IoU       record.Float `json:"iou"`
}

func (a *app) eval(f *evalFlags, args []string) error {
	if len(f.models) == 0 || len(args) == 0 {
		return usagef("eval: want blockbp eval DATA -m MODEL")
	}
	if f.threads < 1 {
		return usagef("--threads %d: want at least 1", f.threads)
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
		results = append(results, evaluated(m.path, s))
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
	return a.printEvaluation(scored, results)
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
	return e.scoreWithPictures(a.ctx, inference{
		threads: f.threads, progress: newCounter(a.stderr, f.quiet, "evaluating "+e.name),
		predictor: func() *infer.Predictor { return predictor(m.model, counting, predictLimits) },
	})
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

func evaluated(path string, s *scoredSet) evaluatedModel {
	recall, precision, iou := s.score.Recall(), s.score.Precision(), s.score.IoU()
	m := evaluatedModel{
		Model: path, Nodes: s.score.Count(), Accuracy: record.Float(s.score.Accuracy()),
		ClassAccuracy: record.Float(infer.Mean(recall)), IoU: record.Float(infer.Mean(iou)),
		LogLoss: record.Float(s.score.MeanLogLoss()), Confusion: s.score.Confusion,
	}
	for c, name := range s.classes {
		m.Classes = append(m.Classes, evaluatedClass{name, record.Float(recall[c]), record.Float(precision[c]), record.Float(iou[c])})
	}
	return m
}

func (a *app) printEvaluation(scored []*scoredSet, results []evaluatedModel) error {
	table := record.Table{Headers: []string{"measure"}}
	measures := []struct {
		name  string
		value func(evaluatedModel) string
	}{
		{"nodes compared", func(m evaluatedModel) string { return strconv.FormatInt(m.Nodes, 10) }},
		{"accuracy", func(m evaluatedModel) string { return percent(float64(m.Accuracy)) }},
		{"mean class accuracy", func(m evaluatedModel) string { return percent(float64(m.ClassAccuracy)) }},
		{"mean IoU", func(m evaluatedModel) string { return percent(float64(m.IoU)) }},
		{"mean log loss (nats)", func(m evaluatedModel) string { return fmt.Sprintf("%.4f", float64(m.LogLoss)) }},
	}
	for _, s := range scored {
		table.Headers = append(table.Headers, s.name)
	}
	for _, measure := range measures {
		row := []string{measure.name}
		for _, m := range results {
			row = append(row, measure.value(m))
		}
		table.Rows = append(table.Rows, row)
	}
	for c, class := range scored[0].classes {
		row := []string{"IoU of " + class}
		for _, m := range results {
			row = append(row, percent(float64(m.Classes[c].IoU)))
		}
		table.Rows = append(table.Rows, row)
	}
	_, err := fmt.Fprintln(a.stdout, table.Text())
	return err
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
	report := &record.Report{Title: "Evaluation"}
	bars := record.Bars{Title: "Intersection over union per class", Label: "IoU", Names: scored[0].classes}
	for _, s := range scored {
		bars.Series = append(bars.Series, record.BarSeries{Name: s.name, Values: s.score.IoU()})
	}
	if err := writeFigure(run, "iou", bars); err != nil {
		return err
	}
	report.Figure(bars, "Intersection over union of truth and prediction.")
	for _, s := range scored {
		if err := reportScore(run, report, s); err != nil {
			return err
		}
	}
	return run.WriteFile(record.ReportFile, report.Write)
}
