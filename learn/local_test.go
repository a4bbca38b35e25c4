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

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// localMethods are those whose objective is a sum of local terms.
var localMethods = []Method{Pseudo, Piecewise}

// localAt evaluates the objective of a local method.
func localAt(p Problem, m Method, threads int, weights []float64) (value float64, gradient []float64) {
	s := Settings{Method: m, Threads: threads}.Resolved()
	l := must(planLocal(&p, &s))
	l.allocate()
	defer l.objective.Close()
	gradient = make([]float64, len(weights))
	return l.objective.Evaluate(context.Background(), gradient, slices.Clone(weights)), gradient
}

// edgesObserved says which edges have labels at both ends.
func edgesObserved(in *crf.Instance, labels []int32) []bool {
	u, v := in.Graph.Ends()
	observed := make([]bool, len(u))
	for e := range u {
		observed[e] = labels[u[e]] >= 0 && labels[v[e]] >= 0
	}
	return observed
}

// pseudoByScores is the pseudo-likelihood by its definition: for each labelled node
// the scores of the joint states that differ there only.
func pseudoByScores(network *mrf.Pairwise, in *crf.Instance, labels []int32, classWeights [][]float64) (value float64) {
	observed := edgesObserved(in, labels)
	u, v := in.Graph.Ends()
	score := func(x []int32) (total float64) {
		for s, y := range x {
			if y >= 0 {
				total += network.Node[network.NodeAt[s]+int(y)]
			}
		}
		for e, ok := range observed {
			if ok {
				total += network.Edge[network.EdgeAt[e]+int(x[u[e]]*network.Card[v[e]]+x[v[e]])]
			}
		}
		return total
	}
	for s, y := range labels {
		if y < 0 {
			continue
		}
		x := slices.Clone(labels)
		scores := make([]float64, network.Card[s])
		for i := range scores {
			x[s] = int32(i)
			scores[i] = score(x)
		}
		omega := 1.0
		if classWeights != nil {
			omega = classWeights[in.NodeType(int32(s))][y]
		}
		value += omega * (floats.LogSumExp(scores) - scores[y])
	}
	return value
}

// piecewiseByScores is the piecewise likelihood by its definition: of labels of an edge that
// differ in weight, the lighter one counts as the pair does, and what the other has more counts
// for its probability among the pairs with the same lighter one.
func piecewiseByScores(network *mrf.Pairwise, in *crf.Instance, labels []int32, classWeights [][]float64) (value float64) {
	weight := func(s int) float64 {
		if classWeights == nil {
			return 1
		}
		return classWeights[in.NodeType(int32(s))][labels[s]]
	}
	for s, y := range labels {
		if y >= 0 {
			table := network.Node[network.NodeAt[s]:network.NodeAt[s+1]]
			value += weight(s) * (floats.LogSumExp(table) - table[y])
		}
	}
	u, v := in.Graph.Ends()
	for e, ok := range edgesObserved(in, labels) {
		if ok {
			table := network.Edge[network.EdgeAt[e]:network.EdgeAt[e+1]]
			own, columns := table[int(labels[u[e]]*network.Card[v[e]]+labels[v[e]])], int(network.Card[v[e]])
			heavy, light := weight(int(u[e])), weight(int(v[e]))
			first := heavy > light
			if !first {
				heavy, light = light, heavy
			}
			var alike []float64
			for i, x := range table {
				if first && i%columns == int(labels[v[e]]) || !first && i/columns == int(labels[u[e]]) {
					alike = append(alike, x)
				}
			}
			value += light*(floats.LogSumExp(table)-own) + (heavy-light)*(floats.LogSumExp(alike)-own)
		}
	}
	return value
}

// TestLocalObjectivesByDefinition compares values with the definitions, and gradients with differences, for every kind
// of problem: types, untied weights, missing labels, hard zeros, several samples, weights of instances and of classes.
func TestLocalObjectivesByDefinition(t *testing.T) {
	all := problems(t)
	hidden := mixedShape(t, must(graph.Grid(3, 3, graph.GridOptions{})))
	hidden.samples, hidden.missing = 2, 0.2
	all["masked"] = maskedProblem(t, hidden, 3)
	byScores := map[Method]func(*mrf.Pairwise, *crf.Instance, []int32, [][]float64) float64{
		Pseudo: pseudoByScores, Piecewise: piecewiseByScores}
	for name, p := range all {
		if len(p.Data) > 1 {
			p.Data = append([]*crf.Instance{reweighted(p.Data[0], 2.5)}, p.Data[1:]...)
		}
		for _, method := range localMethods {
			for _, weighted := range []bool{false, true} {
				if weighted {
					p.ClassWeights = drawnClassWeights(p)
				}
				where := fmt.Sprintf("%s, %s, class weights %v", name, method, weighted)
				w := p.randomWeights(4, 0.7)
				got, gradient := localAt(p, method, 1, w)
				m := p.Model.Clone()
				copy(m.Weights, w)
				want, total := 0.0, 0.0
				for _, in := range p.Data {
					network := ground.Condition(m, in)
					for _, labels := range in.Samples() {
						total += in.Weight()
						want += in.Weight() * byScores[method](network, in, labels, p.ClassWeights)
					}
				}
				want = want/total + p.L2/2*simd.Dot(w, w)
				nearly(t, got, want, 1e-12, "%s, by the definition", where)
				checkSlope(t, where, w, gradient, func(w []float64) float64 { v, _ := localAt(p, method, 1, w); return v })
			}
		}
	}
}

// reweighted returns the instance with another weight.
func reweighted(in *crf.Instance, weight float64) *crf.Instance {
	return changed(in, func(spec *crf.InstanceSpec) { spec.Weight = weight })
}

// TestMethodsAgreeWithoutEdges: where nodes are independent, all objectives are the same.
func TestMethodsAgreeWithoutEdges(t *testing.T) {
	s := mixedShape(t, must(graph.Grid(4, 4, graph.GridOptions{})))
	s.graph = must(graph.FromEdges(16, nil, nil))
	s.instances, s.samples, s.missing = 3, 2, 0.2
	p := s.build(t, 5)
	want := fit(t, p, Settings{Method: Full, GradientTolerance: 1e-10})
	for _, method := range []Method{BBPL, InnerDual, Pseudo, Piecewise} {
		r := fit(t, p, Settings{Method: method, GradientTolerance: 1e-10})
		if d := distance(r.Model.Weights, want.Model.Weights) / norm(want.Model.Weights); r.Status != Converged || !(d <= 1e-9) {
			t.Errorf("%s: %s, relative distance %g", method, r.Status, d)
		}
		nearly(t, r.Objective, want.Objective, 1e-12, "%s: L", method)
	}
}

// TestLocalSameBits: the same bits for any number of threads, and for a run that was stopped and resumed anywhere, also
// where hidden labels are filled in anew on the way.
func TestLocalSameBits(t *testing.T) {
	all, missing := problems(t), untiedShape(must(graph.Grid(4, 4, graph.GridOptions{})), 3)
	missing.missing = 0.3
	all["untied missing"] = missing.build(t, 10)
	for name, p := range all {
		for _, method := range append(localMethods, Composite, Truncated) {
			run := interruptible{p, func() Settings { return Settings{Method: method, RelativeTolerance: 1e-7} }}
			want, rounds := run.steps(t)
			for _, threads := range []int{2, 8} {
				if again := fit(t, p, Settings{Method: method, RelativeTolerance: 1e-7, Threads: threads}); !sameBits(want, again) {
					t.Errorf("%s, %s: %d threads end in other bits", name, method, threads)
				}
			}
			for stop := 0; stop < rounds; stop += 1 + rounds/9 {
				r, state := run.until(t, nil, stop)
				if r.Status != Interrupted || state == nil {
					t.Fatalf("%s, %s: stopped after %d of %d rounds: %s", name, method, stop, rounds, r.Status)
				}
				if again, _ := run.until(t, state, math.MaxInt); !sameBits(want, again) {
					t.Errorf("%s, %s: stopped after %d of %d rounds it ends in other bits: %+v, want %+v", name, method, stop, rounds, again, want)
				}
			}
		}
	}
}

// TestLocalStates: a state of another method, problem or with damage is refused.
func TestLocalStates(t *testing.T) {
	p := problems(t)["plain"]
	_, state := interruptible{p, func() Settings { return Settings{Method: Pseudo} }}.until(t, nil, 4)
	heavier, classes := p, p
	heavier.Data = []*crf.Instance{reweighted(p.Data[0], 3)}
	classes.ClassWeights = [][]float64{{1, 2, 3}}
	for name, test := range map[string]struct {
		problem Problem
		method  Method
		change  func(*State)
	}{
		"another method":   {p, Piecewise, func(*State) {}},
		"variational":      {p, Full, func(*State) {}},
		"instance weights": {heavier, Pseudo, func(*State) {}},
		"class weights":    {classes, Pseudo, func(*State) {}},
		"no gradient": {p, Pseudo, func(s *State) {
			s.saved.Arrays = slices.DeleteFunc(s.saved.Arrays, func(a runstate.Array) bool { return a.Name == "gradient" })
		}},
		"no JSON": {p, Pseudo, func(s *State) { s.saved.Progress = []byte("{") }},
		"wild memory": {p, Pseudo, func(s *State) {
			s.saved.Progress = []byte(strings.Replace(string(s.saved.Progress), `"step.pairs.place":`, `"step.pairs.place":9`, 1))
		}},
	} {
		damaged := state.clone()
		test.change(damaged)
		_, err := Fit(context.Background(), test.problem, Settings{Method: test.method, Resume: damaged})
		if !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLocalStatuses: limits, early stopping and what they promise.
func TestLocalStatuses(t *testing.T) {
	p := problems(t)["samples"]
	for want, s := range map[Status]Settings{
		Converged:      {},
		IterationLimit: {MaxIterations: 3},
		PassLimit:      {MaxPasses: 4},
		TimeLimit:      {MaxTime: 1},
		EarlyStopped: {EarlyStop: &EarlyStop{Metric: "x", Patience: 2}, EvaluateEvery: 1, Evaluate: func(*crf.Model) (map[string]float64, error) {
			return map[string]float64{"x": 1}, nil
		}},
	} {
		for _, method := range localMethods {
			s := s
			s.Method = method
			events := 0
			s.Recorder = func(e Event) error {
				if e.Iteration != events || e.Block != -1 || e.Check != (e.Iteration == 0) {
					t.Errorf("event %+v, the %d-th", e, events)
				}
				events++
				return nil
			}
			r := fit(t, p, s)
			if r.Status != want || !r.Checked || events != r.Iterations+1 {
				t.Errorf("%s: %s (%s), want %s; checked %v, %d events of %d iterations", method, r.Status, r.Reason, want, r.Checked, events, r.Iterations)
			}
		}
	}
	failure := errors.New("disk full")
	if _, err := Fit(context.Background(), p, Settings{Method: Pseudo, Recorder: func(Event) error { return failure }}); !errors.Is(err, failure) {
		t.Errorf("an error of the recorder became %v", err)
	}
	sizes := must(Measure(p, Settings{Method: Piecewise}))
	if sizes.Edges != p.Data[0].Graph.NumEdges() || sizes.StateBytes <= 0 {
		t.Errorf("%+v", sizes)
	}
}

// TestInstanceWeights: an instance of weight 2 counts like two of weight 1, in every method.
func TestInstanceWeights(t *testing.T) {
	for _, name := range []string{"instances", "mixed missing"} {
		p := problems(t)[name]
		twice, heavy := p, p
		twice.Data = append([]*crf.Instance{p.Data[0]}, p.Data...)
		heavy.Data = append([]*crf.Instance{reweighted(p.Data[0], 2)}, p.Data[1:]...)
		for _, method := range Methods {
			if name == "mixed missing" && !method.Local() {
				// Several optima: the objectives are compared instead.
				w := p.randomWeights(8, 0.5)
				a, b := must(NewEvaluator(twice, 1)), must(NewEvaluator(heavy, 1))
				x, y := settled(t, a, w), settled(t, b, w)
				oracle.Near(t, x.Objective, y.Objective, 1e-11*(1+math.Abs(y.Objective)), "%s: L, once twice as heavy", name)
				oracle.Near(t, distance(x.Gradient, y.Gradient), 0, 1e-10, "%s: the difference of the gradients", name)
				a.Close()
				b.Close()
				continue
			}
			s := Settings{Method: method, GradientTolerance: 1e-9}
			x, y := fit(t, twice, s), fit(t, heavy, s)
			if d := distance(x.Model.Weights, y.Model.Weights) / norm(x.Model.Weights); !(d <= 1e-8) {
				t.Errorf("%s, %s: relative distance %g", name, method, d)
			}
		}
	}
	for _, weight := range []float64{-1, math.NaN(), math.Inf(1)} {
		p := problems(t)["plain"]
		spec := crf.InstanceSpec{Graph: p.Data[0].Graph, NodeFeat: []crf.Features{*p.Data[0].NodeFeatures(0)}, EdgeFeat: []crf.Features{*p.Data[0].EdgeFeatures(0)}, Weight: weight}
		if _, err := crf.NewInstance(&p.Model.Schema, spec); err == nil {
			t.Errorf("an instance of weight %v was accepted", weight)
		}
	}
}

// TestLocalTimeBeginsWithTheRun: what came before the first evaluation is part of the time.
func TestLocalTimeBeginsWithTheRun(t *testing.T) {
	p := problems(t)["plain"]
	for _, method := range []Method{Pseudo, Exact} {
		settings := Settings{Method: method, MaxTime: time.Minute}
		s := must(settings.resolve(&p))
		r := oracle.Must(fitLocal(t.Context(), &p, &s, time.Now().Add(-time.Hour)))(t)
		if r.Status != TimeLimit || r.Iterations > 0 || !(r.Seconds >= 3600) || !r.AtStart {
			t.Errorf("%s: %s after %d iterations and %v seconds, at the start: %v", method, r.Status, r.Iterations, r.Seconds, r.AtStart)
		}
	}
}

// TestErrorShare: a run that ends where weights are within a share of their standard errors is about that near
// to the optimum, which a run to the end has, and takes fewer evaluations. Where the objective is not convex nothing ends so.
func TestErrorShare(t *testing.T) {
	all := problems(t)
	for name, p := range map[string]Problem{"samples": all["samples"], "instances": all["instances"]} {
		p.L2 = 1e-3
		whole := fit(t, p, Settings{Method: Pseudo, RelativeTolerance: 1e-10})
		const share = 0.01
		early := fit(t, p, Settings{Method: Pseudo, RelativeTolerance: 1e-10, ErrorShare: share})
		n, size := instances.TotalWeight(p.Data), float64(p.Model.Layout.Size)
		if far := math.Sqrt(2 * n * max(0, early.Objective-whole.Objective) / size); far > 3*share {
			t.Errorf("%s: %v standard errors from the optimum, want about %v", name, far, share)
		}
		if !strings.Contains(early.Reason, "of their standard errors") || early.Passes >= whole.Passes {
			t.Errorf("%s: %q after %v evaluations, of %v", name, early.Reason, early.Passes, whole.Passes)
		}
	}
	hidden := fit(t, all["missing"], Settings{Method: Exact, ErrorShare: 0.5})
	if strings.Contains(hidden.Reason, "of their standard errors") {
		t.Errorf("hidden labels: %q", hidden.Reason)
	}
}
