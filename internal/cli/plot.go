package cli

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/runfolder"
)

func (a *app) plotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plot RUN...",
		Short:   "Draw the curves of runs again from their metrics",
		Long:    "Writes the convergence curves of every run folder into its plots/ folder, from metrics.jsonl: also of a run that is still going on.",
		Example: "  blockbp plot run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("plot: name a run folder: blockbp plot RUN")
			}
			for _, dir := range args {
				if err := a.plot(dir); err != nil {
					return err
				}
			}
			return nil
		},
	}
	readsArguments(cmd, "the folder of a run")
	a.declare(cmd, func(args []string) (plots []written) {
		for _, dir := range args {
			plots = append(plots, written{path: filepath.Join(dir, runfolder.PlotFolder), kind: outputKept, within: runfolder.PlotFolder})
		}
		return plots
	})
	return cmd
}

func (a *app) plot(dir string) error {
	if err := job.CheckMetrics(dir); err != nil {
		return err
	}
	run, err := runfolder.At(dir)
	if err != nil {
		return err
	}
	metrics, err := runfolder.ReadMetrics(run.Path(runfolder.MetricsFile))
	if err != nil {
		return err
	}
	if len(metrics) == 0 {
		return dataf("%s has no metrics yet", run.Path(runfolder.MetricsFile))
	}
	for _, c := range slices.Concat(job.Convergence(metrics), job.Curves([]job.NamedMetrics{{Name: filepath.Base(dir), Metrics: metrics}})) {
		if err := run.WriteFigure(c.File, c.Figure); err != nil {
			return err
		}
		if err := a.print(false, nil, "%s\n", run.Path(filepath.Join(runfolder.PlotFolder, c.File+".svg"))); err != nil {
			return err
		}
	}
	return nil
}
