package synthetic

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

const (
	// DemoTolerance is the gradient norm, relative to the first, that each method of a Demo runs to.
	DemoTolerance = 1e-6
	// referenceTolerance is what θ* is solved to.
	referenceTolerance = 1e-10
	// demoRows and demoColumns are the tiles that BBPL learns by in a Demo.
	demoRows, demoColumns = 4, 5
)

// MethodNames are how people call the methods.
var MethodNames = map[learn.Method]string{learn.BBPL: "BBPL", learn.InnerDual: "inner-dual", learn.Full: "full BP"}

// Demo compares the three methods on a grid of the paper.
type Demo struct {
	Side    int // rows and columns of the grid, 5 at least
	Seed    uint64
	Threads int
	// Say is told of each stage in a sentence, Watch of iterations and checks.
	Say   func(text string)
	Watch func(learn.Method, learn.Event)
}

// DemoRow is how one method went.
type DemoRow struct {
	Method       string          `json:"method"`
	Status       learn.Status    `json:"status"`
	Iterations   int             `json:"iterations"`
	Passes       float64         `json:"passes"`
	CheckPasses  float64         `json:"check_passes"`
	Seconds      float64         `json:"seconds"`
	SecondsTo1e3 runfolder.Float `json:"seconds_to_distance_1e_3"` // of the optimum's weights, of the first iteration
	Objective    float64         `json:"objective"`
	ThetaDist    float64         `json:"theta_dist"`

	reason string
	points []point // its iterations
}

// point is one iteration.
type point struct{ pass, seconds, distance float64 }

// DemoResult is what came of a Demo.
type DemoResult struct {
	Rows    []*DemoRow `json:"methods"`
	Optimum float64    `json:"optimum"`
	Seconds float64    `json:"seconds"`
	Report  string     `json:"report"` // path of the report, filled in by who writes it

	demo *Demo
}

// Run makes the problem, solves it for the optimum, and learns by each method. It is
// an error if ctx ends before all have ended.
func (d *Demo) Run(ctx context.Context) (*DemoResult, error) {
	started := time.Now()
	d.Say(fmt.Sprintf("making a %d×%d grid: 8 states, 20 node features, 10 edge features, 20 samples by Gibbs "+
		"sampling", d.Side, d.Side))
	generated := Generate(Grid(d.Side, d.Side, d.Seed), d.Threads)
	clear(generated.Truth.Weights) // where all methods start
	problem := learn.Problem{Model: generated.Truth, Data: generated.Instances, L2: 1}
	d.Say("solving for the optimum θ*, to a relative gradient of 1e-10")
	optimum, err := learn.Fit(ctx, problem, learn.Settings{Method: learn.InnerDual,
		RelativeTolerance: referenceTolerance, Threads: d.Threads})
	if err == nil && optimum.Status != learn.Converged {
		err = fmt.Errorf("the reference optimum was not reached: %s", optimum.Reason)
	}
	if err != nil {
		return nil, err
	}
	result := &DemoResult{Optimum: optimum.Objective, demo: d}
	for _, method := range []learn.Method{learn.BBPL, learn.InnerDual, learn.Full} {
		row, err := d.learn(ctx, problem, method, optimum.Model.Weights)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		d.Say(fmt.Sprintf("%-10s  %s after %d iterations, %.2f s", row.Method, row.Status, row.Iterations, row.Seconds))
		result.Rows = append(result.Rows, row)
	}
	result.Seconds = time.Since(started).Seconds()
	return result, nil
}

// learn runs one method, and measures its distance to the optimum's weights on the way.
func (d *Demo) learn(ctx context.Context, p learn.Problem, method learn.Method, optimum []float64) (*DemoRow, error) {
	row := &DemoRow{Method: MethodNames[method], SecondsTo1e3: runfolder.Float(math.NaN())}
	record := func(pass, seconds float64, weights []float64) {
		row.ThetaDist = numeric.RelativeDistance(weights, optimum)
		row.points = append(row.points, point{pass, seconds, row.ThetaDist})
		if math.IsNaN(float64(row.SecondsTo1e3)) && row.ThetaDist <= 1e-3 {
			row.SecondsTo1e3 = runfolder.Float(seconds)
		}
	}
	settings := learn.Settings{Method: method, RelativeTolerance: DemoTolerance, Threads: d.Threads,
		Cut: learn.Cut{Kind: "tiles", Rows: demoRows, Cols: demoColumns}}
	settings.Recorder = func(e learn.Event) error {
		d.Watch(method, e)
		if !e.Check {
			record(e.Pass, e.Elapsed.Seconds(), e.Theta)
		}
		return nil
	}
	r, err := learn.Fit(ctx, p, settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	record(r.Passes, r.Seconds, r.Model.Weights)
	row.Status, row.Iterations, row.Passes, row.CheckPasses = r.Status, r.Iterations, r.Passes, r.CheckPasses
	row.Seconds, row.Objective, row.reason = r.Seconds, r.Objective, r.Reason
	return row, nil
}

// Table is one row for each method.
func (d *DemoResult) Table() report.Table {
	t := report.Table{Headers: []string{"method", "iterations", "passes", "of checks", "seconds", "to 1e-3", "objective",
		"‖θ−θ*‖/‖θ*‖"}}
	for _, r := range d.Rows {
		t.Add("%s %d %.1f %.1f %.2f %.3f %.6f %.1e", r.Method, r.Iterations, r.Passes, r.CheckPasses, r.Seconds,
			float64(r.SecondsTo1e3), r.Objective, r.ThetaDist)
	}
	return t
}

// Page is a report on the comparison, without its figures.
func (d *DemoResult) Page(program string) *report.Report {
	page := &report.Report{
		Title:    "Three methods, one optimum",
		Subtitle: fmt.Sprintf("%d×%d grid, 8 states, l2 = 1, seed %d; %s", d.demo.Side, d.demo.Side, d.demo.Seed, program),
	}
	page.Paragraph("Block belief propagation learning (BBPL) updates one of 20 blocks per iteration; inner-dual " +
		"learning makes one message sweep over the whole network per iteration; full BP iterates to convergence: so " +
		"in the first pass, after which each iteration is a whole pass of three sweeps. All three " +
		"minimise the same convex objective with the same automatic step rule, and end at the same weights.")
	for _, r := range d.Rows {
		if r.Status != learn.Converged {
			page.Callout(report.CalloutWarn, fmt.Sprintf("%s did not converge: %s", r.Method, r.reason))
		}
	}
	page.Table(d.Table())
	page.Paragraph("Seconds and passes include the checks of the whole network that end each run. A pass is the message " +
		"work of one sweep over the network and depends on no machine; gradients are counted apart, in whole-network " +
		"computations. θ* was solved to a relative gradient of 1e-10.")
	return page
}

// Figures draws how near the methods come, as the paper's figure 2 does for this problem, by the names of their files.
func (d *DemoResult) Figures() map[string]report.Curves {
	figures := map[string]report.Curves{}
	for file, x := range map[string]func(point) float64{
		"seconds": func(p point) float64 { return p.seconds },
		"passes":  func(p point) float64 { return p.pass },
	} {
		c := report.Curves{Title: "Relative distance to the optimal weights", XLabel: file, YLabel: "‖θ − θ*‖ / ‖θ*‖",
			LogY: true}
		for _, r := range d.Rows {
			s := report.Series{Name: r.Method}
			for _, point := range r.points {
				s.X, s.Y = append(s.X, x(point)), append(s.Y, point.distance)
			}
			c.Series = append(c.Series, s)
		}
		figures["distance-"+file] = c
	}
	return figures
}
