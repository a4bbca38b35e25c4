package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// sparseChains are labelled chains whose nodes have few of many features: as sparse rows,
// or the same as dense ones.
func sparseChains(t *testing.T, dense bool) Problem {
	t.Helper()
	const features, chains, length = 200, 12, 5
	rng := rand.New(rand.NewPCG(1, 2))
	schema := &crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "token", States: []string{"a", "b", "c"}, Features: features}},
		EdgeTypes: []crf.EdgeType{{Name: "next", Features: 1}},
	}
	p := Problem{L2: 0.1}
	for i := range chains {
		start, column, value := []int{0}, []int32(nil), []float64(nil)
		full, labels := make([]float64, length*features), make([]int32, length)
		var u, v []int32
		for s := range length {
			for range 3 {
				j, x := rng.IntN(features), 1+rng.Float64()
				if full[s*features+j] == 0 {
					column, value = append(column, int32(j)), append(value, x)
					full[s*features+j] = x
				}
			}
			start = append(start, len(column))
			if labels[s] = int32(rng.IntN(3)); i == 0 && s == 1 {
				labels[s] = crf.Unobserved // a clamped unit, too
			}
			if s > 0 {
				u, v = append(u, int32(s-1)), append(v, int32(s))
			}
		}
		g := oracle.Must(graph.FromEdges(length, u, v))(t)
		f, err := crf.Sparse(start, column, value, features)
		if dense {
			f, err = crf.Dense(full, features)
		}
		if err != nil {
			t.Fatal(err)
		}
		in := oracle.Must(crf.NewInstance(schema, crf.InstanceSpec{Name: fmt.Sprint(i), Graph: g,
			NodeFeat: []crf.Features{f}, EdgeFeat: []crf.Features{crf.Constant(length-1, 1)}, Labels: [][]int32{labels}}))(t)
		p.Data = append(p.Data, in)
	}
	model := oracle.Must(crf.NewModel(*schema))(t)
	p.Model = model
	return p
}

// TestReach: units that go over the weights of their own features alone learn what those
// that go over all of them learn.
func TestReach(t *testing.T) {
	for _, method := range []Method{Full, BBPL} {
		var weights [2][]float64
		for k, dense := range []bool{true, false} {
			r := oracle.Must(Fit(t.Context(), sparseChains(t, dense), Settings{Method: method, MaxPasses: 40}))(t)
			weights[k] = r.Model.Weights
		}
		for i, x := range weights[0] {
			if y := weights[1][i]; math.Abs(x-y) > 1e-6 {
				t.Fatalf("%s: weight %d is %v, and %v with sparse features", method, i, x, y)
			}
		}
	}
}
