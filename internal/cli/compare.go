package cli

import (
	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/describe"
)

// compareFlags are the options of compare.
type compareFlags struct {
	out  string
	json bool
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:     "compare RUN RUN... [-o DIR]",
		Short:   "Set runs side by side: quality, curves, and the distance between their weights",
		Example: "  blockbp compare run-bbpl run-full -o compared",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.compare(&f, args) },
	}
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "folder to make for a report with overlaid curves")
	readsArguments(cmd, "the folder of a run")
	a.writes(cmd, "out", always(outputFolder))
	forceable(cmd, forceHelp)
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) compare(f *compareFlags, args []string) error {
	if len(args) < 2 {
		return usagef("compare: want at least two run folders: blockbp compare RUN RUN")
	}
	runs, err := describe.NewRuns(args)
	if err != nil {
		return err
	}
	if text := runs.Note(); text != "" {
		a.note("%s", text)
	}
	if f.out != "" {
		folder, err := a.newFolder("out")
		if err != nil {
			return err
		}
		if err := runs.Write(folder); err != nil {
			return err
		}
	}
	text := lines(runs.Table().Text())
	if quality := runs.Quality(); len(quality.Rows) > 0 {
		text = lines(quality.Text()) + "\n\n" + text
	}
	return a.print(f.json, struct {
		Runs describe.Runs `json:"runs"`
	}{runs}, "%s\n", text)
}
