package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
)

// fig1 is the sensitivity of BBPL to the size of its blocks.
func fig1() *Study {
	return &Study{
		Name: "fig1", Title: "Sensitivity of BBPL to block size",
		Paper: "BBPL converges the fastest when each block is about 20 to 25 times smaller than the network.",
		parts: func(s Settings) []part { return largestFirst(blockParts(Grid, s), blockParts(BA, s)) },
		conclude: func(s Settings, r results) (*Findings, error) {
			f := &Findings{Notes: []string{fmt.Sprintf("Work is message passes plus %d times gradient passes: about what both cost in time here, and independent of the machine.", gradientCost), pseudoNote}}
			data, err := byKind(r, func(kind string) [][]part { return blockParts(kind, s) })
			if err != nil {
				return nil, err
			}
			for _, kind := range kinds {
				groups := data[kind]
				if groups == nil {
					continue
				}
				f.Claims = append(f.Claims, blockClaim(kind, groups, s), moreIterations(kind, groups, s), dearIterations(kind, groups, s))
				for _, x := range append([]axis{workAxis}, axes...) {
					f.Figures = append(f.Figures, blockFigure(kind, groups, x, s))
				}
				f.Tables = append(f.Tables, Table{kind + "-blocks", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g with the best step for each number of blocks; medians over the seeds.", tolerance), blockTable(groups, blockNumbers(kind, s))})
			}
			f.Data = data
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
			plan := comparisonPlan{Problem: Problem{Kind: kind, Size: size, Seed: uint64(seed + 1)}.withDefaults(), Tolerance: tolerance, Until: tolerance, Rounds: x.rounds, Baselines: true}
			for _, n := range blockNumbers(kind, s) {
				plan.Methods = append(plan.Methods, withBlocks(n))
			}
			all[i] = append(all[i], comparePart("blocks", expectedSeconds(plan.Problem, len(plan.Methods)+1), plan))
		}
	}
	return all
}

// blockEffort is the median effort of the runs of a name, and its range; NaN if none
// got to the tolerance.
func blockEffort(cs []*Comparison, name string, x axis) (middle, least, most float64) {
	var values []float64
	for _, c := range cs {
		if t := c.trace(name); t != nil {
			if l, ok := t.at(tolerance); ok {
				values = append(values, x.value(l))
			}
		}
	}
	least, most = span(values)
	return median(values), least, most
}

// The numbers of blocks that the paper found fastest.
const fewestBest, mostBest = 20, 25

// bestBlocks returns the number of blocks with the least effort, that effort, and the
// least with 20 to 25.
func bestBlocks(cs []*Comparison, numbers []int, x axis) (number int, best, inside float64) {
	best, inside = math.Inf(1), math.Inf(1)
	for _, n := range numbers {
		middle, _, _ := blockEffort(cs, withBlocks(n).Name, x)
		if middle < best {
			best, number = middle, n
		}
		if n >= fewestBest && n <= mostBest && middle < inside {
			inside = middle
		}
	}
	return number, best, inside
}

// paperRange are the fewest and the most blocks that the paper tried.
var paperRange = map[string][2]int{Grid: {25, 100}, BA: {5, 100}}

// blockOutcome is how the times of 20 to 25 blocks compare with those of all numbers:
// they are the fastest where they are level with the best and both the fewest and the
// most blocks take longer; where those do not, the times are level.
func blockOutcome(cs []*Comparison, numbers []int) (fastest bool, words string) {
	_, best, inside := bestBlocks(cs, numbers, secondsAxis)
	var level []string
	longer := map[int]bool{}
	for _, n := range numbers {
		seconds, _, _ := blockEffort(cs, withBlocks(n).Name, secondsAxis)
		longer[n] = seconds > levelTimes*inside
		if seconds <= levelTimes*best {
			level = append(level, fmt.Sprint(n))
		}
	}
	words = fmt.Sprintf("level within ×%g: %s blocks", levelTimes, strings.Join(level, ", "))
	return inside <= levelTimes*best && longer[slices.Min(numbers)] && longer[slices.Max(numbers)], words
}

// blockClaim holds the fastest number of blocks against the paper's, on every network.
func blockClaim(kind string, groups [][]*Comparison, s Settings) Claim {
	c := Claim{
		Name: fmt.Sprintf("fig1: %s, fastest number of blocks", kind), Scale: s.Scale, Held: true,
		Paper: "BBPL converges the fastest when each block is about 20 to 25 times smaller than the network",
	}
	numbers := blockNumbers(kind, s)
	tried := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n < paperRange[kind][0] || n > paperRange[kind][1] })
	var parts []string
	for _, cs := range groups {
		number, best, inside := bestBlocks(cs, numbers, secondsAxis)
		leastWork, work, workInside := bestBlocks(cs, numbers, workAxis)
		fastest, level := blockOutcome(cs, numbers)
		c.Held = c.Held && fastest
		text := fmt.Sprintf("%s: fastest with %d blocks, 20 to 25 take ×%.2f of its time", cs[0].Problem.Name(), number, inside/best)
		if among, _, _ := bestBlocks(cs, tried, secondsAxis); len(tried) < len(numbers) && among != number {
			text += fmt.Sprintf(" (of the paper's own %d to %d: %d)", paperRange[kind][0], paperRange[kind][1], among)
		}
		parts = append(parts, text+"; "+level+fmt.Sprintf("; least work with %d, 20 to 25 take ×%.2f of it", leastWork, workInside/work))
	}
	c.Measured = strings.Join(parts, ". ")
	return c
}

// blockRatio compares two numbers of blocks by a measure on every network.
func blockRatio(groups [][]*Comparison, many, few int, x axis) (ratios []float64, text string) {
	var parts []string
	for _, cs := range groups {
		a, _, _ := blockEffort(cs, withBlocks(many).Name, x)
		b, _, _ := blockEffort(cs, withBlocks(few).Name, x)
		ratios = append(ratios, a/b)
		parts = append(parts, fmt.Sprintf("%s ×%.2f", cs[0].Problem.Name(), a/b))
	}
	return ratios, strings.Join(parts, ", ")
}

// above reports whether all numbers are larger than a bound; NaN is not.
func above(x []float64, bound float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(v > bound) })
}

// The paper gives two reasons for its claim.

// moreIterations is that small blocks need more iterations.
func moreIterations(kind string, groups [][]*Comparison, s Settings) Claim {
	numbers := blockNumbers(kind, s)
	most := slices.Max(numbers)
	ratios, text := blockRatio(groups, most, middleBlocks(numbers), axis{value: func(l Level) float64 { return float64(l.Iterations) }})
	return Claim{
		Name: fmt.Sprintf("fig1: %s, small blocks need more iterations", kind), Scale: s.Scale, Held: above(ratios, 1),
		Paper: "when the block size is too small, the algorithm needs more iterations to converge", Measured: fmt.Sprintf("iterations with %d blocks over those with %d: %s", most, middleBlocks(numbers), text),
	}
}

// dearIterations is that an iteration on a large block costs more.
func dearIterations(kind string, groups [][]*Comparison, s Settings) Claim {
	numbers := blockNumbers(kind, s)
	fewest := slices.Min(numbers)
	ratios, text := blockRatio(groups, fewest, middleBlocks(numbers), axis{value: func(l Level) float64 { return l.Seconds / float64(l.Iterations) }})
	return Claim{
		Name: fmt.Sprintf("fig1: %s, an iteration on a large block costs more", kind), Scale: s.Scale, Held: above(ratios, 1),
		Paper: "when the block size is too large, per-iteration complexity will be large", Measured: fmt.Sprintf("time of an iteration with %d blocks over that with %d: %s", fewest, middleBlocks(numbers), text),
	}
}

// middleBlocks is the first of the numbers that the paper found fastest.
func middleBlocks(numbers []int) int {
	return numbers[slices.IndexFunc(numbers, func(n int) bool { return n >= fewestBest })]
}

// blockFigure draws effort against the number of blocks, a curve per network, with
// that of L-BFGS, which has no blocks, as a level.
func blockFigure(kind string, groups [][]*Comparison, x axis, s Settings) Figure {
	c := figure.Curves{Title: fmt.Sprintf("%s: %s to ‖θ−θ*‖/‖θ*‖ ≤ %g%s", kindNames[kind], x.file, tolerance, seedWords(groups...)), XLabel: "blocks", YLabel: x.labelOf(slices.Concat(groups...)), LogY: true, LogX: true}
	numbers := blockNumbers(kind, s)
	for _, n := range numbers {
		c.XTicks = append(c.XTicks, float64(n))
	}
	for _, cs := range groups {
		network := cs[0].Problem.Name()
		middle, low, high := figure.Series{Name: network}, figure.Series{Dashed: true}, figure.Series{Dashed: true}
		for _, n := range numbers {
			m, l, h := blockEffort(cs, withBlocks(n).Name, x)
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
	for _, cs := range groups {
		if m, _, _ := blockEffort(cs, nameLBFGS, x); !math.IsNaN(m) {
			ends := []float64{float64(slices.Min(numbers)), float64(slices.Max(numbers))}
			c.Series = append(c.Series, figure.Series{Name: nameLBFGS + ", " + cs[0].Problem.Name(), X: ends, Y: []float64{m, m}, Dashed: true})
		}
	}
	return Figure{kind + "-" + x.file, fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, best step for each number of blocks%s. L-BFGS, which has no blocks, is a level.", tolerance, seedWords(groups...)), c}
}

func blockTable(groups [][]*Comparison, numbers []int) report.Table {
	t := report.Table{Headers: []string{"network", "blocks", "step", "iterations", "passes", "gradient passes", "seconds"}}
	for _, cs := range groups {
		row := func(label, name string) {
			iterations, _, _ := blockEffort(cs, name, axis{value: func(l Level) float64 { return float64(l.Iterations) }})
			passes, _, _ := blockEffort(cs, name, passesAxis)
			gradients, _, _ := blockEffort(cs, name, gradientsAxis)
			seconds, _, _ := blockEffort(cs, name, secondsAxis)
			t.Rows = append(t.Rows, []string{cs[0].Problem.Name(), label, number("%.3g", medianStep(cs, name)), number("%.0f", iterations), number("%.1f", passes), number("%.1f", gradients), number("%.4f", seconds)})
		}
		for _, n := range numbers {
			row(fmt.Sprint(n), withBlocks(n).Name)
		}
		row(nameLBFGS, nameLBFGS)
		if p := pseudoOf(cs); p.runs > 0 {
			t.Rows = append(t.Rows, []string{cs[0].Problem.Name(), p.label(), "–", number("%.0f", p.evaluations), "0", number("%.1f", p.evaluations), number("%.4f", p.seconds)})
		}
	}
	return t
}

// medianStep is that of the fixed steps of a method; NaN if it has none.
func medianStep(cs []*Comparison, name string) float64 {
	var steps []float64
	for _, c := range cs {
		if t := c.trace(name); t != nil && t.Step > 0 {
			steps = append(steps, t.Step)
		}
	}
	return median(steps)
}

// number formats a number that may be missing.
func number(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}
