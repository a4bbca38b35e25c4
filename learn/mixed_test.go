package learn

import (
	"context"
	"fmt"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMixedGrids: networks on grids of any mixture of shapes and sizes, with edges and without, are
// cut and learned from on machines with any second-level cache.
func TestMixedGrids(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	rng := source(12)
	shapes := [][2]int{{24, 32}, {32, 24}, {21, 32}, {30, 30}, {5, 40}, {40, 3}, {1, 9}, {9, 1}, {2, 2}, {36, 48}}
	for _, joined := range []bool{true, false} {
		model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(3), 2, 1)))
		var data []*crf.Instance
		for i, s := range shapes {
			g := must(graph.Grid(s[0], s[1], graph.GridOptions{}))
			labels := make([]int32, s[0]*s[1])
			for x := range labels {
				labels[x] = int32(rng.IntN(4)) - 1
			}
			in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
				Name: fmt.Sprint(i), Graph: g, Rows: s[0], Cols: s[1], Labels: [][]int32{labels},
				NodeFeat: []crf.Features{denseFeatures(t, rng, s[0]*s[1], 2)}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)},
			}))
			if !joined {
				in = in.WithoutEdges()
			}
			data = append(data, in)
		}
		for cache := 256.0; cache < 1<<26; cache *= 4 {
			p := Problem{Model: model, Data: data, L2: 0.1}
			s, _, err := Settings{Method: Auto, MaxPasses: 2, Threads: 2}.choose(&p, cache)
			if err != nil {
				t.Fatalf("edges %v, cache %v: %v", joined, cache, err)
			}
			cuts, together, err := cut.Cut(s.Cut).Resolve(model, data, cache)
			if err != nil || together < 1 {
				t.Fatalf("edges %v, cache %v: %d blocks together, %v", joined, cache, together, err)
			}
			s.Together = together
			s.Assign = func(in *crf.Instance) ([]int32, int, error) {
				for i := range data {
					if data[i] == in {
						return cuts[i].Assign(in)
					}
				}
				return nil, 0, fmt.Errorf("an instance that is not of the problem")
			}
			s.Cut = Cut{}
			r, err := Fit(context.Background(), p, s)
			if err != nil || r.Passes <= 0 {
				t.Errorf("edges %v, cache %v, %+v: %v", joined, cache, cuts[0], err)
			}
		}
	}
}
