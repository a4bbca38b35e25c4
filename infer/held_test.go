package infer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMisfits: what does not fit together is an error, and no panic or answer for something else.
func TestMisfits(t *testing.T) {
	of := func(states ...string) (*crf.Model, *crf.Instance) {
		schema := crf.Homogeneous(states, 1, 1)
		return oracle.Must(crf.NewModel(schema))(t), oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{
			Graph: oracle.Must(graph.FromEdges(2, []int32{0}, []int32{1}))(t), NodeFeat: []crf.Features{crf.Constant(2, 1)},
			EdgeFeat: []crf.Features{crf.Constant(1, 1)},
		}))(t)
	}
	model, in := of("a", "b")
	other, _ := of("a", "b", "c")
	short := model.Clone()
	short.Weights = short.Weights[:3]
	for want, c := range map[string]struct {
		p      infer.Predictor
		labels []int32
		count  []bool
	}{
		"another schema":        {infer.Predictor{Model: other}, nil, nil},
		"or the weights":        {infer.Predictor{Model: short}, nil, nil},
		"Temperature: it is -1": {infer.Predictor{Model: model, Temperature: -1}, nil, nil},
		"labels[0]: has 1":      {infer.Predictor{Model: model}, []int32{0}, nil},
		"labels[0,1]: is 7":     {infer.Predictor{Model: model}, []int32{0, 7}, nil},
		"count has 1 entries":   {infer.Predictor{Model: model}, []int32{0, 1}, []bool{true}},
	} {
		_, _, err := c.p.Assess(context.Background(), in, nil, [][]int32{c.labels}, c.count)
		oracle.Fails(0, err)(t, want)
	}
	p := infer.Predictor{Model: model}
	oracle.Fails(p.Predict(context.Background(), in, []int32{0, 7}))(t, "held labels[0,1]: is 7")
}

// TestForbiddenHeldPair: two neighbours that are held in a forbidden pair are refused,
// though no free node meets their edge.
func TestForbiddenHeldPair(t *testing.T) {
	g := oracle.Must(graph.FromEdges(3, []int32{0, 1}, []int32{1, 2}))(t)
	schema := crf.Homogeneous([]string{"a", "b"}, 1, 1)
	schema.EdgeTypes[0].Forbidden = [][2]int{{0, 1}}
	model := oracle.Must(crf.NewModel(schema))(t)
	in, err := crf.NewInstance(&schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{crf.Constant(3, 1)}, EdgeFeat: []crf.Features{crf.Constant(2, 1)},
	})
	oracle.OK(t, err)
	bethe := func(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil }
	a := infer.Predictor{Model: model, Counting: bethe}
	for _, c := range []struct {
		held []int32
		ok   bool
	}{{[]int32{0, 1}, false}, {[]int32{0, 2, -1}, false},
		{[]int32{0, 1, -1}, false}, {[]int32{1, 0, 1}, false}, {[]int32{0, 0, -1}, true}, {nil, true}} {
		_, predicted := a.Predict(context.Background(), in, c.held)
		_, _, assessed := a.Assess(context.Background(), in, c.held, nil, nil)
		for _, err := range []error{predicted, assessed} {
			var held *crf.Error
			if errors.As(err, &held) == c.ok || c.ok && err != nil {
				t.Errorf("held %v: %v", c.held, err)
			}
		}
	}
}
