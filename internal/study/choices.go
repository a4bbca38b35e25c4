package study

import (
	"errors"
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
)

// choices is how the comparison of the three methods changes where a setting that
// the paper leaves open is chosen otherwise.
func choices() *Study {
	return &Study{
		Name: "choices", Title: "What the settings change that the paper leaves open",
		Paper: "The paper gives neither the scale of the true weights, nor the regularisation, the counting numbers, the attachment of BA graphs, or any tolerance.",
		parts: func(s Settings) []part {
			var all []part
			for _, c := range openSettings(s) {
				all = append(all, c.parts...)
			}
			return all
		},
		conclude: func(s Settings, r results) (*Findings, error) {
			f := &Findings{Notes: []string{"Each row changes one setting of the first row of its network. Ratios are how many times as much as BBPL the other method takes; medians over the seeds. Where a row says nothing else, true weights are N(0, 1), l2 is 1 (the authors' code: 0.01 per variable), counting numbers are all 1, and steps are chosen for the distance that is measured at, 1e-3.", pseudoNote}}
			b := report.Table{Headers: []string{"network", "setting", "L-BFGS time", "passes", "gradient passes", "pseudo-likelihood time", "its ‖θ−θ*‖/‖θ*‖", "its L − L*"}}
			t := report.Table{Headers: []string{"network", "setting", "steps", "inner-dual time", "passes", "gradient passes", "full BP time", "passes", "gradient passes"}}
			data := map[string][]*Comparison{}
			for _, c := range openSettings(s) {
				cs, err := resultsOf[Comparison](r, c.parts)
				if errors.Is(err, errMissing) {
					continue
				}
				if err != nil {
					return nil, err
				}
				data[c.network+", "+c.name] = cs
				t.Rows = append(t.Rows, choiceRow(c, cs, ""), choiceRow(c, cs, nameCommon))
				b.Rows = append(b.Rows, baselineRow(c, cs))
			}
			if len(data) == 0 {
				return nil, errMissing
			}
			f.Tables = []Table{{"choices", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, where the row says nothing else.", tolerance), t}, {"baselines", "The same for L-BFGS, beside BBPL at its best step, and for pseudo-likelihood, which goes to its own optimum.", b}}
			f.Figures = choiceFigures(s, data)
			f.Data = data
			return f, nil
		},
	}
}

// openSetting is one choice, with its measurements.
type openSetting struct {
	network, name string
	tolerance     float64
	parts         []part
}

// openSettings lists the choices: on a grid and, for attachment, on a BA graph.
func openSettings(s Settings) []openSetting {
	x := s.sizes()
	grid, ba := Problem{Kind: Grid, Size: x.choiceGrid}, Problem{Kind: BA, Size: x.choiceBA}
	inner := func(tolerance float64) func(*comparisonPlan) {
		return func(p *comparisonPlan) {
			for i := range p.Methods {
				p.Methods[i].Tolerance = tolerance
			}
		}
	}
	problem := func(change func(*Problem)) func(*comparisonPlan) {
		return func(p *comparisonPlan) { change(&p.Problem) }
	}
	var all []openSetting
	add := func(base Problem, name string, change func(*comparisonPlan)) {
		c := openSetting{network: base.Name(), name: name}
		for seed := range x.choiceSeeds {
			base.Seed = uint64(seed + 1)
			plan := comparisonPlan{Problem: base, Methods: paperMethods(), Tolerance: tolerance, Until: tolerance, Rounds: 1, Common: true, Baselines: true}
			change(&plan)
			plan.Problem, c.tolerance = plan.Problem.withDefaults(), plan.Tolerance
			const runs = 10
			c.parts = append(c.parts, comparePart("choice", expectedSeconds(base, runs), plan))
		}
		all = append(all, c)
	}
	add(grid, "as in figures 1 to 4", func(*comparisonPlan) {})
	add(grid, "true weights N(0, 0.1²)", problem(func(p *Problem) { p.WeightScale = 0.1 }))
	add(grid, "true weights N(0, 0.3²)", problem(func(p *Problem) { p.WeightScale = 0.3 }))
	add(grid, "l2 = 0.1", problem(func(p *Problem) { p.L2 = 0.1 }))
	add(grid, "l2 = 0.01 per variable", problem(func(p *Problem) { p.L2PerVariable = 0.01 }))
	add(grid, "tree-reweighted counting", problem(func(p *Problem) { p.Counting = "trw" }))
	add(grid, "inner tolerance 1e-6", inner(1e-6))
	add(grid, "inner tolerance 1e-9", inner(1e-9))
	add(grid, "steps and distance 1e-2", func(p *comparisonPlan) { p.Tolerance, p.Until = 1e-2, 1e-2 })
	add(ba, "as in figures 1 to 4, m = 2", func(*comparisonPlan) {})
	add(ba, "m = 1, a tree", problem(func(p *Problem) { p.Attach = 1 }))
	add(ba, "m = 3", problem(func(p *Problem) { p.Attach = 3 }))
	return all
}

func choiceRow(c openSetting, cs []*Comparison, suffix string) []string {
	row := []string{c.network, c.name, stepWords(suffix)}
	for _, other := range []string{nameInner, nameFull} {
		for _, x := range axes {
			row = append(row, times(ratiosAt(cs, other, suffix, x, c.tolerance)))
		}
	}
	return row
}

// baselineRow is what the baselines take, over what BBPL takes.
func baselineRow(c openSetting, cs []*Comparison) []string {
	row := []string{c.network, c.name}
	for _, x := range axes {
		row = append(row, times(ratiosAt(cs, nameLBFGS, "", x, c.tolerance)))
	}
	return append(row, times(pseudoTimes(c, cs)), number("%.3g", pseudoOf(cs).distance), number("%.4g", pseudoOf(cs).above))
}

// pseudoTimes returns, for each seed, the time of pseudo-likelihood over that of BBPL.
func pseudoTimes(c openSetting, cs []*Comparison) []float64 {
	var all []float64
	for _, x := range cs {
		t := x.trace(nameBBPL)
		if t == nil || x.Pseudo == nil {
			continue
		}
		if l, ok := t.at(c.tolerance); ok {
			all = append(all, x.Pseudo.Seconds/l.Seconds)
		}
	}
	return all
}

// choiceFigures draws the ratios of times: a figure for each network and kind of steps,
// with a group of bars for each setting.
func choiceFigures(s Settings, data map[string][]*Comparison) []Figure {
	var all []Figure
	for _, suffix := range []string{"", nameCommon} {
		others := []string{nameInner, nameFull}
		if suffix == "" {
			others = append(others, nameLBFGS)
		}
		var drawn []figure.Bars
		for _, c := range openSettings(s) {
			cs := data[c.network+", "+c.name]
			if cs == nil {
				continue
			}
			if n := len(drawn); n == 0 || drawn[n-1].Title != c.network+", "+stepWords(suffix) {
				bars := figure.Bars{Title: c.network + ", " + stepWords(suffix), Label: "time over that of BBPL"}
				for _, other := range others {
					bars.Series = append(bars.Series, figure.BarSeries{Name: other})
				}
				drawn = append(drawn, bars)
			}
			bars := &drawn[len(drawn)-1]
			bars.Names = append(bars.Names, c.name)
			for i, other := range others {
				ratio := median(ratiosAt(cs, other, suffix, secondsAxis, c.tolerance))
				bars.Series[i].Values = append(bars.Series[i].Values, ratio)
			}
		}
		for _, bars := range drawn {
			file := fmt.Sprintf("%s-time-%s", strings.ToLower(strings.Fields(bars.Title)[0]), map[string]string{"": "best", nameCommon: "common"}[suffix])
			all = append(all, Figure{file, bars.Title + ": how many times as long as BBPL the others take; medians over the seeds.", bars})
		}
	}
	return all
}
