package cli

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"path"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// plotFolder is the folder of the figures inside a run folder.
const plotFolder = "plots"

// writeFigure writes a figure as plots/NAME.svg and plots/NAME.png.
func writeFigure(run *runfolder.Run, name string, f figure.Figure) error {
	if err := run.WriteFile(path.Join(plotFolder, name+".svg"), f.SVG); err != nil {
		return err
	}
	return run.WriteFile(path.Join(plotFolder, name+".png"), f.PNG)
}

// addPanel writes a picture panel and puts it into the report.
func addPanel(run *runfolder.Run, page *report.Report, name string, panel figure.Panel, caption string) error {
	var png bytes.Buffer
	if err := panel.PNG(&png); err != nil {
		return err
	}
	page.Image(png.Bytes(), caption)
	return run.WriteFile(path.Join(plotFolder, name+".png"), func(w io.Writer) error {
		_, err := w.Write(png.Bytes())
		return err
	})
}

// namedMetrics are the metrics of one run, for overlaid curves.
type namedMetrics struct {
	name    string
	metrics []runfolder.Metric
}

// namedCurves is a figure with its file name and caption.
type namedCurves struct {
	file, caption string
	curves        figure.Curves
}

// convergenceCurves draws objective, gradient norm and, where known, distance to
// the optimum against seconds and passes.
func convergenceCurves(runs []namedMetrics) []namedCurves {
	seconds := func(m runfolder.Metric) float64 { return m.WallS }
	passes := func(m runfolder.Metric) float64 { return m.Pass }
	lowest := math.Inf(1)
	for _, r := range runs {
		for _, m := range r.metrics {
			lowest = min(lowest, orInf(m.Objective))
		}
	}
	quantities := []struct {
		file, label, caption string
		logY                 bool
		value                func(runfolder.Metric) float64
	}{
		{"objective", "objective L", "Objective (running estimate).", false, func(m runfolder.Metric) float64 { return m.Objective }},
		{"gradient", "gradient norm", "Norm of the aggregated gradient.", true, func(m runfolder.Metric) float64 { return m.GradNorm }},
		{"distance", "‖θ − θ*‖ / ‖θ*‖", "Relative distance to the optimal weights.", true, func(m runfolder.Metric) float64 { return m.ThetaDist }},
	}
	var all []namedCurves
	for _, q := range quantities {
		if !anyFinite(runs, q.value) {
			continue
		}
		for _, axis := range []struct {
			file, label string
			value       func(runfolder.Metric) float64
		}{{"seconds", "seconds", seconds}, {"passes", "passes (whole-network sweeps)", passes}} {
			c := figure.Curves{Title: q.label + " against " + axis.file, XLabel: axis.label, YLabel: q.label, LogY: q.logY}
			for _, r := range runs {
				c.Series = append(c.Series, seriesOf(r, axis.value, q.value))
			}
			all = append(all, namedCurves{q.file + "-" + axis.file, q.caption, c})
		}
	}
	return all
}

func orInf(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}

func anyFinite(runs []namedMetrics, value func(runfolder.Metric) float64) bool {
	for _, r := range runs {
		for _, m := range r.metrics {
			if x := value(m); !math.IsNaN(x) && !math.IsInf(x, 0) {
				return true
			}
		}
	}
	return false
}

func seriesOf(r namedMetrics, x, y func(runfolder.Metric) float64) figure.Series {
	s := figure.Series{Name: r.name}
	for _, m := range r.metrics {
		s.X, s.Y = append(s.X, x(m)), append(s.Y, y(m))
	}
	return s
}

// evaluationCurves draws the accuracies of evaluations during a run; ok is false
// if there were none.
func evaluationCurves(metrics []runfolder.Metric) (c figure.Curves, ok bool) {
	c = figure.Curves{Title: "evaluation", XLabel: "passes (whole-network sweeps)", YLabel: "share"}
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
	slices.Sort(names)
	for _, name := range names {
		c.Series = append(c.Series, *series[name])
	}
	return c, len(names) > 0
}

// largestWeights returns the indices of the n weights of largest magnitude.
func largestWeights(m *crf.Model, n int) []int {
	order := make([]int, len(m.Weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(m.Weights[b]), math.Abs(m.Weights[a]))
	})
	return order[:min(n, len(order))]
}
