package study

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/learn"
)

// Search is how the fixed step of a method was found.
type Search struct {
	Method string `json:"method"`
	// Step is the best one; 0 if none got there.
	Step  float64 `json:"step"`
	Tried []Try   `json:"tried"`
}

// Try is one step of a search.
type Try struct {
	Step float64 `json:"step"`
	// Work is that of the run to the tolerance; 0 where it did not get there, because it diverged or
	// took more than the best step before it.
	Work float64 `json:"work"`
	// Diverged says that the step is too large.
	Diverged bool `json:"diverged,omitempty"`
}

const (
	// mostWork bounds the first run of a search, while none is known that gets there.
	mostWork = 40000
	// stallGradients is how many gradient passes a run may take to halve its distance before the
	// search gives it up: steps that are a little too large neither get there nor diverge.
	stallGradients = 150
	// coarse is the stride of the search in half powers of two.
	coarse = 2
	// lowest and highest bound the grid, in half powers of two.
	lowest, highest = -40, 20
)

// stepOf returns the i-th step of the grid, 2^(i/2).
func stepOf(i int) float64 { return math.Exp2(float64(i) / 2) }

// startStep is where a search begins, about where most of them end. It grows with the network, beside
// which the regulariser gets smaller, and where there are blocks with their share of it.
func startStep(m Method, nodes int) int {
	step := 12 * math.Pow(float64(nodes)/100, 0.25)
	if m.Method == learn.BBPL {
		step = 2 * math.Sqrt(float64(nodes)) / float64(m.Blocks)
	}
	return coarse * int(math.Round(math.Log2(step)))
}

// leastCost looks for the step of the grid with the least cost, in the same way for every method: on powers of two up
// and down from a start, as long as it gets better, then at the two half powers beside the best. A cost that is not
// below most is that of a step that does not get there. It returns a step of 0 where none does.
func leastCost(start int, most float64, costOf func(step, least float64) (cost float64, err error)) (float64, error) {
	best, least := math.MinInt, most
	tried := map[int]bool{}
	var failed error // after which nothing more is tried
	try := func(i int) (better bool) {
		if i < lowest || i > highest || tried[i] || failed != nil {
			return false
		}
		tried[i] = true
		var cost float64
		cost, failed = costOf(stepOf(i), least)
		if better = failed == nil && cost < least; better {
			best, least = i, cost
		}
		return better
	}
	// Most often the first step gets there. Where it does not it is too long, or, if none that is
	// shorter does either, too short.
	for i := start; best == math.MinInt && i >= lowest; i -= coarse {
		try(i)
	}
	for i := start + coarse; best == math.MinInt && i <= highest; i += coarse {
		try(i)
	}
	if failed != nil || best == math.MinInt {
		return 0, failed
	}
	for _, stride := range []int{coarse, -coarse} {
		for try(best + stride) {
		}
	}
	for _, i := range []int{best + 1, best - 1} {
		try(i)
	}
	return stepOf(best), failed
}

// bestStep looks for the fixed step with which a method gets within a distance of the optimum with the least work.
// Work, unlike time, does not depend on what else the machine does, so that searches may run side by side.
func (b *bench) bestStep(ctx context.Context, m Method, start int, star []float64, distance float64) (*Search, error) {
	s := &Search{Method: m.Name}
	var err error
	s.Step, err = leastCost(start, mostWork, func(step, least float64) (float64, error) {
		lim := limits{distance: distance, work: least, stall: stallGradients}
		t, err := b.run(ctx, m, step, star, lim, false)
		if err != nil {
			return 0, err
		}
		entry := Try{Step: step, Diverged: t.Diverged != ""}
		cost := math.Inf(1)
		if _, ok := t.level(distance); ok {
			entry.Work, cost = t.work(), t.work()
		}
		s.Tried = append(s.Tried, entry)
		return cost, nil
	})
	return s, err
}
