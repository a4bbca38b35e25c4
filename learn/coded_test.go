package learn

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// TestCodedEdges: edges whose rows come from a book learn as they do with the same rows
// written out, which share no table.
func TestCodedEdges(t *testing.T) {
	t.Parallel()
	const rows, cols, codes, dim = 5, 6, 4, 3
	rng := source(8)
	grid := must(graph.Grid(rows, cols, graph.GridOptions{}))
	book, of := make([]float64, codes*dim), make([]int32, grid.NumEdges())
	for i := range book {
		book[i] = rng.Float64()
	}
	var dense []float64
	for e := range of {
		of[e] = int32(rng.IntN(codes))
		dense = append(dense, book[int(of[e])*dim:][:dim]...)
	}
	spec := crf.InstanceSpec{Name: "grid", Graph: grid, Rows: rows, Cols: cols, NodeFeat: []crf.Features{denseFeatures(t, rng, rows*cols, 2)}}
	for range 3 {
		labels := make([]int32, rows*cols)
		for s := range labels {
			labels[s] = int32(rng.IntN(3))
		}
		spec.Labels = append(spec.Labels, labels)
	}
	for _, cut := range []Cut{{Blocks: 1}, {Rows: 2, Cols: 3}} {
		var results [2]*Result
		for i, f := range []crf.Features{must(crf.Coded(of, book, dim)), must(crf.Dense(dense, dim))} {
			model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(3), 2, dim)))
			spec.EdgeFeat = []crf.Features{f}
			in := must(crf.NewInstance(&model.Schema, spec))
			results[i] = must(Fit(context.Background(), Problem{Model: model, Data: []*crf.Instance{in}, L2: 0.1}, Settings{Method: BBPL, Cut: cut, MaxPasses: 60}))
		}
		coded, plain := results[0], results[1]
		if coded.Iterations != plain.Iterations || math.Abs(coded.Objective-plain.Objective) > 1e-9*math.Abs(plain.Objective) {
			t.Errorf("%+v: objective %v after %d iterations, written out %v after %d", cut, coded.Objective, coded.Iterations, plain.Objective, plain.Iterations)
		}
		for i, w := range coded.Model.Weights {
			if math.Abs(w-plain.Model.Weights[i]) > 1e-6 {
				t.Errorf("%+v: weight %d is %v, written out %v", cut, i, w, plain.Model.Weights[i])
			}
		}
	}
}
