package study

import (
	"errors"
	"fmt"
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
			groups, err := compared(r, convergenceParts(kind, s))
			if err != nil {
				return nil, err
			}
			data := map[string][][]*Comparison{"methods": groups}
			f := &Findings{Data: data, Notes: []string{pseudoNote}}
			f.Claims = []Claim{sameOptimum(name, groups, s), lessTime(name, groups, s, ""), lessTime(name, groups, s, nameCommon)}
			f.Tables = []Table{{"to-tolerance", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g; medians over the seeds, ranges in brackets.", tolerance), convergenceTable(groups)}}
			for _, cs := range groups {
				f.Figures = append(f.Figures, convergenceFigures(cs)...)
			}
			groups, err = compared(r, variantParts(kind, s))
			if errors.Is(err, errMissing) {
				return f, nil
			}
			if err != nil {
				return nil, err
			}
			data["variants"] = groups
			f.Claims = append(f.Claims, inOrder(name, groups, s))
			f.Tables = append(f.Tables, Table{"variants", "The same for variants of BBPL.", variantTable(groups)})
			for _, cs := range groups {
				f.Figures = append(f.Figures, variantFigures(cs)...)
			}
			return f, nil
		},
	}
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

// sizesOfKind are the networks of a kind at the settings' scale.
func sizesOfKind(kind string, s Settings) []int {
	if kind == Grid {
		return s.sizes().gridSides
	}
	return s.sizes().baNodes
}

// compared reads the comparisons of parts, by size, of the seeds that were measured.
// Sizes with none are left out; it is an error where none is left.
func compared(r results, parts [][]part) ([][]*Comparison, error) {
	var groups [][]*Comparison
	for _, ps := range parts {
		cs, err := resultsOf[Comparison](r, ps)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		groups = append(groups, cs)
	}
	if len(groups) == 0 {
		return nil, errMissing
	}
	return groups, nil
}

// kinds are those of the synthetic networks.
var kinds = []string{Grid, BA}

// byKind is compared for all kinds of networks; a kind of which nothing was measured
// yet is left out, and it is an error where none is left.
func byKind(r results, parts func(kind string) [][]part) (map[string][][]*Comparison, error) {
	all := map[string][][]*Comparison{}
	for _, kind := range kinds {
		groups, err := compared(r, parts(kind))
		if err != nil && !errors.Is(err, errMissing) {
			return nil, err
		}
		if err == nil {
			all[kind] = groups
		}
	}
	if len(all) == 0 {
		return nil, errMissing
	}
	return all, nil
}

// sameOptimum is the claim that BBPL ends where full BP does.
func sameOptimum(study string, groups [][]*Comparison, s Settings) Claim {
	all, arrived := 0, map[string]int{}
	for _, cs := range groups {
		for _, c := range cs {
			all++
			for _, name := range []string{nameBBPL, nameFull} {
				if t := c.trace(name); t != nil {
					if _, ok := t.at(until); ok {
						arrived[name]++
					}
				}
			}
		}
	}
	return Claim{
		Name: study + ": same optimum", Paper: "BBPL converges to the same solution as full BP learning", Scale: s.Scale, Held: arrived[nameBBPL] == all,
		Measured: fmt.Sprintf("%d of %d runs of BBPL, and %d of full BP, came within %g of θ*", arrived[nameBBPL], all, arrived[nameFull], until),
	}
}

// lessTime is the claim that BBPL is faster than full BP, on the largest network, where
// the paper's figure shows it best.
func lessTime(study string, groups [][]*Comparison, s Settings, suffix string) Claim {
	cs := groups[len(groups)-1]
	ratios := ratios(cs, nameFull, suffix, secondsAxis)
	c := Claim{
		Name: study + ": less time than full BP, " + stepWords(suffix), Paper: "significantly less time", Scale: s.Scale,
		Measured: fmt.Sprintf("%s: %s", cs[0].Problem.Name(), effort(cs, nameFull, suffix)),
	}
	c.Held = len(ratios) > 0 && median(ratios) >= significant
	return c
}

// inOrder is the claim about the order of blocks: time, or work where times are level, on
// networks of all sizes.
func inOrder(study string, groups [][]*Comparison, s Settings) Claim {
	c := Claim{
		Name: study + ": blocks in turn or at random", Scale: s.Scale, Held: true,
		Paper: "either order leads to convergence, but selecting blocks sequentially converges faster",
	}
	all, arrived := 0, 0
	var parts []string
	for _, cs := range groups {
		for _, x := range cs {
			all++
			if t := x.trace(nameRandom); t != nil {
				if _, ok := t.at(until); ok {
					arrived++
				}
			}
		}
		v := timesOf(cs, nameRandom, "")
		c.Held = c.Held && v.slower()
		text := fmt.Sprintf("%s %s", cs[0].Problem.Name(), times(ratios(cs, nameRandom, "", secondsAxis)))
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

// ratios returns, for each seed, how much more another method takes to the
// tolerance than BBPL.
func ratios(cs []*Comparison, other, suffix string, x axis) []float64 {
	return ratiosAt(cs, other, suffix, x, tolerance)
}

// ratiosAt is the same at another distance.
func ratiosAt(cs []*Comparison, other, suffix string, x axis, distance float64) []float64 {
	var all []float64
	for _, c := range cs {
		ours, theirs := c.trace(nameBBPL+suffix), c.trace(other+suffix)
		if ours == nil || theirs == nil {
			continue
		}
		a, ok := ours.at(distance)
		b, too := theirs.at(distance)
		if ok && too {
			all = append(all, x.value(b)/x.value(a))
		}
	}
	return all
}

// effort writes the three ratios, and the steps that were chosen.
func effort(cs []*Comparison, other, suffix string) string {
	return fmt.Sprintf("time %s, message passes %s, gradient passes %s; steps: %s %s, %s %s", times(ratios(cs, other, suffix, secondsAxis)),
		times(ratios(cs, other, suffix, passesAxis)), times(ratios(cs, other, suffix, gradientsAxis)),
		nameBBPL, number("%.3g", medianStep(cs, nameBBPL+suffix)), other, number("%.3g", medianStep(cs, other+suffix)))
}
