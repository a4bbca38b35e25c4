package study

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
)

// convergencePage is where the inequalities are proved.
const convergencePage = "lab/CONVERGENCE.md"

// ascentParts follow the models of theorem 1, with numbers that are positive and with some that are not,
// in both orders.
func ascentParts(s Settings) []part {
	var all []part
	for _, model := range theoremPlans(s.sizes().ascentSteps) {
		model.L2 = 1 // with less, what the theorem's steps bring is mostly less than rounding
		for _, numbers := range []string{"convex", "trw"} {
			for _, order := range []string{randomOrder, cyclicOrder} {
				plan := ascentPlan{model, numbers, order}
				const secondsPerIteration = 6e-3
				all = append(all, part{
					name: fmt.Sprintf("ascent-%s-%s-%s", plan.Model, numbers, order), plan: plan,
					seconds: secondsPerIteration * float64(plan.Steps),
					measure: func(ctx context.Context, _ *lab) (any, error) { return plan.measure(ctx) },
				})
			}
		}
	}
	return all
}

// ascentClaim is what a claim says of some inequalities.
type ascentClaim struct {
	name, promise string
	inequalities  []string
}

var ascentClaims = []ascentClaim{
	{
		"H never falls in a visit",
		"a converged visit from consistent beliefs maximises H_θ(τ) over what its block can change",
		[]string{neverFalls},
	},
	{
		"a random visit contracts",
		"on average over the blocks a visit leaves at most (1−c)Δ, c computed from the tables",
		[]string{randomVisit},
	},
	{"a cycle contracts", "a cycle at fixed weights leaves at most Δ/(1+2K)", []string{fixedCycle}},
	{
		"learning converges in random order",
		"E[G+Δ] falls by the factor 1−αβ in every iteration at the theorem's step, with (a), (b), (c)",
		[]string{randomLearns, nearBeliefs, smoothLoss, smoothBound},
	},
	{
		"learning converges in cyclic order",
		"G+(1+K)Δ falls by the factor 1−(7/5)αβD in every cycle at the theorem's step, with (w)",
		[]string{cyclicLearns, movingCycle},
	},
}

// concludeAscent holds what the page about convergence proves against numbers.
func concludeAscent(f *Findings, all []*Ascent) {
	for _, claim := range ascentClaims {
		c := Claim{
			Name: "without Assumption 1: " + claim.name, Ours: true, Held: true,
			Paper: claim.promise + " (" + convergencePage + ")",
		}
		var words []string
		for _, name := range claim.inequalities {
			sum := Tally{}
			for _, a := range all {
				if t := a.Tallies[name]; t != nil {
					sum.Checked += t.Checked
					sum.Violated += t.Violated
					sum.Undecided += t.Undecided
				}
			}
			c.Held = c.Held && sum.Violated == 0 && sum.Checked > 0
			text := fmt.Sprintf("%s: %d of %d violate it", name, sum.Violated, sum.Checked)
			if sum.Undecided > 0 {
				text += fmt.Sprintf(", and %d are undecided as they claim less than rounding", sum.Undecided)
			}
			words = append(words, text)
		}
		c.Measured = strings.Join(words, "; ")
		f.Claims = append(f.Claims, c)
	}
	t := report.Table{
		Headers: []string{
			"model", "counting", "order", "μ", "κ", "η", "least measured c", "c of the bound there",
			"practical step / theorem's", "undecided", "iterations that did not settle",
		},
	}
	for _, a := range all {
		measured, bound := "", ""
		if a.Plan.Order == randomOrder {
			measured, bound = fmt.Sprintf("%.3g", a.Measured), fmt.Sprintf("%.2g", a.Bound)
		}
		t.Rows = append(t.Rows, []string{
			a.Plan.Model, a.Plan.Counting, a.Plan.Order,
			fmt.Sprintf("%.3g", a.Mu), fmt.Sprintf("%.3g", a.Kappa), fmt.Sprintf("%.3g", a.Eta),
			measured, bound, fmt.Sprintf("%.3g", a.Ratio), a.undecided(), fmt.Sprint(a.Unsettled),
		})
	}
	const title = "Constants of the convergence that needs no assumption. The practical step is 1/(2η). " +
		"Undecided is what claims less than rounding."
	f.Tables = append(f.Tables, Table{"ascent", title, t})
}

// undecided says which inequalities were not decided, and how often.
func (a *Ascent) undecided() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(a.Tallies)) {
		if t := a.Tallies[name]; t.Undecided > 0 {
			words = append(words, fmt.Sprintf("%s: %d of %d", name, t.Undecided, t.Undecided+t.Checked))
		}
	}
	return strings.Join(words, "; ")
}
