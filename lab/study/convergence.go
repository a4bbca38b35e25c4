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

// kinds are those of the synthetic networks, and kindNames what titles call them.
var (
	kinds     = []string{Grid, BA}
	kindNames = map[string]string{Grid: "Grids", BA: "BA graphs"}
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
	plan.Tolerance, plan.Until, plan.Rounds = tolerance, until, x.rounds
	runs := 2 * len(plan.Methods) // about: searches, on two cores, and the runs themselves
	if plan.Common {
		runs += 5 // those of full BP, and at the common step, take longer
	}
	return seedParts(name, kind, map[string][]int{Grid: x.gridSides, BA: x.baNodes}[kind], x.seeds, runs, plan)
}

// seedParts are the parts of a plan on networks of some sizes, for each size one part per
// seed, with about so many runs each. Exact objectives are computed for the first seed.
func seedParts(name, kind string, sizes []int, seeds, runs int, plan comparisonPlan) [][]part {
	objectives, all := plan.Objectives, make([][]part, len(sizes))
	for i, size := range sizes {
		for seed := range seeds {
			plan.Problem = Problem{Kind: kind, Size: size, Seed: uint64(seed + 1)}.withDefaults()
			plan.Objectives = objectives && seed == 0
			all[i] = append(all[i], comparePart(name, expectedSeconds(plan.Problem, runs), plan))
		}
	}
	return all
}

// convergenceAll are the parts of figures 2 to 4 for some kinds of networks: first
// those of the methods, then those of the variants.
func convergenceAll(s Settings, kinds ...string) []part {
	var methods, variants [][][]part
	for _, kind := range kinds {
		methods, variants = append(methods, convergenceParts(kind, s)), append(variants, variantParts(kind, s))
	}
	return append(largestFirst(methods...), largestFirst(variants...)...)
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

// networksOf reads the comparisons of parts, by size, of the seeds that were measured.
// Sizes with none are left out.
func networksOf(r results, parts [][]part) (sizes []network, err error) {
	for _, seeds := range parts {
		n, err := resultsOf[Comparison](r, seeds)
		if err != nil {
			return nil, err
		}
		if len(n) > 0 {
			sizes = append(sizes, n)
		}
	}
	return sizes, nil
}

// byKind is networksOf for all kinds of networks; a kind of which nothing was measured
// yet is left out.
func byKind(r results, parts func(kind string) [][]part) (map[string][]network, error) {
	all := map[string][]network{}
	for _, kind := range kinds {
		sizes, err := networksOf(r, parts(kind))
		if err != nil {
			return nil, err
		}
		if len(sizes) > 0 {
			all[kind] = sizes
		}
	}
	return all, nil
}

// axis is a measure of effort.
type axis struct {
	file, label string
	value       func(Effort) float64
}

var (
	secondsAxis    = axis{"seconds", "seconds", func(e Effort) float64 { return e.Seconds }}
	passesAxis     = axis{"passes", "message passes (whole-network sweeps)", func(e Effort) float64 { return e.Passes }}
	gradientsAxis  = axis{"gradients", "gradient passes, with grounding (whole networks)", func(e Effort) float64 { return e.Gradients }}
	workAxis       = axis{"work", fmt.Sprintf("message passes + %d · gradient passes", gradientCost), Effort.work}
	iterationsAxis = axis{value: func(e Effort) float64 { return float64(e.Iterations) }}
	axes           = []axis{secondsAxis, passesAxis, gradientsAxis}
)

// labelOf is the label with the clock that seconds were read from.
func (x axis) labelOf(n network) string {
	if x.file != secondsAxis.file {
		return x.label
	}
	var clocks []string
	for _, c := range n {
		if !slices.Contains(clocks, c.Clock) {
			clocks = append(clocks, c.Clock)
		}
	}
	return fmt.Sprintf("%s (%s time)", x.label, strings.Join(clocks, " and "))
}

// rangesDrawn ends what seedWords says.
const rangesDrawn = ", ranges in thin dashes"

// seedWords says in titles and captions what is drawn where there are several seeds.
func seedWords(sizes ...network) string {
	least, most := math.MaxInt, 0
	for _, n := range sizes {
		least, most = min(least, len(n)), max(most, len(n))
	}
	switch {
	case most < 2:
		return ""
	case least < most:
		return fmt.Sprintf("; medians of %d to %d seeds", least, most) + rangesDrawn
	}
	return fmt.Sprintf("; medians of %d seeds", most) + rangesDrawn
}

// toleranceCurves are empty curves of what it takes to the tolerance.
func toleranceCurves(kind string, sizes []network, x axis, words, label string) figure.Curves {
	title := fmt.Sprintf("%s: %s to ‖θ−θ*‖/‖θ*‖ ≤ %g%s%s", kindNames[kind], x.file, tolerance, words, seedWords(sizes...))
	return figure.Curves{Title: title, XLabel: label, YLabel: x.labelOf(slices.Concat(sizes...)), LogX: true, LogY: true}
}

// distanceCurves draws ‖θ−θ*‖ against effort: for each method the median over the
// seeds of what it takes to each distance and, dashed, their range.
func distanceCurves(title string, n network, names []string, x axis) figure.Curves {
	c := figure.Curves{Title: title + seedWords(n), XLabel: x.labelOf(n), YLabel: "‖θ − θ*‖ / ‖θ*‖", LogY: true}
	for _, name := range names {
		runs := 0
		for _, comparison := range n {
			if comparison.trace(name) != nil {
				runs++
			}
		}
		b := newBand(name)
		for j := 0; runs > 0; j++ {
			values := n.efforts(name, levelDistance(j), x)
			if len(values) < runs {
				break // one of them did not get as far
			}
			b.add(levelDistance(j), values)
		}
		c.Series = append(c.Series, b.sideways()...)
	}
	return c
}

// objectiveCurves draws the exact objective above its optimum, of the first seed.
func objectiveCurves(title string, n network, names []string, x axis) figure.Curves {
	first := n[0]
	curves := figure.Curves{Title: title, XLabel: x.labelOf(n[:1]), YLabel: "L(θ) − L(θ*)", LogY: true}
	for _, name := range names {
		t := first.trace(name)
		if t == nil {
			continue
		}
		s := figure.Series{Name: name}
		for _, l := range t.Levels {
			if y := float64(l.Objective) - first.Objective; y > 0 {
				s.X, s.Y = append(s.X, x.value(l.Effort)), append(s.Y, y)
			}
		}
		curves.Series = append(curves.Series, s)
	}
	return curves
}

// mainNames are the methods of the main figures, in their best steps, and commonNames the
// three at one step.
var (
	mainNames   = []string{nameBBPL, nameInner, nameFull}
	commonNames = []string{nameBBPL + nameCommon, nameInner + nameCommon, nameFull + nameCommon}
)

// variantNames are BBPL, its variants, and inner-dual learning beside them.
func variantNames() []string {
	names := []string{nameBBPL}
	for _, m := range variants() {
		names = append(names, m.Name)
	}
	return append(names, nameInner)
}

// convergenceFigures draws figures 2 and 3.
func convergenceFigures(n network) (all []Figure) {
	file := fmt.Sprintf("%s-%d", n[0].Problem.Kind, n[0].Problem.Size)
	for _, x := range axes {
		distance := distanceCurves(n.name()+": distance", n, mainNames, x)
		common := distanceCurves(n.name()+": distance, common step", n, commonNames, x)
		objective := objectiveCurves(n.name()+": objective", n, mainNames, x)
		all = append(all,
			Figure{file + "-distance-" + x.file, n.name() + ", best fixed step of each method" + seedWords(n) + ".", distance},
			Figure{file + "-common-" + x.file, n.name() + ", one common step for the three methods, " + number("%.3g", n.step(nameBBPL+nameCommon)) + seedWords(n) + ".", common},
			Figure{file + "-objective-" + x.file, n.name() + ", exact objective above its optimum, first seed, best steps.", objective},
		)
	}
	return all
}

// variantFigures draws the variants of BBPL.
func variantFigures(n network) (all []Figure) {
	for _, x := range axes {
		all = append(all, Figure{
			fmt.Sprintf("%s-%d-variants-%s", n[0].Problem.Kind, n[0].Problem.Size, x.file),
			n.name() + ", BBPL to convergence in cyclic order, in random order, and with k sweeps per visit, beside inner-dual learning, each with its best step" + strings.ReplaceAll(seedWords(n), rangesDrawn, "") + ".",
			withoutRanges(distanceCurves(n.name()+": variants of BBPL", n, variantNames(), x)),
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

// convergenceTable lists what each method took to the tolerance: medians, and the
// range of the passes.
func convergenceTable(sizes []network, names []string) report.Table {
	t := report.Table{Headers: []string{"network", "method", "step", "iterations", "passes", "gradient passes", "seconds", "runs that got there"}}
	for _, n := range sizes {
		for _, name := range names {
			t.Rows = append(t.Rows, convergenceRow(n, name))
		}
	}
	return t
}

func convergenceRow(n network, name string) []string {
	var arrived network
	for _, c := range n {
		if _, ok := c.level(name, tolerance); ok {
			arrived = append(arrived, c)
		}
	}
	return []string{
		n.name(), name, number("%.3g", arrived.step(name)), number("%.0f", arrived.effort(name, iterationsAxis)),
		ranged(n.efforts(name, tolerance, passesAxis)), ranged(n.efforts(name, tolerance, gradientsAxis)), number("%.4f", n.effort(name, secondsAxis)),
		fmt.Sprintf("%d of %d", len(arrived), len(n)),
	}
}
