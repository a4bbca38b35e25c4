package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/report"
)

// infoFlags are the options of info.
type infoFlags struct {
	data      dataFlags
	partition partitionFlags
	weights   int
	json      bool
}

func (a *app) infoCommand() *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:   "info MODEL|RUN|DATA|NETWORK [flags]",
		Short: "Describe a model, a run, a data set or a UAI network",
		Long: `Describes what is behind a path. With --blocks, the partition of the first
network of a data set: cut edges and balance.`,
		Example: "  blockbp info run\n  blockbp info data/ --blocks 4x5\n  blockbp info grid.uai",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.info(&f, args) },
	}
	f.data.register(cmd.Flags())
	f.partition.register(cmd.Flags())
	cmd.Flags().IntVar(&f.weights, "weights", 20, "models: how many of the largest weights to list")
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
	path := args[0]
	network := filepath.Ext(path) == ".uai"
	model := filepath.Ext(path) == ".safetensors" || isRunFolder(path)
	if len(args) > 1 && (network || model) {
		return usagef("info: it describes one model, run or network at a time, got %d paths", len(args))
	}
	switch {
	case network:
		return a.infoNetwork(f, path)
	case model:
		return a.infoModel(f, path)
	}
	return a.infoData(f, args)
}

// description is what info says: the value itself for --json, tables for people.
type description interface{ tables() []report.Table }

func (a *app) describe(asJSON bool, d description) error {
	if asJSON {
		return a.printJSON(d)
	}
	for _, t := range d.tables() {
		if _, err := fmt.Fprintln(a.stdout, t.Text()); err != nil {
			return err
		}
	}
	return nil
}

func newFacts(rows ...[]string) report.Table {
	return report.Table{Headers: []string{"property", "value"}, Rows: rows}
}
