package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestStatuses: every way to end says so, with the inequality and its numbers.
func TestStatuses(t *testing.T) {
	p := problems(t)["plain"]
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	worse := func(*crf.Model) (map[string]float64, error) { return map[string]float64{"accuracy@dev": 0.5}, nil }
	for _, test := range []struct {
		status  Status
		reason  string
		change  func(s *Settings)
		ctx     context.Context
		checked bool
	}{
		{Converged, "gradient norm ", func(s *Settings) { s.RelativeTolerance = 1e-3 }, nil, true},
		{Converged, " ≤ 0.1", func(s *Settings) { s.GradientTolerance = 0.1 }, nil, true},
		{IterationLimit, "iterations 7 ≥ limit 7", func(s *Settings) { s.MaxIterations = 7 }, nil, true},
		{PassLimit, " ≥ limit 3.5", func(s *Settings) { s.MaxPasses = 3.5 }, nil, true},
		{TimeLimit, "≥ limit 1e-09", func(s *Settings) { s.MaxTime = time.Nanosecond }, nil, true},
		{EarlyStopped, "accuracy@dev did not improve on 0.5 for 2 evaluations ≥ patience 2", func(s *Settings) {
			s.Evaluate, s.EvaluateEvery, s.EarlyStop = worse, 1, &EarlyStop{Metric: "accuracy@dev", Patience: 2}
		}, nil, true},
		{EarlyStopped, "for 3 evaluations ≥ patience 3", func(s *Settings) { // what is never a number has not improved
			s.Evaluate = func(*crf.Model) (map[string]float64, error) { return map[string]float64{"m@d": math.NaN()}, nil }
			s.EvaluateEvery, s.EarlyStop, s.RelativeTolerance = 1e-9, &EarlyStop{Metric: "m@d", Patience: 3}, 1e-300
		}, nil, true},
		{Interrupted, "interrupted", func(*Settings) {}, cancelled, false},
	} {
		s := Settings{Assign: blocksOf(4)}
		test.change(&s)
		ctx := test.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		r := oracle.Must(Fit(ctx, p, s))(t)
		oracle.Equal(t, []any{r.Status, r.Checked}, []any{test.status, test.checked}, "the end, for %s", r.Reason)
		oracle.Contains(t, r.Reason, test.reason)
		if r.Checked {
			checkResult(t, r)
			e := must(NewEvaluator(p, 1))
			x := settled(t, e, r.Model.Weights)
			if !near(x.Objective, r.Objective, 1e-5) || !near(x.GradientNorm, r.GradientNorm, 1e-2) {
				t.Errorf("%s: objective %v and gradient %v, exactly %v and %v", r.Status, r.Objective, r.GradientNorm, x.Objective, x.GradientNorm)
			}
			e.Close()
		}
		oracle.Equal(t, r.Best != nil, test.status == EarlyStopped, "%s: whether there is a best model", r.Status)
	}
	if slices.ContainsFunc(p.Model.Weights, func(w float64) bool { return w != 0 }) {
		t.Error("Fit changed the model it was given")
	}
}

// TestTimeLimitBetweenSweeps: a limit ends a visit of many sweeps between two of them, and what
// the run then says is of the weights that it has.
func TestTimeLimitBetweenSweeps(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	s := mixedShape(t, must(graph.Grid(30, 30, graph.GridOptions{})))
	s.instances, s.missing = 3, 0.1
	p := s.build(t, 2)
	p = p.startingAt(p.randomWeights(3, 1.5))
	settings := Settings{Method: Full, InnerTolerance: 1e-300, InnerSweeps: 3000, MaxIterations: 1}
	whole := oracle.Must(Fit(context.Background(), p, settings))(t)
	learning := whole.Seconds - whole.CheckSeconds
	settings.MaxIterations, settings.MaxTime, settings.Threads = 0, time.Duration(learning/10*float64(time.Second)), 2
	r := oracle.Must(Fit(context.Background(), p, settings))(t)
	if made, all := r.Passes-r.CheckPasses, whole.Passes-whole.CheckPasses; all < 100 || made > all/2 {
		t.Errorf("%.4g passes in a tenth of the time, and %.4g in all", made, all)
	}
	if r.Status != TimeLimit || !r.Checked || r.Iterations > 0 || !strings.Contains(r.Reason, "≥ limit") {
		t.Errorf("%s after %d iterations: %s, checked %v; want %s after none", r.Status, r.Iterations, r.Reason, r.Checked, TimeLimit)
	}
	checkResult(t, r)
}

// TestInterruptBetweenSweeps: an interrupt ends a visit of many sweeps between two of them where
// no state is saved. Where one is, the visit is finished: a resumed run ends at the same bytes.
func TestInterruptBetweenSweeps(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	s := mixedShape(t, must(graph.Grid(30, 30, graph.GridOptions{})))
	s.instances, s.missing = 3, 0.1
	p := s.build(t, 2)
	p = p.startingAt(p.randomWeights(3, 1.5))
	settings := Settings{Method: Full, InnerTolerance: 1e-300, InnerSweeps: 3000, MaxIterations: 1, Threads: 2}
	whole := oracle.Must(Fit(context.Background(), p, settings))(t)
	for _, saves := range []bool{false, true} {
		settings.MaxIterations, settings.Checkpoint = 0, nil
		if saves {
			settings.Checkpoint = func(*State) error { return nil }
		}
		var r *Result
		seconds := (whole.Seconds - whole.CheckSeconds) / 10
		for again := true; again; seconds *= 2 { // where other programs keep the run from its first sweep until then
			ctx, stop := context.WithTimeout(context.Background(), time.Duration(seconds*float64(time.Second)))
			r = oracle.Must(Fit(ctx, p, settings))(t)
			stop()
			again = r.Passes == r.CheckPasses && seconds < whole.Seconds
		}
		made, all := r.Passes-r.CheckPasses, whole.Passes-whole.CheckPasses
		if r.Status != Interrupted || r.Checked || (r.Iterations > 0) != saves || (made > all/2) != saves {
			t.Errorf("saves %v: %s after %d iterations and %.4g passes, of %.4g in all", saves, r.Status, r.Iterations, made, all)
		}
	}
}

// TestEarlyStopKeepsTheBest: larger is better, or smaller, as asked.
func TestEarlyStopKeepsTheBest(t *testing.T) {
	p := problems(t)["plain"]
	for _, minimise := range []bool{false, true} {
		var seen []float64
		call := 0
		s := Settings{
			Assign: blocksOf(4), EvaluateEvery: 1, RelativeTolerance: 1e-12,
			EarlyStop: &EarlyStop{Metric: "x@dev", Patience: 3, Minimise: minimise},
			Evaluate: func(m *crf.Model) (map[string]float64, error) {
				value := []float64{3, 5, 4, 9, 9, 8, 7}[min(call, 6)]
				if minimise {
					value = -value
				}
				call++
				seen = append(seen, m.Weights[0])
				return map[string]float64{"x@dev": value}, nil
			},
		}
		r := fit(t, p, s)
		if r.Status != EarlyStopped || call != 7 || r.Best.Weights[0] != seen[3] {
			t.Errorf("minimise %v: %s after %d evaluations, best weight %v of %v", minimise, r.Reason, call, r.Best.Weights[0], seen)
		}
	}
	s := Settings{EvaluateEvery: 1, EarlyStop: &EarlyStop{Metric: "accuracy@dev", Patience: 1},
		Evaluate: func(*crf.Model) (map[string]float64, error) { return map[string]float64{}, nil }}
	oracle.Fails(Fit(context.Background(), p, s))(t, `"accuracy@dev"`)
	broken := errors.New("broken")
	s.Evaluate = func(*crf.Model) (map[string]float64, error) { return nil, broken }
	if _, err := Fit(context.Background(), p, s); !errors.Is(err, broken) {
		t.Errorf("an evaluation that fails: %v", err)
	}
}

// TestDivergence: a step that is much too large ends in an error that names the
// iteration and the cause, whatever the method, and never in Converged.
func TestDivergence(t *testing.T) {
	for kind, p := range problems(t) {
		for name, s := range runs {
			for _, alpha := range []float64{100, 1e10, 1e300} {
				s.Step, s.MaxPasses = &fixedStep{alpha: alpha}, 200
				r, err := Fit(context.Background(), p, s)
				var diverged *DivergedError
				if err == nil {
					checkResult(t, r)
					if r.Status == Converged {
						t.Errorf("%s, %s, α = %v: converged, %s", kind, name, alpha, r.Reason)
					}
					continue
				}
				if !errors.As(err, &diverged) || diverged.Iteration < 1 || !strings.Contains(err.Error(), fmt.Sprintf("iteration %d", diverged.Iteration)) || !strings.Contains(err.Error(), "the step fixed:") {
					t.Errorf("%s, %s, α = %v: error %v", kind, name, alpha, err)
				}
			}
		}
	}
}

// TestOverflowNamesTheEdge: weights that no inference can work with are found at the start, by node or edge.
func TestOverflowNamesTheEdge(t *testing.T) {
	p := problems(t)["plain"]
	w := p.randomWeights(1, 1)
	w[len(w)-1] = 1e308
	_, err := Fit(context.Background(), p.startingAt(w), Settings{})
	var diverged *DivergedError
	if !errors.As(err, &diverged) || diverged.Iteration != 0 || !strings.Contains(diverged.Reason, "edge ") && !strings.Contains(diverged.Reason, "node ") {
		t.Errorf("error %v", err)
	}
	if err != nil && !strings.Contains(err.Error(), "the initial weights or the features are at fault") {
		t.Errorf("error %v", err)
	}
}

// TestPasses: passes are whole-network sweeps, counted in work, whatever they are made of: visits of
// every block, or of every instance, and so for partly observed samples.
func TestPasses(t *testing.T) {
	for kind, p := range problems(t) {
		for name, s := range map[string]Settings{
			"inner-dual": {Method: InnerDual},
			"4 blocks":   {Assign: blocksOf(4), InnerSweeps: 1},
			"3 sweeps":   {Assign: blocksOf(4), InnerSweeps: 3},
		} {
			if s.InnerSweeps > 1 && slices.Contains(p.Data[0].Samples()[0], crf.Unobserved) {
				continue // a block with few unobserved nodes may settle exactly before its sweeps are over
			}
			p := p.startingAt(p.randomWeights(1, 0.3))
			s.Step, s.RelativeTolerance, s.InnerTolerance = &fixedStep{alpha: 0.01}, 1e-300, 1e-300
			perVisit := float64(max(1, s.InnerSweeps))
			var last Event
			first, checkPasses := math.NaN(), 0
			s.Recorder = func(e Event) error {
				if e.Check {
					checkPasses += e.Sweeps
				}
				if !e.Check {
					last = e
				} else if math.IsNaN(first) {
					first = e.Pass
				}
				return nil
			}
			iterations := 5
			if s.Method == "" {
				iterations *= 4
			}
			s.MaxIterations = iterations
			r := fit(t, p, s)
			want := 5 * perVisit * sweepCost(&p, &s)
			nearly(t, last.Pass-first, want, 1e-12, "%s, %s: passes of 5 visits of %v sweeps", kind, name, perVisit)
			if r.Iterations != iterations || !near(r.Passes, last.Pass+r.CheckPasses-first, 1e-12) || r.CheckPasses <= 0 {
				t.Errorf("%s, %s: %+v, last event %+v", kind, name, *r, last)
			}
			// One lap for each round, and for each pass of a check.
			gradients := float64(5+checkPasses) * gradientLap(t, &p, &s)
			nearly(t, r.GradientPasses, gradients, 1e-12, "%s, %s: gradient passes", kind, name)
		}
	}
}

// gradientLap returns how many gradients of the whole network a visit of all blocks is, from the graphs and the
// assignments alone: nodes and edges of all blocks, with an edge between two blocks in both, over those of the network.
func gradientLap(t *testing.T, p *Problem, s *Settings) float64 {
	t.Helper()
	done, whole := 0, 0
	count := func(in *crf.Instance, of []int32, free func(int32) bool) {
		g := in.Graph
		for v := range int32(g.NumNodes()) {
			if free(v) {
				done, whole = done+1, whole+1
			}
		}
		for e := range int32(g.NumEdges()) {
			switch u, v := g.U(e), g.V(e); {
			case !free(u) && !free(v):
			case of[u] == of[v]:
				done, whole = done+1, whole+1
			default:
				done, whole = done+2, whole+1
			}
		}
	}
	eachInference(p, s, count)
	lap := float64(done) / float64(whole)
	if (lap > 1) != (s.Method != InnerDual) {
		t.Fatalf("a lap is %v gradients: nothing is tested", lap)
	}
	return lap
}

// eachInference calls count for the inferences of all data, with the blocks of the nodes and which of them are free.
func eachInference(p *Problem, s *Settings, count func(in *crf.Instance, of []int32, free func(int32) bool)) {
	for _, in := range p.Data {
		of := make([]int32, in.Graph.NumNodes())
		if s.Method != InnerDual {
			of, _, _ = s.Assign(in)
		}
		count(in, of, func(int32) bool { return true })
		for _, labels := range in.Samples() {
			if slices.Contains(labels, crf.Unobserved) {
				count(in, of, func(v int32) bool { return labels[v] == crf.Unobserved })
			}
		}
	}
}

// sweepCost returns what one sweep by each visit of all blocks costs, where a sweep over the whole network
// is 1, from the graphs and the assignments alone: visits move messages out of their blocks, too.
func sweepCost(p *Problem, s *Settings) float64 {
	work, out := 0, 0
	eachInference(p, s, func(in *crf.Instance, of []int32, free func(int32) bool) {
		g := in.Graph
		for v := range int32(g.NumNodes()) {
			if free(v) {
				work += 1 + g.Degree(v)
			}
		}
		for e := range int32(g.NumEdges()) {
			if u, v := g.U(e), g.V(e); free(u) && free(v) && of[u] != of[v] {
				out += 2
			}
		}
	})
	return 1 + float64(out)/float64(work)
}

// TestEvents: the recorder sees every iteration once, in order, with the weights
// after the step, and the exact values at each check.
func TestEvents(t *testing.T) {
	p := problems(t)["instances"]
	var events []Event
	var thetas [][]float64
	s := Settings{Assign: blocksOf(3), Step: &fixedStep{alpha: 0.1}, MaxIterations: 20, Recorder: func(e Event) error {
		events, thetas = append(events, e), append(thetas, slices.Clone(e.Theta))
		return nil
	}}
	r := fit(t, p, s)
	if len(events) != 22 || !events[0].Check || !events[21].Check {
		t.Fatalf("%d events for 20 iterations and two checks", len(events))
	}
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	for i, event := range events[1:21] {
		if event.Iteration != i+1 || event.Block != i%3 || event.Check || event.Step != 0.1 || event.Sweeps < 1 || event.Pass <= events[i].Pass {
			t.Errorf("event %d: %+v", i+1, event)
		}
	}
	if !slices.Equal(thetas[21], r.Model.Weights) || slices.Equal(thetas[20], thetas[19]) {
		t.Error("the weights of the last event are others than those of the result")
	}
	for _, i := range []int{0, 21} {
		if x := settled(t, e, thetas[i]); !near(x.Objective, events[i].Objective, 1e-6) || events[i].Iteration != []int{0, 20}[i/21] {
			t.Errorf("check %+v, exactly %+v", events[i], x)
		}
	}
	stop := errors.New("stop")
	s.Recorder = func(e Event) error {
		if e.Iteration == 3 {
			return stop
		}
		return nil
	}
	if _, err := Fit(context.Background(), p, s); !errors.Is(err, stop) {
		t.Errorf("error %v of a recorder that fails", err)
	}
}

// TestValidate quotes the constraint that is violated.
func TestValidate(t *testing.T) {
	good := problems(t)["plain"]
	unlabelled := must(crf.NewInstance(&good.Model.Schema, crf.InstanceSpec{
		Name: "bare", Graph: good.Data[0].Graph, NodeFeat: []crf.Features{*good.Data[0].NodeFeatures(0)}, EdgeFeat: []crf.Features{*good.Data[0].EdgeFeatures(0)},
	}))
	for _, test := range []struct {
		want   string
		change func(p *Problem, s *Settings)
	}{
		{"Problem.Model is set", func(p *Problem, _ *Settings) { p.Model = nil }},
		{"Problem.Data has at least one instance", func(p *Problem, _ *Settings) { p.Data = nil }},
		{"0 ≤ L2 < ∞, got -1", func(p *Problem, _ *Settings) { p.L2 = -1 }},
		{"0 ≤ L2 < ∞, got NaN", func(p *Problem, _ *Settings) { p.L2 = math.NaN() }},
		{`Method is one of ["auto" "bbpl" "inner-dual" "full" "exact" "composite" "pseudo" "piecewise" ` +
			`"truncated"], got "sgd"`,
			func(_ *Problem, s *Settings) { s.Method = "sgd" }},
		{"ClassWeights for 1 node types, got 2", func(p *Problem, s *Settings) { s.Method, p.ClassWeights = Pseudo, make([][]float64, 2) }},
		{"ClassWeights[0] for 3 states, got 1", func(p *Problem, s *Settings) { s.Method, p.ClassWeights = Pseudo, [][]float64{{1}} }},
		{"0 < ClassWeights[0][1] < ∞, got 0", func(p *Problem, s *Settings) { s.Method, p.ClassWeights = Pseudo, [][]float64{{1, 0, 1}} }},
		{"InnerSweeps ≥ 0", func(_ *Problem, s *Settings) { s.InnerSweeps = -1 }},
		{"InnerTolerance ≥ 0", func(_ *Problem, s *Settings) { s.InnerTolerance = math.NaN() }},
		{"tolerances ≥ 0", func(_ *Problem, s *Settings) { s.GradientTolerance = -1 }},
		{"tolerances ≥ 0", func(_ *Problem, s *Settings) { s.RelativeTolerance = math.NaN() }},
		{"MaxPasses and MaxTime ≥ 0", func(_ *Problem, s *Settings) { s.MaxPasses = -1 }},
		{"MaxIterations, MaxPasses", func(_ *Problem, s *Settings) { s.MaxIterations = -1 }},
		{"EarlyStop needs Evaluate", func(_ *Problem, s *Settings) { s.EarlyStop = &EarlyStop{Metric: "x"} }},
		{"EarlyStop.Patience ≥ 1, got 0", func(_ *Problem, s *Settings) {
			s.Evaluate = func(*crf.Model) (map[string]float64, error) { return nil, nil }
			s.EarlyStop = &EarlyStop{Metric: "x"}
		}},
		{"EvaluateEvery ≥ 0, got NaN", func(_ *Problem, s *Settings) { s.EvaluateEvery = math.NaN() }},
		{"EvaluateEvery ≥ 0, got -1", func(_ *Problem, s *Settings) { s.EvaluateEvery = -1 }},
		{"instance 0 () was made for another schema than the model's", func(p *Problem, _ *Settings) {
			p.Model = must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(3), 3, 4)))
		}},
		{"instance 0 () was made for another schema than the model's", func(p *Problem, _ *Settings) {
			p.Model = must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(4), 3, 2)))
		}},
		{"instance 0 (bare) has no labels to learn from", func(p *Problem, _ *Settings) { p.Data = []*crf.Instance{unlabelled} }},
		{"initial weight node.node[state 1, feature 0] is NaN", func(p *Problem, _ *Settings) {
			*p = p.startingAt([]float64{0, math.NaN()})
		}},
	} {
		p, s := good, Settings{}
		test.change(&p, &s)
		_, err := Fit(context.Background(), p, s)
		oracle.WantError(t, err, test.want)
		if also := s.Validate(&p); also == nil || also.Error() != err.Error() {
			t.Errorf("Validate says %v, Fit %v", also, err)
		}
		if _, err := Measure(p, s); err == nil {
			t.Errorf("Measure accepted what violates %q", test.want)
		}
	}
	var zero Settings
	if err := zero.Validate(&good); err != nil || zero.Method != "" {
		t.Errorf("zero settings: %v, changed to %+v", err, zero)
	}
}

// TestUnitErrors name the instance: partitions and counting numbers that fail or do not fit.
func TestUnitErrors(t *testing.T) {
	p := problems(t)["instances"]
	p.Data[1].Name = "second"
	broken := errors.New("broken")
	for _, test := range []struct {
		want   string
		change func(p *Problem, s *Settings)
	}{
		{"instance 0", func(_ *Problem, s *Settings) {
			s.Assign = func(*crf.Instance) ([]int32, int, error) { return nil, 0, broken }
		}},
		{"instance 1 (second): ", func(p *Problem, _ *Settings) {
			p.Counting = func(g *graph.Graph) (*counting.Numbers, error) {
				if g == p.Data[1].Graph {
					return nil, broken
				}
				return counting.Convex(g), nil
			}
		}},
		{"is cut into 2 blocks and instance second into 3", func(p *Problem, s *Settings) {
			s.Assign = func(in *crf.Instance) ([]int32, int, error) {
				if in == p.Data[1] {
					return blocksOf(3)(in)
				}
				return blocksOf(2)(in)
			}
		}},
	} {
		q, s := p, Settings{}
		test.change(&q, &s)
		oracle.Fails(Fit(context.Background(), q, s))(t, test.want)
	}
}

// TestMeasure counts what a run would need.
func TestMeasure(t *testing.T) {
	p := problems(t)["instances"]
	sizes := must(Measure(p, Settings{Assign: blocksOf(4)}))
	if sizes.Instances != 3 || sizes.Nodes != 48 || sizes.Edges != 72 || sizes.Weights != len(p.Model.Weights) || sizes.Blocks != 4 ||
		sizes.StateBytes <= 0 || !(sizes.CutFraction > 0 && sizes.CutFraction < 1) {
		t.Errorf("%+v", *sizes)
	}
	if r := fit(t, p, Settings{Assign: blocksOf(4), MaxIterations: 1}); r.StateBytes != sizes.StateBytes {
		t.Errorf("%d bytes, the run has %d", sizes.StateBytes, r.StateBytes)
	}
}

// TestEvaluateEvery: at the first iteration, and then at the first one that is so many passes later.
func TestEvaluateEvery(t *testing.T) {
	var at []int
	fit(t, problems(t)["plain"], Settings{
		Method: InnerDual, EvaluateEvery: 2.5, MaxIterations: 12, RelativeTolerance: 1e-12, Step: &fixedStep{alpha: 0.01},
		Evaluate: func(m *crf.Model) (map[string]float64, error) { return map[string]float64{"first": m.Weights[0]}, nil },
		Recorder: func(e Event) error {
			if e.Eval != nil {
				at = append(at, e.Iteration)
				oracle.Equal(t, e.Eval["first"], e.Theta[0], "iteration %d: the weight that was evaluated", e.Iteration)
			}
			return nil
		},
	})
	if !slices.Equal(at, []int{1, 4, 7, 10}) {
		t.Errorf("evaluated at iterations %v", at)
	}
}

// frustrated is a problem on a complete graph whose initial weights make the ends of every edge want strongly to agree
// or to differ, at random: ordinary belief propagation does not settle there.
func frustrated(t *testing.T) Problem {
	t.Helper()
	g := must(gen.Complete(8))
	s := untiedShape(g, 2)
	s.l2 = 0
	p := s.build(t, 2).with("bethe")
	rng := source(0)
	node, edge := p.Model.Layout.Node[0], p.Model.Layout.Edge[0]
	for e := range g.NumEdges() {
		x := 3 * rng.NormFloat64()
		copy(p.Model.Weights[edge.At+4*e:], []float64{x, 0, 0, x})
	}
	for i := range node.Len {
		p.Model.Weights[node.At+i] = 1.5 * rng.NormFloat64()
	}
	return p
}

// TestUnsettledInferenceIsNoConvergence: a gradient that is small enough proves
// nothing where the messages behind it go on changing.
func TestUnsettledInferenceIsNoConvergence(t *testing.T) {
	p := frustrated(t)
	r := oracle.Must(Fit(context.Background(), p, Settings{Method: InnerDual, Step: &fixedStep{alpha: 1e-9},
		GradientTolerance: 1e9, MaxIterations: 3}))(t)
	if r.Status != IterationLimit || r.InferenceConverged || !(r.Residual > 1e-3) {
		t.Errorf("%s: %s, residual %g, inference converged: %v", r.Status, r.Reason, r.Residual, r.InferenceConverged)
	}
	checkResult(t, r)
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	if x := must(e.At(p.Model.Weights)); x.InferenceConverged || !(x.Residual > 1e-3) {
		t.Errorf("evaluated: %+v", x)
	}
}

// TestTooLongStepsAreNoticedEarly: where each block is left before it sees the weights it is used with, the running
// objective falls below zero; that is not progress.
func TestTooLongStepsAreNoticedEarly(t *testing.T) {
	p := randomProblem(t, 5, problemOptions{rows: 12, cols: 12, states: 3, nodeDim: 3, edgeDim: 2, samples: 3, l2: 0.1})
	_, err := Fit(context.Background(), p, Settings{Step: &fixedStep{alpha: 1000}, MaxPasses: 1000, Cut: Cut{Kind: "bfs"}})
	var diverged *DivergedError
	if !errors.As(err, &diverged) || diverged.Iteration > 50*cut.Usual {
		t.Errorf("want an early end, got %v", err)
	}
}

// TestInfiniteFirstGradient: features whose squares overflow are named, not
// taken for a tolerance that everything meets.
func TestInfiniteFirstGradient(t *testing.T) {
	p := randomProblem(t, 5, problemOptions{rows: 2, cols: 2, states: 2, nodeDim: 2, edgeDim: 1})
	huge := make([]float64, 8)
	for i := range huge {
		huge[i] = 1e155 * float64(1+i%3)
	}
	node := must(crf.Dense(huge, 2))
	in := p.Data[0]
	spec := crf.InstanceSpec{Graph: in.Graph, NodeFeat: []crf.Features{node}, EdgeFeat: []crf.Features{must(crf.Dense([]float64{1, 1, 1, 1}, 1))}, Labels: in.Samples()}
	p.Data[0] = must(crf.NewInstance(&p.Model.Schema, spec))
	for _, step := range []StepRule{&adaGradStep{alpha: 0.5}, &fixedStep{alpha: 0.5}} {
		_, err := Fit(context.Background(), p, Settings{Step: step})
		var diverged *DivergedError
		if !errors.As(err, &diverged) || !strings.Contains(diverged.Reason, "features are too large") {
			t.Errorf("%v: %v", step, err)
		}
	}
}

// TestStartAtTheOptimum: with nothing to gain, the run ends at once.
func TestStartAtTheOptimum(t *testing.T) {
	p := randomProblem(t, 5, problemOptions{rows: 2, cols: 2, states: 2, nodeDim: 1, edgeDim: 1})
	in := p.Data[0]
	ones := must(crf.Dense([]float64{1, 1, 1, 1}, 1))
	var labels [][]int32
	for i := range int32(16) { // every labelling once: the uniform model is right
		labels = append(labels, []int32{i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3 & 1})
	}
	p.Data[0] = must(crf.NewInstance(&p.Model.Schema, crf.InstanceSpec{Graph: in.Graph, NodeFeat: []crf.Features{ones}, EdgeFeat: []crf.Features{ones}, Labels: labels}))
	r := fit(t, p, Settings{MaxPasses: 50})
	if r.Status != Converged || r.Passes > 10 {
		t.Errorf("%s after %v passes, gradient %v", r.Status, r.Passes, r.GradientNorm)
	}
}

// TestLimitsBindDuringChecks: a check of convergence that takes many passes ends
// with the limit, and a longer run goes on as if it had never been there.
func TestLimitsBindDuringChecks(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 10, cols: 10, states: 3, nodeDim: 4, edgeDim: 2, l2: 0.01,
		missing: 0.3}).with("convex")
	base := Settings{Assign: blocksOf(4), RelativeTolerance: 1e-4}
	whole := base
	whole.Checkpoint = nil
	want := fit(t, p, whole)
	inCheck := 0
	for limit := 2.0; limit < want.Passes; limit++ {
		s := base
		s.MaxPasses = limit
		var last *State
		s.Checkpoint = func(state *State) error { last = state.clone(); return nil }
		r := fit(t, p, s)
		if r.Status == Converged {
			continue
		}
		if r.Passes > limit*1.2+3+fewPasses*wholeSweeps {
			t.Errorf("limit %v: %v passes", limit, r.Passes)
		}
		if strings.Contains(string(last.saved.Progress), `"Check.Purpose":"convergence"`) && strings.Contains(string(last.saved.Progress), `"Check.Active":true`) {
			inCheck++
		}
		longer := base
		longer.Resume = last
		if again := fit(t, p, longer); !sameBits(want, again) {
			t.Errorf("limit %v: the resumed run ends elsewhere", limit)
		}
	}
	if inCheck == 0 {
		t.Error("no limit was met within a check")
	}
}

// TestLocalProof: methods without inference claim what the curvature of the regulariser proves, and nothing without it.
func TestLocalProof(t *testing.T) {
	p := problems(t)["plain"]
	for _, method := range []Method{Pseudo, Piecewise, Exact} {
		p.L2 = 1e-8
		r := fit(t, p, Settings{Method: method, RelativeTolerance: 0.1, Gap: 1e-4})
		oracle.Equal(t, r.Status == Converged, r.Suboptimality <= 1e-4*(1+r.Objective), "%s: %s (%s)",
			method, r.Status, r.Reason)
		if far := fit(t, p, Settings{Method: method, RelativeTolerance: 1e-9}); !(r.Objective-far.Objective <= r.Suboptimality) {
			t.Errorf("%s: %v is reachable, %v less %v was claimed to be the least", method, far.Objective, r.Objective, r.Suboptimality)
		}
		p.L2 = 0
		if r := fit(t, p, Settings{Method: method, RelativeTolerance: 0.1}); !math.IsNaN(r.Suboptimality) || !strings.Contains(r.Reason, "l2 is 0") {
			t.Errorf("%s, l2 = 0: suboptimality %v; %s", method, r.Suboptimality, r.Reason)
		}
	}
}

// TestTimeIsOverInAVisit: sums in the state of a run that a time limit ends within a visit are those
// of the beliefs that it has kept.
func TestTimeIsOverInAVisit(t *testing.T) {
	oracle.Long(t)
	scaleFree := shape{graph: must(gen.BarabasiAlbert(4000, 2, source(5))), l2: 1e-3, schema: crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(6), Features: 5}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 4}},
	}}
	p, found := scaleFree.build(t, 15), 0
	for i := range 6 {
		var state *State
		s := Settings{Method: BBPL, Together: 64, Cut: Cut{Blocks: 100}, Threads: 2, InnerSweeps: 300, InnerTolerance: 1e-12, RelativeTolerance: 1e-14, Gap: leastGap, MaxTime: time.Duration(100+37*i) * time.Millisecond}
		s.Checkpoint, s.CheckpointEvery = func(x *State) error { state = x.clone(); return nil }, time.Hour
		must(Fit(context.Background(), p, s))
		if state == nil {
			continue
		}
		found++
		s.Resume, s.MaxTime = state, time.Hour
		s = s.Resolved()
		l := must(newLearner(&p, &s))
		oracle.OK(t, l.restore(state))
		total := slices.Clone(l.sums.total)
		l.sumContributions()
		for i, x := range l.sums.total {
			if math.Abs(x-total[i]) > 1e-9 {
				t.Errorf("sum %d of the state is %v, that of the beliefs is %v", i, total[i], x)
				break
			}
		}
		l.close()
	}
	if found == 0 {
		t.Error("no run has left a state")
	}
}

// TestLooseTolerances: one that the gap overrules takes about as long as the default, and claims no
// more than is known; without a regulariser no suboptimality is.
func TestLooseTolerances(t *testing.T) {
	p := problems(t)["plain"].with("trw")
	usual := must(Fit(context.Background(), p, Settings{}))
	for _, s := range []Settings{{GradientTolerance: 1e9}, {RelativeTolerance: 1}} {
		r := must(Fit(context.Background(), p, s))
		if r.Status != Converged || !(r.Suboptimality <= defaultGap*(1+r.Objective)) || r.Passes > 1.5*usual.Passes {
			t.Errorf("%+v: %s (%s) after %v passes, by default after %v", s, r.Status, r.Reason, r.Passes, usual.Passes)
		}
	}
	tight := Settings{Gap: leastGap, RelativeTolerance: 1e-14}
	if r := must(Fit(context.Background(), p, tight)); r.Status != Converged || !(r.Suboptimality >= roundingShare*r.Objective) || !(r.Suboptimality <= leastGap*(1+r.Objective)) {
		t.Errorf("%s (%s), suboptimality %v", r.Status, r.Reason, r.Suboptimality)
	}
	short := must(Fit(context.Background(), p, Settings{RelativeTolerance: 1, MaxPasses: 6}))
	oracle.Contains(t, short.Reason, "more passes lower it") // a limit ended the run
	oracle.Fails(Fit(context.Background(), p, Settings{Gap: leastGap / 10}))(t, "rounding")
	p.L2 = 0
	if r := must(Fit(context.Background(), p, Settings{MaxPasses: 30})); !math.IsNaN(r.Suboptimality) {
		t.Errorf("without a regulariser the suboptimality is %v", r.Suboptimality)
	}
}
