package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// together runs Fit in so many processes, and returns what the first got after all got the same.
func together(t *testing.T, size int, p Problem, settings func(rank int) Settings) (*Result, error) {
	t.Helper()
	results, errs := make([]*Result, size), make([]error, size)
	processes(t, size, func(g Group) {
		s := settings(g.Rank())
		s.Group = g
		results[g.Rank()], errs[g.Rank()] = Fit(context.Background(), p, s)
	})
	for rank := range size {
		oracle.MustEqual(t, fmt.Sprint(errs[rank]), fmt.Sprint(errs[0]), "the error of process %d of %d", rank, size)
		if errs[0] == nil && (!slices.Equal(results[rank].Model.Weights, results[0].Model.Weights) || results[rank].Reason != results[0].Reason) {
			t.Fatalf("process %d of %d ended with other weights, or %q, not %q", rank, size, results[rank].Reason, results[0].Reason)
		}
	}
	return results[0], errs[0]
}

// Any number of processes makes the steps of one, to the last bit, and the same checkpoints.
func TestGroup(t *testing.T) {
	oracle.Long(t)
	for name, c := range groupCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(size int) (*Result, []float64, string) {
				var objectives []float64
				path := filepath.Join(t.TempDir(), "state")
				result := oracle.Must(together(t, size, c.problem, func(rank int) Settings {
					s := c.fresh()
					s.Threads, s.MaxPasses = 1+rank%2, 40
					s.Checkpoint, s.CheckpointEvery = func(*State) error { return nil }, time.Hour
					if rank == 0 {
						s.Recorder = func(e Event) error {
							objectives = append(objectives, e.Objective, e.GradientNorm, e.Residual)
							return nil
						}
						s.Checkpoint = func(x *State) error { return x.WriteFile(path) }
					}
					return s
				}))(t)
				return result, objectives, stateIn(t, c, path)
			}
			one, events, state := run(1)
			for size := 2; size <= 4; size++ {
				result, e, s := run(size)
				if !slices.Equal(result.Model.Weights, one.Model.Weights) || result.Objective != one.Objective || result.Residual != one.Residual && result.Residual == result.Residual {
					t.Errorf("%d processes: objective %v after %v passes, one has %v after %v", size, result.Objective, result.Passes, one.Objective, one.Passes)
				}
				oracle.Equal(t, fmt.Sprint(e), fmt.Sprint(events), "what %d processes tell of iterations", size)
				oracle.Equal(t, s == state, true, "whether %d processes save the state that one saves", size)
			}
		})
	}
}

// stateIn is all that the files of a state have, as a process alone reads them.
func stateIn(t *testing.T, c groupCase, path string) string {
	t.Helper()
	s := c.fresh()
	s = must(s.resolve(&c.problem))
	l := must(newLearner(&c.problem, &s))
	defer l.close()
	oracle.OK(t, l.restore(must(ReadState(path))))
	x := must(l.snapshot(l.savedParts())).clone()
	return fmt.Sprintf("%s %v", timeless(x.saved.Progress), x.saved.Arrays)
}

// Each process draws the sample of the Hessian from its own blocks, where messages of others are
// unknown to it: together they have the bits of one.
func TestGroupHessian(t *testing.T) {
	oracle.Long(t)
	missing := problemOptions{rows: 24, cols: 24, states: 5, nodeDim: 6, edgeDim: 3, l2: 3, missing: 0.2, samples: 2}
	instances := problemOptions{rows: 9, cols: 8, states: 4, nodeDim: 6, edgeDim: 3, l2: 3, instances: 5}
	for name, c := range map[string]struct {
		problem  Problem
		settings Settings
	}{
		"grid":        {randomProblem(t, 1, problemOptions{rows: 30, cols: 30, states: 8, nodeDim: 6, edgeDim: 3, l2: 3}), Settings{Together: 7, Cut: Cut{Blocks: 40}}},
		"hidden":      {randomProblem(t, 2, missing), Settings{Together: 5, Cut: Cut{Blocks: 20}}},
		"instances":   {randomProblem(t, 3, instances), Settings{Cut: Cut{Blocks: 3}}},
		"mixed types": {problems(t)["mixed types"], Settings{Assign: blocksOf(5)}},
		"binned":      {problems(t)["binned"], Settings{Assign: blocksOf(3)}},
	} {
		p := c.problem.startingAt(c.problem.randomWeights(5, 0.3))
		n := p.Model.Layout.Size
		measured := func(g Group) []float64 {
			s := c.settings
			s.Method, s.Group, s.Threads, s.Step = BBPL, g, 2, must(ParseStep("fixed:0.1"))
			s = s.Resolved()
			l := must(newLearner(&p, &s))
			defer l.close()
			if g != nil && l.ranks.size != g.Size() {
				t.Fatalf("%s: each process does all", name)
			}
			for _, t := range l.schedule.stepPass {
				must(l.visitBlocks(visit{blocks: t, limits: l.messages.innerLimits()}))
			}
			h, both := l.newSample(), make([]float64, 2*n*n)
			for i, most := range []int{40, 0} { // of some elements, then of as many as weights ask for
				h.Most = most
				if err := h.Measure(both[i*n*n:][:n*n], squaresOf(l), 0); err != nil {
					t.Error(err)
				}
			}
			return both
		}
		one := measured(nil)
		for size := 2; size <= 4; size++ {
			all := make([][]float64, size)
			processes(t, size, func(g Group) { all[g.Rank()] = measured(g) })
			for rank, h := range all {
				if !slices.Equal(h, one) {
					t.Errorf("%s: process %d of %d has another Hessian", name, rank, size)
				}
			}
		}
	}
}

// Passes with momentum begin where those of one process do. Their checkpoint is that of one, and any
// number of processes goes on from it.
func TestGroupMomentum(t *testing.T) {
	oracle.Long(t)
	c := groupCase{crawling(t, 10), Settings{Method: BBPL, Assign: blocksOf(4), MaxIterations: 6}, "auto"}
	run := func(size, rounds int, from string) (result *Result, path string) {
		path = filepath.Join(t.TempDir(), "state")
		results := make([]*Result, size)
		processes(t, size, func(g Group) {
			s := c.fresh()
			if s.Group = g; from != "" {
				s.Resume = must(ReadState(from))
			}
			s.Checkpoint = func(x *State) error { return x.WriteFile(path) }
			results[g.Rank()] = must(Fit(&countdown{context.Background(), rounds}, c.problem, s))
		})
		return results[size-1], path
	}
	_, path := run(1, 4*fewRounds+6, "")
	var at progress
	if err := must(must(ReadState(path)).saved.Parse()).Progress.Decode("", &at); err != nil || at.Pass.Momentum < fewRounds {
		t.Fatal("no momentum")
	}
	want := stateIn(t, c, path)
	end, _ := run(1, math.MaxInt, path)
	for size := 2; size <= 3; size++ {
		_, parts := run(size, 4*fewRounds+6, "")
		oracle.Equal(t, stateIn(t, c, parts) == want, true, "whether %d processes save the state that one saves", size)
		for after := 1; after <= 4; after++ {
			if r, _ := run(after, math.MaxInt, parts); !sameBits(end, r) {
				t.Errorf("%d processes go on from %d to %v, one to %v", after, size, r.Objective, end.Objective)
			}
		}
		if r, _ := run(size, math.MaxInt, path); !sameBits(end, r) {
			t.Errorf("%d processes go on from one to %v, one to %v", size, r.Objective, end.Objective)
		}
	}
}

// timeless is progress without what depends on the clock.
func timeless(progress []byte) string {
	text := string(progress)
	for _, name := range []string{`"Seconds":`, `"CheckSeconds":`, `"PassSeconds":`} {
		if i := strings.Index(text, name); i >= 0 {
			n := strings.IndexAny(text[i:], ",}")
			text = text[:i] + text[i+n:]
		}
	}
	return text
}

type groupCase struct {
	problem  Problem
	settings Settings
	step     string // of ParseStep, or "first order"
}

// fresh are the settings with a step rule of their own.
func (c *groupCase) fresh() Settings {
	s := c.settings
	if s.Step = must(ParseStep("fixed:0.1")); c.step != "first order" {
		s.Step = must(ParseStep(c.step))
	}
	return s
}

// groupCases are problems that are dealt over processes: those whose messages a linear system solves for are not.
func groupCases(t *testing.T) map[string]groupCase {
	cases := map[string]groupCase{}
	for name, p := range problems(t) {
		cases[name+", fixed"] = groupCase{p, Settings{Method: BBPL, Assign: tilesOf(2, 2), Together: 2}, "fixed:0.3"}
		cases[name+", first order"] = groupCase{p, Settings{Method: BBPL, Assign: blocksOf(5), Together: 3, RandomOrder: true}, "first order"}
	}
	grid := problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3}
	missing := grid
	missing.missing, missing.samples = 0.2, 2
	cases["grid"] = groupCase{randomProblem(t, 11, grid), Settings{Method: BBPL, Together: 7, Cut: Cut{Blocks: 40}}, "auto"}
	cases["grid, trw"] = groupCase{randomProblem(t, 12, grid).with("trw"), Settings{Method: BBPL, Together: 7, Cut: Cut{Blocks: 40}}, "auto"}
	cases["grid, hidden"] = groupCase{randomProblem(t, 13, missing), Settings{Method: BBPL, Together: 5, Cut: Cut{Blocks: 20}}, "auto"}
	cases["grid, whole"] = groupCase{randomProblem(t, 14, problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3, instances: 5}), Settings{Method: InnerDual}, "auto"}
	cases["scale-free"] = groupCase{barabasiAlbert(t), Settings{Method: BBPL, Together: 4, Cut: Cut{Blocks: 30}}, "auto"}
	for _, form := range []string{"sparse", "dense"} {
		cases["chains, "+form] = groupCase{manyChains(t, form, 40), Settings{Method: InnerDual}, "auto"}
	}
	return cases
}

// barabasiAlbert is a problem on a graph of which most blocks are neighbours.
func barabasiAlbert(t *testing.T) Problem {
	return shape{graph: must(gen.BarabasiAlbert(600, 2, source(5))), l2: 1, schema: crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(6), Features: 5}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 4}},
	}}.build(t, 15)
}

// An error of one process is that of all.
func TestGroupErrors(t *testing.T) {
	p := problems(t)["plain"]
	for rank := range 3 {
		_, err := together(t, 3, p, func(r int) Settings {
			s := Settings{Method: BBPL, Assign: tilesOf(2, 2), Step: &fixedStep{alpha: 1e300}}
			s.Threads = 1 + (r+rank)%2
			return s
		})
		var diverged *DivergedError
		if !errors.As(err, &diverged) {
			t.Fatalf("error %v", err)
		}
	}
	other := p.startingAt(p.randomWeights(1, 0.1))
	errs := make([]error, 2)
	processes(t, 2, func(g Group) {
		_, errs[g.Rank()] = Fit(context.Background(), []Problem{p, other}[g.Rank()], Settings{Method: BBPL, Group: g, Step: must(ParseStep("fixed:0.1"))})
	})
	for _, err := range errs {
		oracle.WantError(t, err, "process 1 has other initial weights")
	}
}

// Processes that would take other courses are told so, all of them.
func TestGroupRefusesOthers(t *testing.T) {
	p := problems(t)["plain"]
	for name, change := range map[string]func(s *Settings){
		"sweeps": func(s *Settings) { s.InnerSweeps = 5 },
		"limit":  func(s *Settings) { s.MaxPasses = 7 },
		"state": func(s *Settings) {
			s.Resume = someState(t, p, Settings{Method: BBPL, Step: must(ParseStep("fixed:0.1"))})
		},
		"saving": func(s *Settings) { s.Checkpoint = func(*State) error { return nil } },
	} {
		errs := make([]error, 3)
		processes(t, 3, func(g Group) {
			s := Settings{Method: BBPL, Group: g, Step: must(ParseStep("fixed:0.1"))}
			if g.Rank() == 1 {
				change(&s)
			}
			_, errs[g.Rank()] = Fit(context.Background(), p, s)
		})
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "process 1 has other options") {
				t.Errorf("%s: process %d: error %v", name, rank, err)
			}
		}
	}
}

// Where all processes do the same, as for small problems, a clock ends none of them within a visit.
func TestGroupOfSmallProblems(t *testing.T) {
	p := problems(t)["plain"]
	for _, method := range []Method{Full, BBPL} {
		results := make([]*Result, 3)
		processes(t, 3, func(g Group) {
			s := Settings{Method: method, Group: g, MaxTime: 20 * time.Millisecond, InnerTolerance: 1e-300, GradientTolerance: 1e-300, InnerSweeps: 300}
			results[g.Rank()] = must(Fit(context.Background(), p, s))
		})
		for rank, r := range results {
			if !slices.Equal(r.Model.Weights, results[0].Model.Weights) || r.Reason != results[0].Reason {
				t.Errorf("%s: process %d ends otherwise than process 0: %s, %s", method, rank, r.Reason, results[0].Reason)
			}
		}
	}
}

// What one process alone is told, by its context or its clock, all do.
func TestGroupEndsTogether(t *testing.T) {
	p := randomProblem(t, 11, problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3})
	for name, limit := range map[string]time.Duration{"context": 0, "clock": 60 * time.Millisecond} {
		results := make([]*Result, 3)
		processes(t, 3, func(g Group) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			s := Settings{Method: BBPL, Together: 7, Cut: Cut{Blocks: 40}, Group: g, MaxTime: limit, Step: &fixedStep{alpha: 1e-12}, MaxPasses: 1e9, RelativeTolerance: 1e-13} // ends at no optimum
			if g.Rank() == 2 && limit == 0 {
				s.Recorder = func(e Event) error {
					if e.Iteration == 30 {
						stop()
					}
					return nil
				}
			}
			results[g.Rank()] = must(Fit(ctx, p, s))
		})
		want := Interrupted
		if limit > 0 {
			want = TimeLimit
		}
		for rank, r := range results {
			if r.Status != want || r.Iterations != results[0].Iterations || !slices.Equal(r.Model.Weights, results[0].Model.Weights) {
				t.Errorf("%s: process %d: %s after %d iterations, process 0 after %d", name, rank, r.Status, r.Iterations, results[0].Iterations)
			}
		}
	}
}

// TestGroupAtOnce: one process goes on from what any number of processes saves before its first visit,
// and local methods are of one process.
func TestGroupAtOnce(t *testing.T) {
	c := dealtCase(t)
	want := must(dealt(t, c, 1, "", "", 12))
	for size := 1; size <= 3; size++ {
		path := filepath.Join(t.TempDir(), "state.safetensors")
		processes(t, size, func(g Group) {
			s := c.fresh()
			s.Group, s.RelativeTolerance = g, 1e-13
			s.Checkpoint = func(x *State) error { return x.WriteFile(path) }
			if r := must(Fit(&countdown{context.Background(), 0}, c.problem, s)); r.Status != Interrupted || r.Passes > 0 {
				t.Errorf("%d processes: %s after %v passes", size, r.Status, r.Passes)
			}
		})
		if r := must(dealt(t, c, 1, path, "", 12)); !sameBits(want, r) {
			t.Errorf("one process goes on from %d to %v, want %v", size, r.Objective, want.Objective)
		}
	}
	processes(t, 2, func(g Group) {
		oracle.Fails(Fit(context.Background(), c.problem, Settings{Method: Pseudo, Group: g}))(t, "Group is one process")
	})
}
