package learn

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/oracle"
)

// runs are the ways to the optimum: every method, with many and few blocks and sweeps, in every order.
var runs = map[string]Settings{
	"full":           {Method: Full},
	"full, 3 sweeps": {Method: Full, InnerSweeps: 3},
	"inner-dual":     {Method: InnerDual},
	"bbpl":           {Method: BBPL},
	"1 block":        {Method: BBPL, Assign: blocksOf(1)},
	"4 blocks":       {Method: BBPL, Assign: blocksOf(4), InnerSweeps: 300},
	"1 sweep":        {Method: BBPL, Assign: blocksOf(4), InnerSweeps: 1},
	"5 sweeps":       {Method: BBPL, Assign: blocksOf(4), InnerSweeps: 5},
	"random":         {Method: BBPL, Assign: blocksOf(4), RandomOrder: true, Seed: 7},
	"together":       {Method: BBPL, Assign: blocksOf(6), Together: 3},
}

// TestMethodsReachTheSameWeights: the optimum does not depend on the way, for every kind of problem whose objective has
// one optimum: also where pairs of states are forbidden, whose weights stay zero, and for instances of different
// graphs, some of whose pairs of blocks meet in one instance only.
func TestMethodsReachTheSameWeights(t *testing.T) {
	all := problems(t)
	all["masked"] = chainOf(t, 12, 3, 7)
	uneven := all["plain"]
	for i, size := range [][2]int{{1, 7}, {5, 3}} {
		options := problemOptions{rows: size[0], cols: size[1], states: 3, nodeDim: 3, edgeDim: 2}
		uneven.Data = append(slices.Clone(uneven.Data), randomProblem(t, uint64(2+i), options).Data...)
	}
	all["uneven"] = uneven
	for kind, p := range all {
		if instances.AnyHidden(p.Data) {
			continue // several optima: TestPartlyObserved
		}
		for _, counting := range []string{"convex", "trw"} {
			t.Run(kind+"/"+counting, func(t *testing.T) {
				p := p.with(counting)
				reference := fit(t, p, Settings{Method: Full, InnerTolerance: 1e-8, GradientTolerance: 1e-9})
				if reference.Status != Converged || !reference.Convex {
					t.Fatalf("%s: %s, convex: %v", reference.Status, reference.Reason, reference.Convex)
				}
				for name, s := range runs {
					s.GradientTolerance = 1e-8
					r := fit(t, p, s)
					oracle.Equal(t, r.Status, Converged, "%s: %s", name, r.Reason)
					if d := distance(r.Model.Weights, reference.Model.Weights) / norm(reference.Model.Weights); !(d <= 1e-6) {
						t.Errorf("%s: relative distance %g", name, d)
					}
					nearly(t, r.Objective, reference.Objective, 1e-10, "%s: L", name)
					if !(math.Abs(r.Gap) < 1e-6*(1+math.Abs(r.Objective))) {
						t.Errorf("%s: gap %g", name, r.Gap)
					}
					for _, pair := range p.Model.Schema.EdgeTypes[0].Forbidden {
						w := r.Model.Weights[r.Model.Layout.Edge[0].At+pair[0]*3+pair[1]]
						oracle.Equal(t, w, 0, "%s: the weight of the forbidden pair %v", name, pair)
					}
				}
			})
		}
	}
}

// TestFixedStepReachesTheSameWeights: with a step that is small enough every
// method converges to the optimum that the automatic steps find.
func TestFixedStepReachesTheSameWeights(t *testing.T) {
	p := randomProblem(t, 3, problemOptions{rows: 4, cols: 3, states: 2, nodeDim: 2, edgeDim: 1, instances: 2, l2: 2})
	reference := fit(t, p, Settings{GradientTolerance: 1e-10})
	for name, s := range runs {
		s.Step, s.GradientTolerance = &fixedStep{alpha: 0.15}, 1e-8
		r := fit(t, p, s)
		if d := distance(r.Model.Weights, reference.Model.Weights) / norm(reference.Model.Weights); r.Status != Converged || !(d <= 1e-7) {
			t.Errorf("%s: %s: %s, relative distance %g", name, r.Status, r.Reason, d)
		}
	}
}

// stepRules returns fresh step rules of every kind. They are short enough for every problem of problems: with
// adagrad:0.2 the first ten visits already lead one of them above where it started, and with adagrad:0.1 some of those
// that a limit of 15 passes ends with bethe or trw.
func stepRules() []string { return []string{"auto", "fixed:0.05", "adagrad:0.05"} }

// TestSameBits: every method × every kind of problem × every step rule ends in
// the same bits when run again, and on 2 and 8 threads.
func TestSameBits(t *testing.T) {
	for kind, p := range problems(t) {
		for name, s := range runs {
			for i, step := range stepRules() {
				names := []string{"convex", "trw", "bethe"} // another one for each rule, in turn
				counting := names[i%len(names)]
				run := func(threads int) *Result {
					s := s
					s.Step, s.Threads, s.MaxPasses = must(ParseStep(step)), threads, 12
					return fit(t, p.with(counting), s)
				}
				first := run(1)
				for _, threads := range []int{1, 2, 8} {
					if again := run(threads); !sameBits(first, again) {
						t.Errorf("%s, %s, %s: %d threads end in other bits: %+v, %+v", kind, name, step, threads, first, again)
					}
				}
			}
		}
	}
}

// TestSeeds: another seed picks blocks in another order.
func TestSeeds(t *testing.T) {
	p := problems(t)["plain"]
	run := func(seed uint64, random bool) (blocks []int) {
		fit(t, p, Settings{Assign: blocksOf(4), RandomOrder: random, Seed: seed, MaxIterations: 12,
			Step: must(ParseStep("fixed:0.1")), Recorder: func(e Event) error {
				if !e.Check {
					blocks = append(blocks, e.Block)
				}
				return nil
			}})
		return blocks
	}
	if got := run(1, false); !slices.Equal(got, []int{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}) {
		t.Errorf("cyclic order is %v", got)
	}
	a, b, c := run(1, true), run(1, true), run(2, true)
	if !slices.Equal(a, b) || slices.Equal(a, c) || len(a) != 12 {
		t.Errorf("random orders %v, %v, and with another seed %v", a, b, c)
	}
}

// TestPartlyObserved: with missing labels every method finds a stationary point, and the result does not claim that it
// is the only one, but tells the gap of its inferences.
func TestPartlyObserved(t *testing.T) {
	for _, kind := range []string{"missing", "mixed missing"} {
		for _, counting := range []string{"convex", "trw", "bethe"} {
			p := problems(t)[kind].with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			for name, s := range runs {
				r := fit(t, p, s)
				closed := math.Abs(r.Gap) <= 1e-6
				if counting != "convex" { // no dual
					closed = math.IsNaN(r.Gap)
				}
				if !r.Status.Stationary() || r.Convex || !closed {
					t.Errorf("%s, %s, %s: %s: %s, convex %v, gap %v", kind, counting, name, r.Status, r.Reason, r.Convex, r.Gap)
				}
				if x := settled(t, e, r.Model.Weights); !(x.GradientNorm <= 1.01*1e-5*r.FirstGradientNorm) || !near(x.Objective, r.Objective, 1e-8) {
					t.Errorf("%s, %s, %s: %+v at the end, the run says %v and %v", kind, counting, name, x, r.Objective, r.GradientNorm)
				}
			}
		}
	}
}

// TestNodeWithoutLabels: nodes that no sample labels are marginalised, and if
// nothing is labelled there is nothing to learn.
func TestNodeWithoutLabels(t *testing.T) {
	p := problems(t)["plain"]
	in := p.Data[0]
	relabel := func(change func(s int, y int32) int32) *crf.Instance {
		return changed(in, func(spec *crf.InstanceSpec) {
			labels := slices.Clone(in.Samples()[0])
			for s, y := range labels {
				labels[s] = change(s, y)
			}
			spec.Labels = [][]int32{labels}
		})
	}
	p.Data = []*crf.Instance{relabel(func(s int, y int32) int32 {
		if s%5 == 0 {
			return crf.Unobserved
		}
		return y
	})}
	if r := fit(t, p, Settings{}); !r.Status.Stationary() || r.Convex {
		t.Errorf("%s: %s", r.Status, r.Reason)
	}
	p.Data = []*crf.Instance{relabel(func(int, int32) int32 { return crf.Unobserved })}
	if r := fit(t, p, Settings{}); !r.Status.Stationary() || math.Abs(r.Objective) > 1e-12 || norm(r.Model.Weights) > 1e-12 {
		t.Errorf("no labels: %s: %s, objective %g, weights %v", r.Status, r.Reason, r.Objective, r.Model.Weights)
	}
}

// TestManyUnits crosses the chunks in which units are worked on.
func TestManyUnits(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 1, cols: 3, states: 2, nodeDim: 2, edgeDim: 1, samples: resultsAtATime + 50, missing: 0.4, l2: 0.1})
	a, b := fit(t, p, Settings{Threads: 1}), fit(t, p, Settings{Threads: 3})
	if !a.Status.Stationary() || !sameBits(a, b) {
		t.Errorf("%s: %s; on three threads %s", a.Status, a.Reason, b.Reason)
	}
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	nearly(t, a.Objective, settled(t, e, a.Model.Weights).Objective, 1e-9, "L")
}

func distance(a, b []float64) float64 {
	total := 0.0
	for i := range a {
		total += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(total)
}

func norm(a []float64) float64 { return distance(a, make([]float64, len(a))) }

// TestHiddenLabelsWithoutEdges: what a hidden label adds to the objective cancels where
// no edge ties it to others, so there is one optimum, from any start.
func TestHiddenLabelsWithoutEdges(t *testing.T) {
	for _, counting := range []string{"convex", "trw", "bethe"} {
		p := randomProblem(t, 4, problemOptions{rows: 3, cols: 3, states: 3, nodeDim: 2, edgeDim: 1, samples: 3, missing: 0.4, l2: 0.1}).with(counting)
		if r := fit(t, p, Settings{}); r.Convex {
			t.Errorf("%s: with edges the objective is said to be convex", counting)
		}
		for i, in := range p.Data {
			p.Data[i] = in.WithoutEdges()
		}
		first := fit(t, p, Settings{GradientTolerance: 1e-9})
		p.Model = p.Model.Clone()
		copy(p.Model.Weights, p.randomWeights(5, 3))
		second := fit(t, p, Settings{GradientTolerance: 1e-9})
		if !first.Convex || !second.Convex {
			t.Errorf("%s: without edges the objective is not said to be convex", counting)
		}
		if !near(first.Objective, second.Objective, 1e-10) || distance(first.Model.Weights, second.Model.Weights) > 1e-6 {
			t.Errorf("%s: objective %v and %v from two starts", counting, first.Objective, second.Objective)
		}
	}
}

// TestLatest: learning ends at the limit, or earlier by what its end takes beyond a tenth of the
// limit, however long that is.
func TestLatest(t *testing.T) {
	const hour = float64(time.Hour / time.Second)
	for _, test := range []struct {
		limit     time.Duration
		end, want float64 // seconds
	}{
		{time.Second, 0, 1}, {time.Second, 1, 1}, {time.Second, 1.5, 0.5}, {100 * time.Hour, 5 * hour, 100 * hour},
		{100 * time.Hour, 15 * hour, 92 * hour},
		{2500000 * time.Hour, 0, 2500000 * hour}, // with its share more it is no duration
		{2500000 * time.Hour, 500000 * hour, 2175000 * hour},
		{math.MaxInt64, 0, time.Duration(math.MaxInt64).Seconds()},
		{math.MaxInt64, 1000000 * hour, time.Duration(math.MaxInt64).Seconds()*1.07 - 1000000*hour},
	} {
		s := Settings{MaxTime: test.limit}
		nearly(t, s.latest(test.end).Seconds(), test.want, 1e-9, "limit %v, end of %v s", test.limit, test.end)
	}
	for reserved, want := range map[time.Duration]float64{0: hour, time.Hour / 4: 0.75 * hour, 2 * time.Hour: hour / 2} {
		s := Settings{MaxTime: time.Hour, Reserve: func() time.Duration { return reserved }}
		nearly(t, s.latest(0).Seconds(), want, 1e-9, "an hour, of which %v is reserved", reserved)
	}
	if r := fit(t, problems(t)["plain"], Settings{MaxTime: 2500000 * time.Hour, RelativeTolerance: 1e-3}); !r.Status.Stationary() {
		t.Errorf("%s: %s", r.Status, r.Reason)
	}
}
