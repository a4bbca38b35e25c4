package study

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
)

const (
	// tolerance is ‖θ−θ*‖/‖θ*‖ that times and passes are compared at, and until that
	// at which runs of convergence figures end. The paper names neither.
	tolerance = 1e-3
	until     = 1e-4
)

// comparePart measures a comparison.
func comparePart(name string, seconds float64, plan comparisonPlan) part {
	return part{
		name: fmt.Sprintf("%s-%s-%d-seed%d", name, plan.Problem.Kind, plan.Problem.Size, plan.Problem.Seed), plan: plan, seconds: seconds,
		measure: func(ctx context.Context, lab *lab) (any, error) {
			b, err := plan.Problem.build(lab.threads)
			if err != nil {
				return nil, err
			}
			return b.compare(ctx, plan, lab.folder)
		},
	}
}

// convergenceParts are the comparisons behind figures 2 to 4: for each size, one
// part per seed.
func convergenceParts(kind string, s Settings) [][]part {
	return sizedParts("compare", kind, s, comparisonPlan{Methods: paperMethods(), Common: true, Baselines: true, Objectives: true})
}

// variantParts are those of the variants of BBPL there, beside BBPL itself and
// inner-dual learning: parts of their own, as they would double the time until a large
// network is compared.
func variantParts(kind string, s Settings) [][]part {
	return sizedParts("variants", kind, s, comparisonPlan{Methods: append([]Method{innerDual(), bbpl(paperBlocks)}, variants()...)})
}

// sizedParts are the parts of a plan for all sizes of a kind.
func sizedParts(name, kind string, s Settings, plan comparisonPlan) [][]part {
	x := s.sizes()
	sizes := sizesOfKind(kind, s)
	objectives := plan.Objectives
	all := make([][]part, len(sizes))
	for i, size := range sizes {
		for seed := range x.seeds {
			plan.Problem = Problem{Kind: kind, Size: size, Seed: uint64(seed + 1)}.withDefaults()
			plan.Tolerance, plan.Until, plan.Rounds = tolerance, until, x.rounds
			plan.Objectives = objectives && seed == 0
			runs := 2 * len(plan.Methods) // about: searches, on two cores, and the runs themselves
			if plan.Baselines {
				runs += 8 // those of full BP, and at the common step, take longer
			}
			all[i] = append(all[i], comparePart(name, expectedSeconds(plan.Problem, runs), plan))
		}
	}
	return all
}

// largestFirst joins the parts of all sizes of several kinds of networks: claims are
// about the largest, so that a run that is interrupted can tell of them then. The
// others follow from the smallest up.
func largestFirst(kinds ...[][]part) []part {
	var all []part
	for _, sizes := range kinds {
		all = append(all, sizes[len(sizes)-1]...)
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, sizes := range kinds {
			if i < len(sizes)-1 {
				all, more = append(all, sizes[i]...), true
			}
		}
	}
	return all
}

// axis is a measure of effort.
type axis struct {
	file, label string
	value       func(Level) float64
}

var (
	secondsAxis   = axis{"seconds", "seconds", func(l Level) float64 { return l.Seconds }}
	passesAxis    = axis{"passes", "message passes (whole-network sweeps)", func(l Level) float64 { return l.Passes }}
	gradientsAxis = axis{"gradients", "gradient passes, with grounding (whole networks)", func(l Level) float64 { return l.Gradients }}
	axes          = []axis{secondsAxis, passesAxis, gradientsAxis}
)

// labelOf is the label with the clock that seconds were read from.
func (x axis) labelOf(cs []*Comparison) string {
	if x.file != secondsAxis.file {
		return x.label
	}
	var clocks []string
	for _, c := range cs {
		if !slices.Contains(clocks, c.Clock) {
			clocks = append(clocks, c.Clock)
		}
	}
	return fmt.Sprintf("%s (%s time)", x.label, strings.Join(clocks, " and "))
}

// distanceCurves draws ‖θ−θ*‖ against effort: for each method the median over the
// seeds of what it takes to each distance and, dashed, their range.
func distanceCurves(title string, cs []*Comparison, names []string, x axis) figure.Curves {
	c := figure.Curves{Title: title + seedWords(cs), XLabel: x.labelOf(cs), YLabel: "‖θ − θ*‖ / ‖θ*‖", LogY: true}
	for _, name := range names {
		var traces []*Trace
		for _, comparison := range cs {
			if t := comparison.trace(name); t != nil {
				traces = append(traces, t)
			}
		}
		c.Series = append(c.Series, rangeSeries(name, traces, x)...)
	}
	return c
}

// rangeSeries is the median of several runs, and its range where there are several.
func rangeSeries(name string, traces []*Trace, x axis) []figure.Series {
	middle, low, high := figure.Series{Name: name}, figure.Series{Dashed: true}, figure.Series{Dashed: true}
	for j := 0; len(traces) > 0; j++ {
		var values []float64
		for _, t := range traces {
			if j < len(t.Levels) {
				values = append(values, x.value(t.Levels[j]))
			}
		}
		if len(values) < len(traces) {
			break // one of them did not get as far
		}
		y := levelDistance(j)
		middle.X, middle.Y = append(middle.X, median(values)), append(middle.Y, y)
		least, most := span(values)
		low.X, low.Y = append(low.X, least), append(low.Y, y)
		high.X, high.Y = append(high.X, most), append(high.Y, y)
	}
	if len(traces) < 2 {
		return []figure.Series{middle}
	}
	return []figure.Series{middle, low, high}
}

// objectiveCurves draws the exact objective above its optimum, of the first seed.
func objectiveCurves(title string, c *Comparison, names []string, x axis) figure.Curves {
	curves := figure.Curves{Title: title, XLabel: x.labelOf([]*Comparison{c}), YLabel: "L(θ) − L(θ*)", LogY: true}
	for _, name := range names {
		t := c.trace(name)
		if t == nil {
			continue
		}
		s := figure.Series{Name: name}
		for _, l := range t.Levels {
			if y := float64(l.Objective) - c.Objective; y > 0 {
				s.X, s.Y = append(s.X, x.value(l)), append(s.Y, y)
			}
		}
		curves.Series = append(curves.Series, s)
	}
	return curves
}

// mainNames are the methods of the main figures, in their best steps.
var mainNames = []string{nameBBPL, nameInner, nameFull, nameLBFGS}

// commonNames are the three at one step.
var commonNames = []string{nameBBPL + nameCommon, nameInner + nameCommon, nameFull + nameCommon}

// variantNames are BBPL, its variants, and inner-dual learning beside them.
func variantNames() []string {
	names := []string{nameBBPL}
	for _, m := range variants() {
		names = append(names, m.Name)
	}
	return append(names, nameInner)
}

// convergenceFigures draws figures 2 and 3.
func convergenceFigures(cs []*Comparison) []Figure {
	first := cs[0]
	network := first.Problem.Name()
	file := fmt.Sprintf("%s-%d", first.Problem.Kind, first.Problem.Size)
	drawn := seedWords(cs)
	level := "."
	if pseudoOf(cs).runs > 0 {
		level = levelWords
	}
	var all []Figure
	for _, x := range axes {
		distance := withLevel(distanceCurves(network+": distance", cs, mainNames, x), pseudoOf(cs).distance)
		objective := withLevel(objectiveCurves(network+": objective", first, mainNames, x), pseudoOf(cs[:1]).above)
		all = append(all,
			Figure{file + "-distance-" + x.file, network + ", best fixed step of each method" + drawn + level, distance},
			Figure{file + "-common-" + x.file, network + ", one common step for the three methods, " + number("%.3g", medianStep(cs, nameBBPL+nameCommon)) + drawn + ".", distanceCurves(network+": distance, common step", cs, commonNames, x)},
			Figure{file + "-objective-" + x.file, network + ", exact objective above its optimum, first seed, best steps" + level, objective},
		)
	}
	return all
}

// levelWords end the caption of a figure with a level.
const levelWords = ". Pseudo-likelihood, another estimator, is a level: where it ends."

// withLevel adds pseudo-likelihood to curves, as the level where it ends: it is another
// estimator, whose way there says nothing.
func withLevel(c figure.Curves, level float64) figure.Curves {
	first, last := math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, x := range s.X {
			first, last = math.Min(first, x), math.Max(last, x)
		}
	}
	if first < last && !math.IsNaN(level) {
		c.Series = append(c.Series, figure.Series{Name: namePseudo, X: []float64{first, last}, Y: []float64{level, level}, Dashed: true})
	}
	return c
}

// variantFigures draws the variants of BBPL.
func variantFigures(cs []*Comparison) []Figure {
	network := cs[0].Problem.Name()
	var all []Figure
	for _, x := range axes {
		all = append(all, Figure{
			fmt.Sprintf("%s-%d-variants-%s", cs[0].Problem.Kind, cs[0].Problem.Size, x.file),
			network + ", BBPL to convergence in cyclic order, in random order, and with k sweeps per visit, beside inner-dual learning, each with its best step" + medianWords(cs) + ".",
			withoutRanges(distanceCurves(network+": variants of BBPL", cs, variantNames(), x)),
		})
	}
	return all
}

// withoutRanges leaves the ranges out of curves of many methods, where nobody could tell
// them apart: tables have them.
func withoutRanges(c figure.Curves) figure.Curves {
	c.Title = strings.ReplaceAll(c.Title, rangesDrawn, "")
	c.Series = slices.DeleteFunc(c.Series, func(s figure.Series) bool { return s.Name == "" })
	return c
}

// medianWords is seedWords where ranges are not drawn.
func medianWords(cs []*Comparison) string { return strings.ReplaceAll(seedWords(cs), rangesDrawn, "") }

// variantTable lists what each variant took to the tolerance.
func variantTable(groups [][]*Comparison) report.Table {
	t := report.Table{Headers: convergenceHeaders}
	for _, cs := range groups {
		for _, name := range variantNames() {
			t.Rows = append(t.Rows, convergenceRow(cs, name))
		}
	}
	return t
}

var convergenceHeaders = []string{"network", "method", "step", "iterations", "passes", "gradient passes", "seconds", "runs that got there"}

// convergenceTable lists what each method took to the tolerance: medians, and the
// range of the passes.
func convergenceTable(groups [][]*Comparison) report.Table {
	t := report.Table{Headers: convergenceHeaders}
	for _, cs := range groups {
		names := append(append([]string{}, mainNames...), commonNames...)
		for _, name := range names {
			t.Rows = append(t.Rows, convergenceRow(cs, name))
		}
		t.Rows = append(t.Rows, pseudoRow(cs))
	}
	return t
}

func convergenceRow(cs []*Comparison, name string) []string {
	var steps, iterations, passes, gradients, seconds []float64
	for _, c := range cs {
		t := c.trace(name)
		if t == nil {
			continue
		}
		if l, ok := t.at(tolerance); ok {
			steps, iterations = append(steps, t.Step), append(iterations, float64(l.Iterations))
			passes, gradients, seconds = append(passes, l.Passes), append(gradients, l.Gradients), append(seconds, l.Seconds)
		}
	}
	got := fmt.Sprintf("%d of %d", len(passes), len(cs))
	if len(passes) == 0 {
		return []string{cs[0].Problem.Name(), name, "–", "–", "–", "–", "–", got}
	}
	step := "–"
	if steps[0] > 0 {
		step = fmt.Sprintf("%.3g", median(steps))
	}
	return []string{cs[0].Problem.Name(), name, step, fmt.Sprintf("%.0f", median(iterations)), ranged(passes), ranged(gradients), fmt.Sprintf("%.4f", median(seconds)), got}
}

// pseudoSummary sums up pseudo-likelihood over the seeds: medians.
type pseudoSummary struct {
	runs                                  int
	evaluations, seconds, distance, above float64 // above: L − L*
}

func pseudoOf(cs []*Comparison) pseudoSummary {
	var evaluations, seconds, distance, above []float64
	for _, c := range cs {
		if p := c.Pseudo; p != nil {
			evaluations, seconds = append(evaluations, float64(p.Evaluations)), append(seconds, p.Seconds)
			distance, above = append(distance, p.Distance), append(above, p.Objective-c.Objective)
		}
	}
	return pseudoSummary{len(seconds), median(evaluations), median(seconds), median(distance), median(above)}
}

// where says where it ends.
func (p pseudoSummary) where() string {
	return fmt.Sprintf("ends at distance %.2g, L − L* = %.4g", p.distance, p.above)
}

// label names it with where it ends.
func (p pseudoSummary) label() string { return namePseudo + " (" + p.where() + ")" }

// pseudoRow says where pseudo-likelihood ends.
func pseudoRow(cs []*Comparison) []string {
	p := pseudoOf(cs)
	if p.runs == 0 {
		return []string{cs[0].Problem.Name(), namePseudo, "–", "–", "–", "–", "–", "0"}
	}
	return []string{cs[0].Problem.Name(), namePseudo, "–", fmt.Sprintf("%.0f", p.evaluations), "0", fmt.Sprintf("%.0f", p.evaluations), fmt.Sprintf("%.4f", p.seconds), p.where()}
}

// pseudoNote explains its row.
const pseudoNote = "Pseudo-likelihood is another estimator: its weights differ from θ*, by the distance and the objective in its row, and its iterations, evaluations of value and gradient, and seconds are to its own optimum. L-BFGS runs on the objective of the other methods, with full inference in every evaluation, from the messages of the one before; the residual of that inference is 1e-4 or 1e-7, whichever takes less work."
