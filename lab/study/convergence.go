package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/report"
)

const (
	// tolerance is ‖θ−θ*‖/‖θ*‖ that times and passes are compared at, and until that at which runs of
	// convergence figures end. The paper names neither.
	tolerance = 1e-3
	until     = 1e-4
)

// kinds are those of the synthetic networks, and kindNames what titles call them.
var (
	kinds     = []string{Grid, BA}
	kindNames = map[string]string{Grid: "Grids", BA: "BA graphs"}
)

// convergenceParts are the comparisons behind figures 2 to 4: for each size, one part per seed.
func convergenceParts(kind string, s Settings) [][]part {
	x := s.sizes()
	plan := comparisonPlan{
		Methods: append(paperMethods(), variants()...), Tolerance: tolerance, Until: until, Rounds: x.rounds,
		Common: true, Objectives: true,
	}
	return seedParts("compare", kind, map[string][]int{Grid: x.gridSides, BA: x.baNodes}[kind], x.seeds, plan)
}

// seedParts are the parts of a plan on networks of some sizes, for each size one part per seed. Exact
// objectives are computed for the first seed.
func seedParts(name, kind string, sizes []int, seeds int, plan comparisonPlan) [][]part {
	objectives, all := plan.Objectives, make([][]part, len(sizes))
	for i, size := range sizes {
		for seed := range seeds {
			plan.Problem = Problem{Kind: kind, Size: size, Seed: uint64(seed + 1)}.withDefaults()
			plan.Objectives = objectives && seed == 0
			plan := plan
			all[i] = append(all[i], part{
				name: fmt.Sprintf("%s-%s-%d-seed%d", name, kind, size, seed+1), plan: plan,
				measure: func(ctx context.Context, threads int) (any, error) {
					b, err := plan.Problem.build(threads)
					if err != nil {
						return nil, err
					}
					return b.compare(ctx, plan)
				},
			})
		}
	}
	return all
}

// convergenceAll are the parts of figures 2 to 4 for some kinds of networks.
func convergenceAll(s Settings, kinds ...string) (all []part) {
	for _, kind := range kinds {
		all = append(all, slices.Concat(convergenceParts(kind, s)...)...)
	}
	return all
}

// networksOf reads the comparisons of parts, by size, of the seeds that were measured. Sizes with none are left out.
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

// byKind is networksOf for all kinds of networks; a kind of which nothing was measured yet is left out.
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
	secondsAxis = axis{"seconds", "seconds", func(e Effort) float64 { return e.Seconds }}
	passesAxis  = axis{"passes", "message passes (whole-network sweeps)", func(e Effort) float64 { return e.Passes }}

	gradientsAxis = axis{
		"gradients", "gradient passes, with grounding (whole networks)", func(e Effort) float64 { return e.Gradients },
	}
	workAxis       = axis{"work", fmt.Sprintf("message passes + %d · gradient passes", gradientCost), Effort.work}
	iterationsAxis = axis{value: func(e Effort) float64 { return float64(e.Iterations) }}
	axes           = []axis{secondsAxis, passesAxis, gradientsAxis}
)

// seedWords says in titles and captions how many seeds a median is of.
func seedWords(sizes ...network) string {
	most := 0
	for _, n := range sizes {
		most = max(most, len(n))
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf("; medians of %d seeds", most)
}

// toleranceCurves are empty curves of what it takes to the tolerance.
func toleranceCurves(kind string, sizes []network, x axis, words, label string) report.Curves {
	title := fmt.Sprintf("%s: %s to ‖θ−θ*‖/‖θ*‖ ≤ %g%s%s", kindNames[kind], x.file, tolerance, words, seedWords(sizes...))
	return report.Curves{Title: title, XLabel: label, YLabel: x.label, LogX: true, LogY: true}
}

// distanceCurves draws ‖θ−θ*‖ against effort: for each method the median over the seeds of what it
// takes to each distance that all of them reach.
func distanceCurves(title string, n network, names []string, x axis) report.Curves {
	c := report.Curves{Title: title + seedWords(n), XLabel: x.label, YLabel: "‖θ − θ*‖ / ‖θ*‖", LogY: true}
	for _, name := range names {
		s := report.Series{Name: name}
		for j := 0; ; j++ {
			values := n.efforts(name, levelDistance(j), x)
			if len(values) < len(n) {
				break
			}
			s.X, s.Y = append(s.X, median(values)), append(s.Y, levelDistance(j))
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// objectiveCurves draws the exact objective above its optimum, of the first seed.
func objectiveCurves(title string, n network, names []string, x axis) report.Curves {
	first := n[0]
	curves := report.Curves{Title: title, XLabel: x.label, YLabel: "L(θ) − L(θ*)", LogY: true}
	for _, name := range names {
		t := first.trace(name)
		if t == nil {
			continue
		}
		s := report.Series{Name: name}
		for _, l := range t.Levels {
			if y := float64(l.Objective) - first.Objective; y > 0 {
				s.X, s.Y = append(s.X, x.value(l.Effort)), append(s.Y, y)
			}
		}
		curves.Series = append(curves.Series, s)
	}
	return curves
}

// mainNames are the methods of the main figures, in their best steps, and commonNames the three at one
// step. variantNames are BBPL, its variants, and inner-dual learning beside them.
var (
	mainNames    = []string{nameBBPL, nameInner, nameFull}
	commonNames  = []string{nameBBPL + nameCommon, nameInner + nameCommon, nameFull + nameCommon}
	variantNames = []string{nameBBPL, nameRandom, sweepsName(1), sweepsName(2), sweepsName(5), nameInner}
)

// convergenceFigures draws figures 2 and 3, with the variants of BBPL.
func convergenceFigures(n network) (all []Figure) {
	file := fmt.Sprintf("%s-%d", n[0].Problem.Kind, n[0].Problem.Size)
	for _, x := range axes {
		all = append(all,
			Figure{
				file + "-distance-" + x.file, n.name() + ", best fixed step of each method" + seedWords(n) + ".",
				distanceCurves(n.name()+": distance", n, mainNames, x),
			},
			Figure{
				file + "-common-" + x.file,
				fmt.Sprintf("%s, one common step for the three methods, %.3g%s.", n.name(), n.step(commonNames[0]), seedWords(n)),
				distanceCurves(n.name()+": distance, common step", n, commonNames, x),
			},
			Figure{
				file + "-objective-" + x.file, n.name() + ", exact objective above its optimum, first seed, best steps.",
				objectiveCurves(n.name()+": objective", n, mainNames, x),
			},
			Figure{
				file + "-variants-" + x.file,
				n.name() + ", BBPL to convergence in cyclic order, in random order, and with k sweeps per visit, beside " +
					"inner-dual learning, each with its best step" + seedWords(n) + ".",
				distanceCurves(n.name()+": variants of BBPL", n, variantNames, x),
			},
		)
	}
	return all
}

// convergenceTable lists what each method took to the tolerance: medians, and the range of the passes.
func convergenceTable(sizes []network, names []string) report.Table {
	t := report.Table{Headers: []string{
		"network", "method", "step", "iterations", "passes", "gradient passes", "seconds", "runs that got there",
	}}
	for _, n := range sizes {
		for _, name := range names {
			passes := n.efforts(name, tolerance, passesAxis)
			t.Rows = append(t.Rows, []string{
				n.name(), name, number("%.3g", n.step(name)), number("%.0f", n.effort(name, iterationsAxis)),
				ranged("%.1f", passes), ranged("%.1f", n.efforts(name, tolerance, gradientsAxis)),
				number("%.4f", n.effort(name, secondsAxis)), fmt.Sprintf("%d of %d", len(passes), len(n)),
			})
		}
	}
	return t
}
