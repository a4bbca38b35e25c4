package learn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/gen"
)

// meeting is where the goroutines that stand for processes exchange things.
type meeting struct {
	lock    sync.Mutex
	changed *sync.Cond
	slots   []any
	met     []any
	arrived int
	round   int
}

func newMeeting(size int) *meeting {
	m := &meeting{slots: make([]any, size)}
	m.changed = sync.NewCond(&m.lock)
	return m
}

// meet returns what all have brought.
func (m *meeting) meet(rank int, x any) []any {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.slots[rank] = x
	round := m.round
	if m.arrived++; m.arrived == len(m.slots) {
		m.met, m.arrived = slices.Clone(m.slots), 0
		m.round++
		m.changed.Broadcast()
	}
	for m.round == round {
		m.changed.Wait()
	}
	return m.met
}

// comrade is a Group of goroutines.
type comrade struct {
	*meeting
	rank int
}

func (c comrade) Rank() int { return c.rank }
func (c comrade) Size() int { return len(c.slots) }

func (c comrade) Agree(x []float64) {
	copy(x, c.meet(c.rank, slices.Clone(x))[0].([]float64))
}

func (c comrade) Any(flag bool) bool { return slices.Contains(c.meet(c.rank, flag), any(true)) }

func (c comrade) Gather(dst, own []float64, lengths []int) {
	for r, x := range c.meet(c.rank, slices.Clone(own)) {
		if n := copy(dst, x.([]float64)); n != lengths[r] {
			panic(fmt.Sprintf("%d numbers of process %d, want %d", n, r, lengths[r]))
		}
		dst = dst[lengths[r]:]
	}
}

func (c comrade) Exchange(send, recv [][]float64) {
	var mine [][]float64
	for _, x := range send {
		mine = append(mine, slices.Clone(x))
	}
	for r, x := range c.meet(c.rank, mine) {
		if sent := x.([][]float64)[c.rank]; copy(recv[r], sent) != len(recv[r]) || len(sent) != len(recv[r]) {
			panic(fmt.Sprintf("%d numbers from process %d, want %d", len(sent), r, len(recv[r])))
		}
	}
}

func (c comrade) Sum(dst []float64, own [][]float64, bounds []int) {
	var parts, mine [][]float64
	for _, x := range own {
		mine = append(mine, slices.Clone(x))
	}
	for r, x := range c.meet(c.rank, mine) {
		if theirs := x.([][]float64); len(theirs) != bounds[r+1]-bounds[r] {
			panic(fmt.Sprintf("%d parts of process %d, want %d", len(theirs), r, bounds[r+1]-bounds[r]))
		} else {
			parts = append(parts, theirs...)
		}
	}
	new(distributed.Tree).Sum(dst, parts)
}

func (c comrade) Bytes(own []byte) (all [][]byte) {
	for _, x := range c.meet(c.rank, own) {
		all = append(all, x.([]byte))
	}
	return all
}

// together runs Fit in so many processes, and returns what the first got after all got the same.
func together(t *testing.T, size int, p Problem, settings func(rank int) Settings) (*Result, error) {
	t.Helper()
	m := newMeeting(size)
	results, errs := make([]*Result, size), make([]error, size)
	var wait sync.WaitGroup
	for rank := range size {
		wait.Go(func() {
			s := settings(rank)
			s.Group = comrade{m, rank}
			results[rank], errs[rank] = Fit(context.Background(), p, s)
		})
	}
	wait.Wait()
	for rank := range size {
		if fmt.Sprint(errs[rank]) != fmt.Sprint(errs[0]) {
			t.Fatalf("process %d of %d: %v, process 0: %v", rank, size, errs[rank], errs[0])
		}
		if errs[0] == nil && (!slices.Equal(results[rank].Model.Weights, results[0].Model.Weights) || results[rank].Reason != results[0].Reason) {
			t.Fatalf("process %d of %d ended with other weights, or %q, not %q", rank, size, results[rank].Reason, results[0].Reason)
		}
	}
	return results[0], errs[0]
}

// Any number of processes makes the steps of one, to the last bit, and the same checkpoints.
func TestGroup(t *testing.T) {
	for name, c := range groupCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(size int) (*Result, []float64, string) {
				var objectives []float64
				state := ""
				result, err := together(t, size, c.problem, func(rank int) Settings {
					s := c.settings
					s.Threads, s.MaxPasses = 1+rank%2, 40
					if s.Step = FirstOrder(); c.step != "first order" {
						s.Step = must(ParseStep(c.step))
					}
					s.Checkpoint, s.CheckpointEvery = func(*State) error { return nil }, time.Hour
					if rank == 0 {
						s.Recorder = func(e Event) error {
							objectives = append(objectives, e.Objective, e.GradientNorm, e.Residual)
							return nil
						}
						s.Checkpoint = func(x *State) error {
							state = fmt.Sprintf("%s %v", timeless(x.progress), x.arrays)
							return nil
						}
					}
					return s
				})
				if err != nil {
					t.Fatal(err)
				}
				return result, objectives, state
			}
			one, events, state := run(1)
			for size := 2; size <= 4; size++ {
				result, e, s := run(size)
				if !slices.Equal(result.Model.Weights, one.Model.Weights) || result.Objective != one.Objective || result.Residual != one.Residual && result.Residual == result.Residual {
					t.Errorf("%d processes: objective %v after %v passes, one has %v after %v", size, result.Objective, result.Passes, one.Objective, one.Passes)
				}
				if fmt.Sprint(e) != fmt.Sprint(events) {
					t.Errorf("%d processes tell of other iterations than one", size)
				}
				if s != state {
					t.Errorf("%d processes save another state than one", size)
				}
			}
		})
	}
}

// timeless is progress without what depends on the clock.
func timeless(progress []byte) string {
	text := string(progress)
	for _, name := range []string{`"seconds":`, `"check_seconds":`} {
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

// groupCases are problems that are dealt over processes: those whose messages a linear system solves
// for are not.
func groupCases(t *testing.T) map[string]groupCase {
	cases := map[string]groupCase{}
	for name, p := range problems(t) {
		cases[name+", fixed"] = groupCase{p, Settings{Method: BBPL, Assign: tilesOf(2, 2), Together: 2}, "fixed:0.3"}
		cases[name+", first order"] = groupCase{p, Settings{Method: BBPL, Assign: blocksOf(5), Together: 3, RandomOrder: true}, "first order"}
		cases[name+", pairs"] = groupCase{p, Settings{Method: BBPL, Assign: blocksOf(3), Pairs: true}, "adagrad:0.3"}
	}
	grid := problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3}
	missing := grid
	missing.missing, missing.samples = 0.2, 2
	cases["grid"] = groupCase{randomProblem(t, 11, grid), Settings{Method: BBPL, Together: 7, Cut: Cut{Blocks: 40}}, "auto"}
	cases["grid, trw"] = groupCase{randomProblem(t, 12, grid).with("trw"), Settings{Method: BBPL, Together: 7, Cut: Cut{Blocks: 40}}, "auto"}
	cases["grid, hidden"] = groupCase{randomProblem(t, 13, missing), Settings{Method: BBPL, Together: 5, Cut: Cut{Blocks: 20}, SinglePrecision: true}, "auto"}
	cases["grid, whole"] = groupCase{randomProblem(t, 14, problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3, instances: 5}), Settings{Method: InnerDual}, "auto"}
	scaleFree := shape{graph: must(gen.BarabasiAlbert(600, 2, source(5))), l2: 1, schema: crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(6), Features: 5}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 4}},
	}}
	cases["scale-free"] = groupCase{scaleFree.build(t, 15), Settings{Method: BBPL, Together: 4, Cut: Cut{Blocks: 30}}, "auto"}
	for _, form := range []string{"sparse", "dense"} {
		cases["chains, "+form] = groupCase{manyChains(t, form, 40), Settings{Method: InnerDual}, "auto"}
	}
	return cases
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
	m := newMeeting(2)
	errs := make([]error, 2)
	var wait sync.WaitGroup
	for rank, p := range []Problem{p, other} {
		wait.Go(func() {
			_, errs[rank] = Fit(context.Background(), p, Settings{Method: BBPL, Group: comrade{m, rank}, Step: FirstOrder()})
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "process 1 has other initial weights") {
			t.Errorf("error %v", err)
		}
	}
}

// What one process alone is told, by its context or its clock, all do.
func TestGroupEndsTogether(t *testing.T) {
	p := randomProblem(t, 11, problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3})
	for name, limit := range map[string]time.Duration{"context": 0, "clock": 60 * time.Millisecond} {
		m := newMeeting(3)
		results := make([]*Result, 3)
		var wait sync.WaitGroup
		for rank := range 3 {
			wait.Go(func() {
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				s := Settings{Method: BBPL, Together: 7, Cut: Cut{Blocks: 40}, Group: comrade{m, rank}, MaxTime: limit, RelativeTolerance: 1e-13, Gap: 1e-12}
				if rank == 2 && limit == 0 {
					s.Recorder = func(e Event) error {
						if e.Iteration == 30 {
							stop()
						}
						return nil
					}
				}
				results[rank] = must(Fit(ctx, p, s))
			})
		}
		wait.Wait()
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
