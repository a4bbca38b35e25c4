package study

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// ascentSteps is how many iterations, or cycles, the inequalities are looked at for.
var ascentSteps = flag.Int("ascent", 40, "iterations, or cycles, of TestAscent")

// TestAscent: over all models, numbers and orders no inequality is violated, each is decided at least
// once, and every inference settles.
func TestAscent(t *testing.T) {
	checked := map[string]int{}
	for _, plan := range ascentPlans(*ascentSteps) {
		a := must(plan.measure(t.Context()))
		t.Logf("%s: μ %.3g, κ %.3g, η %.3g; c measured %.3g, bound there %.2g; practical step over the theorem's %.3g",
			plan.name(), a.Mu, a.Kappa, a.Eta, a.Measured, a.Bound, a.Ratio)
		for name, tally := range a.Tallies {
			if tally.Violated > 0 {
				t.Errorf("%s: %s is violated %d times of %d", plan.name(), name, tally.Violated, tally.Checked)
			}
			checked[name] += tally.Checked
		}
		if a.Unsettled > 0 {
			t.Errorf("%s: %d iterations did not settle", plan.name(), a.Unsettled)
		}
	}
	for _, name := range []string{
		neverFalls, nearBeliefs, smoothLoss, smoothBound, randomVisit, fixedCycle, movingCycle, randomLearns, cyclicLearns,
	} {
		if checked[name] == 0 {
			t.Errorf("nothing was decided about %s", name)
		}
	}
}

// TestAscentCanFail: each inequality is violated where its constants are much too good, and H falls where
// messages only move into a block. Learning begins at θ°, with the beliefs of other weights.
func TestAscentCanFail(t *testing.T) {
	for _, test := range []struct {
		spoil    func(*climber)
		violated []string
	}{
		{
			func(c *climber) {
				c.found.Mu, c.found.Kappa, c.found.Eta = 10*c.found.Mu, c.found.Kappa/10, c.found.Eta/10
				c.most *= c.contraction() / 0.9 // so that c is 0.9, where a counting number is negative
			},
			[]string{nearBeliefs, smoothLoss, smoothBound, randomVisit, movingCycle, randomLearns},
		},
		{func(c *climber) { c.states, c.mostCut = 1e5*c.states, c.mostCut/1e4 }, []string{fixedCycle, cyclicLearns}},
		{func(c *climber) { c.limits.Outward = false }, []string{neverFalls}},
	} {
		violated := map[string]int{}
		for _, plan := range ascentPlans(1) {
			c := must(plan.climber(context.Background()))
			rng := rand.New(rand.NewPCG(1, 1))
			oracle.OK(t, c.restart(rng))
			copy(c.model.Weights, c.optimum)
			test.spoil(c)
			follow := c.followCyclic
			if plan.Order == randomOrder {
				follow = c.followRandom
			}
			must(follow(rng))
			for name, tally := range c.found.Tallies {
				violated[name] += tally.Violated
			}
		}
		for _, name := range test.violated {
			if violated[name] == 0 {
				t.Errorf("%s holds although it should not: it cannot fail", name)
			}
		}
	}
}

// TestAscentNeedsNumbers: an inequality between what are no finite numbers is violated, and not undecided.
func TestAscentNeedsNumbers(t *testing.T) {
	a := &Ascent{Tallies: map[string]*Tally{}}
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		a.atMost(nearBeliefs, x, 1, x, always)
		a.atMost(nearBeliefs, 1, x, x, x)
	}
	if got := *a.Tallies[nearBeliefs]; got != (Tally{Checked: 4, Violated: 4}) {
		t.Errorf("the tally is %+v, want 4 violated of 4", got)
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
	oracle.OK(t, c.infer(c.star, c.exact, &c.whole.Blocks[0]))
	distance := func() (norm, gap float64) {
		sum := 0.0
		for i, x := range c.tau {
			sum += (x - c.star[i]) * (x - c.star[i])
		}
		return math.Sqrt(sum), c.divergence(c.tau, c.star)
	}
	before, high := distance()
	oracle.OK(t, c.infer(c.tau, c.state, &c.part.Blocks[0]))
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
