package study

import (
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
		parts: func(s Settings) (all []part) {
			for _, c := range openSettings(s) {
				all = append(all, c.parts...)
			}
			return all
		},
		conclude: func(s Settings, r results) (*Findings, error) {
			f := &Findings{Notes: []string{"Each row changes one setting of the first row of its network. Ratios are how many times as much as BBPL the other method takes; medians over the seeds. Where a row says nothing else, true weights are N(0, 1), l2 is 1 (the authors' code: 0.01 per variable), counting numbers are all 1, and steps are chosen for the distance that is measured at, 1e-3.", pseudoNote}}
			baselines := report.Table{Headers: []string{"network", "setting", "L-BFGS time", "passes", "gradient passes", "pseudo-likelihood time", "its ‖θ−θ*‖/‖θ*‖", "its L − L*"}}
			methods := report.Table{Headers: []string{"network", "setting", "steps", "inner-dual time", "passes", "gradient passes", "full BP time", "passes", "gradient passes"}}
			var measured []openSetting
			data := map[string]network{}
			for _, c := range openSettings(s) {
				var err error
				if c.found, err = resultsOf[Comparison](r, c.parts); err != nil {
					return nil, err
				}
				if len(c.found) == 0 {
					continue
				}
				measured, data[c.network+", "+c.name] = append(measured, c), c.found
				methods.Rows = append(methods.Rows, c.row(""), c.row(nameCommon))
				baselines.Rows = append(baselines.Rows, c.baselineRow())
			}
			f.Tables = []Table{{"choices", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, where the row says nothing else.", tolerance), methods}, {"baselines", "The same for L-BFGS, beside BBPL at its best step, and for pseudo-likelihood, which goes to its own optimum.", baselines}}
			f.Figures = append(choiceFigures(measured, "best", ""), choiceFigures(measured, "common", nameCommon)...)
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
	found         network
}

// openSettings lists the choices: on a grid and, for attachment, on a BA graph.
func openSettings(s Settings) []openSetting {
	x := s.sizes()
	grid, ba := Problem{Kind: Grid, Size: x.choiceGrid}, Problem{Kind: BA, Size: x.choiceBA}
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
	inner := func(tolerance float64) func(*comparisonPlan) {
		return func(p *comparisonPlan) {
			for i := range p.Methods {
				p.Methods[i].Tolerance = tolerance
			}
		}
	}
	unchanged := func(*comparisonPlan) {}
	add(grid, "as in figures 1 to 4", unchanged)
	add(grid, "true weights N(0, 0.1²)", func(p *comparisonPlan) { p.Problem.WeightScale = 0.1 })
	add(grid, "true weights N(0, 0.3²)", func(p *comparisonPlan) { p.Problem.WeightScale = 0.3 })
	add(grid, "l2 = 0.1", func(p *comparisonPlan) { p.Problem.L2 = 0.1 })
	add(grid, "l2 = 0.01 per variable", func(p *comparisonPlan) { p.Problem.L2PerVariable = 0.01 })
	add(grid, "tree-reweighted counting", func(p *comparisonPlan) { p.Problem.Counting = "trw" })
	add(grid, "inner tolerance 1e-6", inner(1e-6))
	add(grid, "inner tolerance 1e-9", inner(1e-9))
	add(grid, "steps and distance 1e-2", func(p *comparisonPlan) { p.Tolerance, p.Until = 1e-2, 1e-2 })
	add(ba, "as in figures 1 to 4, m = 2", unchanged)
	add(ba, "m = 1, a tree", func(p *comparisonPlan) { p.Problem.Attach = 1 })
	add(ba, "m = 3", func(p *comparisonPlan) { p.Problem.Attach = 3 })
	return all
}

// row is what the other methods take over what BBPL takes.
func (c *openSetting) row(suffix string) []string {
	row := []string{c.network, c.name, stepWords(suffix)}
	for _, other := range []string{nameInner, nameFull} {
		for _, x := range axes {
			row = append(row, times(c.found.ratios(other, suffix, c.tolerance, x)))
		}
	}
	return row
}

// baselineRow is the same for the baselines.
func (c *openSetting) baselineRow() []string {
	row := []string{c.network, c.name}
	for _, x := range axes {
		row = append(row, times(c.found.ratios(nameLBFGS, "", c.tolerance, x)))
	}
	pseudo := c.found.pseudo()
	return append(row, times(c.found.pseudoRatios(c.tolerance, secondsAxis)), number("%.3g", pseudo.distance), number("%.4g", pseudo.above))
}

// choiceFigures draws the ratios of times: a figure for each network, with a group of
// bars for each setting.
func choiceFigures(measured []openSetting, file, suffix string) (all []Figure) {
	others := []string{nameInner, nameFull}
	if suffix == "" {
		others = append(others, nameLBFGS)
	}
	bars := figure.Bars{Label: "time over that of BBPL"}
	for i := range measured {
		c := &measured[i]
		bars.Names = append(bars.Names, c.name)
		if len(bars.Series) == 0 {
			bars.Series = make([]figure.BarSeries, len(others))
		}
		for k, other := range others {
			bars.Series[k].Name = other
			bars.Series[k].Values = append(bars.Series[k].Values, median(c.found.ratios(other, suffix, c.tolerance, secondsAxis)))
		}
		if i+1 < len(measured) && measured[i+1].network == c.network {
			continue
		}
		bars.Title = c.network + ", " + stepWords(suffix)
		name := fmt.Sprintf("%s-time-%s", strings.ToLower(strings.Fields(c.network)[0]), file)
		all = append(all, Figure{name, bars.Title + ": how many times as long as BBPL the others take; medians over the seeds.", bars})
		bars.Names, bars.Series = nil, nil
	}
	return all
}
