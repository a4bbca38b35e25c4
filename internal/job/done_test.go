package job

import (
	"math"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
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
		oracle.Near(t, got, test.want, 1e-12, "%s", test.name)
	}
}

// TestTimeLeft: in the courses of two trainings on the pictures of blockbp example, with convex and trw counting numbers,
// nothing is forecast at first, later the end lies within what is, or a twentieth of the time before, and the latest end never moves away.
func TestTimeLeft(t *testing.T) {
	type point struct{ pass, bound, objective float64 }
	for _, course := range []struct {
		end    float64
		points []point
	}{
		{238, []point{{0, 2.098e+04, 20983}, {13, 3952, 3977.8}, {28, 2027, 2149.3}, {43, 1793, 1911}, {58, 1414, 1723.1}, {73, 476.2, 1576.1}, {88, 417.1, 1517.1}, {103, 283.4, 1502.8}, {118, 106.8, 1493.2}, {133, 68.98, 1489.2}, {148, 59.92, 1488}, {163, 36.78, 1486.3}, {178, 22.35, 1485.3}, {193, 21.96, 1484.9}, {208, 21.26, 1484.2}, {223, 21.26, 1484.2}, {238, 21.16, 1484.1}}},
		{325, []point{{0, 4259, 4258.7}, {16, 634.7, 1575.4}, {34, 436.2, 521.63}, {52, 158.9, 159.63}, {70, 111.7, 115.97}, {88, 86.04, 91.881}, {106, 82.21, 88.047}, {124, 75.22, 104.17}, {142, 63.96, 90.356}, {160, 63.19, 199.15}, {178, 57.23, 70.788}, {196, 50.92, 132.53}, {214, 31.8, 83.985}, {232, 30.24, 71.018}, {250, 15.79, 67.793}, {268, 8.049, 66.942}, {286, 6.438, 67.462}, {304, 5.623, 63.293}, {322, 5.062, 66.595}}},
	} {
		d, told, latest := Doneness{Settings: learn.Settings{Proof: 1e-3}}, 0, math.Inf(1)
		for i, p := range course.points {
			d.Of(learn.Event{Suboptimality: p.bound, Objective: p.objective, GradientNorm: 1, Elapsed: time.Duration(p.pass) * time.Minute})
			soon, late, _ := d.forecast()
			if math.IsInf(late, 1) {
				continue
			}
			left := 60 * (course.end - p.pass)
			if told++; i < 3 || soon > left+3*p.pass || late < left || 60*p.pass+late > latest {
				t.Errorf("after %v passes of %v: %.0f to %.0f s, want %.0f, and an end before %.0f s", p.pass, course.end, soon, late, left, latest)
			}
			latest = 60*p.pass + late
		}
		if told < len(course.points)/3 {
			t.Errorf("only %d forecasts", told)
		}
	}
	limited := Doneness{Settings: learn.Settings{Proof: 1e-3, MaxTime: time.Minute}}
	if limited.Of(learn.Event{Suboptimality: math.NaN()}); limited.Left() != "" {
		t.Errorf("at the start: %s", limited.Left())
	}
	if limited.Of(learn.Event{Suboptimality: math.NaN(), Elapsed: 15 * time.Second}); limited.Left() != "at most 45 s left" {
		t.Errorf("after a quarter of the time: %s", limited.Left())
	}
	read := Doneness{Settings: learn.Settings{MaxTime: time.Minute}} // the first event comes after reading and a pass
	read.Of(learn.Event{Elapsed: 20 * time.Second})
	if read.Of(learn.Event{Elapsed: 24 * time.Second}); read.Left() != "at most 36 s left" {
		t.Errorf("24 seconds after the beginning: %s", read.Left())
	}
	passes := Doneness{} // has a limit of 10,000 passes, which is no forecast
	if passes.Of(learn.Event{Pass: 400, Elapsed: time.Minute}); passes.Left() != "" {
		t.Errorf("after 400 passes: %s", passes.Left())
	}
}
