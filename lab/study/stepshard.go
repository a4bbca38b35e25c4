package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/lab/hard"
)

// hardName is the study that `reproduce steps --suite hard` runs.
const hardName = "steps-hard"

// hardPart is how many problems of the hard suite are measured, and kept, together.
const hardPart = 24

// stepsHard is what automatic steps are worth where problems are small, and of every kind.
func stepsHard() *Study {
	return &Study{
		Name: hardName, Title: "Automatic steps on random small problems of all kinds",
		Paper: "The paper names no step sizes. This project promises that none are needed: small problems end at their optimum, whatever their network, features, labels and counting numbers, and say so only where it is true.",
		parts: hardParts, printed: true,
		conclude: func(s Settings, r results) (*Findings, error) {
			kept, err := resultsOf[[]*hard.Outcome](r, hardParts(s))
			if err != nil {
				return nil, err
			}
			var all []*hard.Outcome
			for _, outcomes := range kept {
				all = append(all, *outcomes...)
			}
			return hardFindings(all), nil
		},
	}
}

// hardParts are the problems in groups.
func hardParts(s Settings) []part {
	var all []part
	for from := 0; from < s.sizes().hardProblems; from += hardPart {
		var numbers []int
		for i := from; i < min(from+hardPart, s.sizes().hardProblems); i++ {
			numbers = append(numbers, i)
		}
		all = append(all, part{
			name: fmt.Sprintf("steps-hard-%03d", from), plan: numbers,
			seconds: float64(len(numbers)),
			measure: func(ctx context.Context, lab *lab) (any, error) { return hardOutcomes(ctx, numbers, lab.threads) },
		})
	}
	return all
}

// hardOutcomes learns problems and judges what came out. Runs that are timed are made one
// after the other, all else side by side.
func hardOutcomes(ctx context.Context, numbers []int, threads int) ([]*hard.Outcome, error) {
	n := len(numbers)
	problems, best, outcomes := make([]*hard.Problem, n), make([]*hard.Reference, n), make([]*hard.Outcome, n)
	trials, failed := make([]*hard.Trial, n), make([]error, n)
	sideBySide := func(job func(i int) error) error {
		err := parallel.Each(ctx, n, threads, func(i int) { failed[i] = job(i) })
		return cmp.Or(err, errors.Join(failed...))
	}
	err := sideBySide(func(i int) (err error) {
		if problems[i], err = hard.Draw(numbers[i]); err == nil {
			best[i] = problems[i].Solve()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, p := range problems {
		restore := machine.Quiet()
		trials[i], err = p.Try(ctx)
		restore()
		if err != nil {
			return nil, err
		}
	}
	err = sideBySide(func(i int) (err error) {
		outcomes[i], err = problems[i].Judge(ctx, trials[i], best[i])
		return err
	})
	return outcomes, err
}

// HardProblems measures some problems of the hard suite anew, for who wants to know what
// goes wrong with them.
func HardProblems(ctx context.Context, numbers []int, threads int) ([]*hard.Outcome, []Table, error) {
	for _, i := range numbers {
		if i < 0 || i >= hard.Problems {
			return nil, nil, fmt.Errorf("hard problem %d: there are 0 to %d", i, hard.Problems-1)
		}
	}
	all, err := hardOutcomes(ctx, numbers, max(1, threads))
	if err != nil {
		return nil, nil, err
	}
	return all, []Table{{"problems", "Problems, one by one.", hardCases(all)}}, nil
}

// hardFindings draws conclusions from runs on the hard suite.
func hardFindings(all []*hard.Outcome) *Findings {
	f := &Findings{Data: all, Notes: []string{
		"Every problem is drawn from its number, and `lab reproduce steps --suite hard --only NUMBER` runs it alone. Runs have the default settings, but for method, order, counting numbers and a tolerance that the accuracy needs. Inference from scratch, by code that learning does not use, gives objective and gradient at the weights that a run ends at, and what a convex problem leaves to gain: ‖∇L‖²/(2 l2).",
		"The optimum is that of Levenberg and Marquardt's method with dense linear algebra, on weights and messages together where the dual allows it. Where L is not convex, a run has to end at a point that this method, begun nearby, does not leave for a lower one, and which is no higher than the start; above the best that it finds, or another method, it may be: that is a local optimum, and counted.",
	}}
	f.Claims = hardClaims(all)
	f.Tables = []Table{
		{"kinds", "By what is asked, and counting numbers.", hardGroups(all, func(o *hard.Outcome) []string { return []string{o.Kind + ", " + o.Counting} })},
		{"traits", "By what problems have.", hardGroups(all, hardTraits)},
		{"references", "How sure the independent solver is: what it leaves to gain at most, where that can be proved, and else the norm of its gradient. Largest of each, relative to 1 + |L|.", hardReferences(all)},
		{"failures", "Problems that were not solved.", hardCases(slices.DeleteFunc(slices.Clone(all), (*hard.Outcome).Solved))},
	}
	return f
}

// hardClaims holds runs against what the suite asks for.
func hardClaims(all []*hard.Outcome) []Claim {
	claim := func(name, promised string, asked, wrong func(o *hard.Outcome) bool, more string) Claim {
		tried, failed := 0, []string{}
		for _, o := range all {
			if !asked(o) {
				continue
			}
			tried++
			if wrong(o) {
				failed = append(failed, fmt.Sprint(o.Number))
			}
		}
		c := Claim{Name: name, Ours: true, Paper: promised, Held: len(failed) == 0, Measured: fmt.Sprintf("%d of %d", tried-len(failed), tried) + more}
		if len(failed) > 0 {
			c.Measured += "; not " + strings.Join(failed, ", ")
		}
		return c
	}
	of := func(kind string) func(*hard.Outcome) bool {
		return func(o *hard.Outcome) bool { return o.Kind == kind }
	}
	unsolved := func(o *hard.Outcome) bool { return !o.Solved() }
	local := 0
	for _, o := range all {
		if o.Local {
			local++
		}
	}
	return []Claim{
		claim("convex, l2 ≥ 1e-6", fmt.Sprintf("the optimum, proved to %g·(1 + |L|) within %d passes and %g s", hard.Accuracy, hard.Passes, hard.Seconds), of(hard.Proof), unsolved, ""),
		claim("convex, l2 = 0", fmt.Sprintf("the objective of an independent solver, within %g·(1 + |L|)", hard.Accuracy), of(hard.Optimum), unsolved, ""),
		claim("all others", "a stationary point, no saddle, with nothing lower nearby", of(hard.Stationary), unsolved, fmt.Sprintf("; %d end at a local optimum above the best known", local)),
		claim("claims of convergence", "inference from scratch confirms each", func(o *hard.Outcome) bool { return o.Claimed }, func(o *hard.Outcome) bool { return o.False != "" }, ""),
		claim("none above its start", "no run ends above where it began", func(*hard.Outcome) bool { return true }, func(o *hard.Outcome) bool { return o.Rose }, ""),
	}
}

// hardTraits are what a problem has, for the table of all that have it.
func hardTraits(o *hard.Outcome) []string {
	traits := []string{
		"network: " + o.Graph, "features: " + o.Features, "features of edges: " + o.Edges, "labels: " + o.Labels,
		"method: " + string(o.Method), fmt.Sprintf("l2: %g", o.L2),
	}
	for _, x := range []struct {
		on   bool
		text string
	}{
		{o.Hidden > 0, "missing labels"}, {o.Masked, "masked"}, {o.Untied, "untied"}, {o.Random, "random order"}, {o.Samples > 1, "several samples"},
		{o.Instances > 1, "several instances"}, {len(o.States) > 1, "mixed types"},
	} {
		if x.on {
			traits = append(traits, "has: "+x.text)
		}
	}
	return traits
}

// hardGroups counts outcomes by names, of which one may have several.
func hardGroups(all []*hard.Outcome, names func(*hard.Outcome) []string) report.Table {
	groups := map[string][]*hard.Outcome{}
	for _, o := range all {
		for _, name := range names(o) {
			groups[name] = append(groups[name], o)
		}
	}
	var order []string
	for name := range groups {
		order = append(order, name)
	}
	slices.Sort(order)
	t := report.Table{Headers: []string{"problems", "tried", "solved", "failed", "passes, median", "largest", "seconds, median", "largest"}}
	for _, name := range append(order, "all") {
		group := groups[name]
		if name == "all" {
			group = all
		}
		var passes, seconds []float64
		solved := 0
		for _, o := range group {
			passes, seconds = append(passes, o.Passes), append(seconds, o.Seconds)
			if o.Solved() {
				solved++
			}
		}
		if len(group) == 0 {
			continue
		}
		slices.Sort(passes)
		slices.Sort(seconds)
		t.Rows = append(t.Rows, []string{
			name, fmt.Sprint(len(group)), fmt.Sprint(solved), fmt.Sprint(len(group) - solved),
			fmt.Sprintf("%.0f", passes[len(passes)/2]), fmt.Sprintf("%.0f", passes[len(passes)-1]), fmt.Sprintf("%.3f", seconds[len(seconds)/2]), fmt.Sprintf("%.3f", seconds[len(seconds)-1]),
		})
	}
	return t
}

// hardReferences says how far references are from what they should be.
func hardReferences(all []*hard.Outcome) report.Table {
	t := report.Table{Headers: []string{"problems", "solved by", "number", "left to gain, at most", "gradient, median", "gradient, largest", "of problem"}}
	for _, kind := range []string{hard.Proof, hard.Optimum, hard.Stationary} {
		for _, joint := range []bool{true, false} {
			by := "weights alone"
			if joint {
				by = "weights and messages, then weights"
			}
			var gradients []float64
			bound, worst, number := -1.0, 0.0, 0
			for _, o := range all {
				r := &o.Reference
				if o.Kind != kind || r.Joint != joint {
					continue
				}
				gradient := r.Gradient / (1 + math.Abs(r.Objective))
				gradients, bound = append(gradients, gradient), max(bound, r.Bound/(1+math.Abs(r.Objective)))
				if gradient > worst {
					worst, number = gradient, o.Number
				}
			}
			if len(gradients) == 0 {
				continue
			}
			slices.Sort(gradients)
			left := "–"
			if bound >= 0 {
				left = fmt.Sprintf("%.1g", bound)
			}
			t.Rows = append(t.Rows, []string{kind, by, fmt.Sprint(len(gradients)), left, fmt.Sprintf("%.1g", gradients[len(gradients)/2]), fmt.Sprintf("%.1g", worst), fmt.Sprint(number)})
		}
	}
	return t
}

// hardCases lists problems one by one.
func hardCases(all []*hard.Outcome) report.Table {
	t := report.Table{Headers: []string{"number", "problem", "status", "passes", "seconds", "objective", "optimum, or best known", "what is wrong"}}
	for _, o := range all {
		wrong := strings.Join(o.Failures, "; ")
		if o.Local {
			wrong = cmp.Or(wrong, "nothing: a local optimum")
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(o.Number), o.Spec.String(), o.Status, fmt.Sprintf("%.0f", o.Passes), fmt.Sprintf("%.3f", o.Seconds), objectiveText(o.Exact), objectiveText(o.Reference.Objective),
			cmp.Or(wrong, "nothing"),
		})
	}
	return t
}

// objectiveText writes an objective that may not have been computable.
func objectiveText(x float64) string {
	if math.Abs(x) == math.MaxFloat64 {
		return "–"
	}
	return fmt.Sprintf("%.9g", x)
}
