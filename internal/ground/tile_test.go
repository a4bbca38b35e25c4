package ground

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestTilesAgainstTerms: value and gradient by tiles are those that follow from the terms one by one, for all pairs,
// sparse graphs, several types of nodes and edges, states that are forbidden, rare or never seen, hidden labels, class
// weights and every number of threads, to the last bit there.
func TestTilesAgainstTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 1))
	for trial := range 60 {
		nodes, samples := 2+rng.IntN(70), 1+rng.IntN(40)
		schema := crf.Schema{
			NodeTypes: []crf.NodeType{{Name: "a", States: []string{"0", "1"}, Features: 2}, {Name: "b", States: []string{"0", "1", "2", "3"}, Features: 1}},
			EdgeTypes: []crf.EdgeType{{Name: "aa", Features: 1}, {Name: "ab", V: 1, Features: 2}, {Name: "bb", U: 1, V: 1, Features: 1}},
		}
		if trial%3 == 0 {
			schema.NodeTypes[1].Forbidden = []int{2}
		}
		density := []float64{1, 0.05, 0.5}[trial/2%3]
		var of, u, v, kinds []int32
		for range nodes {
			of = append(of, int32(rng.IntN(2)))
		}
		rows := [3]int{}
		for i := range int32(nodes) {
			for j := range i {
				if a, b := j, i; rng.Float64() < density {
					if of[a] > of[b] {
						a, b = b, a
					}
					u, v, kinds = append(u, a), append(v, b), append(kinds, of[a]+of[b])
					rows[of[a]+of[b]]++
				}
			}
		}
		if trial%2 == 0 {
			schema.EdgeTypes[0].Copies, schema.EdgeTypes[2].Copies = rows[0], rows[2]
		}
		m, in := tileProblem(t, rng, schema, nodes, samples, of, u, v, kinds, rows)
		objective := PseudoLikelihood{ClassWeights: [][]float64{{1, 3}, {0.5, 1, 2, 1}}}
		if trial%5 == 0 {
			objective.ClassWeights = nil
		}
		whole := &partition.Whole(in.Graph).Blocks[0]
		value, gradient := 0.0, make([]float64, len(m.Weights))
		objective.EachTerm(m, in, whole, func(_ int, p []float64, y int32, count float64, slots []Slot) {
			value -= 0.3 * count * math.Log(p[y])
			for _, slot := range slots {
				for x := range p {
					r := p[x]
					if x == int(y) {
						r--
					}
					gradient[slot.At+x*slot.Stride] += 0.3 * count * r * slot.Value
				}
			}
		})
		got := make([]float64, len(gradient))
		oracle.MustNear(t, objective.Add(t.Context(), got, m, in, whole, 0.3), value, 1e-12*(1+value),
			"trial %d: value", trial)
		for i, want := range gradient {
			oracle.MustNear(t, got[i], want, 1e-11*(1+math.Abs(want)), "trial %d: derivative %d", trial, i)
		}
		threads := PseudoLikelihood{ClassWeights: objective.ClassWeights, Threads: 1 + trial%4}
		again := make([]float64, len(gradient))
		a, b := objective.Add(t.Context(), nil, m, in, whole, 0.3), threads.Add(t.Context(), again, m, in, whole, 0.3)
		oracle.MustEqual(t, a, b, "trial %d: values", trial)
		for i := range got {
			oracle.MustEqual(t, got[i], again[i],
				"trial %d: derivative %d with one thread, and with %d", trial, i, threads.Threads)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := PseudoLikelihood{Threads: 1 + trial%4} // which takes no tile for computed that was not
		ended.Add(&endingOnce{ctx, cancel}, again, m, in, whole, 0.3)
	}
}

// endingOnce ends right after it was asked once.
type endingOnce struct {
	context.Context
	cancel context.CancelFunc
}

func (e *endingOnce) Err() error {
	defer e.cancel()
	return e.Context.Err()
}

// tileProblem draws weights, features and labels.
func tileProblem(t *testing.T, rng *rand.Rand, schema crf.Schema, nodes, samples int, of, u, v, kinds []int32, rows [3]int) (*crf.Model, *crf.Instance) {
	m := oracle.Must(crf.NewModel(schema))(t)
	for i := range m.Weights {
		m.Weights[i] = rng.NormFloat64()
	}
	a, values := 0, []float64(nil)
	for _, k := range of {
		if k == 0 {
			a, values = a+1, append(values, rng.NormFloat64(), 1)
		}
	}
	between := make([]float64, 2*rows[1])
	for i := range between {
		between[i] = rng.NormFloat64()
	}
	dense := func(x []float64) crf.Features {
		if len(x) == 0 {
			return crf.Constant(0, 2)
		}
		return oracle.Must(crf.Dense(x, 2))(t)
	}
	spec := crf.InstanceSpec{NodeType: of, EdgeType: kinds, NodeFeat: []crf.Features{dense(values), crf.Constant(nodes-a, 1)}, EdgeFeat: []crf.Features{crf.Constant(rows[0], 1), dense(between), crf.Constant(rows[2], 1)}}
	spec.Graph = oracle.Must(graph.FromEdges(nodes, u, v))(t)
	for range samples {
		labels := make([]int32, nodes)
		for s, k := range of {
			switch {
			case rng.Float64() < 0.1:
				labels[s] = crf.Unobserved
			case k == 0:
				labels[s] = int32(rng.IntN(2))
			default:
				labels[s] = []int32{0, 1, 1, 1, 1, 3}[rng.IntN(6)]
			}
		}
		spec.Labels = append(spec.Labels, labels)
	}
	in := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	return m, in
}

// TestSampleWeights: a sample of weight 3 counts as if it were there three times, and one of weight 0 not at all.
func TestSampleWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 2))
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "a", States: []string{"0", "1"}, Features: 2}, {Name: "b", States: []string{"0", "1", "2", "3"}, Features: 1}},
		EdgeTypes: []crf.EdgeType{{Name: "aa", Features: 1}, {Name: "ab", V: 1, Features: 2}, {Name: "bb", U: 1, V: 1, Features: 1}},
	}
	of, u, v := []int32{0, 0, 1, 1}, []int32{0, 0, 1, 2}, []int32{1, 2, 3, 3}
	m, in := tileProblem(t, rng, schema, 4, 9, of, u, v, []int32{0, 1, 1, 2}, [3]int{1, 2, 1})
	weighted, repeated := in.Spec(), in.Spec()
	repeated.Labels = nil
	for i, labels := range in.Samples() {
		weighted.SampleWeights = append(weighted.SampleWeights, float64(i%4))
		for range i % 4 {
			repeated.Labels = append(repeated.Labels, labels)
		}
	}
	whole := &partition.Whole(in.Graph).Blocks[0]
	classes := [][]float64{{1, 3}, {0.5, 1, 2, 1}}
	for _, objective := range []LocalObjective{&PseudoLikelihood{ClassWeights: classes}, &Piecewise{ClassWeights: classes}} {
		var values [2]float64
		gradients := [2][]float64{make([]float64, len(m.Weights)), make([]float64, len(m.Weights))}
		for i, spec := range []crf.InstanceSpec{weighted, repeated} {
			values[i] = objective.Add(t.Context(), gradients[i], m, oracle.Must(crf.NewInstance(&m.Schema, spec))(t), whole, 0.3)
		}
		for i, g := range gradients[0] {
			if math.Abs(g-gradients[1][i]) > 1e-12 || math.Abs(values[0]-values[1]) > 1e-12 {
				t.Fatalf("%T: %v with weights, %v repeated; derivative %d: %v, %v", objective, values[0], values[1], i, g, gradients[1][i])
			}
		}
	}
	weights := 0.0
	for _, term := range Terms(nil, oracle.Must(crf.NewInstance(&m.Schema, weighted))(t)) {
		weights += term.Weight
	}
	oracle.Equal(t, weights, float64(len(repeated.Labels)), "weight of the terms")
	weighted.SampleWeights[2] = -1
	oracle.Fails(crf.NewInstance(&m.Schema, weighted))(t,
		"sample_weights[2]: is -1, want a finite number that is not negative")
}
