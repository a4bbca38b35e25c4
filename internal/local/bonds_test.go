package local

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// chainOfStates is the problem of all pairs of some nodes, in samples of a chain through them, a share of which is hidden.
func chainOfStates(t *testing.T, nodes, states, samples int, symmetric bool, hidden float64) *Bonds {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(states), 4))
	var us, vs []int32
	for u := range int32(nodes) {
		for v := u + 1; v < int32(nodes); v++ {
			us, vs = append(us, u), append(vs, v)
		}
	}
	spec := crf.InstanceSpec{Graph: oracle.Must(graph.FromEdges(nodes, us, vs))(t),
		NodeFeat: []crf.Features{crf.Constant(nodes, 1)}, EdgeFeat: []crf.Features{crf.Constant(len(us), 1)}}
	for range samples {
		labels := make([]int32, nodes)
		for s := range labels {
			if labels[s] = rng.Int32N(int32(states)); s > 0 && rng.Float64() < 0.5 {
				labels[s] = labels[s-1]
			}
		}
		for s := range labels {
			if hidden > 0 && rng.Float64() < hidden {
				labels[s] = crf.Unobserved
			}
		}
		spec.Labels = append(spec.Labels, labels)
	}
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(states), Features: 1, Copies: nodes}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 1, Copies: len(us), Symmetric: symmetric}},
	}
	m := &crf.Model{Schema: schema, Layout: schema.Layout()}
	in := oracle.Must(crf.NewInstance(&m.Schema, spec))(t)
	return &Bonds{Model: m, Data: []*crf.Instance{in}, L2: 1 / float64(samples), Total: float64(samples), Gamma: 0.25,
		Threads: 1}
}

// TestBondsOfChain: of all pairs, those of the chain that samples are of stay.
func TestBondsOfChain(t *testing.T) {
	for _, c := range []struct {
		states    int
		symmetric bool
		hidden    float64
	}{{2, true, 0}, {2, false, 0}, {3, true, 0}, {3, false, 0}, {2, true, 0.2}} {
		b := chainOfStates(t, 8, c.states, 600+int(3000*c.hidden), c.symmetric, c.hidden)
		found, _, err := b.Choose(context.Background())
		oracle.OK(t, err)
		us, vs := b.Data[0].Graph.Ends()
		var kept [][2]int32
		for _, e := range found {
			kept = append(kept, [2]int32{us[e], vs[e]})
		}
		oracle.Equal(t, kept, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}, "%+v: stay", c)
	}
}

// penalised is the problem of a path, written out: L and its gradient by differences of every weight.
type penalised struct {
	*Bonds
	lambda float64
}

// smooth is L.
func (p *penalised) smooth(weights []float64) (sum float64) {
	in, k := p.Data[0], p.groups[0].rows
	us, vs := in.Graph.Ends()
	for i, labels := range in.Samples() {
		for s := range labels {
			all, own := 0.0, 0.0
			for x := range k {
				score := weights[k*s+x]
				for e, g := range p.groups {
					switch int32(s) {
					case us[e]:
						score += weights[g.at+k*x+int(labels[vs[e]])]
					case vs[e]:
						score += weights[g.at+k*int(labels[us[e]])+x]
					}
				}
				if all += math.Exp(score); x == int(labels[s]) {
					own = score
				}
			}
			sum += in.SampleWeight(i) * (math.Log(all) - own) / p.Total
		}
	}
	for _, w := range weights {
		sum += p.L2 / 2 * w * w
	}
	return sum
}

// slope is the gradient of L, of tables without what is a field.
func (p *penalised) slope(weights []float64) []float64 {
	const width = 1e-5
	gradient := make([]float64, len(weights))
	for j, w := range weights {
		weights[j] = w + width
		gradient[j] = p.smooth(weights)
		weights[j] = w - width
		gradient[j] = (gradient[j] - p.smooth(weights)) / (2 * width)
		weights[j] = w
	}
	for _, g := range p.groups {
		table, k := slices.Clone(g.of(gradient)), g.columns
		for i := range table {
			for j := range k { // less the means of its row and its column
				g.of(gradient)[i] += -table[i/k*k+j]/float64(k) - table[j*k+i%k]/float64(k)
			}
			for _, x := range table {
				g.of(gradient)[i] += x / float64(k*k)
			}
		}
	}
	return gradient
}

// value is what is minimised.
func (p *penalised) value(weights []float64) float64 {
	sum := p.smooth(weights)
	for _, g := range p.groups {
		sum += p.lambda * math.Sqrt(g.free) * numeric.Norm(g.of(weights))
	}
	return sum
}

// TestBondsMinimum: weights of the path meet the conditions of the minimum of an objective that is written out here
// (Yuan and Lin 2006), and no lower value is found by short proximal steps that have nothing in common with the path.
func TestBondsMinimum(t *testing.T) {
	for _, lambda := range []float64{0.2, 0.05, 0.02} {
		b := chainOfStates(t, 4, 3, 60, false, 0)
		b.begin()
		b.slopes(t.Context())
		active := oracle.Must(b.shrink(t.Context(), lambda))(t)
		b.objective.Close()
		p := &penalised{b, lambda}
		gradient, fields := p.slope(b.weights), 4*3
		for j, g := range gradient[:fields] {
			if math.Abs(g) > 2*conditionsMet*lambda {
				t.Errorf("λ %v: slope of field %d is %v", lambda, j, g)
			}
		}
		for e, g := range b.groups {
			table, norm := g.of(gradient), numeric.Norm(g.of(b.weights))
			if stays := slices.Contains(active, int32(e)); stays != (norm > 0) {
				t.Errorf("λ %v: edge %d stays: %v, ‖J‖ = %v", lambda, e, stays, norm)
			}
			limit := (1 + 2*conditionsMet) * lambda * math.Sqrt(g.free)
			if norm > 0 {
				limit = 2 * conditionsMet * lambda
				for i, w := range g.of(b.weights) {
					table[i] += lambda * math.Sqrt(g.free) * w / norm
				}
			}
			if miss := numeric.Norm(table); miss > limit {
				t.Errorf("λ %v: edge %d, ‖J‖ = %v, misses its condition by %v, of %v", lambda, e, norm, miss, limit)
			}
		}
		const length = 2.5
		w := make([]float64, len(b.weights))
		for range 60 {
			for j, g := range p.slope(w) {
				w[j] -= length * g
			}
			for _, g := range b.groups {
				norm := numeric.Norm(g.of(w))
				for j := range g.of(w) {
					g.of(w)[j] *= max(0, 1-length*lambda*math.Sqrt(g.free)/norm)
				}
			}
		}
		oracle.Near(t, p.value(b.weights), p.value(w), 1e-5, "λ %v: the path", lambda)
	}
}
