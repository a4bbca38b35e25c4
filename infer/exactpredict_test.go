package infer

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
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

// TestExactPredictions: marginals and likelihood are those of enumeration, with labels held
// and without.
func TestExactPredictions(t *testing.T) {
	m, in := gridModel(t, 3, 3, 2)
	p := &Predictor{Model: m, Exact: true}
	network := ground.Condition(m, in)
	for _, clamp := range [][]int32{nil, {-1, 1, -1, -1, 0, -1, -1, -1, 1}} {
		clamped := *network
		clamped.Node = append([]float64(nil), network.Node...)
		for s, y := range clamp {
			for i := range network.Card[s] {
				if y >= 0 && i != y {
					clamped.Node[network.NodeAt[s]+int(i)] = math.Inf(-1)
				}
			}
		}
		want, _ := oracle.Marginals(&clamped)
		labels := in.Samples()[0]
		if clamp != nil {
			labels = append([]int32(nil), labels...)
			for s, y := range clamp {
				if y >= 0 {
					labels[s] = y
				}
			}
		}
		b, likelihood, err := p.Assess(context.Background(), in, clamp, [][]int32{labels}, nil)
		if err != nil || !b.Converged || b.Sweeps != 0 {
			t.Fatalf("%+v, %v", b, err)
		}
		for s := range want {
			for i, x := range want[s] {
				if !(math.Abs(b.Of(s)[i]-x) < 1e-12) || b.Of(s)[b.Labels[s]] < b.Of(s)[i] {
					t.Errorf("node %d: %v, label %d, want %v", s, b.Of(s), b.Labels[s], want[s])
				}
			}
		}
		states := make([]int, len(labels))
		for s, y := range labels {
			states[s] = int(y)
		}
		if nll := oracle.LogZ(&clamped) - network.Network().LogScore(states); likelihood.Bound != counting.Exact || !(math.Abs(likelihood.NegativeLog-nll) < 1e-11) {
			t.Errorf("−log p = %v (%s), want %v", likelihood.NegativeLog, likelihood.Bound, nll)
		}
	}
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
