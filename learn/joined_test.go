package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// manyChains are labelled chains and trees of a model that is too large for its exact Hessian: with
// node features of a form, in edges of two types, and a few networks that can't be joined.
func manyChains(t *testing.T, form string, networks int) Problem {
	t.Helper()
	const features, states = 700, 3
	rng := rand.New(rand.NewPCG(5, 6)) // the same for all forms
	schema := &crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "token", States: []string{"a", "b", "c"}, Features: features}},
		EdgeTypes: []crf.EdgeType{{Name: "next", Features: 1}, {Name: "above", Features: 2}},
	}
	p := Problem{Model: must(crf.NewModel(*schema)), L2: 0.05, Counting: func(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil }}
	for i := range networks {
		n := 1 + rng.IntN(60)
		if i == 7 {
			n = joinedNodes + 50 // alone
		}
		labels, u, v, types := make([]int32, n), []int32(nil), []int32(nil), []int32{}
		start, column, value := []int{0}, []int32{}, []float64{}
		dense, single, bins := make([]float64, n*features), make([]float32, n*features), make([]int32, n)
		for s := range n {
			labels[s] = int32(rng.IntN(states))
			if i == 3 && s == 0 {
				labels[s] = crf.Unobserved
			}
			for range rng.IntN(6) {
				j, x := rng.IntN(features), 1+rng.Float64()
				if dense[s*features+j] == 0 {
					column, value = append(column, int32(j)), append(value, x)
					dense[s*features+j], single[s*features+j] = x, float32(x)
				}
			}
			start, bins[s] = append(start, len(column)), int32(rng.IntN(features))
			if s > 0 {
				parent := s - 1
				if i%2 == 0 {
					parent = rng.IntN(s)
				}
				u, v, types = append(u, int32(parent)), append(v, int32(s)), append(types, int32(rng.IntN(2)))
			}
		}
		if i == 5 && n > 2 { // no forest
			u, v, types = append(u, 0), append(v, int32(n-1)), append(types, 0)
		}
		var f crf.Features
		switch form {
		case "sparse":
			f = must(crf.Sparse(start, column, value, features))
		case "ones":
			if i%3 > 0 { // beside rows with values
				value = nil
			}
			f = must(crf.Sparse(start, column, value, features))
		case "dense":
			f = must(crf.Dense(dense, features))
		case "single":
			f = must(crf.Dense(single, features))
		case "bins":
			f = must(crf.Bins(bins, features))
		}
		above := 0
		for _, b := range types {
			above += int(b)
		}
		weights := make([]float64, 2*above)
		for k := range weights {
			weights[k] = rng.NormFloat64()
		}
		g := must(graph.FromEdges(n, u, v))
		edge := []crf.Features{crf.Constant(len(types)-above, 1), must(crf.Dense(weights, 2))}
		weight := 1.0
		if i >= networks-4 {
			weight = 2.5
		}
		p.Data = append(p.Data, must(crf.NewInstance(schema, crf.InstanceSpec{Name: fmt.Sprint(i), Graph: g, EdgeType: types, NodeFeat: []crf.Features{f}, EdgeFeat: edge, Labels: [][]int32{labels}, Weight: weight})))
	}
	return p
}

// TestJoined: the objective of small forests that are joined is the mean of those of each by itself,
// and so is the gradient, whatever the form of their features; those that cannot be joined stay.
func TestJoined(t *testing.T) {
	for _, form := range []string{"sparse", "ones", "dense", "single", "bins"} {
		p := manyChains(t, form, 40)
		p.L2 = 0
		theta, rng := slices.Clone(p.Model.Weights), source(8)
		for i := range theta {
			theta[i] = 0.3 * rng.NormFloat64()
		}
		e := must(NewEvaluator(p, 2))
		defer e.Close()
		if n := len(e.l.problem.Data); n > 10 || e.l.problem.given().Data[0] != p.Data[0] {
			t.Errorf("%s: %d networks, of which most can be joined", form, n)
		}
		for _, in := range e.l.problem.Data {
			if in.Graph.NumNodes() > joinedNodes && in != p.Data[7] {
				t.Errorf("%s: %s has %d nodes", form, in.Name, in.Graph.NumNodes())
			}
		}
		got := settled(t, e, theta)
		objective, total, gradient := 0.0, 0.0, make([]float64, len(theta))
		for _, in := range p.Data {
			one := p
			one.Data = []*crf.Instance{in}
			alone := must(NewEvaluator(one, 1))
			x := settled(t, alone, theta)
			objective, total = objective+in.Weight()*x.Objective, total+in.Weight()
			for i, g := range x.Gradient {
				gradient[i] += in.Weight() * g
			}
			alone.Close()
		}
		nearly(t, got.Objective, objective/total, 1e-12, "%s: L", form)
		for i, g := range got.Gradient {
			if !near(g, gradient[i]/total, 1e-10) {
				t.Errorf("%s: gradient[%d] is %v, want %v", form, i, g, gradient[i]/total)
				break
			}
		}
	}
}

// TestJoinedLocal: the objectives of local terms, too, are those of each network by itself.
func TestJoinedLocal(t *testing.T) {
	for _, method := range []Method{Pseudo, Piecewise, Exact} {
		p := manyChains(t, "ones", 30)
		p.L2 = 0
		for i := range p.Model.Weights {
			p.Model.Weights[i] = 0.2 * float64(i%7-3)
		}
		evaluate := func(p Problem) (value float64, gradient []float64, networks int) {
			s := must(Settings{Method: method, Threads: 2}.resolve(&p))
			l := must(newLocalLearner(&p, &s))
			defer l.objective.Close()
			gradient = make([]float64, len(l.model.Weights))
			return l.objective.Evaluate(t.Context(), gradient, l.model.Weights), gradient, len(l.problem.Data)
		}
		got, slope, networks := evaluate(p)
		if networks > 8 {
			t.Errorf("%s: %d networks", method, networks)
		}
		want, total, gradient := 0.0, 0.0, make([]float64, len(slope))
		for _, in := range p.Data {
			one := p
			one.Data = []*crf.Instance{in}
			x, g, _ := evaluate(one)
			want, total = want+in.Weight()*x, total+in.Weight()
			for i := range g {
				gradient[i] += in.Weight() * g[i]
			}
		}
		for i := range gradient {
			gradient[i] /= total
		}
		if !near(got, want/total, 1e-12) || !slices.EqualFunc(slope, gradient, func(a, b float64) bool { return near(a, b, 1e-10) }) {
			t.Errorf("%s: objective %v, want %v, or another gradient", method, got, want/total)
		}
	}
}

// TestForestsAreExact: two sweeps make the beliefs of chains, and of trees whose nodes come after the one above,
// marginals: a check of a claim needs no more. A run finds the optimum of maximum likelihood, for any number of threads
// to the same bit, also from a state on the way.
func TestForestsAreExact(t *testing.T) {
	p := manyChains(t, "sparse", 30)
	p.Data = slices.Concat(p.Data[:3], p.Data[4:5], p.Data[6:]) // with all labels, and without loops
	var first, likelihood *Result
	likelihood = must(Fit(t.Context(), p, Settings{Method: Exact, RelativeTolerance: 1e-6}))
	for _, threads := range []int{1, 3} {
		var states []*State
		s := Settings{Method: Auto, Threads: threads, RelativeTolerance: 1e-6, CheckpointEvery: 1, Checkpoint: func(s *State) error {
			states = append(states, s.clone())
			return nil
		}}
		r := must(Fit(t.Context(), p, s))
		if first == nil {
			first = r
		}
		if !slices.Equal(r.Model.Weights, first.Model.Weights) {
			t.Errorf("%d threads: other weights", threads)
		}
		if r.Status != Converged || !(r.Gap <= 1e-12) || !near(r.Objective, likelihood.Objective, 1e-8) {
			t.Errorf("%d threads: %s, gap %v, objective %v, want %v", threads, r.Status, r.Gap, r.Objective, likelihood.Objective)
		}
		if r.CheckPasses > 2*exactSweeps+1e-6 {
			t.Errorf("checks made %v sweeps", r.CheckPasses)
		}
		if r.Objective-likelihood.Objective > r.Suboptimality+1e-12 {
			t.Errorf("suboptimality %v, and the objective is %v above the optimum", r.Suboptimality, r.Objective-likelihood.Objective)
		}
		s.Resume, s.Checkpoint, s.Step = states[len(states)/2], nil, nil
		again := must(Fit(t.Context(), p, s))
		if !slices.Equal(again.Model.Weights, first.Model.Weights) {
			t.Errorf("%d threads: other weights when resumed", threads)
		}
	}
}

// TestReach: units that go over the weights of their own features alone learn what those
// that go over all of them learn.
func TestReach(t *testing.T) {
	for _, method := range []Method{Full, BBPL} {
		var weights [2][]float64
		for k, form := range []string{"dense", "sparse"} {
			weights[k] = oracle.Must(Fit(t.Context(), manyChains(t, form, 12), Settings{Method: method, MaxPasses: 40}))(t).Model.Weights
		}
		for i, x := range weights[0] {
			if y := weights[1][i]; math.Abs(x-y) > 1e-6 {
				t.Fatalf("%s: weight %d is %v, and %v with sparse features", method, i, x, y)
			}
		}
	}
}
