package study

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/partition"
)

// TestAscent: none of the inequalities is violated, each is looked at, and in both orders; and with a
// constant that is too good they are.
func TestAscent(t *testing.T) {
	checked := map[string]int{}
	for _, part := range ascentParts(Settings{Scale: Tiny}) {
		a := must(part.plan.(ascentPlan).measure(context.Background()))
		for name, tally := range a.Tallies {
			if tally.Violated > 0 {
				t.Errorf("%s: %s is violated %d times of %d", part.name, name, tally.Violated, tally.Checked)
			}
			checked[name] += tally.Checked
		}
		if a.Left > 0 {
			t.Errorf("%s: %d inferences did not settle", part.name, a.Left)
		}
	}
	for _, name := range []string{
		neverFalls, nearBeliefs, smoothLoss, smoothBound, randomVisit, fixedCycle, movingCycle, randomLearns, cyclicLearns,
	} {
		if checked[name] == 0 {
			t.Errorf("nothing was looked at for %s", name)
		}
	}
	plan := ascentParts(Settings{Scale: Tiny})[0].plan.(ascentPlan)
	c := must(newClimber(context.Background(), plan, must(plan.problem())))
	c.found.Mu, c.found.Kappa = 40*c.found.Mu, c.found.Kappa/40
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		must(c.followRandom(rng))
	}
	if c.found.Tallies[nearBeliefs].Violated == 0 || c.found.Tallies[smoothBound].Violated == 0 {
		t.Error("a μ that is 40 times too large violates nothing: the inequalities cannot fail")
	}
}

// TestAssumption1Fails: on this network a converged visit takes beliefs away from the optimum in norm,
// by 10 %, although it is nearer in value.
func TestAssumption1Fails(t *testing.T) {
	plan := theoremPlan{Model: nonTemplated, Rows: 1, Cols: 2, States: 2, L2: 1, Seed: 1}
	problem := must(plan.problem())
	in := problem.Data[0]
	f := must(newFollower(problem, must(partition.FromAssignment(in.Graph, []int32{0, 1}, 2))))
	copy(f.model.Weights[f.model.Layout.Node[0].At:], []float64{0, -4, 0, 4})
	copy(f.model.Weights[f.model.Layout.Edge[0].At:], []float64{0, 0, 0, 4})
	c := &climber{follower: f}
	c.layOut()
	if err := c.infer(c.star, c.exact, &c.whole.Blocks[0]); err != nil {
		t.Fatal(err)
	}
	distance := func() (norm, gap float64) {
		sum := 0.0
		for i, x := range c.tau {
			sum += (x - c.star[i]) * (x - c.star[i])
		}
		return math.Sqrt(sum), c.divergence(c.tau, c.star)
	}
	before, high := distance()
	if err := c.infer(c.tau, c.state, &c.part.Blocks[0]); err != nil {
		t.Fatal(err)
	}
	after, low := distance()
	if math.Abs(after/before-1.10169) > 1e-5 || math.Abs(high-1.79624) > 1e-5 || math.Abs(low-1.21021) > 1e-5 {
		t.Errorf(
			"the distance becomes ×%.6f, the gap %.6f of %.6f; want ×1.10169 and 1.21021 of 1.79624",
			after/before,
			low,
			high,
		)
	}
}
