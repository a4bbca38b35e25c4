package study

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/learn"
)

// TestSuiteFeatures: features of the suite have the scales and correlations that
// their kind promises, and the labels of the plain problem.
func TestSuiteFeatures(t *testing.T) {
	p := Problem{Kind: Grid, Size: 40, Seed: 3, States: 2}
	plain := must(p.build(1)).in
	for _, kind := range []string{Scaled, Correlated, IllScaled} {
		p.Features = kind
		in := must(p.build(1)).in
		for s, y := range in.Samples()[0] {
			if y != plain.Samples()[0][s] {
				t.Fatalf("%s: node %d has another label", kind, s)
			}
		}
		f := in.NodeFeatures(0)
		d := f.Dim()
		moments := make([]float64, d*d)
		row := make([]float64, d)
		for r := range f.Rows() {
			f.Row(row, r)
			for i, x := range row {
				for j, y := range row {
					moments[i*d+j] += x * y / float64(f.Rows())
				}
			}
		}
		least, most, smallest := math.Inf(1), 0.0, 1.0
		for i := range d {
			scale := math.Sqrt(moments[i*d+i])
			least, most = math.Min(least, scale), math.Max(most, scale)
			for j := range i {
				smallest = math.Min(smallest, moments[i*d+j]/scale/math.Sqrt(moments[j*d+j]))
			}
		}
		if wide := most/least > 0.7e6; wide != (kind != Correlated) {
			t.Errorf("%s: scales from %g to %g", kind, least, most)
		}
		if correlated := smallest > 0.9; correlated != (kind != Scaled) {
			t.Errorf("%s: smallest correlation %v", kind, smallest)
		}
	}
}

// TestUntiedSuite: an untied problem has weights for every node and edge.
func TestUntiedSuite(t *testing.T) {
	b := must(Problem{Kind: Grid, Size: 5, Seed: 1, States: 3, Untied: true}.build(1))
	if got, want := len(b.problem.Model.Weights), 25*3+40*9; got != want {
		t.Errorf("%d weights, want %d", got, want)
	}
}

// TestContest: every contestant gets to the optimum of an easy problem, and claims
// are compared with inference from scratch.
func TestContest(t *testing.T) {
	c := suiteCase{counting: "trw", states: 2, l2: 0.1}.of(sizesOf(Tiny), 1)
	r := must(c.contest(t.Context(), 2))
	for _, name := range stepNames {
		if e := r.effort(name, 1e-3); !e.reached || !(e.Passes > 0) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for i := range r.Proofs {
		if p := &r.Proofs[i]; !p.holds() || p.Distance > 1e-3 || p.CheckPasses >= p.Passes {
			t.Errorf("%+v", *p)
		}
	}
	broken := Proof{Status: "converged", GradientNorm: 1e-7, ExactNorm: 1e-4}
	if broken.holds() {
		t.Error("a claim that inference from scratch belies")
	}
}

// TestVisitsAgainstAdaGrad: on the grid of 50×50 nodes with the regulariser of the authors'
// code, automatic steps get within 10 % and 1 % of the optimum in no more visits of blocks
// than AdaGrad (Duchi, Hazan and Singer 2011) with the best of several lengths.
func TestVisitsAgainstAdaGrad(t *testing.T) {
	b := must(Problem{Kind: Grid, Size: 50, Seed: 1, L2PerVariable: 0.1}.build(2))
	star := must(solve(context.Background(), b.problem)).Model.Weights
	part := must(b.blocks(paperBlocks))
	const most = 200
	visits := func(step string) [2]int {
		reached := [2]int{most, most}
		must(learn.Fit(context.Background(), b.problem, learn.Settings{
			Method: learn.BBPL, Step: must(learn.ParseStep(step)), MaxIterations: most,
			Assign: func(*crf.Instance) ([]int32, int, error) { return part.Of, len(part.Blocks), nil },
			Recorder: func(e learn.Event) error {
				for i, distance := range []float64{0.1, 0.01} {
					if numeric.RelativeDistance(e.Theta, star) <= distance {
						reached[i] = min(reached[i], e.Iteration)
					}
				}
				return nil
			},
		}))
		return reached
	}
	automatic := visits("auto")
	for _, step := range []string{"adagrad:0.1", "adagrad:0.3", "adagrad:1", "adagrad:3"} {
		other := visits(step)
		t.Logf("%s: %v visits to 10 %% and 1 %%; auto: %v", step, other, automatic)
		for i := range other {
			if automatic[i] > other[i] || automatic[i] == most {
				t.Errorf("%v visits by automatic steps, %v by %s", automatic, other, step)
			}
		}
	}
}
