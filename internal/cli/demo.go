package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// demoFlags are the options of demo.
type demoFlags struct {
	synthetic.Demo
	out  string
	json bool
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch BBPL, inner-dual and full BP learn the same model",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.demo(&f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make (default: blockbp-demo, or blockbp-demo-2 and so on)")
	a.writes(cmd, always(outputFolder))
	forceable(cmd, forceHelp)
	fl.IntVar(&f.Side, "side", 50, "rows and columns of the grid")
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of the problem")
	threadsVar(fl, &f.Threads, "number of threads")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) demo(f *demoFlags) error {
	const most = 1000 // rows, of which the features take some hundred MiB
	if f.Side < 5 || f.Side > most {
		return usagef("--side %d: want 5, for 4x5 blocks, to %d", f.Side, most)
	}
	create := func() (*runfolder.Run, error) { return a.newFolder() }
	if f.out == "" {
		create = func() (*runfolder.Run, error) { return runfolder.CreateFree("blockbp-demo") }
	}
	run, err := create()
	if err != nil {
		return err
	}
	defer run.Close()
	var shown learn.Method
	var bar *progress
	d := f.Demo
	d.Say = func(text string) {
		if bar != nil {
			bar.done()
		}
		a.tell(0, 0, "%s", text)
	}
	d.Watch = func(method learn.Method, e learn.Event) {
		if shown != method {
			shown, bar = method, a.newProgress(false, learn.Settings{RelativeTolerance: synthetic.DemoTolerance})
			bar.label = fmt.Sprintf("%-10s  ", synthetic.MethodNames[method])
		}
		bar.show(e)
	}
	result, err := d.Run(a.ctx)
	if bar != nil {
		bar.done()
	}
	switch {
	case a.ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted; the demo keeps nothing to go on with")}
	case err != nil:
		return err
	}
	return a.showDemo(f, run, result)
}

// showDemo writes the report and prints the table.
func (a *app) showDemo(f *demoFlags, run *runfolder.Run, result *synthetic.DemoResult) error {
	page := result.Page("blockbp " + version())
	figures := result.Figures()
	for _, file := range slices.Sorted(maps.Keys(figures)) {
		if err := run.WriteFigure(file, figures[file].SVG); err != nil {
			return err
		}
		page.Figure(figures[file], "How near each method is, against "+figures[file].XLabel+".")
	}
	result.Report = run.Path(report.ReportFile)
	for name, v := range map[string]any{"env.json": runfolder.Environment(), job.ResultFile: result} {
		if err := run.WriteJSON(name, v); err != nil {
			return err
		}
	}
	if err := run.WriteFile(report.ReportFile, page.Write); err != nil {
		return err
	}
	where, err := filepath.Abs(result.Report)
	if err != nil {
		return err
	}
	return a.print(f.json, result, "%s\noptimum L(θ*) = %.9g; %.1f s in all\nreport: %s\n",
		lines(result.Table().Text()), result.Optimum, result.Seconds, where)
}
