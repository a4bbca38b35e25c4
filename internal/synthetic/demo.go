package synthetic

import (
	"context"
	"fmt"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// DemoTolerance is the gradient norm, relative to the first, that each method of a
// Demo runs to.
const DemoTolerance = 1e-6

// demoRows and demoColumns are the tiles that BBPL learns by in a Demo.
const demoRows, demoColumns = 4, 5

// Demo compares the three methods on a grid of the paper.
type Demo struct {
	Side    int     // rows and columns of the grid, 5 at least
	L2      float64 // weight of (l2/2)‖θ̃‖²
	Seed    uint64
	Threads int
	// Say is told of each stage in a sentence, Watch of iterations and checks.
	Say   func(text string)
	Watch func(learn.Method, learn.Event)
}

// DemoRow is one method in the result of a Demo.
type DemoRow struct {
	Method         string          `json:"method" table:"method"`
	Status         learn.Status    `json:"status"`
	Iterations     int             `json:"iterations" table:"iterations"`
	Passes         float64         `json:"passes" table:"passes;%.1f"`
	CheckPasses    float64         `json:"check_passes" table:"of checks;%.1f"`
	GradientPasses float64         `json:"gradient_passes"`
	Seconds        float64         `json:"seconds" table:"seconds;%.2f"`
	SecondsTo1e3   runfolder.Float `json:"seconds_to_distance_1e_3" table:"to 1e-3;%.3f"`
	Objective      float64         `json:"objective" table:"objective;%.6f"`
	GradNorm       float64         `json:"grad_norm"`
	ThetaDist      float64         `json:"theta_dist" table:"‖θ−θ*‖/‖θ*‖;%.1e"`
}

// DemoResult is what came of a Demo.
type DemoResult struct {
	Rows    []DemoRow `json:"methods"`
	Optimum float64   `json:"optimum"`
	Seconds float64   `json:"seconds"`
	Report  string    `json:"report"` // path of the report, filled in by who writes it

	demo  *Demo
	paths []*Path
}

// Run makes the problem, solves it for the optimum, and learns by each method. It is
// an error if ctx ends before all have ended.
func (d *Demo) Run(ctx context.Context) (*DemoResult, error) {
	started := time.Now()
	d.Say(fmt.Sprintf("making a %d×%d grid: 8 states, 20 node features, 10 edge features, 20 samples by Gibbs "+
		"sampling", d.Side, d.Side))
	generated, err := Generate(Synthetic{Graph: GraphSpec{Kind: "grid", Rows: d.Side, Cols: d.Side}, Seed: d.Seed},
		d.Threads)
	if err != nil {
		return nil, err
	}
	model, err := crf.NewModel(generated.Truth.Schema)
	if err != nil {
		return nil, err
	}
	c := Comparison{
		Problem: learn.Problem{Model: model, Data: generated.Instances, L2: d.L2},
		Cut:     learn.Cut{Kind: "tiles", Rows: demoRows, Cols: demoColumns}, Tolerance: DemoTolerance,
		Threads: d.Threads, Watch: d.Watch,
	}
	d.Say("solving for the optimum θ*, to a relative gradient of 1e-10")
	optimum, err := c.Optimum(ctx)
	if err != nil {
		return nil, err
	}
	result := &DemoResult{Optimum: optimum.Objective, demo: d}
	for _, method := range []learn.Method{learn.BBPL, learn.InnerDual, learn.Full} {
		p, err := c.Run(ctx, method, optimum.Model.Weights)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		d.Say(fmt.Sprintf("%-10s  %s after %d iterations, %.2f s", MethodNames[method], p.Result.Status,
			p.Result.Iterations, p.Result.Seconds))
		result.add(p)
	}
	d.Say("computing exact objectives along the three paths")
	if err := c.AllObjectives(result.paths); err != nil {
		return nil, err
	}
	result.Seconds = time.Since(started).Seconds()
	return result, nil
}

func (d *DemoResult) add(p *Path) {
	r := p.Result
	d.paths = append(d.paths, p)
	d.Rows = append(d.Rows, DemoRow{
		Method: MethodNames[p.Method], Status: r.Status, Iterations: r.Iterations, Passes: r.Passes,
		CheckPasses:    r.CheckPasses,
		GradientPasses: r.GradientPasses, Seconds: r.Seconds, SecondsTo1e3: runfolder.Float(p.SecondsTo(1e-3)),
		Objective: r.Objective, GradNorm: r.GradientNorm, ThetaDist: p.Distance,
	})
}

// Table is one row for each method.
func (d *DemoResult) Table() report.Table { return report.TableOf(d.Rows, "table") }

// Page is a report on the comparison, without its figures.
func (d *DemoResult) Page(program string) *report.Report {
	page := &report.Report{
		Title: "Three methods, one optimum",
		Subtitle: fmt.Sprintf("%d×%d grid, 8 states, l2 = %v, seed %d; %s", d.demo.Side, d.demo.Side, d.demo.L2,
			d.demo.Seed, program),
	}
	page.Paragraph("Block belief propagation learning (BBPL) updates one of 20 blocks per iteration; inner-dual " +
		"learning makes one message sweep over the whole network per iteration; full BP iterates to convergence. All " +
		"three minimise the same convex objective with the same automatic step rule, and end at the same weights.")
	for _, p := range d.paths {
		if p.Result.Status != learn.Converged {
			page.Callout(report.CalloutWarn, fmt.Sprintf("%s did not converge: %s", MethodNames[p.Method], p.Result.Reason))
		}
	}
	table := d.Table()
	page.Table(table.Headers, table.Rows)
	page.Paragraph("Seconds and passes include the checks of the whole network that end each run. A pass is the " +
		"message work of one sweep over the network and depends on no machine; gradients are counted apart, in " +
		"whole-network computations. BBPL makes at most two sweeps over a block per iteration, its default. θ* was " +
		"solved to a relative gradient of 1e-10; the objective is exact, computed afterwards at the weights of the moment.")
	return page
}

// DemoFigure is a figure of a Demo with the name of its file.
type DemoFigure struct {
	File, Caption string
	Curves        figure.Curves
}

// Figures draws the paper's figures 2 and 3 for this problem.
func (d *DemoResult) Figures() (all []DemoFigure) {
	type value = func(Point) float64
	for _, y := range []struct {
		file, label, caption string
		of                   value
	}{
		{"distance", "‖θ − θ*‖ / ‖θ*‖", "Relative distance to the optimal weights.",
			func(p Point) float64 { return p.Distance }},
		{"suboptimality", "L(θ) − L(θ*)", "Exact objective above its optimum.",
			func(p Point) float64 { return p.Objective - d.Optimum }},
		{"gradient", "gradient norm", "Norm of the aggregated gradient that the method steps with.",
			func(p Point) float64 { return p.GradientNorm }},
	} {
		for _, x := range []struct {
			file, label string
			of          value
		}{
			{"seconds", "seconds", func(p Point) float64 { return p.Seconds }},
			{"passes", "passes (whole-network sweeps)", func(p Point) float64 { return p.Pass }},
		} {
			c := figure.Curves{Title: y.label + " against " + x.file, XLabel: x.label, YLabel: y.label, LogY: true}
			for _, p := range d.paths {
				s := figure.Series{Name: MethodNames[p.Method]}
				for _, point := range p.Points {
					s.X, s.Y = append(s.X, x.of(point)), append(s.Y, y.of(point))
				}
				c.Series = append(c.Series, s)
			}
			all = append(all, DemoFigure{y.file + "-" + x.file, y.caption, c})
		}
	}
	return all
}
