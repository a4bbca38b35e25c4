package synthetic

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// small is a grid that takes milliseconds.
func small() Synthetic { return smallOn("grid") }

func smallOn(kind string) Synthetic {
	return Synthetic{
		Graph: GraphSpec{Kind: kind, Rows: 8, Cols: 8, Nodes: 60, EdgeChance: 0.06}, States: 3, NodeFeatures: 3, EdgeFeatures: 2,
		Samples: 6, WeightScale: 0.5, Sweeps: 20, Seed: 3,
	}
}

func generate(t *testing.T, s Synthetic, threads int) *Generated {
	t.Helper()
	g := oracle.Must(Generate(s, threads))(t)
	return g
}

// Same seed, same problem, whatever the threads; another seed, another problem.
func TestGenerateIsDetermined(t *testing.T) {
	for _, kind := range []string{"grid", "grid8", "torus", "chain", "tree", "er", "ba"} {
		s := smallOn(kind)
		a, b := generate(t, s, 1), generate(t, s, 8)
		s.Seed++
		c := generate(t, s, 1)
		same := func(x, y *Generated) bool {
			return slices.Equal(x.Truth.Weights, y.Truth.Weights) && slices.Equal(x.NodeFeatures[0], y.NodeFeatures[0]) &&
				slices.EqualFunc(x.Instances[0].Samples(), y.Instances[0].Samples(), func(p, q []int32) bool { return slices.Equal(p, q) })
		}
		if !same(a, b) {
			t.Errorf("%s: one thread and eight give different problems", kind)
		}
		if same(a, c) {
			t.Errorf("%s: two seeds give the same problem", kind)
		}
	}
}

// More samples leave graph, features and weights, and the samples there were.
func TestMoreSamplesKeepTheRest(t *testing.T) {
	s := smallOn("ba")
	few := generate(t, s, 2)
	s.Samples += 3
	many := generate(t, s, 2)
	for i, labels := range few.Instances[0].Samples() {
		if !slices.Equal(labels, many.Instances[0].Samples()[i]) {
			t.Errorf("sample %d changed", i)
		}
	}
}

// TestGenerateRefuses: what cannot be drawn is said, with the field and its range.
func TestGenerateRefuses(t *testing.T) {
	for _, test := range []struct {
		want   string
		change func(s *Synthetic)
	}{
		{"1 ≤ States ≤", func(s *Synthetic) { s.States = -1 }},
		{"1 ≤ NodeFeatures ≤", func(s *Synthetic) { s.NodeFeatures = -2 }},
		{"1 ≤ EdgeFeatures ≤", func(s *Synthetic) { s.EdgeFeatures = -1 }},
		{"1 ≤ Samples ≤ 65536, got -1", func(s *Synthetic) { s.Samples = -1 }},
		{"1 ≤ Samples ≤ 65536, got 65537", func(s *Synthetic) { s.Samples = 65537 }}, // sample 65536 would be sample 0 of the next instance
		{"1 ≤ Instances ≤ 65536", func(s *Synthetic) { s.Instances = -3 }},
		{"1 ≤ Sweeps ≤", func(s *Synthetic) { s.Sweeps = -1 }},
		{"0 < WeightScale < ∞, got NaN", func(s *Synthetic) { s.WeightScale = math.NaN() }},
		{"0 < WeightScale < ∞, got -1", func(s *Synthetic) { s.WeightScale = -1 }},
		{`graph "star"`, func(s *Synthetic) { s.Graph.Kind = "star" }},
	} {
		s := small()
		test.change(&s)
		if _, err := Generate(s, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

// TestOnlyGridsHaveRows: another graph with as many nodes is no picture.
func TestOnlyGridsHaveRows(t *testing.T) {
	for _, kind := range []string{"grid", "grid8", "torus", "chain", "tree", "er", "ba"} {
		s := smallOn(kind)
		s.Graph.Nodes = s.Graph.Rows * s.Graph.Cols
		in := generate(t, s, 1).Instances[0]
		if grid := s.Graph.onGrid(); (in.Rows == 8 && in.Cols == 8) != grid || !grid && in.Rows+in.Cols != 0 {
			t.Errorf("%s: %d rows and %d columns", kind, in.Rows, in.Cols)
		}
	}
}

func TestParseGraph(t *testing.T) {
	for text, want := range map[string]GraphSpec{
		"grid:3x4":     {Kind: "grid", Rows: 3, Cols: 4},
		"grid8:10x2":   {Kind: "grid8", Rows: 10, Cols: 2},
		"torus:5x5":    {Kind: "torus", Rows: 5, Cols: 5},
		"chain:7":      {Kind: "chain", Nodes: 7},
		"er:10:0.25":   {Kind: "er", Nodes: 10, EdgeChance: 0.25},
		"ba:100":       {Kind: "ba", Nodes: 100},
		"ba:100:3":     {Kind: "ba", Nodes: 100, Attach: 3},
		"complete:4":   {Kind: "complete", Nodes: 4},
		"tree:1000000": {Kind: "tree", Nodes: 1000000},
	} {
		if got, err := ParseGraph(text); err != nil || got != want {
			t.Errorf("%s is read as %+v, error %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "grid", "grid:", "grid:3", "grid:3x", "grid:3x4x5", "grid:3x4:1", "gird:3x3", "chain:3:4", "chain:three", "er:5", "er:5:x", "ba:5:0", "ba:5:-1", "ba:5:2:1", "chain:3 4"} {
		if got, err := ParseGraph(text); err == nil || !strings.Contains(err.Error(), "grid:RxC") {
			t.Errorf("%q is read as %+v, error %v; want an error that says what is possible", text, got, err)
		}
	}
}

// TestComparison runs the three methods on a small problem: each ends at the
// optimum, with a record that gets there and exact objectives above it.
func TestComparison(t *testing.T) {
	g := oracle.Must(Generate(small(), 2))(t)
	model := g.Truth.Clone()
	clear(model.Weights)
	watched := map[learn.Method]int{}
	c := &Comparison{
		Problem: learn.Problem{Model: model, Data: g.Instances, L2: 0.1}, Tolerance: 1e-7,
		Watch: func(m learn.Method, _ learn.Event) { watched[m]++ },
	}
	optimum := oracle.Must(c.Optimum(context.Background()))(t)
	var paths []*Path
	for _, method := range []learn.Method{learn.Full, learn.InnerDual, learn.BBPL} {
		p := oracle.Must(c.Run(context.Background(), method, optimum.Model.Weights))(t)
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
	g := oracle.Must(Generate(small(), 2))(t)
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
	g := oracle.Must(Generate(small(), 2))(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := &Comparison{Problem: learn.Problem{Model: g.Truth, Data: g.Instances}}
	p := oracle.Must(c.Run(ctx, learn.BBPL, g.Truth.Weights))(t)
	if len(p.Points) != 0 || p.Result.Status != learn.Interrupted {
		t.Fatalf("%s with %d points", p.Result.Status, len(p.Points))
	}
	oracle.OK(t, c.AllObjectives([]*Path{p}))
	if s := p.SecondsTo(1); !math.IsNaN(s) {
		t.Errorf("%v seconds to distance 1 without points", s)
	}
}

// TestRunStartsAtTheModel: a run begins with the weights of Problem.Model.
func TestRunStartsAtTheModel(t *testing.T) {
	g := oracle.Must(Generate(small(), 2))(t)
	var first []float64
	c := &Comparison{Problem: learn.Problem{Model: g.Truth, Data: g.Instances, L2: 0.1}, Watch: func(_ learn.Method, e learn.Event) {
		if first == nil {
			first = slices.Clone(e.Theta)
		}
	}}
	oracle.Must(c.Run(context.Background(), learn.InnerDual, g.Truth.Weights))(t)
	if !slices.Equal(first, g.Truth.Weights) {
		t.Errorf("the run began with %v, the model has %v", first, g.Truth.Weights)
	}
}
