package record

import (
	"io"
	"path/filepath"
	"strconv"
	"testing"
)

// BenchmarkSmallFigure draws a curve of 30 points: the cost of any figure.
func BenchmarkSmallFigure(b *testing.B) { benchmarkPNG(b, noisy(30)) }

// BenchmarkNoisyCurve draws the running objective of a long run.
func BenchmarkNoisyCurve(b *testing.B) { benchmarkPNG(b, noisy(20_000)) }

// BenchmarkTwentyNoisyCurves draws twenty of them, solid and dashed.
func BenchmarkTwentyNoisyCurves(b *testing.B) {
	f := noisy(20_000)
	for len(f.Series) < 20 {
		f.Series = append(f.Series, f.Series[0])
	}
	benchmarkPNG(b, f)
}

func benchmarkPNG(b *testing.B, f Figure) {
	for b.Loop() {
		if err := f.PNG(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNoisyCurveSVG draws the same curve as a vector graphic.
func BenchmarkNoisyCurveSVG(b *testing.B) {
	f := noisy(20_000)
	for b.Loop() {
		if err := f.SVG(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLongRun makes what a run of 20 000 records leaves at its end, from its
// metrics.jsonl: the table, four figures as SVG and PNG, and the report.
func BenchmarkLongRun(b *testing.B) {
	run, err := Create(filepath.Join(b.TempDir(), "run"))
	if err != nil {
		b.Fatal(err)
	}
	metrics, err := run.Metrics()
	if err != nil {
		b.Fatal(err)
	}
	curve := noisy(20_000).Series[0]
	for i, y := range curve.Y {
		m := NewMetric(i)
		m.Pass, m.WallS, m.Objective, m.GradNorm, m.Block = float64(i)/37, float64(i)/1000, y, 1/(1+y*y), i%37
		if err := metrics.Write(m); err != nil {
			b.Fatal(err)
		}
	}
	if err := metrics.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := finishLongRun(run); err != nil {
			b.Fatal(err)
		}
	}
}

// finishLongRun writes table, figures and report of a run.
func finishLongRun(run *Run) error {
	if err := run.WriteMetricsCSV(); err != nil {
		return err
	}
	metrics, err := ReadMetrics(run.Path(MetricsFile))
	if err != nil {
		return err
	}
	report := &Report{Title: "A long run"}
	for k := range 4 {
		f := Curves{Title: "Objective and gradient", XLabel: "passes", YLabel: "L", LogY: k >= 2, Series: make([]Series, 1)}
		for i := range metrics {
			x, y := metrics[i].WallS, metrics[i].Objective
			if k%2 == 1 {
				x = metrics[i].Pass
			}
			if k >= 2 {
				y = metrics[i].GradNorm
			}
			f.Series[0].X, f.Series[0].Y = append(f.Series[0].X, x), append(f.Series[0].Y, y)
		}
		name := "plots/" + strconv.Itoa(k)
		if err := run.WriteFile(name+".svg", f.SVG); err != nil {
			return err
		}
		if err := run.WriteFile(name+".png", f.PNG); err != nil {
			return err
		}
		report.Figure(f, "a caption")
	}
	return run.WriteFile(ReportFile, report.Write)
}
