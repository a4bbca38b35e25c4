package study

import (
	"context"
	"errors"
	"math"
	"path"

	"github.com/blockbp/blockbp/internal/runfolder"
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
	// Work is that of the run to the tolerance; 0 where it did not get there,
	// because it diverged or took more than the best step before it.
	Work float64 `json:"work"`
	// Diverged says that the step is too large.
	Diverged bool `json:"diverged,omitempty"`
}

const (
	// mostWork bounds the first run of a search, while none is known that gets there.
	mostWork = 40000
	// stallGradients is how many gradient passes a run may take to halve its distance
	// before the search gives it up: steps that are a little too large neither get
	// there nor diverge.
	stallGradients = 150
	// coarse is the stride of the search in half powers of two.
	coarse = 2
	// lowest and highest bound the grid, in half powers of two.
	lowest, highest = -20, 20
)

// stepOf returns the i-th step of the grid, 2^(i/2).
func stepOf(i int) float64 { return math.Exp2(float64(i) / 2) }

// startStep is where a search begins, about where most of them end. It grows with the
// network, beside which the regulariser gets smaller, and where there are blocks with
// their share of it.
func startStep(m Method, nodes int) int {
	step := 12 * math.Pow(float64(nodes)/100, 0.25)
	if m.Method == learn.BBPL {
		step = 2 * math.Sqrt(float64(nodes)) / float64(m.Blocks)
	}
	return coarse * int(math.Round(math.Log2(step)))
}

// searchFolder is where searches are kept in the output folder, by a hash of what they
// depend on: one takes minutes on a large network, and studies share them.
const searchFolder = "searches"

// keptSearch finds the step of a method, or reads it where it was found before.
func (b *bench) keptSearch(ctx context.Context, m Method, star []float64, distance float64, folder *runfolder.Run) (*Search, error) {
	name := m.Name
	m.Name = "" // what a figure calls it makes no difference
	key := hashOf(struct {
		Format   int     `json:"format"`
		Problem  string  `json:"problem"`
		Method   Method  `json:"method"`
		Distance float64 `json:"distance"`
	}{partFormat, b.key, m, distance})
	m.Name = name
	file := path.Join(searchFolder, key+".json")
	if kept, err := readKept[Search](folder, file); err != nil || kept != nil {
		if kept != nil {
			kept.Method = name
		}
		return kept, err
	}
	s, err := b.bestStep(ctx, m, startStep(m, b.nodes), star, distance)
	if err != nil || ctx.Err() != nil {
		return s, errors.Join(err, ctx.Err())
	}
	return s, folder.WriteJSON(file, s)
}

// bestStep looks for the fixed step with which a method gets within a distance of
// the optimum with the least work. Every method is searched for in the same way:
// on the grid of powers of two up and down from a start there, as long as it gets better,
// then at the two half powers beside the best. Work, unlike time, does not depend
// on what else the machine does, so that searches may run side by side.
func (b *bench) bestStep(ctx context.Context, m Method, start int, star []float64, distance float64) (*Search, error) {
	s := &Search{Method: m.Name}
	best, least := math.MinInt, float64(mostWork)
	tried := map[int]bool{}
	var failed error // after which nothing more is tried
	try := func(i int) (better bool) {
		if i < lowest || i > highest || tried[i] || failed != nil {
			return false
		}
		tried[i] = true
		var work float64
		work, failed = b.try(ctx, s, m, stepOf(i), star, limits{distance: distance, work: least, stall: stallGradients})
		if better = work > 0 && work < least; better {
			best, least = i, work
		}
		return better
	}
	// Most often the first step gets there. Where it does not it is too long, or, if
	// none that is shorter does either, too short.
	for i := start; best == math.MinInt && i >= lowest; i -= coarse {
		try(i)
	}
	for i := start + coarse; best == math.MinInt && i <= highest; i += coarse {
		try(i)
	}
	if failed != nil || best == math.MinInt {
		return s, failed
	}
	for _, stride := range []int{coarse, -coarse} {
		for try(best + stride) {
		}
	}
	for _, i := range []int{best + 1, best - 1} {
		try(i)
	}
	s.Step = stepOf(best)
	return s, failed
}

// try makes a run of a search, keeps how it went, and returns its work; 0 if it did not
// get there.
func (b *bench) try(ctx context.Context, s *Search, m Method, step float64, star []float64, lim limits) (work float64, err error) {
	t, err := b.run(ctx, m, step, star, lim, false)
	if err != nil {
		return 0, err
	}
	entry := Try{Step: step, Diverged: t.Diverged != ""}
	if _, ok := t.level(lim.distance); ok {
		entry.Work = t.work()
	}
	s.Tried = append(s.Tried, entry)
	return entry.Work, nil
}
