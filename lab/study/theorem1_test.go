package study

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/learn"
)

// TestFollowerIsTheLoop: the algorithm written out takes the same weights as
// learn.Fit, for both models.
func TestFollowerIsTheLoop(t *testing.T) {
	for _, part := range theoremParts(Settings{Scale: Tiny}) {
		plan := part.plan.(theoremPlan)
		problem := must(plan.problem())
		in := problem.Data[0]
		const step, iterations = 0.05, 37
		f := must(newFollower(problem, must(tiles(in, theoremBlocks, theoremBlocks))))
		zero := make([]float64, len(problem.Model.Weights))
		moments := must(f.follow(context.Background(), zero, step, iterations))
		var theta []float64
		must(learn.Fit(context.Background(), problem, learn.Settings{
			Method: learn.BBPL, Assign: func(in *crf.Instance) ([]int32, int, error) {
				part, err := tiles(in, theoremBlocks, theoremBlocks)
				return part.Of, len(part.Blocks), err
			},
			InnerSweeps: followSweeps, InnerTolerance: followTolerance, MaxIterations: iterations,
			GradientTolerance: math.SmallestNonzeroFloat64,
			Step:              fixed(step * float64(in.Graph.NumNodes())),
			Recorder:          func(e learn.Event) error { theta = slices.Clone(e.Theta); return nil },
		}))
		for i, w := range f.model.Weights {
			if math.Abs(w-theta[i]) > 1e-9 {
				t.Fatalf("%s: weight %d is %v, in learn.Fit %v", plan.Model, i, w, theta[i])
			}
		}
		if len(moments) != iterations || moments[0].Theta != 0 || !(moments[1].Before > moments[1].Tau) {
			t.Errorf("%s: first moments %+v", plan.Model, moments[:2])
		}
	}
}

// TestCurvature: without data the Hessian of L at zero is known in closed form at
// its two ends, for one node of two states: l2 along (1,1), and l2 + 1/2 across.
func TestCurvature(t *testing.T) {
	plan := theoremPlan{Model: nonTemplated, Rows: 1, Cols: 1, States: 2, L2: 0.25, Seed: 1}
	problem := must(plan.problem())
	beta, eta, err := curvature(problem, make([]float64, len(problem.Model.Weights)))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(beta-0.25) > 1e-6 || math.Abs(eta-0.75) > 1e-6 {
		t.Errorf("β %v, η %v; want 0.25 and 0.75", beta, eta)
	}
}

// TestCourse: contraction, failures and rate of moments that are known.
func TestCourse(t *testing.T) {
	var moments []Moment
	for i := range 40 {
		scale := math.Pow(0.9, float64(i))
		moments = append(moments, Moment{Theta: scale, Tau: 0.5 * scale, Before: scale})
	}
	moments[5].Tau = 2 * moments[5].Before
	c := Course{Step: 0.1, C: 0.5}
	c.sumUp(moments, 1, 2)
	if c.Failed != 1 || c.Measured != 40 || math.Abs(c.Lowest+1) > 1e-12 || c.Median != 0.5 || c.Slower != 1 || c.holds() {
		t.Errorf("course %+v", c)
	}
	if math.Abs(c.Rate+math.Log(0.9)) > 1e-12 || math.Abs(c.Gamma-1/(2*0.5*4)) > 1e-12 || c.Delta != 0.05 {
		t.Errorf("rate %v, γ %v, δ %v", c.Rate, c.Gamma, c.Delta)
	}
	if c.FailedAt != [4]int{0, 1, 0, 0} {
		t.Errorf("it fails at blocks %v", c.FailedAt)
	}
	if !c.linear() {
		t.Errorf("a rate of %v is no linear convergence with δ = %v", c.Rate, c.Delta)
	}
	var slow []Moment
	for i := range 400 {
		theta := 1 / float64(i+1)
		slow = append(slow, Moment{Theta: theta, Tau: 0.5 * theta, Before: theta})
	}
	power := Course{Step: 0.1, C: 0.5}
	if power.sumUp(slow, 1, 2); power.linear() || power.Failed > 0 {
		t.Errorf("1/t falls at a rate of %v with δ = %v: it is not linear", power.Rate, power.Delta)
	}
}
