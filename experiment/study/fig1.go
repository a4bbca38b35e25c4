package study

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/record"
)

// fig1 is the sensitivity of BBPL to the size of its blocks.
func fig1() *Study {
	return &Study{
		Name: "fig1", Title: "Sensitivity of BBPL to block size",
		Paper: "BBPL converges the fastest when each block is about 20 to 25 times smaller than the network.",
		parts: func(s Settings) []part { return append(flat(blockParts(Grid, s)), flat(blockParts(BA, s))...) },
		conclude: func(s Settings, r results) (*Findings, error) {
			f := &Findings{}
			data := map[string][][]*Comparison{}
			for _, kind := range []string{Grid, BA} {
				groups, err := compared(r, blockParts(kind, s))
				if err != nil {
					return nil, err
				}
				data[kind] = groups
				for _, x := range []axis{secondsAxis, workAxis} {
					f.Claims = append(f.Claims, blockClaim(kind, groups, x, s))
				}
				for _, x := range append([]axis{workAxis}, axes...) {
					f.Figures = append(f.Figures, blockFigure(kind, groups, x, s))
				}
				f.Tables = append(f.Tables, Table{kind + "-blocks", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g with the best step for each number of blocks; medians over the seeds.", tolerance), blockTable(groups, blockNumbers(kind, s))})
			}
			f.Data = data
			f.Notes = []string{fmt.Sprintf("Work is message passes plus %d times gradient passes: about what both cost in time here, and independent of the machine.", gradientCost)}
			return f, nil
		},
	}
}

// workAxis is the single number of work.
var workAxis = axis{"work", fmt.Sprintf("message passes + %d · gradient passes", gradientCost), func(l Level) float64 { return work(l.Passes, l.Gradients) }}

// blockNumbers are the numbers of blocks for a kind of network.
func blockNumbers(kind string, s Settings) []int {
	if kind == Grid {
		return s.sizes().gridBlocks
	}
	return s.sizes().baBlocks
}

// withBlocks is BBPL with a number of blocks, named by it.
func withBlocks(n int) Method {
	m := bbpl(n)
	m.Name = fmt.Sprintf("%d blocks", n)
	return m
}

// blockParts are the comparisons of numbers of blocks: for each size, one part per
// seed.
func blockParts(kind string, s Settings) [][]part {
	x := s.sizes()
	networks := x.blockGrids
	if kind == BA {
		networks = x.blockBAs
	}
	all := make([][]part, len(networks))
	for i, size := range networks {
		for seed := range x.blockSeeds {
			plan := comparisonPlan{Problem: Problem{Kind: kind, Size: size, Seed: uint64(seed + 1)}.withDefaults(), Tolerance: tolerance, Until: tolerance, Rounds: x.rounds}
			for _, n := range blockNumbers(kind, s) {
				plan.Methods = append(plan.Methods, withBlocks(n))
			}
			all[i] = append(all[i], comparePart("blocks", expectedSeconds(plan.Problem.Nodes(), len(plan.Methods)), plan))
		}
	}
	return all
}

// blockEffort is the median effort with a number of blocks; NaN if no run got to
// the tolerance.
func blockEffort(cs []*Comparison, n int, x axis) (middle, least, most float64) {
	var values []float64
	for _, c := range cs {
		if t := c.trace(withBlocks(n).Name); t != nil {
			if l, ok := t.at(tolerance); ok {
				values = append(values, x.value(l))
			}
		}
	}
	least, most = span(values)
	return median(values), least, most
}

// The numbers of blocks that the paper found fastest, and how much slower than the
// best one they may be for its claim to hold.
const (
	fewestBest, mostBest = 20, 25
	nearlyBest           = 1.05
)

// blockClaim holds the best number of blocks against the paper's.
func blockClaim(kind string, groups [][]*Comparison, x axis, s Settings) Claim {
	c := Claim{
		Name: fmt.Sprintf("fig1: %s, best number of blocks by %s", kind, x.file), Scale: s.Scale, Held: true,
		Paper: "fastest when a block is 20 to 25 times smaller than the network",
	}
	for _, cs := range groups {
		best, number, inside := math.Inf(1), 0, math.Inf(1)
		for _, n := range blockNumbers(kind, s) {
			middle, _, _ := blockEffort(cs, n, x)
			if middle < best {
				best, number = middle, n
			}
			if n >= fewestBest && n <= mostBest && middle < inside {
				inside = middle
			}
		}
		c.Held = c.Held && inside <= nearlyBest*best
		if c.Measured != "" {
			c.Measured += "; "
		}
		c.Measured += fmt.Sprintf("%s: best with %d blocks, 20 to 25 take ×%.2f", cs[0].Problem.Name(), number, inside/best)
	}
	return c
}

// blockFigure draws effort against the number of blocks, a curve per network.
func blockFigure(kind string, groups [][]*Comparison, x axis, s Settings) Figure {
	c := record.Curves{Title: fmt.Sprintf("%s: %s to %g", kind, x.file, tolerance), XLabel: "blocks", YLabel: x.label, LogY: true, LogX: true}
	for _, cs := range groups {
		middle, low, high := record.Series{Name: cs[0].Problem.Name()}, record.Series{Dashed: true}, record.Series{Dashed: true}
		for _, n := range blockNumbers(kind, s) {
			m, l, h := blockEffort(cs, n, x)
			if math.IsNaN(m) {
				continue
			}
			middle.X, middle.Y = append(middle.X, float64(n)), append(middle.Y, m)
			low.X, low.Y = append(low.X, float64(n)), append(low.Y, l)
			high.X, high.Y = append(high.X, float64(n)), append(high.Y, h)
		}
		c.Series = append(c.Series, middle)
		if len(cs) > 1 {
			c.Series = append(c.Series, low, high)
		}
	}
	return Figure{kind + "-" + x.file, fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, best step for each number of blocks; medians over the seeds, ranges dashed.", tolerance), c}
}

func blockTable(groups [][]*Comparison, numbers []int) record.Table {
	t := record.Table{Headers: []string{"network", "blocks", "passes", "gradient passes", "seconds"}}
	for _, cs := range groups {
		for _, n := range numbers {
			passes, _, _ := blockEffort(cs, n, passesAxis)
			gradients, _, _ := blockEffort(cs, n, gradientsAxis)
			seconds, _, _ := blockEffort(cs, n, secondsAxis)
			t.Rows = append(t.Rows, []string{cs[0].Problem.Name(), fmt.Sprint(n), fmt.Sprintf("%.1f", passes), fmt.Sprintf("%.1f", gradients), fmt.Sprintf("%.4f", seconds)})
		}
	}
	return t
}
