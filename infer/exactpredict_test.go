package infer

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// gridModel is a model with random weights, and a grid of constant features with labels.
func gridModel(t *testing.T, rows, cols, states int) (*crf.Model, *crf.Instance) {
	t.Helper()
	m := oracle.Must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), 1, 1)))(t)
	for i := range m.Weights {
		m.Weights[i] = math.Sin(float64(3*i + 1))
	}
	g := oracle.Must(graph.Grid(rows, cols, graph.GridOptions{}))(t)
	labels := make([]int32, g.NumNodes())
	for s := range labels {
		labels[s] = int32(s % states)
	}
	in, err := crf.NewInstance(&m.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{crf.Constant(g.NumNodes(), 1)}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}, Labels: [][]int32{labels},
	})
	oracle.OK(t, err)
	return m, in
}

// TestExactPredictionsOfWideNetworks: those of belief propagation.
func TestExactPredictionsOfWideNetworks(t *testing.T) {
	m, in := gridModel(t, 14, 14, 4)
	got, err := (&Predictor{Model: m, Exact: true}).Predict(context.Background(), in, nil)
	want, err2 := (&Predictor{Model: m}).Predict(context.Background(), in, nil)
	if err != nil || err2 != nil || got.Sweeps == 0 || got.Node[0] != want.Node[0] {
		t.Errorf("%v, %v: %v in %d sweeps, want %v", err, err2, got.Node[0], got.Sweeps, want.Node[0])
	}
}
