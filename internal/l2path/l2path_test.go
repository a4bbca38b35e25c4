package l2path

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/learn"
)

// two is a problem of two nodes with labels that differ, in two folds of the same data.
func two(t *testing.T) (learn.Problem, []*crf.Instance) {
	t.Helper()
	g := must(graph.FromEdges(2, []int32{0}, []int32{1}))
	model := must(crf.NewModel(crf.Homogeneous([]string{"in", "out"}, 1, 1)))
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{must(crf.Dense([]float64{-1, 1}, 1))}, EdgeFeat: []crf.Features{crf.Constant(1, 1)}, Labels: [][]int32{{0, 1}},
	}))
	data := []*crf.Instance{in}
	return learn.Problem{Model: model, Data: data}, data
}

// TestChoose: the path goes down from one per variable to the smallest loss, and ends
// where the loss has not improved for some steps.
func TestChoose(t *testing.T) {
	p, data := two(t)
	best := 0.2 // the norm of the weights that loses least
	loss := func(_ context.Context, m *crf.Model) (float64, error) {
		norm := 0.0
		for _, w := range m.Weights {
			norm += w * w
		}
		return math.Abs(math.Sqrt(norm) - best), nil
	}
	var watched []Point
	var states []State
	x := Path{Problem: p, Folds: []Fold{{data, loss}, {data, loss}}, Tried: func(x Point) { watched = append(watched, x) }, Save: func(s *State) error {
		kept := *s
		kept.Points, kept.Tolerance, kept.Weights = slices.Clone(s.Points), slices.Clone(s.Tolerance), [][]float64{slices.Clone(s.Weights[0]), slices.Clone(s.Weights[1])}
		states = append(states, kept)
		return nil
	}}
	state, chosen, err := x.Choose(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	path, told := state.Points, len(watched)
	for _, from := range []int{0, 2, len(path) - 1} { // a path that goes on ends where one in one go does
		x.From = &states[from]
		again, best, err := x.Choose(context.Background())
		if err != nil || best != chosen || !slices.Equal(again.Points, path) {
			t.Errorf("from point %d the path is %v, its best number %d, %v; want %v and %d", from, again.Points, best, err, path, chosen)
		}
	}
	short := Path{Problem: p, Folds: x.Folds, Time: 1}
	if state, best, err := short.Choose(context.Background()); err != nil || best != 0 || len(state.Points) != 1 {
		t.Errorf("without time the path is %+v, the best %d, %v; want one value", state, best, err)
	}
	if path[0].L2 != 2 || path[1].L2 != 0.632 {
		t.Errorf("the path begins with %v and %v, want 2 for two variables, and 0.632", path[0].L2, path[1].L2)
	}
	if len(path) != told || len(path)-1-chosen != pathPatience {
		t.Errorf("%d values were tried and %d told, the best is number %d: want %d more after it", len(path), told, chosen, pathPatience)
	}
	for i, x := range path {
		if !x.Converged || x.Passes == 0 || i != chosen && x.Loss < path[chosen].Loss || i > 0 && x.Objective > path[i-1].Objective {
			t.Errorf("value %d of the path is %+v, the best %+v", i, x, path[chosen])
		}
	}
	if p.Model.Weights[0] != 0 {
		t.Errorf("the weights that the path began with became %v", p.Model.Weights)
	}
}

// TestChooseFails: errors of a loss end the path, and so does a loss that is never a number.
func TestChooseFails(t *testing.T) {
	p, data := two(t)
	failure := errors.New("no loss")
	for _, c := range []struct {
		loss float64
		err  error
	}{{0, failure}, {math.NaN(), nil}} {
		x := Path{Problem: p, Folds: []Fold{{data, func(context.Context, *crf.Model) (float64, error) { return c.loss, c.err }}}}
		_, best, err := x.Choose(context.Background())
		if err == nil || c.err != nil && !errors.Is(err, c.err) || best != -1 {
			t.Errorf("a loss of %v, %v: the best is number %d, error %v", c.loss, c.err, best, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := Path{Problem: p, Folds: []Fold{{data, nil}}}
	if _, _, err := x.Choose(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a path that was interrupted: error %v", err)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
