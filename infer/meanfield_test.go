package infer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// productValue is the bound of a product distribution by enumeration: the mean of
// score minus log probability.
func productValue(p *mrf.Pairwise, q [][]float64) float64 {
	value := 0.0
	for _, x := range possibleJointStates(&mrf.Pairwise{Graph: must(graph.FromEdges(len(p.Card), nil, nil)), Card: p.Card, NodeAt: p.NodeAt, Node: make([]float64, len(p.Node)), EdgeAt: []int{0}}) {
		probability := 1.0
		for s, i := range x {
			probability *= q[s][i]
		}
		if probability > 0 {
			value += probability * (p.LogScore(x) - math.Log(probability))
		}
	}
	return value
}

// TestMeanFieldIsALowerBound: at most log Z, converged or not, with hard zeros or
// without; the value is that of the marginals; and no single marginal could be
// better.
func TestMeanFieldIsALowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := zeroed(t)
		p.Constant = rapid.Float64Range(-2, 2).Draw(t, "constant")
		possible := len(possibleJointStates(p)) > 0
		sweeps := rapid.SampledFrom([]int{1, 3, 3000}).Draw(t, "sweeps")
		r, err := fitField(context.Background(), p, Options{Restarts: 3, Limits: Limits{Tolerance: 1e-12, MaxSweeps: sweeps}})
		if err != nil {
			if possible || !errors.Is(err, ErrZero) {
				t.Fatal(err)
			}
			return
		}
		z := oracle.LogZ(p)
		if !(r.LogZ <= z+1e-9*(1+math.Abs(z))) {
			t.Errorf("lower bound %v, log Z is %v", r.LogZ, z)
		}
		if value := productValue(p, r.Marginals); !(math.Abs(value-r.LogZ) < 1e-9*(1+math.Abs(z))) {
			t.Errorf("value %v, by enumeration it is %v", r.LogZ, value)
		}
		if !r.Converged {
			return
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for s := range r.Marginals {
			other := slices.Clone(r.Marginals)
			other[s] = make([]float64, len(other[s]))
			total := 0.0
			for i := range other[s] {
				other[s][i] = r.Marginals[s][i] * (1 + 0.1*rng.Float64())
				total += other[s][i]
			}
			for i := range other[s] {
				other[s][i] /= total
			}
			if value := productValue(p, other); value > r.LogZ+1e-9 {
				t.Errorf("another marginal of node %d has the larger value %v, not %v", s, value, r.LogZ)
			}
		}
	})
}

// TestMeanFieldOfIndependentNodes is exact, from any start.
func TestMeanFieldOfIndependentNodes(t *testing.T) {
	p := oracle.RandomPairwise(source(2), must(graph.FromEdges(4, nil, nil)), []int32{2, 3, 1, 4}, 2, 0.2)
	r := must(fitField(context.Background(), p, Options{}))
	want, _ := oracle.Marginals(p)
	compare(t, "node", r.Marginals, want, 1e-12)
	if z := oracle.LogZ(p); !(math.Abs(r.LogZ-z) < 1e-12*(1+math.Abs(z))) || !r.Converged || r.Lower != 0 {
		t.Errorf("log Z %v, want %v; %+v", r.LogZ, z, r)
	}
}

// TestRestartsOfMeanField: of the two optima of a magnet with a weak field each is
// found from some starts, and the better one is kept; the same for any number of
// threads.
func TestRestartsOfMeanField(t *testing.T) {
	g := must(graph.Grid(4, 4, graph.GridOptions{}))
	p := oracle.RandomPairwise(source(1), g, slices.Repeat([]int32{2}, 16), 0, 0)
	for e := range g.NumEdges() {
		p.Edge[4*e], p.Edge[4*e+3] = 2, 2
	}
	for s := range 16 {
		p.Node[2*s+1] = 0.1
	}
	r := must(fitField(context.Background(), p, Options{Restarts: 20}))
	if r.Lower < 3 || !(r.Marginals[5][1] > 0.9) || !(r.LogZ <= oracle.LogZ(p)) || !(r.LogZ > oracle.LogZ(p)-1) {
		t.Errorf("best of 20 starts: %v with %d worse, P(x_5 = 1) %v; log Z is %v", r.LogZ, r.Lower, r.Marginals[5][1], oracle.LogZ(p))
	}
	other := must(fitField(context.Background(), p, Options{Restarts: 20, Threads: 8}))
	if other.LogZ != r.LogZ || !slices.EqualFunc(other.Marginals, r.Marginals, slices.Equal) {
		t.Error("other results with 8 threads")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fitField(ctx, p, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
