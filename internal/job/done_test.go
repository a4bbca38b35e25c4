package job

import (
	"math"
	"testing"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// TestDoneness: the nearest limit tells, or the lesser of the ways of gradient and bound to
// their goals, in orders of magnitude. What rises again does not count.
func TestDoneness(t *testing.T) {
	unknown := math.NaN()
	for _, test := range []struct {
		name   string
		s      learn.Settings
		events []learn.Event
		want   float64
	}{
		{"the start", learn.Settings{}, []learn.Event{{GradientNorm: 1, Suboptimality: unknown}}, 0},
		{"iterations", learn.Settings{MaxIterations: 20}, []learn.Event{{Iteration: 5, Suboptimality: unknown}}, 0.25},
		{"passes", learn.Settings{MaxIterations: 20, MaxPasses: 4}, []learn.Event{{Iteration: 5, Pass: 3, Suboptimality: unknown}}, 0.75},
		{"time", learn.Settings{MaxTime: time.Second}, []learn.Event{{Elapsed: 3 * time.Second, Suboptimality: unknown}}, 1},
		{"half of the gradient's way", learn.Settings{RelativeTolerance: 1e-2}, []learn.Event{{GradientNorm: 100, Suboptimality: unknown}, {GradientNorm: 10, Suboptimality: unknown}}, 0.5},
		{"the gradient rises again", learn.Settings{RelativeTolerance: 1e-2}, []learn.Event{{GradientNorm: 100, Suboptimality: unknown}, {GradientNorm: 10, Suboptimality: unknown}, {GradientNorm: 1000, Suboptimality: unknown}}, 0.5},
		{"the bound lags behind", learn.Settings{RelativeTolerance: 1e-2, Gap: 1e-2}, []learn.Event{{GradientNorm: 100, Suboptimality: 100}, {GradientNorm: 1, Suboptimality: 10}}, 0.25},
	} {
		d, got := Doneness{Settings: test.s}, 0.0
		for _, e := range test.events {
			got = d.Of(e)
		}
		if math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
