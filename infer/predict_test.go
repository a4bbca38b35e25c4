package infer

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
)

// instances are trees of different sizes for one model with two node types.
func instances(t *testing.T) (*crf.Model, []*crf.Instance) {
	t.Helper()
	rng := source(3)
	model := must(crf.NewModel(crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "a", States: crf.NumberedStates(2), Features: 2}, {Name: "b", States: crf.NumberedStates(3), Features: 1}},
		EdgeTypes: []crf.EdgeType{{Name: "ab", V: 1, Features: 2}},
	}))
	for i := range model.Weights {
		model.Weights[i] = rng.NormFloat64()
	}
	dense := func(rows, dim int) crf.Features {
		x := make([]float64, rows*dim)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return must(crf.Dense(x, dim))
	}
	var all []*crf.Instance
	for _, n := range []int{7, 2, 9} { // chains of alternating types, edges from a to b
		var u, v, types []int32
		for s := range int32(n) {
			types = append(types, s%2)
			if s > 0 {
				u, v = append(u, s-s%2), append(v, s-1+s%2)
			}
		}
		for e := range u {
			if types[u[e]] > types[v[e]] {
				u[e], v[e] = v[e], u[e]
			}
		}
		all = append(all, must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
			Graph: must(graph.FromEdges(n, u, v)), NodeType: types,
			NodeFeat: []crf.Features{dense((n+1)/2, 2), dense(n/2, 1)}, EdgeFeat: []crf.Features{dense(n-1, 2)},
		})))
	}
	return model, all
}

func bethe(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil }

// TestPredict: beliefs are the exact marginals, on trees and by elimination anywhere, of the conditional distribution
// where some nodes are clamped; the predictor is used again and again for instances of different sizes.
func TestPredict(t *testing.T) {
	model, all := instances(t)
	loopy, square := gridModel(t, 3, 3, 2)
	p := &Predictor{Model: model, Counting: bethe}
	for _, c := range []struct {
		p   *Predictor
		all []*crf.Instance
	}{{p, all}, {&Predictor{Model: model, Exact: true}, all}, {&Predictor{Model: loopy, Exact: true}, []*crf.Instance{square}}} {
		for i, in := range c.all {
			for _, held := range []bool{false, true} {
				predictedRight(t, c.p, in, i, held)
			}
		}
	}
	// Everything is clamped: nothing is inferred.
	in := all[1]
	oracle.Equal(t, must(p.Predict(context.Background(), in, []int32{1, 2})).Node, []float64{0, 1, 0, 0, 1}, "all clamped")
}

// predictedRight holds a prediction against enumeration, with a third of the nodes clamped or none.
func predictedRight(t *testing.T, p *Predictor, in *crf.Instance, i int, held bool) {
	t.Helper()
	clamp := slices.Repeat([]int32{crf.Unobserved}, in.Graph.NumNodes())
	evidence := map[int]int{}
	for s := 0; held && s < len(clamp); s += 3 {
		evidence[s] = s % in.States(int32(s))
		clamp[s] = int32(evidence[s])
	}
	conditioned := must(ground.Condition(p.Model, in).Network().Condition(evidence))
	variables, _ := oracle.NetworkMarginals(conditioned.Network)
	want := conditioned.Marginals(variables)
	b := must(p.Predict(context.Background(), in, clamp))
	got := make([][]float64, len(want))
	for s := range got {
		if got[s] = b.Of(s); len(got[s]) != len(want[s]) || int(b.Labels[s]) != slices.Index(got[s], slices.Max(got[s])) {
			t.Fatalf("instance %d, node %d: label %d of belief %v, want %v", i, s, b.Labels[s], got[s], want[s])
		}
	}
	compare(t, "node", got, want, 1e-10)
	if !b.Outcome.Converged || p.Exact != (b.Sweeps == 0) {
		t.Errorf("instance %d: %+v", i, b.Outcome)
	}
	if free := must(p.Predict(context.Background(), in, nil)); !held && !slices.Equal(free.Node, b.Node) {
		t.Errorf("instance %d: no clamp and a clamp of no node give other bits", i)
	}
}

// TestPredictJoint: labels are a most probable joint state, given what is held, and beliefs stay what they are.
func TestPredictJoint(t *testing.T) {
	model, all := instances(t)
	differ := 0
	for round := range uint64(10) {
		hold, rng := round%2 == 1, source(round)
		for i := range model.Weights {
			model.Weights[i] = rng.NormFloat64()
		}
		p := &Predictor{Model: model, Counting: bethe}
		for i, in := range all {
			var clamp []int32
			evidence := map[int]int{}
			if hold {
				clamp = slices.Repeat([]int32{crf.Unobserved}, in.Graph.NumNodes())
				clamp[1], evidence[1] = 1, 1
			}
			p.Joint = nil
			alone := must(p.Predict(context.Background(), in, clamp))
			p.Joint = &Limits{}
			b := must(p.Predict(context.Background(), in, clamp))
			conditioned := must(ground.Condition(model, in).Network().Condition(evidence))
			left, score := oracle.NetworkMax(conditioned.Network)
			for s, want := range conditioned.States(left) {
				oracle.Equal(t, b.Labels[s], int32(want), "instance %d, held %v: state of node %d", i, hold, s)
			}
			if !b.Joint.Optimal || math.Abs(b.Joint.Energy+score) > 1e-10 || alone.Joint != nil || !slices.Equal(alone.Node, b.Node) {
				t.Errorf("instance %d, held %v: %+v, want energy %v", i, hold, b.Joint, -score)
			}
			if !slices.Equal(alone.Labels, b.Labels) {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("labels are the same whichever way they are decoded: the test shows nothing")
	}
}

// TestPredictorInTurn: of a large picture, what a predictor inferred before with other settings changes no bit.
func TestPredictorInTurn(t *testing.T) {
	g := must(graph.Grid(128, 128, graph.GridOptions{}))
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1)))
	copy(model.Weights, []float64{0, 0.1, 1, 0, 0, 1})
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: g,
		NodeFeat: []crf.Features{crf.Constant(g.NumNodes(), 1)}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}}))
	kept := &Predictor{Model: model}
	for i, c := range []Predictor{{Truncated: 2}, {}, {Counting: bethe}, {}, {Truncated: 2}} {
		c.Model, c.Limits.MaxSweeps = model, 3
		kept.Counting, kept.Limits, kept.Truncated = c.Counting, c.Limits, c.Truncated
		got, want := must(kept.Predict(t.Context(), in, nil)), must(c.Predict(t.Context(), in, nil))
		oracle.Equal(t, got.Node, want.Node, "%d: beliefs are not those of a new predictor", i)
	}
}

// TestLabelsOfTies: the smaller state wins.
func TestLabelsOfTies(t *testing.T) {
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(3), 1, 0)))
	copy(model.Weights, []float64{0, 1, 1})
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: must(gen.Chain(1)),
		NodeFeat: []crf.Features{crf.Constant(1, 1)}, EdgeFeat: []crf.Features{{}}}))
	oracle.Equal(t, must((&Predictor{Model: model}).Predict(t.Context(), in, nil)).Labels[0], 1, "label")
}

func TestPredictErrors(t *testing.T) {
	model, all := instances(t)
	in, broken := all[0], errors.New("broken")
	p := &Predictor{Model: model, Counting: bethe}
	for name, clamp := range map[string][]int32{"too short": {0}, "state does not exist": {2, -1, -1, -1, -1, -1, -1}} {
		if _, err := p.Predict(context.Background(), in, clamp); err == nil {
			t.Errorf("clamp %s: accepted", name)
		}
	}
	p.Counting = func(*graph.Graph) (*counting.Numbers, error) { return nil, broken }
	if _, err := p.Predict(context.Background(), in, nil); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	p.Counting = bethe
	model.Weights[0] = math.NaN()
	var numerical *bp.NumericalError
	if _, err := p.Predict(context.Background(), in, nil); !errors.As(err, &numerical) {
		t.Errorf("error %v", err)
	}
}

// TestScore computes every measure by hand: five nodes with a truth, one without and one not counted.
func TestScore(t *testing.T) {
	b := &Beliefs{
		Node:   []float64{0.5, 0.5, 0, 0.25, 0.75, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0.2, 0.3, 0.5, 0.2, 0.3, 0.5},
		NodeAt: []int{0, 3, 6, 9, 12, 15, 18, 21},
		Labels: []int32{0, 1, 1, 0, 2, 2, 2},
	}
	truth := []int32{0, 1, 0, 0, 1, -1, 2}
	s := NewScore(3)
	s.Add(b, truth, []bool{true, true, true, true, true, true, false})
	// truth 0: predicted 0, 1, 0; truth 1: predicted 1, 2.
	oracle.Equal(t, s.Confusion, [][]int64{{2, 1, 0}, {0, 1, 1}, {0, 0, 0}}, "confusion")
	nan, bins := math.NaN(), s.Calibration()
	measure := func(of func(ClassScore) float64) (values []float64) {
		each, mean := s.Classes()
		for _, c := range append(each, mean) {
			values = append(values, of(c))
		}
		return values
	}
	_, none := NewScore(2).Classes()
	for name, test := range map[string]struct{ got, want []float64 }{
		"count":     {[]float64{float64(s.Count())}, []float64{5}},
		"accuracy":  {[]float64{s.Accuracy()}, []float64{3.0 / 5}},
		"log loss":  {[]float64{s.MeanLogLoss()}, []float64{(math.Log(2) - math.Log(0.75) - 2*math.Log(1e-300)) / 5}},
		"recall":    {measure(func(c ClassScore) float64 { return c.Recall }), []float64{2.0 / 3, 1.0 / 2, nan, 7.0 / 12}},
		"precision": {measure(func(c ClassScore) float64 { return c.Precision }), []float64{1, 1.0 / 2, 0, 1.0 / 2}},
		"IoU":       {measure(func(c ClassScore) float64 { return c.IoU }), []float64{2.0 / 3, 1.0 / 3, 0, 1.0 / 3}},
		"F1":        {measure(func(c ClassScore) float64 { return c.F1 }), []float64{4.0 / 5, 1.0 / 2, 0, 13.0 / 30}},
		"nodes":     {measure(func(c ClassScore) float64 { return float64(c.Nodes) }), []float64{3, 2, 0, 5}},
		// Confidences 0.5 and 0.75, both right, and three times 1, of which one is.
		"calibration error": {[]float64{s.CalibrationError()}, []float64{(0.5 + 0.25 + 2) / 5}},
		"calibration":       {[]float64{bins[0].Accuracy, bins[1].Confidence, bins[2].Accuracy, float64(bins[2].Nodes), bins[2].From, bins[2].To, float64(len(bins))}, []float64{1, 0.75, 1.0 / 3, 3, 14.0 / 15, 1, 3}},
		"of nothing":        {[]float64{none.Recall, none.Precision, none.F1, none.IoU}, []float64{nan, nan, nan, nan}},
	} {
		same := func(x, y float64) bool {
			return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) < 1e-12*(1+math.Abs(y))
		}
		if !slices.EqualFunc(test.got, test.want, same) {
			t.Errorf("%s is %v, want %v", name, test.got, test.want)
		}
	}
	both := NewScore(3)
	both.Add(b, truth, nil)
	oracle.Equal(t, [2]int64{both.Count(), both.Confusion[2][2]}, [2]int64{6, 1}, "nodes counted without a choice")
	if empty := NewScore(2); !math.IsNaN(empty.Accuracy()) || empty.Count() != 0 {
		t.Errorf("accuracy %v of nothing", empty.Accuracy())
	}
}
