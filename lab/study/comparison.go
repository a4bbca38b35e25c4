package study

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/lab/ceilings"
	"github.com/blockbp/blockbp/learn"
)

// Comparison is a set of methods measured on one problem.
type Comparison struct {
	Problem   Problem `json:"problem"`
	Variables int     `json:"variables"`
	// Objective and GradientNorm are those of θ*.
	Objective    float64 `json:"objective"`
	GradientNorm float64 `json:"grad_norm"`
	// Searches say how the step of each method was found.
	Searches []Search `json:"searches"`
	// Common is the step at which the paper's three methods were run again: the smallest of their best
	// ones, which is safe for all.
	Common float64 `json:"common_step,omitempty"`
	Traces []Trace `json:"traces"`
}

// trace returns a run by its name; nil if there is none.
func (c *Comparison) trace(name string) *Trace {
	if i := slices.IndexFunc(c.Traces, func(t Trace) bool { return t.Name == name }); i >= 0 {
		return &c.Traces[i]
	}
	return nil
}

// level returns where a run first was within a distance; ok is false if it never was, or there is no run of that name.
func (c *Comparison) level(name string, distance float64) (l Level, ok bool) {
	if t := c.trace(name); t != nil {
		return t.level(distance)
	}
	return Level{}, false
}

// network is the comparisons on networks of one kind and size: one for each seed that was measured, and at least one.
type network []*Comparison

// name is how tables and figures call it.
func (n network) name() string { return n[0].Problem.Name() }

// efforts returns what the runs of a name took to a distance, of those that got there.
func (n network) efforts(name string, distance float64, x axis) (all []float64) {
	for _, c := range n {
		if l, ok := c.level(name, distance); ok {
			all = append(all, x.value(l.Effort))
		}
	}
	return all
}

// effort is the median of what the runs of a name took to the tolerance; NaN if none got there.
func (n network) effort(name string, x axis) float64 { return median(n.efforts(name, tolerance, x)) }

// ratios returns, for each seed, how much more another method takes to a distance than BBPL.
func (n network) ratios(other, suffix string, distance float64, x axis) (all []float64) {
	for _, c := range n {
		ours, ok := c.level(nameBBPL+suffix, distance)
		theirs, too := c.level(other+suffix, distance)
		if ok && too {
			all = append(all, x.value(theirs.Effort)/x.value(ours.Effort))
		}
	}
	return all
}

// step is the median of the fixed steps of a method; NaN if it has none.
func (n network) step(name string) float64 {
	var steps []float64
	for _, c := range n {
		if t := c.trace(name); t != nil && t.Step > 0 {
			steps = append(steps, t.Step)
		}
	}
	return median(steps)
}

// comparisonPlan says what a comparison measures.
type comparisonPlan struct {
	Problem Problem  `json:"problem"`
	Methods []Method `json:"methods"`
	// Tolerance is ‖θ−θ*‖/‖θ*‖ that steps are chosen for; runs go on to Until.
	Tolerance float64 `json:"tolerance"`
	Until     float64 `json:"until"`
	// Rounds is how often each run is timed at least; the fastest counts.
	Rounds int `json:"rounds"`
	// Common adds the runs at a common step, and Objectives the exact objective on the way of the main methods.
	Common     bool `json:"common"`
	Objectives bool `json:"objectives"`
}

// planned is a run of a comparison: what it needs, the best of its rounds, and the seconds of all.
type planned struct {
	method Method
	step   float64
	best   *Trace
	spent  float64
}

const (
	// briefRun is how long a run is timed in all, if that takes no more than mostRounds: what disturbs
	// a run of milliseconds is as long as itself.
	briefRun   = 0.1 // seconds
	mostRounds = 5
)

// compare searches for the steps, then times all runs in turn, round after round, so that whatever
// disturbs the machine disturbs them alike.
func (b *bench) compare(ctx context.Context, plan comparisonPlan) (*Comparison, error) {
	best, err := solve(ctx, b.problem)
	if err != nil {
		return nil, err
	}
	star := best.Model.Weights
	c := &Comparison{Problem: b.spec, Variables: b.nodes, Objective: best.Objective, GradientNorm: best.GradientNorm}
	if c.Searches, err = b.searchAll(ctx, plan, star); err != nil {
		return nil, err
	}
	runs := c.plan(plan)
	for round := range max(plan.Rounds, mostRounds) {
		for _, r := range runs {
			if round >= plan.Rounds && r.spent >= briefRun {
				continue
			}
			t, err := b.timed(ctx, r, star, plan)
			if err != nil {
				return nil, err
			}
			r.spent += t.Seconds
			if r.best == nil || t.Seconds < r.best.Seconds {
				r.best = t
			}
		}
	}
	if plan.Objectives {
		if err := b.objectives(runs); err != nil {
			return nil, err
		}
	}
	for _, r := range runs {
		c.Traces = append(c.Traces, *r.best)
	}
	c.shareRuns()
	return c, nil
}

// inParallel calls job for 0 … n−1, as many at a time as the bench has threads.
func (b *bench) inParallel(n int, job func(i int) error) error {
	errs := make([]error, n)
	_ = parallel.Each(context.Background(), n, b.threads, func(i int) { errs[i] = job(i) })
	return errors.Join(errs...)
}

// searchAll finds the steps of all methods of the plan.
func (b *bench) searchAll(ctx context.Context, plan comparisonPlan, star []float64) ([]Search, error) {
	found := make([]Search, len(plan.Methods))
	err := b.inParallel(len(found), func(i int) error {
		m := plan.Methods[i]
		s, err := b.bestStep(ctx, m, startStep(m, b.nodes), star, plan.Tolerance)
		if err == nil {
			found[i] = *s
		}
		return err
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return found, err
}

// plan lists the runs. A method without a step that gets there is left out, and its Search says so.
func (c *Comparison) plan(plan comparisonPlan) []*planned {
	var runs, again []*planned
	common := math.Inf(1)
	for i, m := range plan.Methods {
		step := c.Searches[i].Step
		if step > 0 {
			runs = append(runs, &planned{method: m, step: step})
		}
		if plan.Common && inPaper(m) {
			if step > 0 {
				common = math.Min(common, step)
			}
			m.Name += nameCommon
			again = append(again, &planned{method: m, step: step})
		}
	}
	if math.IsInf(common, 1) {
		return runs
	}
	c.Common = common
	for _, r := range again {
		if r.step != common { // else its run at the best step counts for both: see shareRuns
			r.step = common
			runs = append(runs, r)
		}
	}
	return runs
}

// shareRuns makes the run of a method whose best step is the common one count for both.
func (c *Comparison) shareRuns() {
	for _, m := range paperMethods() {
		if t := c.trace(m.Name); t != nil && c.Common > 0 && t.Step == c.Common {
			again := *t
			again.Name += nameCommon
			c.Traces = append(c.Traces, again)
		}
	}
}

// inPaper reports whether a method is one of the three.
func inPaper(m Method) bool { return slices.Contains(mainNames, m.Name) }

// timed makes one run of a comparison, on one thread, while no garbage is collected.
func (b *bench) timed(ctx context.Context, r *planned, star []float64, plan comparisonPlan) (*Trace, error) {
	defer ceilings.Quiet()()
	lim := limits{distance: plan.Until, work: 2 * mostWork, alone: true}
	return b.run(ctx, r.method, r.step, star, lim, plan.Objectives && inPaper(r.method))
}

// objectiveEvery is at how many levels the exact objective is computed: at every so many.
const objectiveEvery = 2

// objectives computes exact objectives along the runs that are drawn, as the paper does: the weights
// were kept and are plugged in afterwards.
func (b *bench) objectives(runs []*planned) error {
	return b.inParallel(len(runs), func(i int) error {
		levels := runs[i].best.Levels
		if len(levels) == 0 || levels[0].theta == nil {
			return nil
		}
		evaluator, err := learn.NewEvaluator(b.problem, 1)
		if err != nil {
			return err
		}
		defer evaluator.Close()
		for j := 0; j < len(levels); j += objectiveEvery {
			exact, err := evaluator.At(levels[j].theta)
			if err != nil {
				return err
			}
			levels[j].Objective = runfolder.Float(exact.Objective)
			levels[j].theta = nil
		}
		return nil
	})
}
