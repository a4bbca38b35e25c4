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

	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// writeReport writes the plots and the one-page report of a run.
func (r *run) writeReport(result *Result) error {
	r.files.NoFigures = r.folder.NoPlots
	fitted, s := result.Result, result.Summary
	metrics, err := runfolder.ReadMetrics(r.files.Path(runfolder.MetricsFile))
	if err != nil {
		return err
	}
	page := r.newPage(result)
	page.Callout(cmp.Or(verdicts[fitted.Status], report.CalloutWarn), s.verdict())
	if result.Couplings != nil {
		page.Section("Largest couplings")
		page.Table(WeightTable("coupling", result.Couplings.largest(couplingsShown)))
	}
	for _, scored := range result.Scores {
		if err := scored.report(r.files, page, "on", false); err != nil {
			return err
		}
	}
	if len(result.Scores) == 0 && result.Couplings == nil {
		page.Section("Result")
		page.Paragraph(s.Choice.quality() + " Give labelled data with {eval!--eval NAME=PATH}, or to blockbp eval.")
	}
	if s.Choice != nil {
		page.Section("What was compared")
		page.Paragraph("Each candidate learned from a part of the data and predicted what was held out; the run itself " +
			"began anew with the one that was chosen.")
		page.Table(s.Choice.Table())
	}
	if err := r.reportConvergence(page, metrics); err != nil {
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
	page.Paragraph("All options, as the run resolved what was left open, and where each came from, are in " +
		configFile + "; the hashes of the data are in " + dataFile + ", and more numbers in " + ResultFile + ".")
	page.Fold("Figures of the run")
	page.Table(report.Table{Headers: []string{"result", "value"},
		Rows: append(s.Rows(), []string{"sha256 of the weights", s.ThetaSHA256})})
	page.Unfold()
	return r.files.WriteFile(report.ReportFile, page.Write)
}

// newPage is a report that says what run it is of, of what data, and when it was.
func (r *run) newPage(result *Result) *report.Report {
	data := numeric.Map(r.folder.Config.Data, filepath.Base)
	nodes, _ := instances.Size(r.p.Set.Instances)
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

// reportConvergence draws how the run went: convergence, and the other curves folded away.
func (r *run) reportConvergence(page *report.Report, metrics []runfolder.Metric) error {
	page.Section("Convergence")
	text := "A pass is the work of one sweep over the whole network. While blocks are " +
		"visited, objective and gradient are running estimates, which become exact at convergence."
	method := r.p.Options.Method
	if method.Local() {
		text = fmt.Sprintf("The objective is the regularised negative logarithm of the %s, computed exactly at every "+
			"iteration, and not to be compared with that of other methods. A pass is one evaluation of objective and "+
			"gradient over all data.", strings.ReplaceAll(objectiveKinds[method], "_", "-"))
	}
	figures := curves(metrics)
	if err := addFigures(r.files, page, figures[:min(1, len(figures))]); err != nil {
		return err
	}
	page.Paragraph(text)
	if len(figures) < 2 {
		return nil
	}
	page.Fold("More curves")
	err := addFigures(r.files, page, figures[1:])
	page.Unfold()
	return err
}

// verdicts are the looks of how runs end; of others it is a warning.
var verdicts = map[learn.Status]report.CalloutKind{learn.Converged: report.CalloutOK,
	learn.StationaryPoint: report.CalloutOK, learn.Interrupted: report.CalloutError}

// verdict says how a run ended.
func (s *Summary) verdict() string {
	text := fmt.Sprintf("%s: %s.", s.StatusText(), s.Reason)
	if said := s.Caveat(); said != "" {
		text += " T" + said[1:] + "."
	}
	return text
}

// Rows say how a training went, for a table of names and values.
func (s *Summary) Rows() [][]string {
	choice, scale := "", ""
	if s.Standardised {
		scale = "standardised "
	}
	if s.Choice != nil {
		choice = fmt.Sprintf("choice %.2f, ", s.Choice.Seconds)
	}
	return [][]string{
		{"method", s.MethodShort()},
		{"status", s.StatusText()},
		{"reason", s.Reason},
		{"objective", Known("%.10g", s.Objective) + s.ObjectiveNote()},
		{"gradient norm", Known("%.3g", s.GradNorm)}, {"suboptimality", Known("at most %.3g", s.Suboptimality) +
			strings.TrimPrefix(Known("; "+scale+"weights within %.2g of the optimum's", s.WeightsWithin), unknown)},
		{"iterations", strconv.Itoa(s.Iterations)},
		{"passes", s.PassesText()},
		{"seconds", fmt.Sprintf("%.2f, of which %straining %.2f (checks %.2f), evaluation %.2f",
			s.TotalSeconds, choice, s.TrainingSeconds, s.CheckSeconds, s.EvaluationSeconds)},
		{"peak memory", Mebibytes(s.PeakBytes)},
	}
}

// Mebibytes writes an amount of memory.
func Mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// couplingsShown is how many of the largest couplings a report lists.
const couplingsShown = 20

// notOfCommand are options of one command, or of one folder.
var notOfCommand = []string{"out", "resume", "force", "quiet", "json", "dry-run"}

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

// namedFigure is a figure with the name of its file and a caption.
type namedFigure struct {
	File, Caption string
	Figure        report.Figure
}

// addFigures writes figures into a run folder and puts them into a report.
func addFigures(run *runfolder.Run, page *report.Report, figures []namedFigure) error {
	for _, f := range figures {
		if err := run.WriteFigure(f.File, f.Figure.SVG); err != nil {
			return err
		}
		page.Figure(f.Figure, f.Caption)
	}
	return nil
}

// line is one curve of a figure of a run's course.
type line struct {
	name   string
	dashed bool
	value  func(*runfolder.Metric) float64
}

// curves draws the course of a run over its passes: how far the objective is from its last value, and the proved bound
// on that, the measures of evaluations, the gradient norm, and the distance to a reference, as far as they are known.
func curves(metrics []runfolder.Metric) (all []namedFigure) {
	last, sets := math.NaN(), map[string]bool{}
	for _, m := range metrics {
		if !math.IsNaN(m.Objective) {
			last = m.Objective
		}
		for name := range m.Eval {
			sets[strings.TrimSuffix(name, path.Ext(name))] = true
		}
	}
	draw := func(file, label, caption string, log bool, lines ...line) {
		c := report.Curves{Title: strings.ReplaceAll(file, "_", " ") + " against passes", XLabel: "passes", YLabel: label,
			LogY: log}
		points := 0
		for _, l := range lines {
			s := l.of(metrics, log)
			if len(s.X) == 0 || l.dashed && len(s.X) == 1 { // a line needs two
				continue
			}
			if points += len(s.X); l.dashed {
				caption += " Dashed: the proved bound on what is left to gain."
			}
			c.Series = append(c.Series, s)
		}
		if points > 1 {
			all = append(all, namedFigure{file + "-passes", caption, c})
		}
	}
	draw("convergence", "L − least L", "How far the objective L is from its last value.", true,
		line{value: func(m *runfolder.Metric) float64 { return math.Abs(m.Objective - last) }},
		line{dashed: true, value: func(m *runfolder.Metric) float64 { return m.Suboptimality }})
	for _, measure := range []string{"entity_f1", "accuracy", "log_loss"} {
		var lines []line
		for _, set := range slices.Sorted(maps.Keys(sets)) {
			lines = append(lines, line{name: set, value: func(m *runfolder.Metric) float64 {
				if v, ok := m.Eval[set+"."+measure]; ok {
					return v
				}
				return math.NaN()
			}})
		}
		draw(measure, strings.ReplaceAll(measure, "_", " "), "Evaluations in training.", false, lines...)
	}
	draw("gradient", "gradient norm", "Norm of the aggregated gradient.", true,
		line{value: func(m *runfolder.Metric) float64 { return m.GradNorm }})
	draw("distance", "‖θ − θ*‖ / ‖θ*‖", "Relative distance to the reference.", true,
		line{value: func(m *runfolder.Metric) float64 { return m.ThetaDist }})
	return all
}

// of returns the points of a line that are known; a logarithmic axis has no place for zero.
func (l *line) of(metrics []runfolder.Metric, log bool) report.Series {
	s := report.Series{Name: l.name, Dashed: l.dashed}
	for i := range metrics {
		if y := l.value(&metrics[i]); !math.IsNaN(y) && !math.IsInf(y, 0) && !(log && y <= 0) {
			s.X, s.Y = append(s.X, metrics[i].Pass), append(s.Y, y)
		}
	}
	return s
}

// Largest returns the indices of the n values of largest magnitude.
func Largest(values []float64, n int) []int {
	order := numeric.Map(numeric.To(len(values)), func(i int32) int { return int(i) })
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Abs(values[b]), math.Abs(values[a])), cmp.Compare(a, b))
	})
	return order[:min(n, len(order))]
}
