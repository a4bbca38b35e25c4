package learn

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/upsample"
)

// TestFeaturesWrittenOut: pictures whose features are upsampled over their pixels, and whose edges have rows
// of a book, have the runs of the same features row by row, which share no table, in blocks and whole, by all
// methods: to rounding, and to the same bytes for any number of threads.
func TestFeaturesWrittenOut(t *testing.T) {
	t.Parallel()
	const depth, states, dim = 4, 3, 2
	rng := source(5)
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), depth+1, dim)))
	book := [][]float64{{1, 0.3}, {0.2, 0.7}, {0.9, 0.8}, {0.4, 0.1}}
	var short, written []*crf.Instance
	for _, size := range [][2]upsample.Size{
		{{Rows: 6, Cols: 7}, {Rows: 23, Cols: 29}}, {{Rows: 7, Cols: 6}, {Rows: 29, Cols: 23}}, {{Rows: 9, Cols: 11}, {Rows: 9, Cols: 11}}, {{Rows: 1, Cols: 4}, {Rows: 2, Cols: 17}},
	} {
		values := make(upsample.Values, size[0].Count()*depth)
		for i := range values {
			values[i] = float32(rng.NormFloat64())
		}
		f := crf.Compute(upsample.New(values, size[0], depth, size[1], true))
		n := f.Rows()
		x, labels := make([]float64, n*(depth+1)), make([]int32, n)
		for r := range n {
			row := x[r*(depth+1):][:depth+1]
			f.Row(row, r)
			best := 0
			for y := range states { // features say something of labels
				if row[y]+rng.NormFloat64() > row[best] {
					best = y
				}
			}
			if labels[r] = int32(best); rng.IntN(10) == 0 {
				labels[r] = crf.Unobserved
			}
		}
		g := must(graph.Grid(size[1].Rows, size[1].Cols, graph.GridOptions{}))
		codes, rows := make([]int32, g.NumEdges()), []float64(nil)
		for e := range codes {
			codes[e] = int32(rng.IntN(len(book)))
			rows = append(rows, book[codes[e]]...)
		}
		for _, one := range []struct {
			nodes, edges crf.Features
			into         *[]*crf.Instance
		}{
			{f, must(crf.Coded(codes, slices.Concat(book...), dim)), &short},
			{must(crf.Dense(x, depth+1)), must(crf.Dense(rows, dim)), &written},
		} {
			*one.into = append(*one.into, must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
				Graph: g, Rows: size[1].Rows, Cols: size[1].Cols, Labels: [][]int32{labels},
				NodeFeat: []crf.Features{one.nodes}, EdgeFeat: []crf.Features{one.edges},
			})))
		}
	}
	for name, s := range map[string]Settings{
		"bbpl":      {Method: BBPL, Cut: Cut{Blocks: 5}, MaxPasses: 12},
		"fixed":     {Method: BBPL, Cut: Cut{Blocks: 5}, MaxPasses: 12, Step: must(ParseStep("fixed:0.001"))},
		"full":      {Method: Full, MaxPasses: 40},
		"pseudo":    {Method: Pseudo, MaxPasses: 10},
		"piecewise": {Method: Piecewise, MaxPasses: 10},
	} {
		fit := func(data []*crf.Instance, threads int) []float64 {
			s.Threads = threads
			return must(Fit(context.Background(), Problem{Model: model, Data: data, L2: 0.1}, s)).Model.Weights
		}
		want, got := fit(written, 2), fit(short, 2)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-8*(1+math.Abs(want[i]))) {
				t.Errorf("%s: weight %d is %v, want %v", name, i, got[i], want[i])
			}
		}
		if again := fit(short, 1); !slices.Equal(again, got) {
			t.Errorf("%s: the weights are others for one thread", name)
		}
	}
}
