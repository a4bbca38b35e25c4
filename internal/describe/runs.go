package describe

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Run is a run beside others.
type Run struct {
	Run    string          `json:"run"`
	Result json.RawMessage `json:"result"` // as its folder has it
	// Distance is ‖θ − θ_first‖/‖θ_first‖ to the weights of the first run; NaN where the models differ in shape.
	Distance runfolder.Float `json:"theta_distance_to_first"`

	summary job.Summary
	config  *job.Config
	metrics []runfolder.Metric
	weights []float64
}

// Runs are runs side by side.
type Runs []*Run

// NewRuns reads run folders. One that is no run folder, or whose run has not come to its end, is an error.
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
	if r.Result, err = fileio.Read(path, "the result of a run", fileio.Text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r.Result, &r.summary); err != nil {
		return nil, job.DataError(path, err)
	}
	for _, file := range []string{job.ModelFile, runfolder.MetricsFile} {
		if err := job.CheckRunFolder(folder, file); err != nil {
			return nil, err
		}
	}
	path = filepath.Join(folder, job.ModelFile)
	model, _, err := crf.Load(path)
	if err != nil {
		return nil, job.DataError(path, err)
	}
	r.weights = model.Weights
	if r.metrics, err = runfolder.ReadMetrics(filepath.Join(folder, runfolder.MetricsFile)); err != nil {
		return nil, err
	}
	r.config, err = job.ReadConfig(folder)
	return r, err
}

// Table has a row for each run.
func (runs Runs) Table() report.Table {
	t := report.Table{Headers: []string{"run", "status", "objective", "gradient", "above optimum", "iterations", "passes",
		"seconds", "distance to first"}}
	for _, r := range runs {
		n := &r.summary
		t.Add("%s %s %s %.2g %s %d %.1f %.2f %.2g", r.Run, n.StatusText(),
			fmt.Sprintf("%.10g", float64(n.Objective))+n.ObjectiveNote(), float64(n.GradNorm),
			job.Known("≤ %.2g", n.Suboptimality), n.Iterations, n.Passes, n.Seconds, float64(r.Distance))
	}
	return t
}

// Quality has the measures of each run on its evaluation sets; without rows where no run has any.
func (runs Runs) Quality() report.Table {
	t := report.Table{Headers: []string{"run"}}
	known := map[string]bool{}
	for _, r := range runs {
		for name := range r.summary.Eval {
			known[name] = true
		}
	}
	if len(known) == 0 {
		return t
	}
	for _, r := range runs {
		t.Rows = append(t.Rows, []string{r.Run})
	}
	names := slices.Sorted(maps.Keys(known))
	for _, measure := range []string{"entity_f1", "accuracy", "class_accuracy", "f1", "iou", "log_loss"} {
		for _, name := range names {
			if !strings.HasPrefix(name, measure+"@") {
				continue
			}
			t.Headers = append(t.Headers, name)
			for i, r := range runs {
				value, ok := r.summary.Eval[name]
				text := "–"
				if ok && measure == "log_loss" {
					text = job.Known("%.4f", value)
				} else if ok {
					text = job.Known("%.2f %%", 100*value)
				}
				t.Rows[i] = append(t.Rows[i], text)
			}
		}
	}
	return t
}

// Write writes compare.json, the curves of all runs in one, and a report of them.
func (runs Runs) Write(folder *runfolder.Run) error {
	if err := folder.WriteJSON("compare.json", runs); err != nil {
		return err
	}
	page := &report.Report{Title: "Comparison of " + runs.names(), Subtitle: report.Date(time.Now())}
	if quality := runs.Quality(); len(quality.Rows) > 0 {
		page.Section("Quality")
		page.Table(quality.Headers, quality.Rows)
	}
	page.Section("Course")
	table := runs.Table()
	page.Table(table.Headers, table.Rows)
	if text := runs.Note(); text != "" {
		page.Callout(report.CalloutWarn, text+".")
	}
	var all []job.NamedMetrics
	for _, r := range runs {
		all = append(all, job.NamedMetrics{Name: filepath.Base(r.Run), Goal: r.objective(), Metrics: r.metrics})
	}
	if err := job.AddFigures(folder, page, job.Curves(all, job.Passes, job.Seconds)); err != nil {
		return err
	}
	return folder.WriteFile(report.ReportFile, page.Write)
}

// objectiveOptions are the options that decide what a run minimises, beside what its result says.
var objectiveOptions = []string{"counting", "no-edges", "class-weights", "observed", "list", "kind", "features",
	"edge-features", "offsets", "bins", "neighbours", "no-bias", "untied", "states", "sample-weights"}

// objective names what a run minimises: two runs of one name have one objective.
func (r *Run) objective() string {
	n := &r.summary
	parts := []any{n.ObjectiveKind, n.L2, n.Standardised, r.config.Data}
	for _, name := range objectiveOptions {
		parts = append(parts, r.config.Options[name].Value)
	}
	return fmt.Sprint(parts...)
}

// byObjective groups the runs, in the order of the first of each group. Values of different
// objectives say nothing beside each other.
func (runs Runs) byObjective() (groups []Runs) {
	place := map[string]int{}
	for _, r := range runs {
		name := r.objective()
		at, ok := place[name]
		if !ok {
			at = len(groups)
			place[name] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], r)
	}
	return groups
}

func (runs Runs) names() string {
	var names []string
	for _, r := range runs {
		names = append(names, filepath.Base(r.Run))
	}
	return strings.Join(names, ", ")
}

// Note says which of the runs minimise different objectives; "" where all have one.
func (runs Runs) Note() string {
	groups := runs.byObjective()
	if len(groups) < 2 {
		return ""
	}
	var texts []string
	for _, group := range groups {
		texts = append(texts, group.names())
	}
	return "these minimise different objectives, of other data, counting numbers, priors or kinds, whose values say " +
		"nothing beside each other: " + strings.Join(texts, " | ")
}
