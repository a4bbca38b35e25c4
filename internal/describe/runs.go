package describe

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Run is a run beside others.
type Run struct {
	Run    string          `json:"run"`
	Result json.RawMessage `json:"result"` // as its folder has it
	// Distance is ‖θ − θ_first‖/‖θ_first‖ to the weights of the first run; NaN where
	// the models differ in shape.
	Distance runfolder.Float `json:"theta_distance_to_first"`

	summary job.Summary
	metrics []runfolder.Metric
	weights []float64
}

// Runs are runs side by side.
type Runs []*Run

// NewRuns reads run folders. One that is no run folder, or whose run has not come to
// its end, is an error.
func NewRuns(folders []string) (Runs, error) {
	var runs Runs
	for _, folder := range folders {
		r, err := readRun(folder)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
		r.Distance = runfolder.Float(numeric.RelativeDistance(r.weights, runs[0].weights))
	}
	return runs, nil
}

func readRun(folder string) (*Run, error) {
	if err := job.CheckRunFolder(folder, job.ResultFile); err != nil {
		return nil, err
	}
	r := &Run{Run: folder}
	path := filepath.Join(folder, job.ResultFile)
	var err error
	if r.Result, err = infile.Read(path, "the result of a run", infile.Text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r.Result, &r.summary); err != nil {
		return nil, job.DataError(path, err)
	}
	if err := job.CheckRunFolder(folder, job.ModelFile); err != nil {
		return nil, err
	}
	path = filepath.Join(folder, job.ModelFile)
	model, _, err := crf.Load(path)
	if err != nil {
		return nil, job.DataError(path, err)
	}
	r.weights = model.Weights
	if err := job.CheckMetrics(folder); err != nil {
		return nil, err
	}
	r.metrics, err = runfolder.ReadMetrics(filepath.Join(folder, runfolder.MetricsFile))
	return r, err
}

// runRow is what a table shows of a run.
type runRow struct {
	Run        string          `table:"run"`
	Status     string          `table:"status"`
	Objective  string          `table:"objective"`
	Gradient   runfolder.Float `table:"gradient;%.2g"`
	Iterations int             `table:"iterations"`
	Passes     float64         `table:"passes;%.1f"`
	Seconds    float64         `table:"seconds;%.2f"`
	Distance   runfolder.Float `table:"distance to first;%.2g"`
}

// Table has a row for each run.
func (runs Runs) Table() report.Table {
	rows := make([]runRow, len(runs))
	for i, r := range runs {
		n := &r.summary
		rows[i] = runRow{r.Run, n.StatusText(), fmt.Sprintf("%.10g", float64(n.Objective)) + n.ObjectiveNote(), n.GradNorm, n.Iterations, n.Passes, n.Seconds, r.Distance}
	}
	return report.TableOf(rows, "table")
}

// Write writes compare.json, the curves of all runs in one, and a report of them.
func (runs Runs) Write(folder *runfolder.Run) error {
	if err := folder.WriteJSON("compare.json", runs); err != nil {
		return err
	}
	page := &report.Report{Title: "Comparison of runs"}
	table := runs.Table()
	page.Table(table.Headers, table.Rows)
	var all []job.NamedMetrics
	for _, r := range runs {
		all = append(all, job.NamedMetrics{Name: filepath.Base(r.Run), Metrics: r.metrics})
	}
	if err := job.AddFigures(folder, page, job.Curves(all)); err != nil {
		return err
	}
	return folder.WriteFile(report.ReportFile, page.Write)
}
