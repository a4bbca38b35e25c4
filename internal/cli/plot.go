package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/runfolder"
)

func (a *app) plotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plot RUN...",
		Short: "Draw the curves of runs again from their metrics",
		Long: "Writes the convergence curves of every run folder into its plots/ folder, from metrics.jsonl: also of a " +
			"run that is still going on.",
		Example: "  blockbp plot run other",
		RunE:    func(_ *cobra.Command, args []string) error { return a.plot(args) },
	}
	readsArguments(cmd, "the folder of a run")
	a.declare(cmd, func(args []string) (plots []written) {
		for _, dir := range args {
			plots = append(plots, written{path: filepath.Join(dir, runfolder.PlotFolder), kind: outputKept,
				within: runfolder.PlotFolder})
		}
		return plots
	})
	return cmd
}

// plot draws the curves of runs, once it has read the metrics of all.
func (a *app) plot(dirs []string) error {
	if len(dirs) == 0 {
		return usagef("plot: name a run folder: blockbp plot RUN")
	}
	runs := make([][]runfolder.Metric, len(dirs))
	for i, dir := range dirs {
		var err error
		if runs[i], err = metricsOf(dir); err != nil {
			return err
		}
	}
	for i, dir := range dirs {
		if err := a.draw(dir, runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// metricsOf reads the metrics of a run, which has some.
func metricsOf(dir string) ([]runfolder.Metric, error) {
	if err := job.CheckRunFolder(dir, runfolder.MetricsFile); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, runfolder.MetricsFile)
	metrics, err := runfolder.ReadMetrics(file)
	if err == nil && len(metrics) == 0 {
		err = dataf("%s has no metrics yet", file)
	}
	return metrics, err
}

func (a *app) draw(dir string, metrics []runfolder.Metric) error {
	run, err := runfolder.At(dir)
	if err != nil {
		return err
	}
	for _, c := range job.Curves([]job.NamedMetrics{{Metrics: metrics}}, job.Passes, job.Seconds) {
		if err := run.WriteFigure(c.File, c.Figure); err != nil {
			return err
		}
		if err := a.print(false, nil, "%s\n", run.Path(filepath.Join(runfolder.PlotFolder, c.File+".svg"))); err != nil {
			return err
		}
	}
	return nil
}
