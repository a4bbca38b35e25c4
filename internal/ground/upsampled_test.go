package ground

import (
	"fmt"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/upsample"
)

// TestUpsampledIsDense holds a picture of one type of nodes, as image folders make it, against the same features pixel
// by pixel: potentials of blocks, and statistics. Blocks do not divide the picture, nor the map.
func TestUpsampledIsDense(t *testing.T) {
	const states, depth = 3, 5
	for _, size := range []struct{ of, over upsample.Size }{
		{upsample.Size{Rows: 3, Cols: 4}, upsample.Size{Rows: 11, Cols: 17}}, {upsample.Size{Rows: 7, Cols: 5},
			upsample.Size{Rows: 7, Cols: 5}},
		{upsample.Size{Rows: 9, Cols: 20}, upsample.Size{Rows: 5, Cols: 10}},
	} {
		rng := source(1)
		values := make(upsample.Values, size.of.Count()*depth)
		for i := range values {
			values[i] = float32(10 + rng.NormFloat64())
		}
		mean, deviation := []float64{10, 9, 0, 1, 2, 0}, []float64{2, 0.3, 1, 5, 1, 1}
		upsampled := crf.Compute(upsample.New(values, size.of, depth, size.over, true).Scaled(mean, deviation))
		n := size.over.Count()
		x, labels := make([]float64, n*(depth+1)), make([]int32, n)
		for r := range n {
			upsampled.Row(x[r*(depth+1):][:depth+1], r)
			labels[r] = int32(rng.IntN(states+1)) - 1
		}
		dense := oracle.Must(crf.Dense(x, depth+1))(t)
		g := oracle.Must(graph.Grid(size.over.Rows, size.over.Cols, graph.GridOptions{}))(t)
		m := oracle.Must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), depth+1, 1)))(t)
		for i := range m.Weights {
			m.Weights[i] = rng.NormFloat64()
		}
		var instances []*crf.Instance
		for _, f := range []crf.Features{upsampled, dense} {
			in := oracle.Must(crf.NewInstance(&m.Schema, crf.InstanceSpec{
				Graph: g, Rows: size.over.Rows, Cols: size.over.Cols, NodeFeat: []crf.Features{f}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}, Labels: [][]int32{labels},
			}))(t)
			instances = append(instances, in)
		}
		same := func(what string, of func(in *crf.Instance) []float64) {
			t.Helper()
			if got, want := of(instances[0]), of(instances[1]); !closeTo(got, want) {
				t.Fatalf("%v %s: %v, want %v", size, what, got, want)
			}
		}
		var pots [2]Potentials // with what blocks before have left
		for _, blocks := range []int{1, 4, 7} {
			of := make([]int32, n)
			for s := range of {
				of[s] = int32(s * blocks / n)
			}
			p := oracle.Must(partition.FromAssignment(g, of, blocks))(t)
			for b := range p.Blocks {
				same(fmt.Sprint("block ", b, " of ", blocks), func(in *crf.Instance) []float64 {
					pot := &pots[slices.Index(instances, in)]
					pot.Ground(m, in, &p.Blocks[b])
					return pot.Node
				})
			}
		}
		same("statistics", func(in *crf.Instance) []float64 {
			dst := make([]float64, len(m.Weights))
			new(Adjoint).AddChange(dst, m, in, Whole(in), nil, labels, 0.3)
			return dst
		})
	}
}
