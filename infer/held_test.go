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
	}{{[]int32{0, 1, -1}, false}, {[]int32{1, 0, 1}, false}, {[]int32{0, 0, -1}, true}, {nil, true}} {
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
