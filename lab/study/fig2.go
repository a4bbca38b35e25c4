package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// fig2 is convergence on grids.
func fig2() *Study { return convergenceStudy("fig2", Grid) }

// fig3 is convergence on Barabási–Albert graphs.
func fig3() *Study { return convergenceStudy("fig3", BA) }

// convergenceStudy is figure 2 or 3.
func convergenceStudy(name, kind string) *Study {
	title := map[string]string{Grid: "Convergence on grid networks (4×5 blocks)", BA: "Convergence on Barabási–Albert graphs (20 blocks)"}[kind]
	return &Study{
		Name: name, Title: title,
		Paper: "BBPL converges to the same solution as full BP learning, while requiring significantly less time.",
		parts: func(s Settings) []part { return convergenceAll(s, kind) },
		conclude: func(s Settings, r results) (*Findings, error) {
			methods, err := networksOf(r, convergenceParts(kind, s))
			variants, too := networksOf(r, variantParts(kind, s))
			if err := errors.Join(err, too); err != nil {
				return nil, err
			}
			data := map[string][]network{}
			f := &Findings{Data: data}
			if len(methods) > 0 {
				data["methods"] = methods
				f.Claims = []Claim{sameOptimum(methods), lessTime(methods, ""), lessTime(methods, nameCommon)}
				f.Tables = []Table{{"to-tolerance", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g; medians over the seeds, ranges in brackets.", tolerance), convergenceTable(methods, slices.Concat(mainNames, commonNames))}}
			}
			for _, n := range methods {
				f.Figures = append(f.Figures, convergenceFigures(n)...)
			}
			if len(variants) > 0 {
				data["variants"] = variants
				f.Claims = append(f.Claims, inOrder(variants))
				f.Tables = append(f.Tables, Table{"variants", "The same for variants of BBPL.", convergenceTable(variants, variantNames())})
			}
			for _, n := range variants {
				f.Figures = append(f.Figures, variantFigures(n)...)
			}
			return f, nil
		},
	}
}

// sameOptimum is the claim that BBPL ends where full BP does.
func sameOptimum(sizes []network) Claim {
	all, arrived := 0, map[string]int{}
	for _, n := range sizes {
		all += len(n)
		for _, name := range []string{nameBBPL, nameFull} {
			arrived[name] += len(n.efforts(name, until, iterationsAxis))
		}
	}
	return Claim{
		Name: "same optimum", Paper: "BBPL converges to the same solution as full BP learning", Held: arrived[nameBBPL] == all,
		Measured: fmt.Sprintf("%d of %d runs of BBPL, and %d of full BP, came within %g of θ*", arrived[nameBBPL], all, arrived[nameFull], until),
	}
}

// lessTime is the claim that BBPL is faster than full BP, on the largest network, where
// the paper's figure shows it best.
func lessTime(sizes []network, suffix string) Claim {
	n := sizes[len(sizes)-1]
	return Claim{
		Name: "less time than full BP, " + stepWords(suffix), Paper: "significantly less time",
		Held:     median(n.ratios(nameFull, suffix, tolerance, secondsAxis)) >= significant,
		Measured: fmt.Sprintf("%s: %s", n.name(), effortWords(n, nameFull, suffix)),
	}
}

// inOrder is the claim about the order of blocks: time, or work where times are level, on
// networks of all sizes.
func inOrder(sizes []network) Claim {
	c := Claim{
		Name: "blocks in turn or at random", Held: true,
		Paper: "either order leads to convergence, but selecting blocks sequentially converges faster",
	}
	all, arrived := 0, 0
	var parts []string
	for _, n := range sizes {
		all += len(n)
		arrived += len(n.efforts(nameRandom, until, iterationsAxis))
		v := timesOf(n, nameRandom, "")
		c.Held = c.Held && v.slower()
		text := fmt.Sprintf("%s %s", n.name(), times(n.ratios(nameRandom, "", tolerance, secondsAxis)))
		if v.level() {
			text += fmt.Sprintf(" (level; ×%.2f of the work)", v.work)
		}
		parts = append(parts, text)
	}
	c.Held = c.Held && arrived == all
	c.Measured = fmt.Sprintf("%d of %d runs in random order came within %g of θ*; their time over that of cyclic order: %s", arrived, all, until, strings.Join(parts, ", "))
	return c
}

// significant is the ratio of times from which one is called significantly less.
const significant = levelTimes

// stepWords says which steps a claim is about.
func stepWords(suffix string) string {
	if suffix == "" {
		return "best steps"
	}
	return "common step"
}

// effortWords writes the three ratios, and the steps that were chosen.
func effortWords(n network, other, suffix string) string {
	ratio := func(x axis) string { return times(n.ratios(other, suffix, tolerance, x)) }
	return fmt.Sprintf("time %s, message passes %s, gradient passes %s; steps: %s %s, %s %s", ratio(secondsAxis), ratio(passesAxis), ratio(gradientsAxis),
		nameBBPL, number("%.3g", n.step(nameBBPL+suffix)), other, number("%.3g", n.step(other+suffix)))
}
