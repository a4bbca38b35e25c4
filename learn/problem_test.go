package learn

import (
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// gridGraph returns a rows × cols grid.
func gridGraph(t testing.TB, rows, cols int) *graph.Graph {
	t.Helper()
	var u, v []int32
	for r := range rows {
		for c := range cols {
			s := int32(r*cols + c)
			if c+1 < cols {
				u, v = append(u, s), append(v, s+1)
			}
			if r+1 < rows {
				u, v = append(u, s), append(v, s+int32(cols))
			}
		}
	}
	return oracle.Must(graph.FromEdges(rows*cols, u, v))(t)
}

// problemOptions describe a random problem.
type problemOptions struct {
	rows, cols, states, nodeDim, edgeDim int
	instances, samples                   int
	missing                              float64 // share of labels that are unobserved
	bins                                 bool
	l2                                   float64
}

// randomProblem draws features and labels; its weights start at zero.
func randomProblem(t testing.TB, seed uint64, o problemOptions) Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	model := oracle.Must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(o.states), o.nodeDim, o.edgeDim)))(t)
	p := Problem{Model: model, L2: o.l2}
	for range max(1, o.instances) {
		g := gridGraph(t, o.rows, o.cols)
		node := denseFeatures(t, rng, g.NumNodes(), o.nodeDim)
		edge := denseFeatures(t, rng, g.NumEdges(), o.edgeDim)
		if o.bins {
			bins := make([]int32, g.NumEdges())
			for e := range bins {
				bins[e] = int32(rng.IntN(o.edgeDim))
			}
			edge = oracle.Must(crf.Bins(bins, o.edgeDim))(t)
		}
		spec := crf.InstanceSpec{Graph: g, Rows: o.rows, Cols: o.cols, NodeFeat: []crf.Features{node}, EdgeFeat: []crf.Features{edge}}
		for range max(1, o.samples) {
			labels := make([]int32, g.NumNodes())
			for s := range labels {
				labels[s] = int32(rng.IntN(o.states))
				if rng.Float64() < o.missing {
					labels[s] = crf.Unobserved
				}
			}
			spec.Labels = append(spec.Labels, labels)
		}
		in := oracle.Must(crf.NewInstance(&model.Schema, spec))(t)
		p.Data = append(p.Data, in)
	}
	return p
}

func denseFeatures(t testing.TB, rng *rand.Rand, rows, dim int) crf.Features {
	t.Helper()
	x := make([]float64, rows*dim)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return oracle.Must(crf.Dense(x, dim))(t)
}
