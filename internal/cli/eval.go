package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
)

// evalFlags are the options of eval.
type evalFlags struct {
	inferenceFlags
	models     []string
	out, split string
	likelihood bool
}

func (a *app) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval DATA... -m MODEL [-m OTHER] [flags]",
		Short: "Compare a model's predictions with the labels of data",
		RunE:  func(_ *cobra.Command, args []string) error { return a.eval(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.models, "model", "m", nil, "`MODEL` file or run folder; may be repeated")
	fl.StringVarP(&f.out, "out", "o", "", "folder to make for a report with pictures and confusion matrices")
	a.writes(cmd, always(outputFolder))
	fl.StringVar(&f.split, "split", "", "graph tables: compare on this split only; labels of --observed are held")
	fl.BoolVar(&f.likelihood, "likelihood", true, "compute how probable the labels are: a second inference where some "+
		"are unknown")
	f.register(cmd)
	return cmd
}

func (a *app) eval(f *evalFlags, args []string) error {
	if len(f.models) == 0 || len(args) == 0 {
		return usagef("eval: want data with labels, and a model whose predictions to compare: blockbp eval DATA -m MODEL")
	}
	if err := f.validate(); err != nil {
		return err
	}
	var models []*job.Model
	for _, path := range f.models {
		m, err := a.loadModel(path)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	var scored []*job.Scored
	var results []job.ModelScore
	for _, m := range models {
		s, err := a.evalModel(f, m, args)
		if err != nil && len(models) > 1 {
			return fmt.Errorf("with the model %s: %w", m.Path, err)
		} else if err != nil {
			return err
		}
		scored = append(scored, s)
		results = append(results, s.Of(m.Path, f.decode))
	}
	if f.out != "" {
		run, err := a.newFolder()
		if err == nil {
			err = job.ReportScores(run, args, scored, results)
		}
		if err != nil {
			return err
		}
	}
	return a.print(f.json, struct {
		Models []job.ModelScore `json:"models"`
	}{results}, "%s", lines(evaluationText(scored)))
}

func (a *app) evalModel(f *evalFlags, m *job.Model, args []string) (*job.Scored, error) {
	name := modelName(m.Path)
	progress := a.newCounter(f.quiet, "evaluating "+name, "instances")
	work, err := f.inference(a.ctx, m, progress)
	if err != nil {
		return nil, err
	}
	o := f.data.options(m)
	o.Observed = ""
	set, err := a.openData(args, o)
	if err != nil {
		return nil, err
	}
	e, err := job.NewEvaluation(name, set, m.Instances(set), f.split, f.data.Observed)
	if err != nil {
		return nil, err
	}
	if err := work.Check(a.ctx, e.Instances, e.Held); err != nil {
		return nil, err
	}
	s, err := work.Score(a.ctx, e, f.likelihood)
	progress.done()
	if err != nil {
		return nil, err
	}
	if text := s.Unsettled.String(); text != "" {
		a.note("{!%s: }%s", name, option.Text(text))
	}
	if s.Unproved > 0 {
		a.note("{!%s: }the joint states of %d of %d instances are not proved to be the most probable", name, s.Unproved,
			len(e.Instances))
	}
	if text := m.LearnedFrom(e); text != "" {
		s.Note = option.Command(name + ": " + text)
		a.note("%s", s.Note)
	}
	return s, nil
}

// modelName is how a model is called in tables: its run folder or its file.
func modelName(path string) string {
	name := filepath.Base(path)
	if name == job.ModelFile {
		return filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// evaluationText has the models side by side, and the classes of each.
func evaluationText(scored []*job.Scored) string {
	text := job.MeasuresTable(scored).Text() + "\n"
	for _, s := range scored {
		for _, t := range s.Tables() {
			if len(scored) > 1 {
				t.Headers[0] += ", by " + s.Name
			}
			text += t.Text() + "\n"
		}
	}
	return text
}
