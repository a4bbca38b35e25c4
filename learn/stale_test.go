package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
)

// TestFirstEvaluationIsOfSettledMessages: three spins with a field at the one that a sweep visits last. No message
// changes in the first sweep, and yet the field has reached nobody.
func TestFirstEvaluationIsOfSettledMessages(t *testing.T) {
	g := must(gen.Chain(3))
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1)))
	copy(model.Weights, []float64{1, -1, 0.5, 0, 0, 0.5})
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{must(crf.Dense([]float64{0, 0, 1}, 1))}, EdgeFeat: []crf.Features{crf.Constant(2, 1)}, Labels: [][]int32{{0, 0, 0}},
	}))
	p := Problem{Model: model, Data: []*crf.Instance{in}, Counting: func(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil }}
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	must(e.At(model.Weights))
	first := slices.Clone(e.l.sums.gradient)
	must(e.At(model.Weights))
	for i, want := range e.l.sums.gradient {
		if math.Abs(first[i]-want) > 1e-9 {
			t.Errorf("gradient[%d] is %v at the first call, %v at the second", i, first[i], want)
		}
	}
}
