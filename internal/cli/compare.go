package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
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
		Short:   "Set runs side by side: results, curves, and the distance between their weights",
		Example: "  blockbp compare run-bbpl run-full -o compared",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.compare(&f, args) },
	}
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "folder to make for a report with overlaid curves")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// comparedRun is one run in a comparison.
type comparedRun struct {
	Run    string          `json:"run"`
	Result json.RawMessage `json:"result"`
	// Distance is ‖θ − θ_first‖/‖θ_first‖ to the weights of the first run; null
	// where the models differ in shape.
	Distance runfolder.Float `json:"theta_distance_to_first"`

	numbers job.Summary
	metrics []runfolder.Metric
	weights []float64
}

func (a *app) compare(f *compareFlags, args []string) error {
	if len(args) < 2 {
		return usagef("compare: want at least two run folders: blockbp compare RUN RUN")
	}
	if err := checkOutput(f.out); err != nil {
		return err
	}
	var runs []*comparedRun
	for _, dir := range args {
		r, err := readComparedRun(dir)
		if err != nil {
			return err
		}
		r.Distance = runfolder.Float(numeric.RelativeDistance(r.weights, firstWeights(runs, r)))
		runs = append(runs, r)
	}
	if f.out != "" {
		if err := writeComparison(f.out, runs); err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(struct {
			Runs []*comparedRun `json:"runs"`
		}{runs})
	}
	_, err := fmt.Fprintln(a.stdout, comparisonTable(runs).Text())
	return err
}

func firstWeights(runs []*comparedRun, r *comparedRun) []float64 {
	if len(runs) == 0 {
		return r.weights
	}
	return runs[0].weights
}

func readComparedRun(dir string) (*comparedRun, error) {
	r := &comparedRun{Run: dir}
	if err := job.CheckRunFolder(dir, job.ResultFile); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, job.ResultFile))
	if err != nil {
		return nil, err
	}
	r.Result = text
	if err := json.Unmarshal(text, &r.numbers); err != nil {
		return nil, dataf("%s: %v", filepath.Join(dir, job.ResultFile), err)
	}
	if err := job.CheckRunFolder(dir, job.ModelFile); err != nil {
		return nil, err
	}
	model, _, err := crf.Load(filepath.Join(dir, job.ModelFile))
	if err != nil {
		return nil, dataf("%v", err)
	}
	r.weights = model.Weights
	r.metrics, err = runfolder.ReadMetrics(filepath.Join(dir, runfolder.MetricsFile))
	return r, err
}

func comparisonTable(runs []*comparedRun) report.Table {
	t := report.Table{Headers: []string{"run", "status", "objective", "gradient", "iterations", "passes", "seconds", "distance to first"}}
	for _, r := range runs {
		n := r.numbers
		t.Rows = append(t.Rows, []string{
			r.Run, string(n.Status), fmt.Sprintf("%.10g", float64(n.Objective)) + n.ObjectiveNote(), fmt.Sprintf("%.2g", float64(n.GradNorm)),
			strconv.Itoa(n.Iterations), fmt.Sprintf("%.1f", n.Passes), fmt.Sprintf("%.2f", n.Seconds), orDash("%.2g", float64(r.Distance)),
		})
	}
	return t
}

func writeComparison(dir string, runs []*comparedRun) error {
	run, err := createOutput(dir)
	if err != nil {
		return err
	}
	if err := run.WriteJSON("compare.json", runs); err != nil {
		return err
	}
	page := &report.Report{Title: "Comparison of runs"}
	table := comparisonTable(runs)
	page.Table(table.Headers, table.Rows)
	var all []job.NamedMetrics
	for _, r := range runs {
		all = append(all, job.NamedMetrics{Name: filepath.Base(r.Run), Metrics: r.metrics})
	}
	if err := job.AddFigures(run, page, job.Curves(all)); err != nil {
		return err
	}
	return run.WriteFile(report.ReportFile, page.Write)
}
