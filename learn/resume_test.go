package learn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// countdown is a context that ends after it was asked so many times. The loop
// asks once per iteration and per block of a check.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// clone copies a state, whose slices are valid during the call only. It is read as if it were in a file.
func (s *State) clone() *State {
	c := &State{Iteration: s.Iteration}
	c.saved.Progress = slices.Clone(s.saved.Progress)
	c.saved.Open = func() (*safetensors.File, error) {
		tensors := numeric.Map(c.saved.Arrays, func(a runstate.Array) safetensors.Tensor {
			return safetensors.New(a.Name, []int{len(a.Values)}, a.Values)
		})
		var file bytes.Buffer
		if err := safetensors.Write(&file, map[string]string{runstate.ProgressKey: string(c.saved.Progress)}, tensors); err != nil {
			return nil, err
		}
		return safetensors.NewFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	}
	for _, a := range s.saved.Arrays {
		values := []float64{}
		for x := range a.All() {
			values = append(values, x...)
		}
		c.saved.Arrays = append(c.saved.Arrays, runstate.Array{Name: a.Name, Values: values})
	}
	return c
}

// interruptible runs p with settings made anew for each start, as a step rule belongs to one run.
type interruptible struct {
	problem  Problem
	settings func() Settings
}

// steps runs to the end and returns the result and how often the loop went round.
func (i interruptible) steps(t testing.TB) (*Result, int) {
	t.Helper()
	ctx := &countdown{context.Background(), math.MaxInt}
	s := i.settings()
	s.Checkpoint = func(*State) error { return nil } // a run without asks within visits, too
	r := oracle.Must(Fit(ctx, i.problem, s))(t)
	checkResult(t, r)
	return r, math.MaxInt - ctx.left
}

// until runs for so many rounds of the loop, from a state or from the start, and returns the last state saved.
func (i interruptible) until(t testing.TB, from *State, rounds int) (*Result, *State) {
	t.Helper()
	s := i.settings()
	s.Resume = from
	last, recorded := from, -1
	if from != nil {
		recorded = from.Iteration
	}
	s.Recorder = func(e Event) error { recorded = e.Iteration; return nil }
	s.Checkpoint = func(state *State) error {
		last = state.clone()
		return nil
	}
	r := oracle.Must(Fit(&countdown{context.Background(), rounds}, i.problem, s))(t)
	if r.Status == Interrupted && (r.Checked || r.Reason == "") {
		t.Fatalf("an interrupted run says it was checked: %+v", r)
	}
	if r.Status == Interrupted && last != nil && last.Iteration != recorded {
		t.Errorf("the state is of iteration %d, and %d was recorded", last.Iteration, recorded)
	}
	return r, last
}

// TestResumeAfterInterruption: wherever a run is stopped, also within a check,
// it goes on to the same bits; on another number of threads too.
func TestResumeAfterInterruption(t *testing.T) {
	oracle.Long(t)
	all := problems(t)
	i := 0
	for _, kind := range slices.Sorted(maps.Keys(all)) { // in one order, so that the same meet in every run
		for _, name := range slices.Sorted(maps.Keys(runs)) {
			p, s := all[kind], runs[name]
			step := stepRules()[i/3%len(stepRules())]
			counting := []string{"convex", "trw", "bethe"}[i%3]
			i++
			run := interruptible{p.with(counting), func() Settings {
				s := s
				s.Step, s.MaxPasses = must(ParseStep(step)), 15
				return s
			}}
			where := fmt.Sprintf("%s, %s, %s, %s", kind, name, step, counting)
			want, rounds := run.steps(t)
			rng := source(uint64(i))
			for range 3 {
				stop := rng.IntN(rounds)
				r, state := run.until(t, nil, stop)
				if r.Status != Interrupted || state == nil {
					t.Fatalf("%s: stopped after %d of %d rounds: %s, state saved: %v", where, stop, rounds, r.Status, state != nil)
				}
				threads := run
				threads.settings = func() Settings {
					s := run.settings()
					s.Threads = 1 + rng.IntN(3)
					return s
				}
				if again, _ := threads.until(t, state, math.MaxInt); !sameBits(want, again) {
					t.Errorf("%s: stopped after %d of %d rounds it ends in other bits: %+v, want %+v", where, stop, rounds, again, want)
				}
			}
		}
	}
}

// TestResumeFromAnyCheckpoint: the states that are saved on the way, as often as
// possible, all lead to the same end, and so does the one of a shorter run.
func TestResumeFromAnyCheckpoint(t *testing.T) {
	p := problems(t)["instances"]
	var states []*State
	settings := func() Settings {
		return Settings{Assign: blocksOf(3), GradientTolerance: 1e-6, CheckpointEvery: time.Nanosecond}
	}
	s := settings()
	s.Checkpoint = func(state *State) error {
		states = append(states, state.clone())
		return nil
	}
	want := fit(t, p, s)
	if want.Status != Converged || len(states) < 10 {
		t.Fatalf("%s with %d states", want.Reason, len(states))
	}
	iteration := -1
	for i, state := range states {
		at := state.Iteration
		if at < iteration {
			t.Fatalf("state %d is of iteration %d, after %d", i, at, iteration)
		}
		iteration = at
		s := settings()
		s.Resume = state
		if r := fit(t, p, s); !sameBits(want, r) {
			t.Errorf("from state %d (iteration %d): %+v, want %+v", i, iteration, r, want)
		}
	}
	for _, limit := range []func(*Settings){
		func(s *Settings) { s.MaxIterations = 7 },
		func(s *Settings) { s.MaxPasses = 9.5 },
		func(s *Settings) { s.MaxTime = time.Nanosecond },
		func(s *Settings) { s.GradientTolerance = 1e-3 },
	} {
		var state *State
		s := settings()
		s.Checkpoint = func(saved *State) error {
			state = saved.clone()
			return nil
		}
		limit(&s)
		short := fit(t, p, s)
		again := settings()
		limit(&again)
		again.Resume = state
		if r := fit(t, p, again); !sameBits(short, r) {
			t.Errorf("%s: resumed with the same limits: %+v, want %+v", short.Status, r, short)
		}
		long := settings()
		long.Resume = state
		r := fit(t, p, long)
		if d := distance(r.Model.Weights, want.Model.Weights); r.Status != Converged || d > 1e-5 {
			t.Errorf("%s: resumed without the limit: %s, distance %g", short.Status, r.Reason, d)
		}
		// A check of convergence that succeeded is part of the way; all else is not.
		if short.Status != Converged && !sameBits(want, r) {
			t.Errorf("%s: resumed without the limit it ends in other bits: %+v, want %+v", short.Status, r, want)
		}
	}
}

// TestResumeKeepsTheBest: the best model of early stopping survives.
func TestResumeKeepsTheBest(t *testing.T) {
	p := problems(t)["plain"]
	run := interruptible{p, func() Settings {
		return Settings{
			Assign: blocksOf(4), EvaluateEvery: 1, RelativeTolerance: 1e-9, EarlyStop: &EarlyStop{Metric: "size@dev", Patience: 3},
			// Grows at first and then falls, so that the best is in the middle.
			Evaluate: func(m *crf.Model) (map[string]float64, error) {
				x := norm(m.Weights)
				return map[string]float64{"size@dev": x * (1.2 - x)}, nil
			},
		}
	}}
	want, rounds := run.steps(t)
	if want.Status != EarlyStopped || want.Best == nil || slices.Equal(want.Best.Weights, want.Model.Weights) {
		t.Fatalf("%s: %s, best %v", want.Status, want.Reason, want.Best)
	}
	for stop := range rounds {
		_, state := run.until(t, nil, stop)
		r, _ := run.until(t, state, math.MaxInt)
		if !sameBits(want, r) || r.Best == nil || !slices.Equal(r.Best.Weights, want.Best.Weights) {
			t.Errorf("stopped after %d of %d rounds: %+v, want %+v", stop, rounds, r, want)
		}
	}
}

// someState returns a state from the middle of a run.
func someState(t *testing.T, p Problem, s Settings) *State {
	t.Helper()
	_, state := interruptible{p, func() Settings { return s }}.until(t, nil, 40)
	return state
}

// TestResumeRefusesOtherRuns: a state is taken only by a run that can go on to
// the same bytes, and the message says what differs.
func TestResumeRefusesOtherRuns(t *testing.T) {
	p := problems(t)["plain"]
	base := Settings{Assign: blocksOf(4), Step: must(ParseStep("fixed:0.05"))}
	state := someState(t, p, base)
	otherFeatures := problemOptions{rows: 4, cols: 4, states: 3, nodeDim: 4, edgeDim: 2, l2: 0.3}
	sameSizes := problemOptions{rows: 4, cols: 4, states: 3, nodeDim: 3, edgeDim: 2, l2: 0.3}
	otherGraph := problemOptions{rows: 4, cols: 6, states: 3, nodeDim: 3, edgeDim: 2, l2: 0.3}
	for _, test := range []struct {
		want   string
		change func(p *Problem, s *Settings)
	}{
		{"method bbpl, this run has inner-dual", func(_ *Problem, s *Settings) { s.Method = InnerDual }},
		{"step fixed:0.05, this run has auto", func(_ *Problem, s *Settings) { s.Step = nil }},
		{"step fixed:0.05, this run has fixed:0.06", func(_ *Problem, s *Settings) { s.Step = &fixedStep{alpha: 0.06} }},
		{"order cyclic, this run has random", func(_ *Problem, s *Settings) { s.RandomOrder = true }},
		{"number of blocks 4, this run has 5", func(_ *Problem, s *Settings) { s.Assign = blocksOf(5) }},
		{"l2 0.3, this run has 0.25", func(p *Problem, _ *Settings) { p.L2 = 0.25 }},
		{"inner sweeps 2, this run has 3", func(_ *Problem, s *Settings) { s.InnerSweeps = 3 }},
		{"inner tolerance 0.001, this run has 0.01", func(_ *Problem, s *Settings) { s.InnerTolerance = 0.01 }},
		{"counting numbers convex:", func(p *Problem, _ *Settings) { *p = p.with("bethe") }},
		{"", func(p *Problem, _ *Settings) { *p = p.weighing(3) }},
		{"written with data ", func(p *Problem, _ *Settings) { *p = randomProblem(t, 1, otherFeatures) }},
		{"written with data ", func(p *Problem, _ *Settings) { *p = randomProblem(t, 1, otherGraph) }},
		{"written with data ", func(p *Problem, _ *Settings) { *p = randomProblem(t, 2, sameSizes) }},
		{"written with data ", func(p *Problem, _ *Settings) { *p = redrawn(t, *p, nil, nil, swapLabels) }},
		{"written with data ", func(p *Problem, _ *Settings) { *p = redrawn(t, *p, nil, swapSigns, nil) }},
		{"written with data ", func(p *Problem, _ *Settings) { *p = redrawn(t, *p, turnEdge, nil, nil) }},
		{"blocks ", func(_ *Problem, s *Settings) { s.Assign = tilesOf(2, 2) }},
	} {
		q, s := p, base
		test.change(&q, &s)
		s.Resume = state
		_, err := Fit(context.Background(), q, s)
		if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want ErrState with %q", err, test.want)
		}
	}
	random := base
	random.RandomOrder, random.Seed = true, 3
	random.Resume = someState(t, p, random)
	random.Seed = 4
	_, err := Fit(context.Background(), p, random)
	oracle.Equal(t, errors.Is(err, ErrState), true, "whether another seed of a random order is refused")
	oracle.WantError(t, err, "the seed 3, this run has 4")
	// Limits, threads and what watches the run may differ.
	s := base
	s.Resume, s.Threads, s.MaxPasses, s.GradientTolerance, s.Seed = state, 3, 99, 1e-3, 17
	if r := fit(t, p, s); r.Status == Interrupted {
		t.Error(r.Reason)
	}
}

// redrawn copies the first instance of a problem, after changes to the ends of
// its edges, to its node features [nodes*dim], and to its labels.
func redrawn(t *testing.T, p Problem, ends func(u, v []int32), features func(x []float64), labels func(y []int32)) Problem {
	t.Helper()
	in := p.Data[0]
	u, v := in.Graph.Ends()
	u, v = slices.Clone(u), slices.Clone(v)
	f := in.NodeFeatures(0)
	x := make([]float64, f.Rows()*f.Dim())
	for r := range f.Rows() {
		f.Row(x[r*f.Dim():][:f.Dim()], r)
	}
	y := slices.Clone(in.Samples()[0])
	if ends != nil {
		ends(u, v)
	}
	if features != nil {
		features(x)
	}
	if labels != nil {
		labels(y)
	}
	p.Data = []*crf.Instance{changed(in, func(spec *crf.InstanceSpec) {
		spec.Graph, spec.Labels = must(graph.FromEdges(in.Graph.NumNodes(), u, v)), [][]int32{y}
		spec.NodeFeat[0] = must(crf.Dense(x, f.Dim()))
	})}
	return p
}

// Changes that a sum, or one that only carries upwards, would not see.

func turnEdge(u, v []int32) { u[3], v[3] = v[3], u[3] }

func swapSigns(x []float64) { x[0], x[7] = -x[0], -x[7] }

func swapLabels(y []int32) {
	other := slices.IndexFunc(y, func(state int32) bool { return state != y[0] })
	y[0], y[other] = y[other], y[0]
}

// tilesOf cuts a grid of 4 × 4 into rows × cols tiles.
func tilesOf(rows, cols int) func(*crf.Instance) ([]int32, int, error) {
	return func(*crf.Instance) ([]int32, int, error) { return partition.Tiles(4, 4, rows, cols), rows * cols, nil }
}

// TestResumeWithOtherObjects: a state is taken where data, graphs and blocks are
// the same numbers, wherever they lie in memory and whatever they are called.
func TestResumeWithOtherObjects(t *testing.T) {
	p := problems(t)["plain"]
	s := Settings{Assign: blocksOf(4)}
	s.Resume = someState(t, p, s)
	want := fit(t, p, s)
	same := redrawn(t, p, nil, nil, nil)
	same.Data[0].Name = "the same"
	if r := fit(t, same, s); !sameBits(want, r) {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// TestResumeAtALimit: a state of a run that a limit ended ends in the same bits
// again, also where the rule went back to better weights at the end.
func TestResumeAtALimit(t *testing.T) {
	wentBack := 0
	for seed := range uint64(6) {
		p := randomProblem(t, seed, problemOptions{rows: 4, cols: 4, states: 3, nodeDim: 4, edgeDim: 4, l2: 0.001})
		for iterations := 6; iterations < 60; iterations += 3 {
			run := interruptible{p, func() Settings { return Settings{Assign: blocksOf(4), MaxIterations: iterations} }}
			var last []float64
			s := run.settings()
			s.Recorder = func(e Event) error {
				if !e.Check {
					last = append(last[:0], e.Theta...)
				}
				return nil
			}
			var state *State
			s.Checkpoint = func(saved *State) error { state = saved.clone(); return nil }
			want := fit(t, p, s)
			if want.Status != IterationLimit {
				continue
			}
			if !slices.Equal(last, want.Model.Weights) {
				wentBack++
			}
			if r, _ := run.until(t, state, math.MaxInt); !sameBits(want, r) {
				t.Errorf("seed %d, %d iterations: %+v, want %+v", seed, iterations, r, want)
			}
		}
	}
	if wentBack == 0 {
		t.Error("no run went back to better weights: the test tests nothing")
	}
}

// TestDamagedState: whatever is missing or misshapen is an error, not a panic or a run that goes on from nonsense.
func TestDamagedState(t *testing.T) {
	p := problems(t)["plain"]
	base := Settings{Assign: blocksOf(4)}
	whole := someState(t, p, base)
	oracle.Must(Fit(context.Background(), p, Settings{Assign: blocksOf(4), Resume: whole.clone()}))(t)
	progress := func(old, new string) func(*State) {
		return func(s *State) {
			if !strings.Contains(string(s.saved.Progress), old) {
				t.Fatalf("no %q in %s", old, s.saved.Progress)
			}
			s.saved.Progress = []byte(strings.Replace(string(s.saved.Progress), old, new, 1))
		}
	}
	for name, damage := range map[string]func(*State){
		"no progress":               func(s *State) { s.saved.Progress = nil },
		"half of it":                func(s *State) { s.saved.Progress = s.saved.Progress[:len(s.saved.Progress)/2] },
		"another format":            progress(fmt.Sprintf(`"format":%d`, runstate.Format), `"format":3`),
		"a number gone":             progress(`"Objective":`, `"Objektive":`),
		"random source":             progress(`"random":"`, `"random":"AAAA`),
		"pass beyond all blocks":    progress(`"Pass.Next":0`, `"Pass.Next":99`),
		"pass before the first":     progress(`"Pass.Next":0`, `"Pass.Next":-1`),
		"check for an unknown end":  progress(`"Check.Active":false`, `"Check.Active":true,"Check.Purpose":"final!","Old":0`),
		"fewer than no iterations":  progress(`"Iterations":`, `"Iterations":-`),
		"check after the last step": progress(`"LastCheck":`, `"LastCheck":1000000`),
		"a number too many":         progress(`"Iterations":`, `"Iteration":1,"Iterations":`),
		"a number that is a word":   progress(`"Upper":`, `"Upper":"x","U":`),
		"pairs of curvature":        progress(`"step.pairs.place":`, `"step.pairs.place":9`),
		"no arrays":                 func(s *State) { s.saved.Arrays = nil },
		"weights gone":              func(s *State) { s.saved.Arrays[0].Name = "waits" },
		"step rule gone": func(s *State) {
			s.saved.Arrays = slices.DeleteFunc(s.saved.Arrays, func(a runstate.Array) bool { return strings.HasPrefix(a.Name, "step.") })
		},
		"short messages": func(s *State) {
			for i := range s.saved.Arrays {
				if strings.HasPrefix(s.saved.Arrays[i].Name, "part.") {
					s.saved.Arrays[i].Values = s.saved.Arrays[i].Values[1:]
				}
			}
		},
	} {
		state := whole.clone()
		damage(state)
		s := base
		s.Resume = state
		if _, err := Fit(context.Background(), p, s); err == nil {
			t.Errorf("%s: the state was accepted", name)
		}
	}
}

// TestCheckpointErrorEndsTheRun: a state that can't be saved is not ignored.
func TestCheckpointErrorEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	s := Settings{Checkpoint: func(*State) error { return full }, Assign: blocksOf(1)}
	if _, err := Fit(context.Background(), problems(t)["plain"], s); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// TestResumeOfEveryKind: what a state keeps of a kind of run survives an interruption, on any number of threads: a
// dense P, linear response, class weights, and what a check that does not settle remembers of residuals and damping.
func TestResumeOfEveryKind(t *testing.T) {
	all := problems(t)
	response := all["mixed missing"].with("trw")
	response.L2 = 1e-4
	for name, c := range map[string]struct {
		problem  Problem
		settings Settings
		stops    int
		dense    bool
		unending bool
	}{
		"dense":           {regions(1, 20, 20, 3, 1e-4, 0.05, 1), Settings{Assign: blocksOf(5), RelativeTolerance: 1e-8, MaxPasses: 120}, 3, true, false},
		"linear response": {response, Settings{Method: BBPL, Assign: blocksOf(3), RelativeTolerance: 1e-8, MaxPasses: 400}, 5, true, false},
		"class weights":   {all["samples"].with("trw").weighing(2), Settings{Method: BBPL, Assign: blocksOf(3), MaxPasses: 60}, 2, false, false},
		"weights, hidden": {all["mixed missing"].with("trw").weighing(2), Settings{Method: BBPL, Assign: blocksOf(3), MaxPasses: 60}, 2, false, false},
		"damped check":    {frustrated(t), Settings{Assign: blocksOf(2), Step: &fixedStep{alpha: 1e-9}, MaxIterations: 1}, 9, false, true},
	} {
		var rule *auto
		run := interruptible{c.problem, func() Settings {
			s := c.settings
			if s.Step == nil {
				rule = &auto{}
				s.Step = rule
			}
			return s
		}}
		want, rounds := run.steps(t)
		if c.dense && !rule.dense.Has || c.unending && (want.InferenceConverged || rounds < 300) {
			t.Fatalf("%s: %s after %d rounds, which tests nothing", name, want.Reason, rounds)
		}
		rng := source(2)
		for range c.stops {
			stop := rounds/4 + rng.IntN(3*rounds/4)
			_, state := run.until(t, nil, stop)
			other := run
			other.settings = func() Settings { s := run.settings(); s.Threads = 1 + rng.IntN(3); return s }
			if again, _ := other.until(t, state, math.MaxInt); !sameBits(want, again) {
				t.Errorf("%s: stopped after %d of %d rounds it ends in other bits: %+v, want %+v", name, stop, rounds, again, want)
			}
		}
	}
}

// TestBadStatesAreNotSaved: while a run gets worse, the last good state stays.
func TestBadStatesAreNotSaved(t *testing.T) {
	p := problems(t)["plain"]
	p = p.startingAt(fit(t, p, Settings{}).Model.Weights)
	saved, iterations := 0, 0
	_, err := Fit(context.Background(), p, Settings{
		Assign: blocksOf(4), Step: &fixedStep{alpha: 8}, CheckpointEvery: time.Nanosecond, RelativeTolerance: 1e-12,
		Recorder: func(e Event) error { iterations = e.Iteration; return nil },
		Checkpoint: func(s *State) error {
			saved++
			at := s.Iteration
			if at%4 != 0 || !strings.Contains(string(s.saved.Progress), `"Worse":0`) {
				t.Errorf("a state of iteration %d was saved: %s", at, s.saved.Progress)
			}
			return nil
		},
	})
	var diverged *DivergedError
	if !errors.As(err, &diverged) || iterations < 8 || saved == 0 || saved > iterations/4 {
		t.Errorf("%d states saved in %d iterations; %v", saved, iterations, err)
	}
}

// TestStateFile: a state that was written and read again goes on to the same bits, and a
// file that is damaged or no state is refused.
func TestStateFile(t *testing.T) {
	p := problems(t)["plain"]
	path := filepath.Join(t.TempDir(), "state")
	settings := Settings{Assign: blocksOf(3), MaxIterations: 7, RelativeTolerance: 1e-9}
	long := settings
	long.MaxIterations = 30
	want := fit(t, p, long)
	settings.Checkpoint = func(s *State) error { return s.WriteFile(path) }
	fit(t, p, settings)
	state, err := ReadState(path)
	if err != nil || state.Iteration != 7 {
		t.Fatalf("read %+v, error %v", state, err)
	}
	long.Resume = state
	if got := fit(t, p, long); !slices.Equal(got.Model.Weights, want.Model.Weights) {
		t.Errorf("weights %v, without the file %v", got.Model.Weights, want.Model.Weights)
	}
	text := must(os.ReadFile(path))
	weights := slices.Clone(p.Model.Weights)
	refused := func(name, want string) {
		oracle.Fails(Fit(context.Background(), p, long))(t, want)
		if !slices.Equal(p.Model.Weights, weights) {
			t.Errorf("%s after it was read: the refused state has changed the model", name)
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"cut":      func(b []byte) []byte { return b[:len(b)-8] },
		"changed":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"format":   func(b []byte) []byte { return bytes.Replace(b, []byte(`\"format\":`), []byte(`\"formet\":`), 1) },
		"no state": func(b []byte) []byte { return bytes.Replace(b, []byte(`"progress":`), []byte(`"progross":`), 1) },
	} {
		oracle.OK(t, os.WriteFile(path, change(slices.Clone(text)), 0o666))
		if _, err := ReadState(path); err == nil {
			t.Errorf("%s: a file that is no state was read", name)
		}
		refused(name, "")
	}
	settings.MaxIterations = 8
	fit(t, p, settings)
	refused("another state", "since it was read")
}

// TestResumeAfterSmallPromises: a run that ended as steps promise little ends so again; to prove more it goes on.
func TestResumeAfterSmallPromises(t *testing.T) {
	for _, counting := range []string{"convex", "trw"} {
		p := randomProblem(t, 1, problemOptions{rows: 30, cols: 30, states: 6, nodeDim: 9, edgeDim: 4, missing: 0.2,
			l2: 1}).with(counting)
		run := interruptible{p, func() Settings { return Settings{Assign: blocksOf(4), Proof: 1e-3} }}
		var state *State
		s := run.settings()
		s.Checkpoint = func(saved *State) error { state = saved.clone(); return nil }
		want := fit(t, p, s)
		if want.Status != StationaryPoint || !strings.Contains(want.Reason, "steps promise") || !want.Checked {
			t.Errorf("%s: %s, %s", counting, want.Status, want.Reason)
		}
		if again, _ := run.until(t, state.clone(), math.MaxInt); !sameBits(want, again) {
			t.Errorf("%s: %s, %v passes, objective %v, want %v, %v", counting, again.Reason, again.Passes, again.Objective,
				want.Passes, want.Objective)
		}
		s.Resume, s.Proof, s.Checkpoint = state, 0, nil
		if more := fit(t, p, s); !(more.Objective < want.Objective) || !(more.GradientNorm < want.GradientNorm) {
			t.Errorf("%s: objective %v after %v", counting, more.Objective, want.Objective)
		}
	}
}

// TestResumeWithSmallerGap: a converged run goes on where it is to have a smaller gap, also where nothing is proved.
func TestResumeWithSmallerGap(t *testing.T) {
	p := regions(3, 20, 20, 4, 0, 0.3, 1).with("trw")
	var state *State
	s := Settings{Assign: blocksOf(4), GradientTolerance: 10, Gap: 1e-2}
	s.Checkpoint = func(saved *State) error { state = saved.clone(); return nil }
	first := fit(t, p, s)
	s.Resume, s.Checkpoint = state.clone(), nil
	if again := fit(t, p, s); first.Status != Converged || again.Passes != first.Passes {
		t.Errorf("%s after %v passes: %s; resumed after %v", first.Status, first.Passes, first.Reason, again.Passes)
	}
	s.Resume, s.Gap = state, first.Gap/100/(1+first.Objective)
	if r := fit(t, p, s); r.Status != Converged || !(r.Gap < first.Gap/50) || !(r.Passes > first.Passes) {
		t.Errorf("%s after %v passes with gap %v, resumed from %v: %s", r.Status, r.Passes, r.Gap, first.Gap, r.Reason)
	}
}
