package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// demoFlags are the options of demo.
type demoFlags struct {
	out     string
	side    int
	l2      float64
	seed    uint64
	threads int
	json    bool
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch BBPL, inner-dual and full BP learn the same model",
		Long: `Makes a grid MRF as the paper does (8 states, 20 node and 10 edge features, 20
samples), learns it by the three methods, prints a table, and writes a report with
the curves.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("demo: takes no arguments, got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.demo(&f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make (default: blockbp-demo, or blockbp-demo-2 and so on)")
	fl.IntVar(&f.side, "side", 50, "rows and columns of the grid")
	fl.Float64Var(&f.l2, "l2", 1, "weight of (l2/2)|w|^2 in the objective")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the problem")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "number of threads")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// demoTolerance is the gradient norm, relative to the first, that each method
// runs to.
const demoTolerance = 1e-6

func (f *demoFlags) validate() error {
	const most = 10_000 // rows: beyond it the features take hundreds of GiB
	switch {
	case f.side < 5 || f.side > most:
		return usagef("--side %d: want 5, for 4x5 blocks, to %d", f.side, most)
	case !(f.l2 >= 0) || math.IsInf(f.l2, 0):
		return usagef("--l2 %v: want a finite number that is not negative", f.l2)
	case f.threads < 1:
		return usagef("--threads %d: want at least 1", f.threads)
	}
	return nil
}

func (a *app) demo(f *demoFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	if err := checkOutput(f.out); err != nil {
		return err
	}
	run, err := createFolder(f.out, "blockbp-demo")
	if err != nil {
		return err
	}
	started := time.Now()
	fmt.Fprintf(a.stderr, "making a %d×%d grid: 8 states, 20 node features, 10 edge features, 20 samples by Gibbs sampling\n", f.side, f.side)
	generated, err := synthetic.Generate(synthetic.Synthetic{
		Graph: synthetic.GraphSpec{Kind: "grid", Rows: f.side, Cols: f.side}, Seed: f.seed,
	}, f.threads)
	if err != nil {
		return err
	}
	model, err := crf.NewModel(generated.Truth.Schema)
	if err != nil {
		return err
	}
	d := &demonstration{app: a, flags: f, run: run, started: started}
	d.comparison = synthetic.Comparison{
		Problem:   learn.Problem{Model: model, Data: generated.Instances, L2: f.l2},
		Cut:       learn.Cut{Kind: learn.CutTiles, Rows: 4, Cols: 5},
		Tolerance: demoTolerance, Threads: f.threads, Watch: d.watch,
	}
	if err := d.compare(); err != nil {
		return err
	}
	return d.write()
}

// createFolder makes the folder asked for or, if none is, the first free one of
// fallback, fallback-2, fallback-3 and so on.
func createFolder(out, fallback string) (*runfolder.Run, error) {
	if out != "" {
		return runfolder.Create(out)
	}
	return runfolder.CreateFree(fallback)
}

// demonstration is a demo on its way.
type demonstration struct {
	app        *app
	flags      *demoFlags
	run        *runfolder.Run
	comparison synthetic.Comparison
	optimum    *learn.Result
	paths      []*synthetic.Path
	started    time.Time
	shown      learn.Method
	progress   *progress
}

func (d *demonstration) compare() (err error) {
	a := d.app
	fmt.Fprintln(a.stderr, "solving for the optimum θ*, to a relative gradient of 1e-10")
	if d.optimum, err = d.comparison.Optimum(a.ctx); err != nil {
		return d.interrupted(err)
	}
	for _, method := range []learn.Method{learn.BBPL, learn.InnerDual, learn.Full} {
		p, err := d.comparison.Run(a.ctx, method, d.optimum.Model.Weights)
		if d.progress != nil {
			d.progress.done()
		}
		if err != nil {
			return d.interrupted(err)
		}
		if a.ctx.Err() != nil {
			return d.interrupted(a.ctx.Err())
		}
		fmt.Fprintf(a.stderr, "%-10s  %s after %d iterations, %.2f s\n", synthetic.MethodNames[method], p.Result.Status, p.Result.Iterations, p.Result.Seconds)
		d.paths = append(d.paths, p)
	}
	fmt.Fprintln(a.stderr, "computing exact objectives along the three paths")
	return d.comparison.AllObjectives(d.paths)
}

func (d *demonstration) interrupted(err error) error {
	if d.app.ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; the demo keeps nothing to go on with")}
	}
	return err
}

// watch shows the progress of a method.
func (d *demonstration) watch(method learn.Method, e learn.Event) {
	if d.shown != method {
		d.shown = method
		d.progress = newProgress(d.app.stderr, false, learn.Settings{RelativeTolerance: demoTolerance})
		d.progress.label = fmt.Sprintf("%-10s  ", synthetic.MethodNames[method])
	}
	d.progress.show(e)
}

// demoRow is one method in the demo's table.
type demoRow struct {
	Method         string          `json:"method"`
	Status         learn.Status    `json:"status"`
	Iterations     int             `json:"iterations"`
	Passes         float64         `json:"passes"`
	CheckPasses    float64         `json:"check_passes"`
	GradientPasses float64         `json:"gradient_passes"`
	Seconds        float64         `json:"seconds"`
	SecondsTo1e3   runfolder.Float `json:"seconds_to_distance_1e_3"`
	Objective      float64         `json:"objective"`
	GradNorm       float64         `json:"grad_norm"`
	ThetaDist      float64         `json:"theta_dist"`
}

func (d *demonstration) rows() []demoRow {
	var rows []demoRow
	for _, p := range d.paths {
		r := p.Result
		rows = append(rows, demoRow{
			Method: synthetic.MethodNames[p.Method], Status: r.Status, Iterations: r.Iterations, Passes: r.Passes, CheckPasses: r.CheckPasses,
			GradientPasses: r.GradientPasses, Seconds: r.Seconds, SecondsTo1e3: runfolder.Float(p.SecondsTo(1e-3)),
			Objective: r.Objective, GradNorm: r.GradientNorm, ThetaDist: p.Distance,
		})
	}
	return rows
}

// write writes the figures and the report and prints the table.
func (d *demonstration) write() error {
	page := &report.Report{Title: "Three methods, one optimum", Subtitle: fmt.Sprintf("%d×%d grid, 8 states, l2 = %v, seed %d; blockbp %s", d.flags.side, d.flags.side, d.flags.l2, d.flags.seed, version())}
	page.Paragraph("Block belief propagation learning (BBPL) updates one of 20 blocks per iteration; inner-dual learning makes one message sweep over the whole network per iteration; full BP iterates to convergence. All three minimise the same convex objective with the same automatic step rule, and end at the same weights.")
	for _, p := range d.paths {
		if p.Result.Status != learn.Converged {
			page.Callout(report.CalloutWarn, fmt.Sprintf("%s did not converge: %s", synthetic.MethodNames[p.Method], p.Result.Reason))
		}
	}
	table := d.table()
	page.Table(table.Headers, table.Rows)
	page.Paragraph("Seconds and passes include the checks of the whole network that end each run. A pass is the message work of one sweep over the network and depends on no machine; gradients are counted apart, in whole-network computations. BBPL makes at most two sweeps over a block per iteration, its default. θ* was solved to a relative gradient of 1e-10; the objective is exact, computed afterwards at the weights of the moment.")
	if err := job.AddFigures(d.run, page, d.curves()); err != nil {
		return err
	}
	if err := d.run.WriteJSON("env.json", runfolder.Environment()); err != nil {
		return err
	}
	result := struct {
		Rows    []demoRow `json:"methods"`
		Optimum float64   `json:"optimum"`
		Seconds float64   `json:"seconds"`
		Report  string    `json:"report"`
	}{d.rows(), d.optimum.Objective, time.Since(d.started).Seconds(), d.run.Path(report.ReportFile)}
	if err := d.run.WriteJSON(job.ResultFile, result); err != nil {
		return err
	}
	if err := d.run.WriteFile(report.ReportFile, page.Write); err != nil {
		return err
	}
	if d.flags.json {
		return d.app.printJSON(result)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.app.stdout, "%s\noptimum L(θ*) = %.9g; %.1f s in all\nreport: %s\n", table.Text(), d.optimum.Objective, time.Since(d.started).Seconds(), absolute(here, d.run.Path(report.ReportFile)))
	return err
}

func absolute(folder, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(folder, name)
}

func (d *demonstration) table() report.Table {
	t := report.Table{Headers: []string{"method", "iterations", "passes", "of checks", "seconds", "to 1e-3", "objective", "‖θ−θ*‖/‖θ*‖"}}
	for _, r := range d.rows() {
		t.Rows = append(t.Rows, []string{
			r.Method, strconv.Itoa(r.Iterations), fmt.Sprintf("%.1f", r.Passes), fmt.Sprintf("%.1f", r.CheckPasses),
			fmt.Sprintf("%.2f", r.Seconds), orDash("%.3f", float64(r.SecondsTo1e3)), fmt.Sprintf("%.6f", r.Objective), fmt.Sprintf("%.1e", r.ThetaDist),
		})
	}
	return t
}

// orDash writes a number of a table that there may not be.
func orDash(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}

// curves draws the paper's figures 2 and 3 for this problem.
func (d *demonstration) curves() []job.NamedFigure {
	var all []job.NamedFigure
	for _, y := range []struct {
		file, label, caption string
		value                func(synthetic.Point) float64
	}{
		{"distance", "‖θ − θ*‖ / ‖θ*‖", "Relative distance to the optimal weights.", func(p synthetic.Point) float64 { return p.Distance }},
		{"suboptimality", "L(θ) − L(θ*)", "Exact objective above its optimum.", func(p synthetic.Point) float64 { return p.Objective - d.optimum.Objective }},
		{"gradient", "gradient norm", "Norm of the aggregated gradient that the method steps with.", func(p synthetic.Point) float64 { return p.GradientNorm }},
	} {
		for _, x := range []struct {
			file, label string
			value       func(synthetic.Point) float64
		}{
			{"seconds", "seconds", func(p synthetic.Point) float64 { return p.Seconds }},
			{"passes", "passes (whole-network sweeps)", func(p synthetic.Point) float64 { return p.Pass }},
		} {
			c := figure.Curves{Title: y.label + " against " + x.file, XLabel: x.label, YLabel: y.label, LogY: true}
			for _, p := range d.paths {
				s := figure.Series{Name: synthetic.MethodNames[p.Method]}
				for _, point := range p.Points {
					s.X, s.Y = append(s.X, x.value(point)), append(s.Y, y.value(point))
				}
				c.Series = append(c.Series, s)
			}
			all = append(all, job.NamedFigure{File: y.file + "-" + x.file, Caption: y.caption, Figure: c})
		}
	}
	return all
}
