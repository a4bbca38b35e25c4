package learn

import (
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
)

// troubled has two node features by name, two states more than any label has, and edges with a constant feature.
func troubled(t *testing.T, features func(row int) []float64, names []string, l2 float64) Problem {
	t.Helper()
	g := must(gen.Chain(6))
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "pixel", States: []string{"sky", "tree", "boat", "bird"}, Features: len(names), FeatureNames: names}},
		EdgeTypes: []crf.EdgeType{{Name: "beside", Features: 1}},
	}
	model := must(crf.NewModel(schema))
	var x []float64
	for r := range 6 {
		x = append(x, features(r)...)
	}
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{must(crf.Dense(x, len(names)))}, EdgeFeat: []crf.Features{crf.Constant(5, 1)}, Labels: [][]int32{{0, 1, 0, 0, 1, 1}},
	}))
	return Problem{Model: model, Data: []*crf.Instance{in}, L2: l2}
}

// TestSeparableIsTold: without l2, labels that features tell exactly are said to have no
// optimum, and those that they do not tell are not.
func TestSeparableIsTold(t *testing.T) {
	label := []float64{0, 1, 0, 0, 1, 1}
	tells := func(r int) []float64 { return []float64{label[r], 1 - label[r]} }
	silent := func(r int) []float64 { return []float64{float64(r / 4), 1} }
	for _, counting := range []string{"convex", "trw", "bethe"} {
		p := troubled(t, tells, []string{"a", "b"}, 0).with(counting)
		r := fit(t, p, Settings{MaxPasses: 300, RelativeTolerance: 1e-9})
		if !r.Separable {
			t.Errorf("%s: %s, objective %v, is not called separable", counting, r.Reason, r.Objective)
		}
	}
	r := fit(t, troubled(t, silent, []string{"a", "b"}, 0).withoutEdges(), Settings{MaxPasses: 300})
	if r.Separable {
		t.Errorf("objective %v is called separable", r.Objective)
	}
	if r := fit(t, troubled(t, tells, []string{"a", "b"}, 1), Settings{}); r.Separable {
		t.Error("with l2 there is an optimum")
	}
}

// withoutEdges leaves edges out.
func (p Problem) withoutEdges() Problem {
	for i, in := range p.Data {
		p.Data[i] = in.WithoutEdges()
	}
	return p
}

// TestSmallWeightsAreNotSeparable: two samples of small weight that contradict each other make a small objective, and
// yet it has its optimum at weights of zero.
func TestSmallWeightsAreNotSeparable(t *testing.T) {
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1)))
	p := Problem{Model: model}
	for y := range int32(2) {
		p.Data = append(p.Data, must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
			Graph: must(gen.Chain(1)), NodeFeat: []crf.Features{crf.Constant(1, 1)},
			EdgeFeat: []crf.Features{crf.Constant(0, 1)},
			Labels:   [][]int32{{y}}, Weight: 0.1,
		})))
	}
	if r := fit(t, p, Settings{MaxPasses: 50}); r.Separable {
		t.Errorf("objective %v is called separable", r.Objective)
	}
}
