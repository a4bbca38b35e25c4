package job

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

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
