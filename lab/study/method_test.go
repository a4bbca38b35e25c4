package study

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/learn"
)

// solved builds a small problem and its optimum.
func solved(t *testing.T, p Problem) (*bench, *learn.Result) {
	t.Helper()
	b := must(p.build(2))
	r := must(solve(t.Context(), b.problem))
	if !(r.GradientNorm <= optimumTolerance) {
		t.Errorf("gradient norm %g at θ*", r.GradientNorm)
	}
	return b, r
}

// TestEveryMethodReachesTheOptimum runs all methods, and counts their work as learn does.
func TestEveryMethodReachesTheOptimum(t *testing.T) {
	b, o := solved(t, Problem{Kind: BA, Size: 60, Seed: 3})
	plan := comparisonPlan{
		Methods: append(paperMethods(), variants()...), Tolerance: tolerance, Until: until, Rounds: 1, Common: true,
		Objectives: true,
	}
	c := must(b.compare(context.Background(), plan))
	want := len(plan.Methods) + len(paperMethods())
	if len(c.Traces) != want || len(c.Searches) != len(plan.Methods) {
		t.Fatalf("%d traces and %d searches", len(c.Traces), len(c.Searches))
	}
	for i := range c.Traces {
		trace := &c.Traces[i]
		l, ok := trace.level(until)
		if !ok || trace.Diverged != "" || !(l.Passes > 0) || !(l.Gradients > 1) {
			t.Errorf("%s: %+v %s", trace.Name, l, trace.Diverged)
			continue
		}
		above := math.Inf(1)
		for j := 0; j < len(trace.Levels); j += objectiveEvery {
			x := float64(trace.Levels[j].Objective) - o.Objective
			if !slices.Contains(mainNames, trace.Name) {
				if !math.IsNaN(x) && trace.Name != nameBBPL+nameCommon { // which is its run at the best step too
					t.Errorf("%s: the objective is %g, which no figure shows", trace.Name, x)
				}
				continue
			}
			if !(x > -1e-9) || x > above+1e-9 {
				t.Errorf("%s: objective %g above its optimum at level %d, %g before", trace.Name, x, j, above)
			}
			above = x
		}
	}
	checkWork(t, b, bbpl(paperBlocks), c.trace(nameBBPL))
}

// checkWork makes the same iterations with learn and compares its counters.
func checkWork(t *testing.T, b *bench, m Method, trace *Trace) {
	t.Helper()
	part := must(b.blocks(m.Blocks))
	laps := -1 // that of the first check is in the trace
	r := must(learn.Fit(context.Background(), b.problem, learn.Settings{
		Recorder: func(e learn.Event) error {
			if e.Check {
				laps += e.Sweeps
			}
			return nil
		},
		Method: m.Method, InnerSweeps: m.Sweeps, InnerTolerance: m.Tolerance, Step: fixed(trace.Step),
		Assign:            func(*crf.Instance) ([]int32, int, error) { return part.Of, len(part.Blocks), nil },
		MaxIterations:     trace.Iterations,
		GradientTolerance: math.SmallestNonzeroFloat64,
	}))
	// learn ends with a check, each pass of which is a lap more.
	if gradients := r.GradientPasses - float64(laps)*floats.Sum(gradientShares(part)); math.Abs(gradients-trace.Gradients) > 1e-9 || math.Abs(r.Passes-r.CheckPasses-trace.Passes) > 1e-9 {
		t.Errorf("%g gradient passes and %g passes, learn counts %g and %g", trace.Gradients, trace.Passes, gradients,
			r.Passes-r.CheckPasses)
	}
}

// TestGradientShares: a visit of all blocks is as many gradients as the blocks have nodes
// and edges, of the network's; one block is one.
func TestGradientShares(t *testing.T) {
	for _, c := range []struct {
		problem Problem
		blocks  int
	}{{Problem{Kind: Grid, Size: 10, Seed: 1}, 20}, {Problem{Kind: BA, Size: 300, Seed: 1}, 20},
		{Problem{Kind: Grid, Size: 10, Seed: 1}, 1}} {
		b := must(c.problem.build(1))
		p := must(b.blocks(c.blocks))
		g := p.Graph
		cut := 0
		for e := range int32(g.NumEdges()) {
			if p.Of[g.U(e)] != p.Of[g.V(e)] {
				cut++
			}
		}
		want := 1 + float64(cut)/float64(g.NumNodes()+g.NumEdges())
		for _, copies := range [][]*partition.Partition{{p}, {p, p}} {
			if got := floats.Sum(gradientShares(copies...)); math.Abs(got-want) > 1e-12 || (cut > 0) != (c.blocks > 1) {
				t.Errorf("%s, %d blocks: a lap is %v gradients, want %v", b.spec.Name(), c.blocks, got, want)
			}
		}
	}
}

// TestBestStep: no step of the grid between those tried does better.
func TestBestStep(t *testing.T) {
	b, o := solved(t, Problem{Kind: Grid, Size: 6, Seed: 1})
	for _, m := range paperMethods() {
		s := must(b.bestStep(context.Background(), m, startStep(m, b.nodes), o.Model.Weights, tolerance))
		least, step := math.Inf(1), 0.0
		for i := -10; i <= 14; i++ {
			trace := must(b.run(context.Background(), m, stepOf(i), o.Model.Weights,
				limits{distance: tolerance, work: mostWork, stall: stallGradients}, false))
			if _, ok := trace.level(tolerance); ok && trace.work() < least {
				least, step = trace.work(), stepOf(i)
			}
		}
		if s.Step != step {
			t.Errorf("%s: step %v, the whole grid gives %v; tried %+v", m.Name, s.Step, step, s.Tried)
		}
	}
}

// TestSearchFromAnyStart: a start that is far too long, or too short, for anything to
// get there, still leads to a step.
func TestSearchFromAnyStart(t *testing.T) {
	b, o := solved(t, Problem{Kind: Grid, Size: 6, Seed: 1})
	m := innerDual()
	want := must(b.bestStep(context.Background(), m, startStep(m, b.nodes), o.Model.Weights, tolerance)).Step
	for _, start := range []int{lowest, highest} {
		if s := must(b.bestStep(context.Background(), m, start, o.Model.Weights, tolerance)); s.Step != want {
			t.Errorf("from step %v the search ends at %v, want %v: %+v", stepOf(start), s.Step, want, s.Tried)
		}
	}
}

// TestDivergedRun: a step that is far too large is no error, and says so.
func TestDivergedRun(t *testing.T) {
	b, o := solved(t, Problem{Kind: Grid, Size: 6, Seed: 1})
	trace := must(b.run(context.Background(), innerDual(), 1e6, o.Model.Weights,
		limits{distance: tolerance, work: mostWork}, false))
	if trace.Diverged == "" {
		t.Errorf("trace %+v", trace)
	}
}

func TestTileShape(t *testing.T) {
	for n, want := range map[int][2]int{4: {2, 2}, 20: {4, 5}, 25: {5, 5}, 7: {1, 7}, 1: {1, 1}, 100: {10, 10}} {
		if rows, cols := tileShape(n); rows != want[0] || cols != want[1] {
			t.Errorf("%d blocks are %d × %d tiles", n, rows, cols)
		}
	}
}

func TestStatistics(t *testing.T) {
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Error(m)
	}
	if m := median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Error(m)
	}
	if !math.IsNaN(median(nil)) {
		t.Error("a median of nothing")
	}
	if s := slope([]float64{1, 2, 4}, []float64{1, 3, 7}); math.Abs(s-2) > 1e-12 {
		t.Error(s)
	}
}
