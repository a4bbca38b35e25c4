package job

import (
	"cmp"
	"math"
	"path"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// NamedMetrics are the metrics of one run, for overlaid curves.
type NamedMetrics struct {
	Name    string
	Metrics []runfolder.Metric
}

// NamedFigure is a figure with the name of its file and a caption.
type NamedFigure struct {
	File, Caption string
	Figure        figure.Figure
}

// AddFigures writes figures into a run folder and puts them into a report.
func AddFigures(run *runfolder.Run, page *report.Report, figures []NamedFigure) error {
	for _, f := range figures {
		if err := run.WriteFigure(f.File, f.Figure); err != nil {
			return err
		}
		page.Figure(f.Figure, f.Caption)
	}
	return nil
}

// Convergence draws, against passes and against seconds, how far the objective of a run is
// from its last value, and the proved bound on how far it is above the smallest one.
func Convergence(metrics []runfolder.Metric) []NamedFigure {
	last := math.NaN()
	for _, m := range metrics {
		if !math.IsNaN(m.Objective) {
			last = m.Objective
		}
	}
	var all []NamedFigure
	for _, axis := range metricAxes {
		c := figure.Curves{Title: "convergence, against " + axis.file, XLabel: axis.label, YLabel: "L − L at the end",
			LogY: true}
		distance, bound := figure.Series{Name: "|L − L at the end|"},
			figure.Series{Name: "proved: at most this above the smallest L", Dashed: true}
		for _, m := range metrics {
			distance.X, bound.X = append(distance.X, axis.value(m)), append(bound.X, axis.value(m))
			distance.Y, bound.Y = append(distance.Y, notZero(math.Abs(m.Objective-last))),
				append(bound.Y, notZero(m.Suboptimality))
		}
		c.Series = []figure.Series{distance, bound}
		all = append(all, NamedFigure{"convergence-" + axis.file,
			"How far the objective is from its last value, and the bound on what is left to gain. While blocks are visited " +
				"the objective is a running estimate.", c})
	}
	return all
}

// notZero makes zero, which a logarithmic axis has no place for, unknown.
func notZero(x float64) float64 {
	if x == 0 {
		return math.NaN()
	}
	return x
}

// metricAxes are what curves are drawn against.
var metricAxes = []struct {
	file, label string
	value       func(runfolder.Metric) float64
}{
	{"passes", "passes (whole-network sweeps)", func(m runfolder.Metric) float64 { return m.Pass }},
	{"seconds", "seconds", func(m runfolder.Metric) float64 { return m.WallS }},
}

// Curves draws objective, gradient norm and, where known, distance to a reference
// of runs against seconds and passes.
func Curves(runs []NamedMetrics) []NamedFigure {
	quantities := []struct {
		file, label, caption string
		logY                 bool
		value                func(runfolder.Metric) float64
	}{
		{"objective", "objective L", "Objective (running estimate).", false,
			func(m runfolder.Metric) float64 { return m.Objective }},
		{"gradient", "gradient norm", "Norm of the aggregated gradient.", true,
			func(m runfolder.Metric) float64 { return m.GradNorm }},
		{"distance", "‖θ − θ*‖ / ‖θ*‖", "Relative distance to the optimal weights.", true,
			func(m runfolder.Metric) float64 { return m.ThetaDist }},
	}
	var all []NamedFigure
	for _, q := range quantities {
		if !anyFinite(runs, q.value) {
			continue
		}
		for _, axis := range metricAxes {
			c := figure.Curves{Title: q.label + " against " + axis.file, XLabel: axis.label, YLabel: q.label, LogY: q.logY}
			for _, r := range runs {
				s := figure.Series{Name: r.Name}
				for _, m := range r.Metrics {
					s.X, s.Y = append(s.X, axis.value(m)), append(s.Y, q.value(m))
				}
				c.Series = append(c.Series, s)
			}
			all = append(all, NamedFigure{q.file + "-" + axis.file, q.caption, c})
		}
	}
	return all
}

func anyFinite(runs []NamedMetrics, value func(runfolder.Metric) float64) bool {
	for _, r := range runs {
		for _, m := range r.Metrics {
			if x := value(m); !math.IsNaN(x) && !math.IsInf(x, 0) {
				return true
			}
		}
	}
	return false
}

// evaluationCurves draws the shares that evaluations during a run found, none if
// there were none.
func evaluationCurves(metrics []runfolder.Metric) []NamedFigure {
	series := map[string]*figure.Series{}
	var names []string
	for _, m := range metrics {
		for name, value := range m.Eval {
			if path.Ext(name) == ".log_loss" {
				continue // on another scale
			}
			s := series[name]
			if s == nil {
				s = &figure.Series{Name: name}
				series[name] = s
				names = append(names, name)
			}
			s.X, s.Y = append(s.X, m.Pass), append(s.Y, value)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	c := figure.Curves{Title: "evaluation", XLabel: "passes (whole-network sweeps)", YLabel: "share"}
	for _, name := range names {
		c.Series = append(c.Series, *series[name])
	}
	return []NamedFigure{{"evaluation", "Evaluations during training.", c}}
}

// LargestWeights returns the indices of the n weights of largest magnitude.
func LargestWeights(m *crf.Model, n int) []int {
	order := make([]int, len(m.Weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(m.Weights[b]), math.Abs(m.Weights[a]))
	})
	return order[:min(n, len(order))]
}
