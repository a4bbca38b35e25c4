package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/report"
)

// infoFlags are the options of info.
type infoFlags struct {
	data    dataFlags
	weights int
	json    bool
}

func (a *app) infoCommand() *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:     "info MODEL|RUN|DATA|NETWORK [flags]",
		Short:   "Describe a model, a run, a data set or a network",
		Example: "  blockbp info run\n  blockbp info data/\n  blockbp info grid.uai",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.info(&f, args) },
	}
	readsArguments(cmd, "a model, a run, data or a network")
	f.data.register(cmd.Flags())
	f.data.registerMemory(cmd.Flags())
	cmd.Flags().IntVar(&f.weights, "weights", 20, "models: how many largest weights or couplings to list")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) info(f *infoFlags, args []string) error {
	if len(args) == 0 {
		return usagef("info: name what to describe: blockbp info PATH")
	}
	if f.weights < 0 {
		return usagef("--weights %d: want a number that is not negative", f.weights)
	}
	network := formats.IsNetwork(args[0])
	model := filepath.Ext(args[0]) == ".safetensors" || job.IsRunFolder(args[0])
	if len(args) > 1 && (network || model) {
		return usagef("info: it describes one model, run or network at a time, got %d paths", len(args))
	}
	d, err := f.describe(a, args, network, model)
	if err != nil {
		return err
	}
	text := ""
	for _, t := range d.Tables() {
		text += t.Text() + "\n"
	}
	return a.print(f.json, d, "%s", lines(text))
}

// description is what info says: the value itself for --json, tables for people.
type description interface{ Tables() []report.Table }

// describe reads what the arguments name.
func (f *infoFlags) describe(a *app, args []string, network, model bool) (description, error) {
	switch {
	case network:
		n, err := dataset.ReadNetwork(args[0], f.data.Memory)
		if err != nil {
			return nil, err
		}
		return describe.NewNetwork(n), a.ctx.Err()
	case model:
		m, err := a.loadModel(args[0])
		if err != nil {
			return nil, err
		}
		return describe.NewModel(m, f.weights)
	}
	if err := f.data.validate(); err != nil {
		return nil, err
	}
	set, err := a.openData(args, f.data.options(nil))
	if err != nil {
		return nil, err
	}
	return describe.NewData(set), a.ctx.Err()
}
