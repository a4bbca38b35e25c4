package cli

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/job"
)

// predictFlags are the options of predict.
type predictFlags struct {
	inferenceFlags
	model, out    string
	clamp, arrays bool
}

func (a *app) predictCommand() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict DATA... -m MODEL -o OUT [flags]",
		Short: "Label new data with a model, with a belief for every label",
		RunE:  func(_ *cobra.Command, args []string) error { return a.predict(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "model file or run folder")
	fl.StringVarP(&f.out, "out", "o", "", "folder to make, or file to write: .csv, .tsv, .conll or .conllu")
	a.writes(cmd, byExtension(false, job.TableExtensions...))
	fl.BoolVar(&f.clamp, "clamp", false, "hold the labels that the data have, and predict the others")
	fl.BoolVar(&f.arrays, "arrays", false, "write labels.npy and beliefs.npy of all instances, not a file for each")
	f.register(cmd)
	return cmd
}

func (a *app) predict(f *predictFlags, args []string) error {
	if f.model == "" || f.out == "" || len(args) == 0 {
		return usagef("predict: want blockbp predict DATA -m MODEL -o OUT")
	}
	if err := f.validate(); err != nil {
		return err
	}
	model, err := a.loadModel(f.model)
	if err != nil {
		return err
	}
	progress := a.newCounter(f.quiet, "predicting", "instances")
	work, err := f.inference(a.ctx, model, progress)
	if err != nil {
		return err
	}
	data, err := a.given(&f.data, model, args, f.clamp)
	if err != nil {
		return err
	}
	if err := work.Check(a.ctx, data.instances, data.held); err != nil {
		return err
	}
	if f.arrays && slices.Contains(job.TableExtensions, filepath.Ext(f.out)) {
		return usagef("{arrays}: they are written into a folder, and {out} %s is a table", f.out)
	}
	p, err := a.predictInto(f, work, data)
	progress.done()
	if err != nil {
		return err
	}
	if text := p.Worst.String(); text != "" {
		a.note("%s", text)
	}
	if text := model.Drawn(p); text != "" {
		a.note("%s", text)
	}
	if p.Unproved > 0 {
		a.note("the joint states of %d of %d instances are not proved to be the most probable{!; predict.json has the gaps}",
			p.Unproved, len(p.Instances))
	}
	return a.print(f.json, p, "%s labelled in %.2f s: %s\n", describe.Counted(len(p.Instances), "instance"), p.Seconds,
		p.Out)
}

// predictInto writes predictions into a table or a folder.
func (a *app) predictInto(f *predictFlags, work job.Inference, data given) (*job.Prediction, error) {
	if slices.Contains(job.TableExtensions, filepath.Ext(f.out)) {
		return work.PredictTable(a.ctx, a.target(), data.set, data.instances, data.held)
	}
	run, err := a.newFolder()
	if err != nil {
		return nil, err
	}
	if f.arrays {
		return work.PredictArrays(a.ctx, run, data.set, data.instances, data.held)
	}
	return work.PredictInto(a.ctx, run, data.set, data.instances, data.held)
}
