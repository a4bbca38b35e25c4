package synthetic

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestComparison runs the three methods on a small problem: each ends at the
// optimum, with a record that gets there and exact objectives above it.
func TestComparison(t *testing.T) {
	g := must(Generate(small(), 2))
	model := g.Truth.Clone()
	clear(model.Weights)
	watched := map[learn.Method]int{}
	c := &Comparison{
		Problem: learn.Problem{Model: model, Data: g.Instances, L2: 0.1}, Tolerance: 1e-7,
		Watch: func(m learn.Method, _ learn.Event) { watched[m]++ },
	}
	optimum := must(c.Optimum(context.Background()))
	var paths []*Path
	for _, method := range []learn.Method{learn.Full, learn.InnerDual, learn.BBPL} {
		p := must(c.Run(context.Background(), method, optimum.Model.Weights))
		paths = append(paths, p)
		if p.Method != method || p.Result.Status != learn.Converged || !(p.Distance <= 1e-6) || watched[method] < p.Result.Iterations {
			t.Errorf("%s: %s, distance %g, %d events", method, p.Result.Reason, p.Distance, watched[method])
		}
		for i, point := range p.Points {
			if i > 0 && (point.Iteration <= p.Points[i-1].Iteration || point.Seconds < p.Points[i-1].Seconds || point.Pass <= p.Points[i-1].Pass) {
				t.Errorf("%s: point %+v after %+v", method, point, p.Points[i-1])
			}
		}
		first, last := p.Points[0], p.Points[len(p.Points)-1]
		if first.Iteration != 1 || !(last.Distance < 1e-3*first.Distance) {
			t.Errorf("%s: from %+v to %+v", method, first, last)
		}
		if s := p.SecondsTo(1e-2); !(s >= first.Seconds && s <= last.Seconds) || !math.IsNaN(p.SecondsTo(-1)) {
			t.Errorf("%s: %v seconds to 1e-2, %v to 0", method, s, p.SecondsTo(0))
		}
	}
	oracle.OK(t, c.AllObjectives(paths))
	for _, p := range paths {
		known := 0
		for _, point := range p.Points {
			if !math.IsNaN(point.Objective) {
				known++
				if !(point.Objective >= optimum.Objective-1e-7) {
					t.Errorf("%s: objective %.10f at iteration %d, the optimum is %.10f", p.Method, point.Objective, point.Iteration, optimum.Objective)
				}
			}
		}
		last := p.Points[len(p.Points)-1]
		if known < min(len(p.Points), objectivesPerPath)/2 || math.IsNaN(p.Points[0].Objective) || math.Abs(last.Objective-optimum.Objective) > 1e-5 {
			t.Errorf("%s: %d objectives at %d points, the last is %v", p.Method, known, len(p.Points), last.Objective)
		}
	}
}

// TestOptimumOutOfReach: a reference that was not solved is an error.
func TestOptimumOutOfReach(t *testing.T) {
	g := must(Generate(small(), 2))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := &Comparison{Problem: learn.Problem{Model: g.Truth, Data: g.Instances}}
	if _, err := c.Optimum(ctx); err == nil {
		t.Error("an interrupted run was taken for the optimum")
	}
}

// TestPathWithoutPoints: a run that was interrupted before its first iteration has
// nothing to evaluate.
func TestPathWithoutPoints(t *testing.T) {
	g := must(Generate(small(), 2))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := &Comparison{Problem: learn.Problem{Model: g.Truth, Data: g.Instances}}
	p := must(c.Run(ctx, learn.BBPL, g.Truth.Weights))
	if len(p.Points) != 0 || p.Result.Status != learn.Interrupted {
		t.Fatalf("%s with %d points", p.Result.Status, len(p.Points))
	}
	if err := c.AllObjectives([]*Path{p}); err != nil {
		t.Error(err)
	}
	if s := p.SecondsTo(1); !math.IsNaN(s) {
		t.Errorf("%v seconds to distance 1 without points", s)
	}
}

// TestRunStartsAtTheModel: a run begins with the weights of Problem.Model.
func TestRunStartsAtTheModel(t *testing.T) {
	g := must(Generate(small(), 2))
	var first []float64
	c := &Comparison{Problem: learn.Problem{Model: g.Truth, Data: g.Instances, L2: 0.1}, Watch: func(_ learn.Method, e learn.Event) {
		if first == nil {
			first = slices.Clone(e.Theta)
		}
	}}
	must(c.Run(context.Background(), learn.InnerDual, g.Truth.Weights))
	if !slices.Equal(first, g.Truth.Weights) {
		t.Errorf("the run began with %v, the model has %v", first, g.Truth.Weights)
	}
}
