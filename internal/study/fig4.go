package study

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// fig4 is time to tolerance against the size of the network: the comparisons of
// figures 2 and 3, seen from the side.
func fig4() *Study {
	return &Study{
		Name: "fig4", Title: "Time against network size",
		Paper: "On all networks BBPL is the fastest, the more so the larger the network: on the 200×200 grid about 3 times faster than inner-dual learning and 7 times faster than full BP; on the BA graph of 20,000 nodes about 2 and 3 times.",
		parts: func(s Settings) []part {
			return convergenceAll(s, kinds...)
		},
		conclude: func(s Settings, r results) (*Findings, error) {
			all, err := byKind(r, func(kind string) [][]part { return convergenceParts(kind, s) })
			if err != nil {
				return nil, err
			}
			variants, err := byKind(r, func(kind string) [][]part { return variantParts(kind, s) })
			if err != nil && !errors.Is(err, errMissing) {
				return nil, err
			}
			f := &Findings{}
			data := map[string][]ratioRow{}
			for _, kind := range kinds {
				groups := all[kind]
				if groups == nil {
					continue
				}
				for _, suffix := range []string{"", nameCommon} {
					f.Claims = append(f.Claims, sizeClaims(kind, suffix, groups, s)...)
				}
				f.Figures = append(f.Figures, sizeFigures(kind, "best", stepWords(""), mainNames, groups)...)
				f.Figures = append(f.Figures, sizeFigures(kind, "common", stepWords(nameCommon), commonNames, groups)...)
				if groups := variants[kind]; groups != nil {
					f.Figures = append(f.Figures, sizeFigures(kind, "variants", "variants of BBPL, "+stepWords(""), variantNames(), groups)...)
				}
				data[kind] = ratioRows(groups)
				f.Notes = append(f.Notes, explained(groups))
				f.Tables = append(f.Tables, Table{kind + "-ratios", "How many times as much as BBPL the other methods take to the tolerance; medians over the seeds.", ratioTable(data[kind])})
			}
			f.Data = data
			return f, nil
		},
	}
}

// kindNames are what titles call kinds of networks.
var kindNames = map[string]string{Grid: "Grids", BA: "BA graphs"}

// claimed are the paper's ratios of times on its largest networks.
var claimed = map[string]map[string]float64{Grid: {nameInner: 3, nameFull: 7}, BA: {nameInner: 2, nameFull: 3}}

// largest names those networks, and largestNodes counts their nodes.
var (
	largestNodes = map[string]int{Grid: 200 * 200, BA: 20000}
	largest      = map[string]string{Grid: "200×200 grid", BA: "BA graph of 20,000 nodes"}
)

// sizeClaims holds the ratios of one kind of network against the paper's. "About 3
// times" holds from where a ratio rounds to 3.
func sizeClaims(kind, suffix string, groups [][]*Comparison, s Settings) []Claim {
	last := groups[len(groups)-1]
	var claims []Claim
	for _, other := range []string{nameInner, nameFull} {
		paper := claimed[kind][other]
		measured := ratios(last, other, suffix, secondsAxis)
		claims = append(claims, Claim{
			Name: fmt.Sprintf("fig4: %s against %s, %s", kind, other, stepWords(suffix)), Scale: s.Scale,
			Paper: fmt.Sprintf("about %g times faster on the %s", paper, largest[kind]), Held: len(measured) > 0 && math.Round(median(measured)) >= paper,
			Measured: fmt.Sprintf("%s: %s", sizeNote(kind, last[0]), effort(last, other, suffix)),
		})
		if len(groups) > 1 { // of a run that is not over there may be one
			claims = append(claims, gapGrows(kind, other, suffix, groups, s))
		}
	}
	return append(claims, fastest(kind, suffix, groups, s))
}

// sizeNote names a network, and says so where it is smaller than the claim's.
func sizeNote(kind string, c *Comparison) string {
	if c.Variables >= largestNodes[kind] {
		return c.Problem.Name()
	}
	return c.Problem.Name() + " (smaller than the claim's)"
}

// fastest is the claim that BBPL is the fastest of the three everywhere.
func fastest(kind, suffix string, groups [][]*Comparison, s Settings) Claim {
	won := 0
	var level []string
	for _, cs := range groups {
		inner, full := timesOf(cs, nameInner, suffix), timesOf(cs, nameFull, suffix)
		if inner.slower() && full.slower() {
			won++
		}
		for i, v := range []comparedTimes{inner, full} {
			if v.level() {
				level = append(level, fmt.Sprintf("%s with %s (×%.2f of the time, ×%.2f of the work)", cs[0].Problem.Name(), []string{nameInner, nameFull}[i], v.time, v.work))
			}
		}
	}
	measured := fmt.Sprintf("fastest of the three on %d of %d sizes", won, len(groups))
	if len(level) > 0 {
		measured += "; level in time, and decided by work: " + strings.Join(level, ", ")
	}
	return Claim{
		Name: fmt.Sprintf("fig4: %s, BBPL fastest, %s", kind, stepWords(suffix)), Paper: "on all networks BBPL is the fastest", Scale: s.Scale,
		Measured: measured, Held: won == len(groups),
	}
}

// gapGrows is the claim that the ratio grows with the network: along all sizes, and from
// the second largest to the largest, where it may be level, too.
func gapGrows(kind, other, suffix string, groups [][]*Comparison, s Settings) Claim {
	var x, y []float64
	var all []comparedTimes
	var sizes []string
	for _, cs := range groups {
		if v := timesOf(cs, other, suffix); v.time > 0 {
			x, y, all = append(x, math.Log10(float64(cs[0].Variables))), append(y, math.Log10(v.time)), append(all, v)
			sizes = append(sizes, fmt.Sprintf("×%.2f on %s", v.time, cs[0].Problem.Name()))
		}
	}
	c := Claim{
		Name:  fmt.Sprintf("fig4: %s, gap to %s grows, %s", kind, other, stepWords(suffix)),
		Paper: "the acceleration is more significant when the network is large", Measured: "too few sizes measured", Scale: s.Scale,
	}
	last := len(all) - 1
	if last < 1 {
		return c
	}
	growth, goesOn := slope(x, y), all[last].notBelow(all[last-1])
	c.Held = growth > 0 && all[last].time > all[0].time && goesOn
	c.Measured = fmt.Sprintf("ratio of times %s; ×%.2f per tenfold size", strings.Join(sizes, ", "), math.Pow(10, growth))
	if !goesOn {
		c.Measured += fmt.Sprintf("; it does not go on to grow from the second largest to the largest (work ×%.2f and ×%.2f)", all[last-1].work, all[last].work)
	}
	return c
}

// sizeFigures draws time, passes and gradient passes to the tolerance of some methods.
func sizeFigures(kind, file, words string, names []string, groups [][]*Comparison) []Figure {
	var all []Figure
	for _, x := range axes {
		c := figure.Curves{Title: fmt.Sprintf("%s: %s to ‖θ−θ*‖/‖θ*‖ ≤ %g, %s%s", kindNames[kind], x.file, tolerance, words, seedWords(groups...)), XLabel: "nodes", YLabel: x.labelOf(slices.Concat(groups...)), LogX: true, LogY: true}
		for _, cs := range groups {
			c.XTicks = append(c.XTicks, float64(cs[0].Variables))
		}
		for _, name := range names {
			c.Series = append(c.Series, sizeSeries(name, groups, x)...)
		}
		if slices.Contains(names, nameLBFGS) {
			c.Series = append(c.Series, pseudoSizes(groups, x)...)
		}
		all = append(all, Figure{fmt.Sprintf("%s-%s-%s", kind, file, x.file), fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, %s%s.", tolerance, words, seedWords(groups...)), c})
	}
	return all
}

// rangesDrawn ends what seedWords says.
const rangesDrawn = ", ranges in thin dashes"

// seedWords says in titles and captions what is drawn where there are several seeds.
func seedWords(groups ...[]*Comparison) string {
	least, most := math.MaxInt, 0
	for _, cs := range groups {
		least, most = min(least, len(cs)), max(most, len(cs))
	}
	switch {
	case most < 2:
		return ""
	case least < most:
		return fmt.Sprintf("; medians of %d to %d seeds", least, most) + rangesDrawn
	}
	return fmt.Sprintf("; medians of %d seeds", most) + rangesDrawn
}

// sizeSeries is the effort of a method on networks of all sizes, with its range.
func sizeSeries(name string, groups [][]*Comparison, x axis) []figure.Series {
	middle, low, high := figure.Series{Name: name}, figure.Series{Dashed: true}, figure.Series{Dashed: true}
	several := false
	for _, cs := range groups {
		var values []float64
		for _, c := range cs {
			if t := c.trace(name); t != nil {
				if l, ok := t.at(tolerance); ok {
					values = append(values, x.value(l))
				}
			}
		}
		if len(values) == 0 {
			continue
		}
		several = several || len(values) > 1
		nodes := float64(cs[0].Variables)
		least, most := span(values)
		middle.X, middle.Y = append(middle.X, nodes), append(middle.Y, median(values))
		low.X, low.Y = append(low.X, nodes), append(low.Y, least)
		high.X, high.Y = append(high.X, nodes), append(high.Y, most)
	}
	if !several {
		return []figure.Series{middle}
	}
	return []figure.Series{middle, low, high}
}

// pseudoSizes is what pseudo-likelihood, which passes no messages, takes to its own
// optimum on networks of all sizes.
func pseudoSizes(groups [][]*Comparison, x axis) []figure.Series {
	s := figure.Series{Name: namePseudo + ", to its own optimum", Dashed: true}
	for _, cs := range groups {
		p := pseudoOf(cs)
		effort := map[string]float64{secondsAxis.file: p.seconds, gradientsAxis.file: p.evaluations}[x.file]
		if p.runs > 0 && effort > 0 {
			s.X, s.Y = append(s.X, float64(cs[0].Variables)), append(s.Y, effort)
		}
	}
	if len(s.X) == 0 {
		return nil
	}
	return []figure.Series{s}
}

// ratioRow is one method on one size in the table of ratios.
type ratioRow struct {
	Network string `json:"network"`
	Other   string `json:"other"`
	Steps   string `json:"steps"`
	// Step is the method's, NaN if it has none, and BBPL that of BBPL beside it.
	Step      runfolder.Float `json:"step"`
	BBPL      runfolder.Float `json:"bbpl_step"`
	Seconds   runfolder.Float `json:"seconds_ratio"`
	Passes    runfolder.Float `json:"passes_ratio"`
	Gradients runfolder.Float `json:"gradient_passes_ratio"`
	// Ratios are medians over the seeds that both got there with; Range is the least and
	// the largest of the ratios of seconds.
	Seeds int                `json:"seeds"`
	Range [2]runfolder.Float `json:"seconds_ratio_range"`
}

// rangeOf returns the least and the largest.
func rangeOf(x []float64) [2]runfolder.Float {
	least, most := span(x)
	return [2]runfolder.Float{runfolder.Float(least), runfolder.Float(most)}
}

func ratioRows(groups [][]*Comparison) []ratioRow {
	var rows []ratioRow
	for _, cs := range groups {
		add := func(other, suffix string) {
			value := func(x axis) runfolder.Float { return runfolder.Float(median(ratios(cs, other, suffix, x))) }
			seconds := ratios(cs, other, suffix, secondsAxis)
			rows = append(rows, ratioRow{
				cs[0].Problem.Name(), other, stepWords(suffix), runfolder.Float(medianStep(cs, other+suffix)), runfolder.Float(medianStep(cs, nameBBPL+suffix)),
				value(secondsAxis), value(passesAxis), value(gradientsAxis), len(seconds), rangeOf(seconds),
			})
		}
		for _, other := range []string{nameInner, nameFull, nameLBFGS} {
			add(other, "")
		}
		rows = append(rows, pseudoRatios(cs))
		for _, other := range []string{nameInner, nameFull} {
			add(other, nameCommon)
		}
	}
	return rows
}

// pseudoRatios are those of pseudo-likelihood to its own optimum.
func pseudoRatios(cs []*Comparison) ratioRow {
	var seconds, gradients []float64
	for _, c := range cs {
		if t := c.trace(nameBBPL); t != nil && c.Pseudo != nil {
			if l, ok := t.at(tolerance); ok {
				seconds, gradients = append(seconds, c.Pseudo.Seconds/l.Seconds), append(gradients, float64(c.Pseudo.Evaluations)/l.Gradients)
			}
		}
	}
	return ratioRow{
		cs[0].Problem.Name(), namePseudo + ", to its own optimum", stepWords(""), runfolder.Float(math.NaN()), runfolder.Float(medianStep(cs, nameBBPL)),
		runfolder.Float(median(seconds)), 0, runfolder.Float(median(gradients)), len(seconds), rangeOf(seconds),
	}
}

func ratioTable(rows []ratioRow) report.Table {
	t := report.Table{Headers: []string{"network", "steps", "method", "step", "BBPL's step", "time", "message passes", "gradient passes"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{
			r.Network, r.Steps, r.Other, number("%.3g", float64(r.Step)), number("%.3g", float64(r.BBPL)),
			number("%.2f", float64(r.Seconds)), number("%.2f", float64(r.Passes)), number("%.2f", float64(r.Gradients)),
		})
	}
	return t
}

// explained says, for the largest network that was measured, what makes the claims true
// at one kind of step and false at the other.
func explained(groups [][]*Comparison) string {
	cs := groups[len(groups)-1]
	iterations := axis{value: func(l Level) float64 { return float64(l.Iterations) }}
	each := func(suffix string) string {
		var words []string
		for _, name := range []string{nameBBPL, nameInner, nameFull} {
			n, _, _ := blockEffort(cs, name+suffix, iterations)
			seconds, _, _ := blockEffort(cs, name+suffix, secondsAxis)
			passes, _, _ := blockEffort(cs, name+suffix, passesAxis)
			gradients, _, _ := blockEffort(cs, name+suffix, gradientsAxis)
			words = append(words, fmt.Sprintf("%s %s of %s ms each with step %s, in all %s message and %s gradient passes (%s ms for each of both)", name, number("%.0f", n), number("%.3g", 1000*seconds/n),
				number("%.3g", medianStep(cs, name+suffix)), number("%.3g", passes), number("%.3g", gradients), number("%.3g", 1000*seconds/(passes+gradients))))
		}
		return strings.Join(words, "; ")
	}
	return fmt.Sprintf("Why, on %s: iterations to the tolerance at the common step: %s. At best steps: %s. An iteration of BBPL is cheap, as it is one block's; gradients that are fresh bear longer steps, with which the others need fewer iterations.", cs[0].Problem.Name(), each(nameCommon), each(""))
}
