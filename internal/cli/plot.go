package cli

import (
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/runfolder"
)

func (a *app) plotCommand() *cobra.Command {
	var tensorboard string
	cmd := &cobra.Command{
		Use:   "plot RUN... [--tensorboard DIR]",
		Short: "Draw the curves of runs again from their metrics",
		Long: "Writes the convergence curves of every run folder into its plots/ folder, from metrics.jsonl: also of a " +
			"run that is still going on.",
		Example: "  blockbp plot run\n  blockbp plot run other --tensorboard logs",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("plot: name a run folder: blockbp plot RUN")
			}
			return a.plot(args, tensorboard != "")
		},
	}
	cmd.Flags().StringVar(&tensorboard, "tensorboard", "", "folder to make for event files of TensorBoard")
	readsArguments(cmd, "the folder of a run")
	a.writes(cmd, "tensorboard", always(outputFolder))
	a.declare(cmd, func(args []string) (plots []written) {
		for _, dir := range args {
			plots = append(plots, written{path: filepath.Join(dir, runfolder.PlotFolder), kind: outputKept,
				within: runfolder.PlotFolder})
		}
		return plots
	})
	forceable(cmd, forceHelp)
	return cmd
}

// plot draws the curves of runs, and writes their event files if they are wanted.
func (a *app) plot(dirs []string, events bool) error {
	runs := make([][]runfolder.Metric, len(dirs))
	for i, dir := range dirs {
		var err error
		if runs[i], err = metricsOf(dir); err != nil {
			return err
		}
	}
	if events {
		if err := a.writeEvents(dirs, runs); err != nil {
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

// writeEvents writes the event file of each run into a folder of its name.
func (a *app) writeEvents(dirs []string, runs [][]runfolder.Metric) error {
	folder, err := a.newFolder("tensorboard")
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for i, dir := range dirs {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		base := filepath.Base(whole)
		name := base
		for n := 2; taken[name]; n++ { // of runs in different places
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		start := job.Started(dir)
		file := path.Join(name, runfolder.EventsName(start))
		write := func(w io.Writer) error { return runfolder.WriteEvents(w, start, runs[i]) }
		if err := folder.WriteFile(file, write); err != nil {
			return err
		}
		if err := a.print(false, nil, "%s\n", folder.Path(file)); err != nil {
			return err
		}
	}
	return nil
}
