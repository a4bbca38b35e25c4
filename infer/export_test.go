package infer

import (
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestGridsOfModels: tables that edges share are all there.
func TestGridsOfModels(t *testing.T) {
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 3)))
	for i := range model.Weights {
		model.Weights[i] = float64(i%5) - 2
	}
	g := must(graph.Grid(2, 3, graph.GridOptions{}))
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: g,
		NodeFeat: []crf.Features{must(crf.Dense([]float64{1, 2, 3, 4, 5, 6}, 1))}, EdgeFeat: []crf.Features{must(crf.Bins([]int32{0, 1, 2, 1, 0, 0, 2}, 3))}}))
	p := ground.Condition(model, in)
	again, err := p.Network().Pairwise()
	oracle.OK(t, err)
	oracle.Equal(t, again.Edge, p.Edge, "edge potentials")
	oracle.Equal(t, again.Node, p.Node, "node potentials")
}
