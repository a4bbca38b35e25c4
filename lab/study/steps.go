package study

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// stepLevels are the distances that step rules are compared at.
var stepLevels = []float64{1e-1, 1e-2, 1e-3, 1e-6}

// steps is what automatic steps are worth, on a suite of problems of all kinds.
func steps() *Study {
	return &Study{
		Name: "steps", Title: "Automatic steps against tuned fixed steps and L-BFGS",
		Paper: "The paper names no step sizes. This project promises that none are needed: automatic steps converge on " +
			"every problem of the suite, in fewer passes than the alternatives.",
		parts: stepsParts,
		conclude: func(s Settings, r results) (*Findings, error) {
			all, err := resultsOf[Contest](r, stepsParts(s))
			if err != nil {
				return nil, err
			}
			f := &Findings{
				Data: all, Claims: stepsClaims(all),
				Notes: []string{
					"A method that stops short of a distance, because its line search fails or its work is spent, counts with " +
						"the passes that it has made by then, which is less than it needs; one with no fixed step that gets " +
						"anywhere counts with the work that a run may do. L-BFGS infers with residuals of 1e-4, 1e-7 and 1e-10; " +
						"at each distance the best of the three counts. Fixed steps are the best on a grid of half powers of " +
						"two, to 1e-3, for each problem.",
					"The first table leaves checks out. A claim of convergence costs them on top: see the last one, where runs " +
						"end at a gradient of 1e-6 of the first, and every claim is compared with inference from scratch.",
				},
				Tables: []Table{
					{"means", "Geometric means over the suite of message passes / gradient passes to a relative distance; × " +
						"counts the problems on which a method stops short of it.", meansTable(all)},
					{"cases", "Message passes to 1e-3 / 1e-6, problem by problem; > where a method stops short.", casesTable(all)},
					{"proofs", "Runs with automatic steps from cold start to a claim of convergence.", proofsTable(all)},
				},
			}
			for _, x := range []axis{passesAxis, gradientsAxis} {
				f.Figures = append(f.Figures, meansFigure(all, false, x), meansFigure(all, true, x))
			}
			return f, nil
		},
	}
}

func stepsParts(s Settings) []part {
	var all []part
	for i, c := range stepsCases(s) {
		all = append(all, part{
			name: fmt.Sprintf("steps-%02d-%s-seed%d", i, c.Problem.Kind, c.Problem.Seed), plan: c,
			measure: func(ctx context.Context, threads int) (any, error) { return c.contest(ctx, threads) },
		})
	}
	return all
}

// stepEffort is what a method took to a distance, or until it stopped short of it.
type stepEffort struct {
	Effort
	reached bool
}

// effort returns what a method took: the best of several runs of that name.
func (c *Contest) effort(name string, distance float64) stepEffort {
	best := stepEffort{Effort: Effort{Passes: math.Inf(1)}}
	for i := range c.Traces {
		t := &c.Traces[i]
		if t.Name != name {
			continue
		}
		e := stepEffort{Effort: t.Effort}
		if t.Passes == 0 { // there is no step that gets there
			e.Passes, e.Gradients = stepsWork/(1+gradientCost), stepsWork/(1+gradientCost)
		}
		if l, ok := t.level(distance); ok {
			e = stepEffort{l.Effort, true}
		}
		if e.reached && !best.reached || e.reached == best.reached && e.Passes < best.Passes {
			best = e
		}
	}
	return best
}

// proof returns the run of a name to a claim of convergence.
func (c *Contest) proof(name string) *Proof {
	if i := slices.IndexFunc(c.Proofs, func(p Proof) bool { return p.Name == name }); i >= 0 {
		return &c.Proofs[i]
	}
	return nil
}

// holds reports a claim of convergence that inference from scratch confirms.
func (p *Proof) holds() bool {
	const rounding = 1.05
	return learn.Status(p.Status).Stationary() && p.ExactNorm <= rounding*claimTolerance
}

// conditioned is the part of a suite whose features are ill-conditioned, or the other.
func conditioned(all []*Contest, ill bool) []*Contest {
	return slices.DeleteFunc(slices.Clone(all), func(c *Contest) bool { return c.Case.Problem.illConditioned() != ill })
}

// stepNames are the contestants, in the order of the tables.
var stepNames = []string{nameAuto, nameAutoInner, nameAutoFull, nameBBPL, nameInner, nameFull, nameLBFGS}

// stepRatio is the geometric mean, over problems, of what automatic BBPL takes to a
// distance over what L-BFGS takes. checks adds those of its claim.
func stepRatio(all []*Contest, distance float64, checks bool, x axis) float64 {
	var ratios []float64
	for _, c := range all {
		ours := x.value(c.effort(nameAuto, distance).Effort)
		if p := c.proof(nameAuto); checks && p != nil {
			ours += p.CheckPasses
		}
		ratios = append(ratios, ours/x.value(c.effort(nameLBFGS, distance).Effort))
	}
	return stat.GeometricMean(ratios, nil)
}

// stepsClaims holds the marks against the suite.
func stepsClaims(all []*Contest) []Claim {
	mark := func(name string, part []*Contest, distance, most float64, checks bool) Claim {
		r := stepRatio(part, distance, checks, passesAxis)
		missed := 0
		for _, c := range part {
			if !c.effort(nameAuto, distance).reached {
				missed++
			}
		}
		return Claim{
			Name: name, Ours: true, Paper: fmt.Sprintf("at most ×%g of L-BFGS's passes", most), Held: r <= most && missed == 0,
			Measured: fmt.Sprintf("×%.2f of the message passes, ×%.2f of the gradient passes; %d of %d problems not reached",
				r, stepRatio(part, distance, false, gradientsAxis), missed, len(part)),
		}
	}
	claims := []Claim{
		mark("passes to 1e-3", all, 1e-3, 0.5, false),
		mark("passes to 1e-6", all, 1e-6, 1, false),
		mark("passes to 1e-6, with those of checks", all, 1e-6, 1, true),
	}
	if ill := conditioned(all, true); len(ill) > 0 {
		claims = append(claims, mark("passes to 1e-3, ill-conditioned part", ill, 1e-3, 0.2, false))
	}
	for _, name := range []string{nameAuto, nameAutoInner} {
		claims = append(claims, noFailure(all, name))
	}
	return claims
}

// noFailure is the mark that every run ends with a claim of convergence that holds.
func noFailure(all []*Contest, name string) Claim {
	var failed []string
	checks := 0.0
	for _, c := range all {
		p := c.proof(name)
		if !p.holds() {
			failed = append(failed, fmt.Sprintf("%s: %s", c.Case.name(), p.Status))
			continue
		}
		checks += p.CheckPasses / p.Passes / float64(len(all))
	}
	claim := Claim{
		Name: "every claim of convergence, " + name, Ours: true, Held: len(failed) == 0,
		Paper: "converges on the whole suite from cold start, and a check confirms it",
	}
	claim.Measured = fmt.Sprintf("%d of %d problems; %.0f %% of the passes are checks",
		len(all)-len(failed), len(all), 100*checks)
	if len(failed) > 0 {
		claim.Measured += "; not " + strings.Join(failed, "; ")
	}
	return claim
}

// meansTable lists geometric means over the suite and its parts.
func meansTable(all []*Contest) report.Table {
	t := report.Table{Headers: []string{"problems", "method"}}
	for _, d := range stepLevels {
		t.Headers = append(t.Headers, fmt.Sprintf("to %g", d))
	}
	for _, group := range []struct {
		name string
		part []*Contest
	}{{"all", all}, {"well-conditioned", conditioned(all, false)}, {"ill-conditioned", conditioned(all, true)}} {
		for _, name := range stepNames {
			if len(group.part) > 0 {
				row := []string{fmt.Sprintf("%s (%d)", group.name, len(group.part)), name}
				t.Rows = append(t.Rows, append(row, meansRow(group.part, name)...))
			}
		}
	}
	return t
}

func meansRow(part []*Contest, name string) (row []string) {
	for _, d := range stepLevels {
		var passes, gradients []float64
		missed := 0
		for _, c := range part {
			e := c.effort(name, d)
			if !e.reached {
				missed++
			}
			passes, gradients = append(passes, e.Passes), append(gradients, e.Gradients)
		}
		text := fmt.Sprintf("%.1f / %.1f", stat.GeometricMean(passes, nil), stat.GeometricMean(gradients, nil))
		if missed > 0 {
			text += fmt.Sprintf(", × %d", missed)
		}
		row = append(row, text)
	}
	return row
}

// casesTable lists every problem.
func casesTable(all []*Contest) report.Table {
	t := report.Table{Headers: append([]string{"problem"}, stepNames...)}
	for _, c := range all {
		row := []string{c.Case.name()}
		for _, name := range stepNames {
			var texts []string
			for _, d := range []float64{1e-3, 1e-6} {
				e := c.effort(name, d)
				text := fmt.Sprintf("%.0f", e.Passes)
				if !e.reached {
					text = ">" + text
				}
				texts = append(texts, text)
			}
			row = append(row, strings.Join(texts, " / "))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// proofsTable lists the runs to a claim.
func proofsTable(all []*Contest) report.Table {
	t := report.Table{Headers: []string{"problem", "method", "status", "passes", "of them checks", "gradient passes",
		"gradient claimed", "from scratch", "distance"}}
	for _, c := range all {
		for _, p := range c.Proofs {
			t.Add("%s %s %s %.1f %.1f %.1f %.3g %.3g %.1e", c.Case.name(), p.Name, p.Status, p.Passes, p.CheckPasses,
				p.Gradients, p.GradientNorm, p.ExactNorm, p.Distance)
		}
	}
	return t
}

// meansFigure draws geometric means of the effort to all distances that a method reaches on every problem of a part.
func meansFigure(all []*Contest, ill bool, x axis) Figure {
	part, file, words := conditioned(all, ill), "well-"+x.file, "well-conditioned features"
	if ill {
		file, words = "ill-"+x.file, "features of very different scale, or correlated 0.95"
	}
	c := report.Curves{Title: words, XLabel: x.label, YLabel: "‖θ − θ*‖ / ‖θ*‖", LogX: true, LogY: true}
	for _, name := range stepNames {
		s := report.Series{Name: name}
		for j := 0; len(part) > 0 && levelDistance(j) >= stepsDistance*(1-1e-9); j++ {
			var efforts []float64
			for _, contest := range part {
				if e := contest.effort(name, levelDistance(j)); e.reached {
					efforts = append(efforts, math.Max(x.value(e.Effort), 1e-3))
				}
			}
			if len(efforts) == len(part) {
				s.X, s.Y = append(s.X, stat.GeometricMean(efforts, nil)), append(s.Y, levelDistance(j))
			}
		}
		if len(s.X) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return Figure{file, fmt.Sprintf("Geometric means over %d problems with %s; a curve ends where a method stops "+
		"short on "+
		"one of them.", len(part), words), c}
}
