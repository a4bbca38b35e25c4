package figure

import (
	"io"
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

func benchmarkPNG(b *testing.B, f Curves) {
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
