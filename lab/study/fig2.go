package study

import (
	"fmt"
	"slices"
	"strings"
)

// fig2 is convergence on grids.
func fig2() *Study {
	return convergenceStudy("fig2", Grid, "Convergence on grid networks (4×5 blocks)")
}

// fig3 is convergence on Barabási–Albert graphs.
func fig3() *Study {
	return convergenceStudy("fig3", BA, "Convergence on Barabási–Albert graphs (20 blocks)")
}

// convergenceStudy is figure 2 or 3.
func convergenceStudy(name, kind, title string) *Study {
	return &Study{
		Name: name, Title: title,
		Paper: "BBPL converges to the same solution as full BP learning, while requiring significantly less time.",
		parts: func(s Settings) []part { return convergenceAll(s, kind) },
		conclude: func(s Settings, r results) (*Findings, error) {
			sizes, err := networksOf(r, convergenceParts(kind, s))
			if err != nil {
				return nil, err
			}
			const caption = "To ‖θ−θ*‖/‖θ*‖ ≤ %g; medians over the seeds, ranges in brackets."
			f := &Findings{
				Data:   sizes,
				Claims: []Claim{sameOptimum(sizes), lessTime(sizes, ""), lessTime(sizes, nameCommon), inOrder(sizes)},
				Tables: []Table{
					{"to-tolerance", fmt.Sprintf(caption, tolerance), convergenceTable(sizes, slices.Concat(mainNames, commonNames))},
					{"variants", "The same for variants of BBPL.", convergenceTable(sizes, variantNames)},
				},
			}
			for _, n := range sizes {
				f.Figures = append(f.Figures, convergenceFigures(n)...)
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
		Name: "same optimum", Held: arrived[nameBBPL] == all,
		Paper: "BBPL converges to the same solution as full BP learning",
		Measured: fmt.Sprintf("%d of %d runs of BBPL, and %d of full BP, came within %g of θ*",
			arrived[nameBBPL], all, arrived[nameFull], until),
	}
}

// lessTime is the claim that BBPL is faster than full BP, on the largest network, where the paper's
// figure shows it best. Less than level is significantly less.
func lessTime(sizes []network, suffix string) Claim {
	n := sizes[len(sizes)-1]
	return Claim{
		Name: "less time than full BP, " + stepWords(suffix), Paper: "significantly less time",
		Held:     median(n.ratios(nameFull, suffix, tolerance, secondsAxis)) >= levelTimes,
		Measured: fmt.Sprintf("%s: %s", n.name(), effortWords(n, nameFull, suffix)),
	}
}

// inOrder is the claim about the order of blocks: time, or work where times are level, on networks of all sizes.
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
		text := n.name() + " " + times(n.ratios(nameRandom, "", tolerance, secondsAxis))
		if v.level() {
			text += fmt.Sprintf(" (level; ×%.2f of the work)", v.work)
		}
		parts = append(parts, text)
	}
	c.Held = c.Held && arrived == all
	c.Measured = fmt.Sprintf("%d of %d runs in random order came within %g of θ*; their time over that of cyclic order: "+
		"%s", arrived, all, until, strings.Join(parts, ", "))
	return c
}

// stepWords says which steps a claim is about.
func stepWords(suffix string) string {
	if suffix == "" {
		return "best steps"
	}
	return "common step"
}

// times writes ratios.
func times(x []float64) string {
	if len(x) == 0 {
		return "not measured"
	}
	return "×" + ranged("%.2f", x)
}

// effortWords writes the three ratios, and the steps that were chosen.
func effortWords(n network, other, suffix string) string {
	ratio := func(x axis) string { return times(n.ratios(other, suffix, tolerance, x)) }
	return fmt.Sprintf("time %s, message passes %s, gradient passes %s; steps: %s %s, %s %s",
		ratio(secondsAxis), ratio(passesAxis), ratio(gradientsAxis),
		nameBBPL, number("%.3g", n.step(nameBBPL+suffix)), other, number("%.3g", n.step(other+suffix)))
}
