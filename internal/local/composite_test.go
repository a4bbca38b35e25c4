package local

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestComposite: of any blocks the composite likelihood is what its definition comes to by enumeration, with hidden
// labels and class weights, and its gradient what differences say; of one block it is the likelihood, and of blocks of
// one node the pseudo-likelihood.
func TestComposite(t *testing.T) {
	const nodes, features = 9, 2
	rng := rand.New(rand.NewPCG(47, 60))
	m := oracle.Must(crf.NewModel(crf.Homogeneous([]string{"x", "y", "z"}, features, features)))(t)
	for i := range m.Weights {
		m.Weights[i] = rng.NormFloat64()
	}
	g := oracle.Must(graph.Grid(3, 3, graph.GridOptions{}))(t)
	dense := func(n int) []crf.Features {
		values := make([]float64, n*features)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		return []crf.Features{oracle.Must(crf.Dense(values, features))(t)}
	}
	spec := crf.InstanceSpec{Graph: g, NodeFeat: dense(nodes), EdgeFeat: dense(g.NumEdges()), Weight: 2,
		Labels: [][]int32{{0, 1, 2, 2, 1, 0, 0, 1, 2}, {2, 2, 1, 0, 1, 0, 1, 0, 0}}}
	complete := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	spec.Labels = append(spec.Labels, []int32{0, -1, 2, -1, -1, 1, 0, -1, 2})
	hidden := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	at := func(kind Kind, in *crf.Instance, classes [][]float64, of []int32, weights []float64) (float64, []float64) {
		o := &Objective{Kind: kind, Model: m, Data: []*crf.Instance{in}, ClassWeights: classes, L2: 0.1, Total: 3}
		oracle.OK(t, o.Plan(math.Inf(1)))
		if kind == Composite {
			o.blocks[in], o.plans[in] = of, exact.NewPlan(shapeOf(in, of), math.Inf(1))
		}
		o.Allocate(2)
		defer o.Close()
		gradient := make([]float64, len(weights))
		return o.Evaluate(t.Context(), gradient, slices.Clone(weights)), gradient
	}
	same := func(what string, a, b float64, gradient, want []float64, tolerance float64) {
		t.Helper()
		oracle.Near(t, a, b, tolerance*math.Abs(b), "%s", what)
		for i, g := range gradient {
			oracle.Near(t, g, want[i], tolerance*(1+math.Abs(want[i])), "%s: derivative %d", what, i)
		}
	}
	classes := [][]float64{{1, 3, 0.5}}
	for _, weighted := range [][][]float64{nil, classes} {
		value, gradient := at(Composite, hidden, weighted, nil, m.Weights)
		want, slopes := at(Exact, hidden, weighted, nil, m.Weights)
		same("one block", value, want, gradient, slopes, 1e-12)
		alone := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
		value, gradient = at(Composite, complete, weighted, alone, m.Weights)
		want, slopes = at(Pseudo, complete, weighted, nil, m.Weights)
		same("blocks of one node", value, want, gradient, slopes, 1e-12)
		for _, of := range [][]int32{alone, {0, 0, 0, 1, 1, 1, 2, 2, 2}, {0, 1, 1, 0, 2, 1, 0, 0, 1}} {
			value, gradient = at(Composite, hidden, weighted, of, m.Weights)
			want = 0
			for _, w := range m.Weights {
				want += 0.1 / 2 * w * w
			}
			for _, labels := range hidden.Samples() {
				for b := range slices.Max(of) + 1 {
					want += 2. / 3 * compositeByScores(m, hidden, weighted, labels, of, b)
				}
			}
			slopes = slopes[:0]
			for i := range m.Weights {
				const step = 1e-5
				up, down := slices.Clone(m.Weights), slices.Clone(m.Weights)
				up[i], down[i] = up[i]+step, down[i]-step
				above, _ := at(Composite, hidden, weighted, of, up)
				below, _ := at(Composite, hidden, weighted, of, down)
				slopes = append(slopes, (above-below)/(2*step))
			}
			same("blocks", value, want, nil, nil, 1e-12)
			same("slopes of blocks", value, value, gradient, slopes, 1e-8)
		}
	}
}

// compositeByScores is the term of a block by its definition, Σ_k (w_k − w_{k−1}) of −log p of its labels of weight ≥
// w_k given its other known labels, and those outside: edges to hidden ones there are not there.
func compositeByScores(m *crf.Model, in *crf.Instance, classes [][]float64, labels, of []int32,
	b int32) (value float64) {
	network := ground.Condition(m, in)
	block := slices.Clone(labels) // all hidden there
	for s := range block {
		if of[s] == b {
			block[s] = crf.Unobserved
		}
	}
	logSum := func(lightest float64) float64 { // over what agrees with known labels of less weight
		sum := 0.0
		ground.EachCompletion(in, block, func(x []int32) {
			score := 0.0
			for s, y := range labels {
				if of[s] == b {
					if y >= 0 && y != x[s] && ground.ClassWeight(classes, in, int32(s), y) < lightest {
						return
					}
					score += network.Node[network.NodeAt[s]+int(x[s])]
				}
			}
			u, v := in.Graph.Ends()
			for e := range u {
				there := func(s int32) bool { return of[s] == b || labels[s] >= 0 }
				if (of[u[e]] == b || of[v[e]] == b) && there(u[e]) && there(v[e]) {
					score += network.Edge[network.EdgeAt[e]+int(3*x[u[e]]+x[v[e]])]
				}
			}
			sum += math.Exp(score)
		})
		return math.Log(sum)
	}
	levels := []float64{0, 1}
	if classes != nil {
		levels = append([]float64{0}, slices.Sorted(slices.Values(classes[0]))...)
	}
	for k, w := range levels[1:] {
		value += (w - levels[k]) * (logSum(w) - logSum(math.Inf(1)))
	}
	return value
}
