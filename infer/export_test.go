package infer

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// TestExportedModel: a model given an instance with two types of nodes, written as
// a UAI file and read again, has the log Z and the marginals of the model's own
// inference.
func TestExportedModel(t *testing.T) {
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "a", States: crf.NumberedStates(3), Features: 2}, {Name: "b", States: crf.NumberedStates(2), Features: 1}},
		EdgeTypes: []crf.EdgeType{{Name: "aa", U: 0, V: 0, Features: 2}, {Name: "ab", U: 0, V: 1, Features: 1}},
	}
	model := must(crf.NewModel(schema))
	rng := source(5)
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	copy(model.Weights, draw(len(model.Weights)))
	// A ring of four of type a, each with one of type b.
	g := must(graph.FromEdges(8, []int32{0, 1, 2, 3, 0, 1, 2, 3}, []int32{1, 2, 3, 0, 4, 5, 6, 7}))
	in := must(crf.NewInstance(&schema, crf.InstanceSpec{
		Graph: g, NodeType: []int32{0, 0, 0, 0, 1, 1, 1, 1}, EdgeType: []int32{0, 0, 0, 0, 1, 1, 1, 1},
		NodeFeat: []crf.Features{must(crf.Dense(draw(8), 2)), must(crf.Dense(draw(4), 1))},
		EdgeFeat: []crf.Features{must(crf.Dense(draw(8), 2)), must(crf.Dense(draw(4), 1))},
	}))
	limits := Limits{Tolerance: 1e-14, MaxSweeps: 100000}
	own := must((&Predictor{Model: model, Limits: limits}).Predict(context.Background(), in, nil))
	direct := must(beliefPropagation(context.Background(), ground.Condition(model, in), counting.Convex(g), limits))

	var file bytes.Buffer
	if err := uai.Write(&file, ground.Condition(model, in).Network()); err != nil {
		t.Fatal(err)
	}
	r := reduced(t, must(uai.Read(&file, "exported")), nil)
	exported := must(beliefPropagation(context.Background(), r.pairwise, counting.Convex(r.pairwise.Graph), limits))
	if !(math.Abs(exported.LogZ-direct.LogZ) < 1e-12*(1+math.Abs(direct.LogZ))) || !exported.Outcome.Converged {
		t.Errorf("log Z of the file is %v, of the model %v", exported.LogZ, direct.LogZ)
	}
	var beliefs [][]float64
	for s := range 8 {
		beliefs = append(beliefs, own.Of(s))
	}
	compare(t, "node", exported.nodeMarginals(), beliefs, 1e-12)
	if z := oracle.LogZ(ground.Condition(model, in)); !(exported.LogZ >= z) || !(math.Abs(oracle.LogZ(r.pairwise)-z) < 1e-12*(1+math.Abs(z))) {
		t.Errorf("log Z by enumeration is %v of the file and %v of the model", oracle.LogZ(r.pairwise), z)
	}
}

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
	var file bytes.Buffer
	if err := uai.Write(&file, p.Network()); err != nil {
		t.Fatal(err)
	}
	again, _, err := must(uai.Read(&file, "exported")).Pairwise()
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Edge {
		if again.Edge[i] != p.Edge[i] {
			t.Errorf("edge potential %d is %v, was %v", i, again.Edge[i], p.Edge[i])
		}
	}
	for i := range p.Node {
		if again.Node[i] != p.Node[i] {
			t.Errorf("node potential %d is %v, was %v", i, again.Node[i], p.Node[i])
		}
	}
}
