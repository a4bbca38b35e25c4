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
		parts: func(s Settings) []part {
			return slices.Concat(append(blockParts(Grid, s), blockParts(BA, s)...)...)
		},
		conclude: func(s Settings, r results) (*Findings, error) {
			data, err := byKind(r, func(kind string) [][]part { return blockParts(kind, s) })
			if err != nil {
				return nil, err
			}
			const note = "Work is message passes plus %d times gradient passes: about what both cost in time here, " +
				"and independent of the machine."
			const caption = "To ‖θ−θ*‖/‖θ*‖ ≤ %g with the best step for each number of blocks; medians over the seeds."
			f := &Findings{Data: data, Notes: []string{fmt.Sprintf(note, gradientCost)}}
			for _, kind := range kinds {
				sizes, numbers := data[kind], blockNumbers(kind, s)
				if len(sizes) == 0 {
					continue
				}
				f.Claims = append(f.Claims, blockClaim(kind, sizes, numbers),
					moreIterations(kind, sizes, numbers), dearIterations(kind, sizes, numbers))
				for _, x := range append([]axis{workAxis}, axes...) {
					f.Figures = append(f.Figures, blockFigure(kind, sizes, numbers, x))
				}
				f.Tables = append(f.Tables, Table{kind + "-blocks", fmt.Sprintf(caption, tolerance), blockTable(sizes, numbers)})
			}
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

// blockParts are the comparisons of numbers of blocks: for each size, one part per seed.
func blockParts(kind string, s Settings) [][]part {
	x := s.sizes()
	plan := comparisonPlan{Tolerance: tolerance, Until: tolerance, Rounds: x.rounds}
	for _, n := range blockNumbers(kind, s) {
		m := bbpl(n)
		m.Name = blockName(n)
		plan.Methods = append(plan.Methods, m)
	}
	return seedParts("blocks", kind, map[string][]int{Grid: x.blockGrids, BA: x.blockBAs}[kind], x.blockSeeds, plan)
}

// The numbers of blocks that the paper found fastest.
const fewestBest, mostBest = 20, 25

// bestBlocks returns the number of blocks with the least effort, that effort, and the least with 20 to 25.
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

// blockOutcome is how the times of 20 to 25 blocks compare with those of all numbers: they are the fastest where they
// are level with the best and both the fewest and the most blocks take longer; where those do not, the times are level.
func blockOutcome(n network, numbers []int) (fastest bool, words string) {
	number, best, inside := bestBlocks(n, numbers, secondsAxis)
	leastWork, work, workInside := bestBlocks(n, numbers, workAxis)
	var level []string
	longer := map[int]bool{}
	for _, blocks := range numbers {
		seconds := n.effort(blockName(blocks), secondsAxis)
		longer[blocks] = seconds > levelTimes*inside
		if seconds <= levelTimes*best {
			level = append(level, fmt.Sprint(blocks))
		}
	}
	words = fmt.Sprintf("%s: fastest with %d blocks, 20 to 25 take ×%.2f of its time; level within ×%g: %s blocks; "+
		"least work with %d, 20 to 25 take ×%.2f of it",
		n.name(), number, inside/best, levelTimes, strings.Join(level, ", "), leastWork, workInside/work)
	return inside <= levelTimes*best && longer[slices.Min(numbers)] && longer[slices.Max(numbers)], words
}

// blockClaim holds the fastest number of blocks against the paper's, on every network.
func blockClaim(kind string, sizes []network, numbers []int) Claim {
	c := Claim{
		Name: kind + ", fastest number of blocks", Held: true,
		Paper: "BBPL converges the fastest when each block is about 20 to 25 times smaller than the network",
	}
	var parts []string
	for _, n := range sizes {
		fastest, words := blockOutcome(n, numbers)
		c.Held, parts = c.Held && fastest, append(parts, words)
	}
	c.Measured = strings.Join(parts, ". ")
	return c
}

// The paper gives two reasons for its claim.

// moreIterations is that small blocks need more iterations.
func moreIterations(kind string, sizes []network, numbers []int) Claim {
	c := Claim{
		Name:  kind + ", small blocks need more iterations",
		Paper: "when the block size is too small, the algorithm needs more iterations to converge",
	}
	const words = "iterations with %d blocks over those with %d: %s"
	return c.overMiddle(words, sizes, slices.Max(numbers), numbers, iterationsAxis)
}

// dearIterations is that an iteration on a large block costs more.
func dearIterations(kind string, sizes []network, numbers []int) Claim {
	c := Claim{
		Name:  kind + ", an iteration on a large block costs more",
		Paper: "when the block size is too large, per-iteration complexity will be large",
	}
	each := axis{value: func(e Effort) float64 { return e.Seconds / float64(e.Iterations) }}
	const words = "time of an iteration with %d blocks over that with %d: %s"
	return c.overMiddle(words, sizes, slices.Min(numbers), numbers, each)
}

// overMiddle holds against the claim that a number of blocks takes more by a measure than the first of
// the numbers that the paper found fastest, on every network.
func (c Claim) overMiddle(words string, sizes []network, blocks int, numbers []int, x axis) Claim {
	middle := numbers[slices.IndexFunc(numbers, func(n int) bool { return n >= fewestBest })]
	c.Held = true
	var parts []string
	for _, n := range sizes {
		ratio := n.effort(blockName(blocks), x) / n.effort(blockName(middle), x)
		c.Held = c.Held && ratio > 1 // NaN is not
		parts = append(parts, fmt.Sprintf("%s ×%.2f", n.name(), ratio))
	}
	c.Measured = fmt.Sprintf(words, blocks, middle, strings.Join(parts, ", "))
	return c
}

// blockFigure draws effort against the number of blocks, a curve per network.
func blockFigure(kind string, sizes []network, numbers []int, x axis) Figure {
	c := toleranceCurves(kind, sizes, x, "", "blocks")
	for _, n := range sizes {
		s := report.Series{Name: n.name()}
		for _, blocks := range numbers {
			if y := n.effort(blockName(blocks), x); !math.IsNaN(y) {
				s.X, s.Y = append(s.X, float64(blocks)), append(s.Y, y)
			}
		}
		c.Series = append(c.Series, s)
	}
	caption := fmt.Sprintf("To ‖θ−θ*‖/‖θ*‖ ≤ %g, best step for each number of blocks%s.", tolerance, seedWords(sizes...))
	return Figure{kind + "-" + x.file, caption, c}
}

func blockTable(sizes []network, numbers []int) report.Table {
	var names []string
	for _, blocks := range numbers {
		names = append(names, blockName(blocks))
	}
	return convergenceTable(sizes, names)
}
