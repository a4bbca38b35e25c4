package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
)

// fig1 is the sensitivity of BBPL to the size of its blocks.
func fig1() *Study {
	return &Study{
		Name: "fig1", Title: "Sensitivity of BBPL to block size",
		Paper: "BBPL converges the fastest when each block is about 20 to 25 times smaller than the network.",
		parts: func(s Settings) []part { return largestFirst(blockParts(Grid, s), blockParts(BA, s)) },
		conclude: func(s Settings, r results) (*Findings, error) {
			f := &Findings{Notes: []string{fmt.Sprintf("Work is message passes plus %d times gradient passes: about what both cost in time here, and independent of the machine.", gradientCost)}}
			data, err := byKind(r, func(kind string) [][]part { return blockParts(kind, s) })
			if err != nil {
				return nil, err
			}
			for _, kind := range kinds {
				sizes, numbers := data[kind], blockNumbers(kind, s)
				if len(sizes) == 0 {
					continue
				}
				f.Claims = append(f.Claims, blockClaim(kind, sizes, numbers), moreIterations(kind, sizes, numbers), dearIterations(kind, sizes, numbers))
				for _, x := range append([]axis{workAxis}, axes...) {
					f.Figures = append(f.Figures, blockFigure(kind, sizes, numbers, x))
				}
				f.Tables = append(f.Tables, Table{kind + "-blocks", fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g with the best step for each number of blocks; medians over the seeds.", tolerance), blockTable(sizes, numbers)})
			}
			f.Data = data
			return f, nil
		},
	}
}

// blockNumbers are the numbers of blocks for a kind of network.
func blockNumbers(kind string, s Settings) []int {
	return map[string][]int{Grid: s.sizes().gridBlocks, BA: s.sizes().baBlocks}[kind]
}

// blockName is how runs of BBPL with a number of blocks are called.
func blockName(n int) string { return fmt.Sprintf("%d blocks", n) }

// withBlocks is BBPL with a number of blocks, named by it.
func withBlocks(n int) Method {
	m := bbpl(n)
	m.Name = blockName(n)
	return m
}

// blockParts are the comparisons of numbers of blocks: for each size, one part per
// seed.
func blockParts(kind string, s Settings) [][]part {
	x := s.sizes()
	plan := comparisonPlan{Tolerance: tolerance, Until: tolerance, Rounds: x.rounds, Baselines: true}
	for _, n := range blockNumbers(kind, s) {
		plan.Methods = append(plan.Methods, withBlocks(n))
	}
	sizes := map[string][]int{Grid: x.blockGrids, BA: x.blockBAs}[kind]
	return seedParts("blocks", kind, sizes, x.blockSeeds, len(plan.Methods)+1, plan)
}

// The numbers of blocks that the paper found fastest.
const fewestBest, mostBest = 20, 25

// bestBlocks returns the number of blocks with the least effort, that effort, and the
// least with 20 to 25.
func bestBlocks(n network, numbers []int, x axis) (number int, best, inside float64) {
	best, inside = math.Inf(1), math.Inf(1)
	for _, blocks := range numbers {
		effort := n.effort(blockName(blocks), x)
		if effort < best {
			best, number = effort, blocks
		}
		if blocks >= fewestBest && blocks <= mostBest && effort < inside {
			inside = effort
		}
	}
	return number, best, inside
}

// paperRange are the fewest and the most blocks that the paper tried.
var paperRange = map[string][2]int{Grid: {25, 100}, BA: {5, 100}}

// blockOutcome is how the times of 20 to 25 blocks compare with those of all numbers:
// they are the fastest where they are level with the best and both the fewest and the
// most blocks take longer; where those do not, the times are level.
func blockOutcome(n network, numbers []int) (fastest bool, words string) {
	_, best, inside := bestBlocks(n, numbers, secondsAxis)
	var level []string
	longer := map[int]bool{}
	for _, blocks := range numbers {
		seconds := n.effort(blockName(blocks), secondsAxis)
		longer[blocks] = seconds > levelTimes*inside
		if seconds <= levelTimes*best {
			level = append(level, fmt.Sprint(blocks))
		}
	}
	words = fmt.Sprintf("level within ×%g: %s blocks", levelTimes, strings.Join(level, ", "))
	return inside <= levelTimes*best && longer[slices.Min(numbers)] && longer[slices.Max(numbers)], words
}

// blockClaim holds the fastest number of blocks against the paper's, on every network.
func blockClaim(kind string, sizes []network, numbers []int) Claim {
	c := Claim{
		Name: kind + ", fastest number of blocks", Held: true,
		Paper: "BBPL converges the fastest when each block is about 20 to 25 times smaller than the network",
	}
	fewest, most := paperRange[kind][0], paperRange[kind][1]
	tried := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n < fewest || n > most })
	var parts []string
	for _, n := range sizes {
		number, best, inside := bestBlocks(n, numbers, secondsAxis)
		leastWork, work, workInside := bestBlocks(n, numbers, workAxis)
		fastest, level := blockOutcome(n, numbers)
		c.Held = c.Held && fastest
		text := fmt.Sprintf("%s: fastest with %d blocks, 20 to 25 take ×%.2f of its time", n.name(), number, inside/best)
		if among, _, _ := bestBlocks(n, tried, secondsAxis); len(tried) < len(numbers) && among != number {
			text += fmt.Sprintf(" (of the paper's own %d to %d: %d)", fewest, most, among)
		}
		parts = append(parts, text+"; "+level+fmt.Sprintf("; least work with %d, 20 to 25 take ×%.2f of it", leastWork, workInside/work))
	}
	c.Measured = strings.Join(parts, ". ")
	return c
}

// The paper gives two reasons for its claim.

// moreIterations is that small blocks need more iterations.
func moreIterations(kind string, sizes []network, numbers []int) Claim {
	c := Claim{Name: kind + ", small blocks need more iterations", Paper: "when the block size is too small, the algorithm needs more iterations to converge"}
	return c.overMiddle("iterations with %d blocks over those with %d: %s", sizes, slices.Max(numbers), middleBlocks(numbers), iterationsAxis)
}

// dearIterations is that an iteration on a large block costs more.
func dearIterations(kind string, sizes []network, numbers []int) Claim {
	c := Claim{Name: kind + ", an iteration on a large block costs more", Paper: "when the block size is too large, per-iteration complexity will be large"}
	each := axis{value: func(e Effort) float64 { return e.Seconds / float64(e.Iterations) }}
	return c.overMiddle("time of an iteration with %d blocks over that with %d: %s", sizes, slices.Min(numbers), middleBlocks(numbers), each)
}

// overMiddle holds against the claim that blocks take more by a measure than another
// number of them, on every network.
func (c Claim) overMiddle(words string, sizes []network, blocks, middle int, x axis) Claim {
	var ratios []float64
	var parts []string
	for _, n := range sizes {
		ratio := n.effort(blockName(blocks), x) / n.effort(blockName(middle), x)
		ratios, parts = append(ratios, ratio), append(parts, fmt.Sprintf("%s ×%.2f", n.name(), ratio))
	}
	c.Held, c.Measured = above(ratios, 1), fmt.Sprintf(words, blocks, middle, strings.Join(parts, ", "))
	return c
}

// above reports whether all numbers are larger than a bound; NaN is not.
func above(x []float64, bound float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(v > bound) })
}

// middleBlocks is the first of the numbers that the paper found fastest.
func middleBlocks(numbers []int) int {
	return numbers[slices.IndexFunc(numbers, func(n int) bool { return n >= fewestBest })]
}

// blockFigure draws effort against the number of blocks, a curve per network.
func blockFigure(kind string, sizes []network, numbers []int, x axis) Figure {
	c := toleranceCurves(kind, sizes, x, "", "blocks")
	for _, n := range numbers {
		c.XTicks = append(c.XTicks, float64(n))
	}
	for _, n := range sizes {
		b := newBand(n.name())
		for _, blocks := range numbers {
			b.add(float64(blocks), n.efforts(blockName(blocks), tolerance, x))
		}
		c.Series = append(c.Series, b.series()...)
	}
	return Figure{kind + "-" + x.file, fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, best step for each number of blocks%s.", tolerance, seedWords(sizes...)), c}
}

func blockTable(sizes []network, numbers []int) report.Table {
	t := report.Table{Headers: []string{"network", "blocks", "step", "iterations", "passes", "gradient passes", "seconds"}}
	for _, n := range sizes {
		row := func(label, name string) {
			t.Rows = append(t.Rows, []string{
				n.name(), label, number("%.3g", n.step(name)), number("%.0f", n.effort(name, iterationsAxis)),
				number("%.1f", n.effort(name, passesAxis)), number("%.1f", n.effort(name, gradientsAxis)), number("%.4f", n.effort(name, secondsAxis)),
			})
		}
		for _, blocks := range numbers {
			row(fmt.Sprint(blocks), blockName(blocks))
		}
	}
	return t
}
