package local

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// TestChainsAgainstElimination: where nodes are in order the likelihood and its gradient by belief propagation are
// those by elimination of variables, with hidden labels, class weights, hard zeros, two types and untied weights.
func TestChainsAgainstElimination(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 12))
	must := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	for _, untied := range []bool{false, true} {
		const nodes = 9
		schema := crf.Schema{
			NodeTypes: []crf.NodeType{{Name: "a", States: []string{"x", "y", "z"}, Features: 2}},
			EdgeTypes: []crf.EdgeType{{Name: "next", Features: 1}, {Name: "far", Features: 3}},
		}
		if untied {
			schema.EdgeTypes[0].Copies = 5
		}
		m, err := crf.NewModel(schema)
		must(err)
		for i := range m.Weights {
			m.Weights[i] = 2 * rng.NormFloat64()
		}
		// A tree whose nodes come after the one above, and a chain beside it.
		g, err := graph.FromEdges(nodes, []int32{0, 1, 1, 2, 6, 7}, []int32{1, 2, 3, 4, 7, 8})
		must(err)
		types := []int32{0, 1, 0, 0, 0, 0}
		normal := func(n int) (x []float64) {
			for range n {
				x = append(x, rng.NormFloat64())
			}
			return x
		}
		node, err := crf.Dense(normal(2*nodes), 2)
		must(err)
		far, err := crf.Dense(normal(3), 3)
		must(err)
		in, err := crf.NewInstance(&m.Schema, crf.InstanceSpec{Graph: g, EdgeType: types, NodeFeat: []crf.Features{node},
			EdgeFeat: []crf.Features{crf.Constant(5, 1), far},
			Labels:   [][]int32{{0, 1, 2, 0, 1, 2, 2, 1, 0}, {0, -1, 2, -1, -1, 1, 0, -1, 2}, {-1, -1, -1, -1, -1, -1, -1, -1, -1}}})
		must(err)
		var values [2]float64
		var gradients [2][]float64
		for i := range gradients {
			o := Objective{Kind: Exact, Model: m, Data: []*crf.Instance{in}, ClassWeights: [][]float64{{1, 2, 0.5}}, Total: 3}
			must(o.Plan(math.Inf(1)))
			if o.nets[in] == nil {
				t.Fatal("a tree in order is eliminated")
			}
			if i == 1 {
				o.nets = map[*crf.Instance]*bp.Net{}
				err = o.plan(in, 0, math.Inf(1))
				must(err)
			}
			o.Allocate(1)
			defer o.Close()
			gradients[i] = make([]float64, len(m.Weights))
			values[i] = o.Evaluate(t.Context(), gradients[i], m.Weights)
			v, w := o.Worker().Add(t.Context(), nil, m, in, o.Whole(in), 1./3), values[i]+simd.Dot(m.Weights, o.labels)
			oracle.Near(t, v, w, 1e-12*math.Abs(v), "untied %v: without a gradient, and with one", untied)
		}
		oracle.Near(t, values[0], values[1], 1e-12*math.Abs(values[1]),
			"untied %v: −log likelihood by belief propagation, and by elimination", untied)
		for j, want := range gradients[1] {
			if got := gradients[0][j]; !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
				t.Errorf("untied %v: derivative %d is %v by belief propagation, %v by elimination", untied, j, got, want)
			}
		}
	}
}
