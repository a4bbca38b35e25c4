package job

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// objectiveTexts tell people what was minimised.
var objectiveTexts = map[learn.Method]string{
	learn.Exact: "negative log-likelihood, which bbpl, inner-dual and full approximate or bound",
	learn.Pseudo: "negative log-pseudo-likelihood, which is not to be compared with the objective of bbpl, inner-dual " +
		"and full",
	learn.Piecewise: "negative piecewise log-likelihood, with all labels known an upper bound of the negative " +
		"log-likelihood",
}

// writeReport writes the plots and the one-page report of a run.
func (r *run) writeReport(result *Result) error {
	r.files.NoFigures = r.folder.NoPlots
	fitted, s := result.Result, result.Summary
	metrics, err := runfolder.ReadMetrics(r.files.Path(runfolder.MetricsFile))
	if err != nil {
		return err
	}
	page := r.newPage(result)
	page.Callout(verdict(fitted), s.verdict())
	if result.Couplings != nil {
		page.Section("Largest couplings")
		reportCouplings(page, result)
	}
	for _, scored := range result.Scores {
		if err := scored.report(r.files, page, "on", false); err != nil {
			return err
		}
	}
	if len(result.Scores) == 0 && result.Couplings == nil {
		page.Section("Result")
		page.Paragraph("How good the predictions are is not known: the run had no labelled data to compare with. Give " +
			"some with {eval!--eval NAME=PATH}, or to blockbp eval.")
	}
	if s.Calibration != nil {
		page.Paragraph("Beliefs are calibrated: " + s.Calibration.Text() + ".")
	}
	if s.Choice != nil {
		page.Section("What was compared")
		page.Paragraph("Each candidate learned from a part of the data and predicted what was held out; the run itself " +
			"began anew with the one that was chosen.")
		table := s.Choice.Table()
		page.Table(table.Headers, table.Rows)
	}
	if err := r.reportCourse(page, fitted, metrics); err != nil {
		return err
	}
	if len(s.Notes) > 0 {
		page.Section("Notes")
	}
	for _, text := range s.Notes {
		page.Paragraph(text + ".")
	}
	page.Section("Settings")
	if command := r.folder.Config.commandLine(); command != "" {
		page.Code(command)
	}
	page.KeyValues(settings(r.folder.Config, r.p))
	page.Paragraph("Values that were left open are as the run resolved them. All options, and where each came from, " +
		"are in " + configFile + "; the hashes of the data are in " + dataFile + ", and more numbers in " + ResultFile + ".")
	page.Fold("Figures of the run")
	page.Table([]string{"result", "value"}, append(s.Rows(), []string{"sha256 of the weights", s.ThetaSHA256}))
	page.Unfold()
	return r.files.WriteFile(report.ReportFile, page.Write)
}

// newPage is a report that says what run it is of, of what data, and when it was.
func (r *run) newPage(result *Result) *report.Report {
	var data []string
	for _, path := range r.folder.Config.Data {
		data = append(data, filepath.Base(path))
	}
	nodes := 0
	for _, in := range r.p.Set.Instances {
		nodes += in.Graph.NumNodes()
	}
	networks := "a network"
	if n := len(r.p.Set.Instances); n != 1 {
		networks = fmt.Sprintf("%d networks", n)
	}
	about := []string{fmt.Sprintf("%s with %d nodes", networks, nodes),
		report.Date(r.began), fmt.Sprintf("%d weights", result.Model.Model.Layout.Size), "blockbp " + r.folder.Version}
	if len(data) > 0 {
		about[0] = strings.Join(data, ", ") + ": " + about[0]
	}
	return &report.Report{Title: "Training report: " + filepath.Base(r.files.Dir()), Subtitle: strings.Join(about, " · ")}
}

// reportCourse draws how the run went: convergence, and the other curves folded away.
func (r *run) reportCourse(page *report.Report, fitted *learn.Result, metrics []runfolder.Metric) error {
	page.Section("Convergence")
	text := "A pass is the work of one sweep over the whole network. While blocks are " +
		"visited, objective and gradient are running estimates, which become exact at convergence. " + sourceOfValues(fitted)
	method := r.p.Options.Method
	if method.Local() {
		text = fmt.Sprintf("The objective is the regularised %s, computed exactly at every iteration. A pass is one "+
			"evaluation of objective and gradient over all data.", objectiveTexts[method])
	}
	figures := Curves([]NamedMetrics{{Metrics: metrics}}, Passes)
	if err := AddFigures(r.files, page, figures[:min(1, len(figures))]); err != nil {
		return err
	}
	page.Paragraph(text)
	if len(figures) < 2 {
		return nil
	}
	page.Fold("More curves")
	err := AddFigures(r.files, page, figures[1:])
	page.Unfold()
	return err
}

func verdict(r *learn.Result) report.CalloutKind {
	switch r.Status {
	case learn.Converged, learn.StationaryPoint:
		return report.CalloutOK
	case learn.Interrupted:
		return report.CalloutError
	}
	return report.CalloutWarn
}

// verdict says how a run ended.
func (s *Summary) verdict() string {
	text := fmt.Sprintf("%s: %s.", s.StatusText(), s.Reason)
	if said := s.Caveat(); said != "" {
		text += " T" + said[1:] + "."
	}
	return text
}

// sourceOfValues says how far the values of the result can be trusted.
func sourceOfValues(r *learn.Result) string {
	const place = "The values of the result are "
	switch {
	case !r.Checked:
		return place + "such running estimates: the run ended before a check of the whole network."
	case !r.InferenceConverged:
		return place + fmt.Sprintf("approximate: they come from inference over the whole network at the final weights, "+
			"which had not settled when it ended (the largest change of a message in its last pass was %.3g).", r.Residual)
	}
	return place + fmt.Sprintf("those of inference over the whole network at the final weights, exact up to what "+
		"messages leave unknown that changed by %.3g at last.", r.Residual)
}

// Rows say how a training went, for a table of names and values.
func (s *Summary) Rows() [][]string {
	choice, report := "", ""
	if s.Choice != nil {
		choice = fmt.Sprintf("choice %.2f, ", s.Choice.Seconds)
	}
	if !math.IsNaN(float64(s.ReportSeconds)) { // it is written now
		report = fmt.Sprintf(", report %.2f", float64(s.ReportSeconds))
	}
	return [][]string{
		{"method", s.MethodShort()},
		{"status", s.StatusText()},
		{"reason", s.Reason},
		{"objective", Known("%.10g", s.Objective) + s.ObjectiveNote()},
		{"gradient norm", Known("%.3g", s.GradNorm)},
		{"suboptimality", Known("at most %.3g", s.Suboptimality)},
		{"iterations", strconv.Itoa(s.Iterations)},
		{"passes", s.PassesText()},
		{"seconds", fmt.Sprintf("%.2f, of which %straining %.2f (checks %.2f), evaluation %.2f%s",
			s.TotalSeconds, choice, s.TrainingSeconds, s.CheckSeconds, s.EvaluationSeconds, report)},
		{"peak memory", Mebibytes(s.PeakBytes)},
	}
}

// Mebibytes writes an amount of memory.
func Mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// couplingsShown is how many of the largest couplings a report lists.
const couplingsShown = 20

func reportCouplings(page *report.Report, result *Result) {
	headers, columns := []string{"coupling", "value", "standard error"}, 3
	if result.Errors == nil {
		columns = 2
	}
	var rows [][]string
	for _, r := range result.Couplings.largest(couplingsShown) {
		rows = append(rows, []string{r.Name, fmt.Sprintf("%.5g", r.Value), ErrorText(r.Error)}[:columns])
	}
	page.Table(headers[:columns], rows)
}

// settings say what was run: the options that have a value, and that the run had a use for.
func settings(config Config, p *Prepared) []report.KeyValue {
	pairs := []report.KeyValue{{Key: "data", Value: strings.Join(config.Data, ", ")}}
	unused := slices.Clone(notOfCommand)
	if p.scale == nil {
		unused = append(unused, "standardise", "scale")
	}
	if p.Options.Method.Local() {
		unused = append(unused, "counting")
	}
	for _, name := range slices.Sorted(maps.Keys(config.Options)) {
		option := config.Options[name]
		value := settingText(option.Value)
		if value == "" || slices.Contains(unused, name) ||
			option.Source == SourceDefault && slices.Contains(offTexts, value) {
			continue
		}
		if choice := option.choiceOf(); choice != "" && name == "method" {
			value = methodText(learn.Method(value), choice)
		}
		pairs = append(pairs, report.KeyValue{Key: name, Value: value})
	}
	return pairs
}

// offTexts are defaults by which nothing is done, or which the run had no reason to resolve.
var offTexts = []string{"0", "0s", "none", "auto"}

// notOfCommand are options of one command, or of one folder.
var notOfCommand = []string{"out", "resume", "force", "write-model", "quiet", "json", "dry-run"}

// commandLine is a command that asks for the same training in another folder; "" where no command did.
func (c *Config) commandLine() string {
	if len(c.Data) == 0 {
		return ""
	}
	words := []string{"blockbp", trainCommand}
	for _, path := range c.Data {
		if c.Options["statistics"].Value != nil {
			break // they are in the place of data
		}
		words = append(words, printable.Word(path))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		o := c.Options[name]
		if o.Value == nil || o.Source == SourceDefault || o.Source == sourceCaller || o.choiceOf() != "" ||
			slices.Contains(notOfCommand, name) {
			continue
		}
		switch v := reflect.ValueOf(o.Value); v.Kind() {
		case reflect.Bool:
			words = append(words, fmt.Sprintf("--%s=%v", name, v))
		case reflect.Slice:
			for _, text := range v.Seq2() {
				words = append(words, "--"+name, printable.Word(fmt.Sprint(text)))
			}
		default:
			words = append(words, "--"+name, printable.Word(fmt.Sprint(v)))
		}
	}
	return strings.Join(words, " ")
}

// settingText writes the value of an option, and nothing for one that is off.
func settingText(value any) string {
	if value == nil || value == false {
		return ""
	}
	return strings.Trim(fmt.Sprint(value), "[]")
}

// NamedMetrics are the metrics of one run, for overlaid curves.
type NamedMetrics struct {
	Name    string
	Goal    string // runs of one goal minimise the same objective
	Metrics []runfolder.Metric
}

// NamedFigure is a figure with the name of its file and a caption.
type NamedFigure struct {
	File, Caption string
	Figure        report.Curves
}

// AddFigures writes figures into a run folder and puts them into a report.
func AddFigures(run *runfolder.Run, page *report.Report, figures []NamedFigure) error {
	for _, f := range figures {
		if err := run.WriteFigure(f.File, f.Figure.SVG); err != nil {
			return err
		}
		page.Figure(f.Figure, f.Caption)
	}
	return nil
}

// Axis is what curves are drawn against.
type Axis struct {
	file, label string
	value       func(*runfolder.Metric) float64
}

// Passes and Seconds are the axes.
var (
	Passes  = Axis{"passes", "passes", func(m *runfolder.Metric) float64 { return m.Pass }}
	Seconds = Axis{"seconds", "seconds", func(m *runfolder.Metric) float64 { return m.WallS }}
)

// Curves draws the course of runs, each figure with all of them on the same axes: how far the objective is from the
// smallest last value of a run of the same goal, and the proved bound on that, the measures of evaluations, the
// gradient norm, and the distance to a reference. What no run knows is left out.
func Curves(runs []NamedMetrics, axes ...Axis) (all []NamedFigure) {
	least := map[string]float64{}
	for _, r := range runs {
		for i := range r.Metrics {
			if l := r.Metrics[len(r.Metrics)-1-i].Objective; !math.IsNaN(l) {
				if known, ok := least[r.Goal]; !ok || l < known {
					least[r.Goal] = l
				}
				break
			}
		}
	}
	caption := "How far the objective L is from its last value"
	if len(runs) > 1 {
		caption += ", or the smallest of runs with the same objective"
	}
	quantities := []quantity{{file: "convergence", label: "L − least L", log: true,
		caption: caption + ".", ofDashed: " Dashed: the proved bound on what is left to gain.",
		value:  func(r *NamedMetrics, m *runfolder.Metric) float64 { return math.Abs(m.Objective - least[r.Goal]) },
		dashed: func(_ *NamedMetrics, m *runfolder.Metric) float64 { return m.Suboptimality }}}
	quantities = append(append(quantities, evaluated(runs)...),
		quantity{file: "gradient", label: "gradient norm", log: true, caption: "Norm of the aggregated gradient.",
			value: func(_ *NamedMetrics, m *runfolder.Metric) float64 { return m.GradNorm }},
		quantity{file: "distance", label: "‖θ − θ*‖ / ‖θ*‖", log: true, caption: "Relative distance to the reference.",
			value: func(_ *NamedMetrics, m *runfolder.Metric) float64 { return m.ThetaDist }})
	for _, q := range quantities {
		for _, axis := range axes {
			c := q.draw(runs, axis)
			text := q.caption
			if slices.ContainsFunc(c.Series, func(s report.Series) bool { return s.Dashed && len(s.X) > 0 }) {
				text += q.ofDashed
			}
			if len(c.Series) > 0 {
				all = append(all, NamedFigure{q.file + "-" + axis.file, text, c})
			}
		}
	}
	return all
}

// quantity is what a figure shows of runs.
type quantity struct {
	file, label, caption, ofDashed string
	log                            bool
	set                            string // of an evaluation, where there are several
	value, dashed                  func(*NamedMetrics, *runfolder.Metric) float64
	more                           []quantity // in the same figure
}

// draw has a curve for each run that knows the quantity, and none of a single point.
func (q *quantity) draw(runs []NamedMetrics, axis Axis) report.Curves {
	c := report.Curves{Title: strings.ReplaceAll(q.file, "_", " ") + " against " + axis.file, XLabel: axis.label,
		YLabel: q.label, LogY: q.log}
	points := 0
	for i := range runs {
		r := &runs[i]
		add := func(s report.Series, value func(*NamedMetrics, *runfolder.Metric) float64) {
			known := 0
			for k := range r.Metrics {
				y := value(r, &r.Metrics[k])
				if math.IsInf(y, 0) || q.log && y <= 0 {
					y = math.NaN() // a logarithmic axis has no place for zero
				}
				if !math.IsNaN(y) {
					known++
				}
				s.X, s.Y = append(s.X, axis.value(&r.Metrics[k])), append(s.Y, y)
			}
			if points += known; known == 0 || s.Dashed && known == 1 { // a line needs two
				s = report.Series{Dashed: s.Dashed} // so that a run looks alike in all figures
			}
			c.Series = append(c.Series, s)
		}
		for _, one := range append([]quantity{*q}, q.more...) {
			name := strings.Trim(r.Name+", "+one.set, ", ")
			add(report.Series{Name: name}, one.value)
			if one.dashed != nil {
				add(report.Series{Dashed: true}, one.dashed)
			}
		}
	}
	if points < 2 {
		c.Series = nil
	}
	return c
}

// evaluated are the measures of evaluations in training that are worth a figure, on all sets.
func evaluated(runs []NamedMetrics) (all []quantity) {
	sets := map[string]bool{}
	for _, r := range runs {
		for _, m := range r.Metrics {
			for name := range m.Eval {
				sets[strings.TrimSuffix(name, path.Ext(name))] = true
			}
		}
	}
	for _, measure := range []string{"entity_f1", "accuracy", "log_loss"} {
		var one []quantity
		for _, set := range slices.Sorted(maps.Keys(sets)) {
			q := quantity{file: measure, label: strings.ReplaceAll(measure, "_", " "), caption: "Evaluations in training.",
				value: func(_ *NamedMetrics, m *runfolder.Metric) float64 {
					if v, ok := m.Eval[set+"."+measure]; ok {
						return v
					}
					return math.NaN()
				}}
			if len(sets) > 1 || runs[0].Name == "" {
				q.set = set
			}
			one = append(one, q)
		}
		if len(one) > 0 {
			one[0].more = one[1:]
			all = append(all, one[0])
		}
	}
	return all
}

// Largest returns the indices of the n values of largest magnitude.
func Largest(values []float64, n int) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Abs(values[b]), math.Abs(values[a])), cmp.Compare(a, b))
	})
	return order[:min(n, len(order))]
}
