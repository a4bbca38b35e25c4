package oracle

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/mrf"
)

// small returns a network whose sums are done by hand: weights (2, 1) on node
// 0, and on the edge 1 and 3 in the diagonal, 0 and 5 off it.
func small(t *testing.T) *mrf.Pairwise {
	t.Helper()
	g, err := graph.FromEdges(2, []int32{0}, []int32{1})
	if err != nil {
		t.Fatal(err)
	}
	return &mrf.Pairwise{
		Graph: g, Card: []int32{2, 2},
		Node: []float64{math.Log(2), 0, 0, 0}, NodeAt: []int{0, 2, 4},
		Edge: []float64{0, math.Inf(-1), math.Log(5), math.Log(3)}, EdgeAt: []int{0, 4},
		Constant: 7000,
	}
}

func TestByHand(t *testing.T) {
	p := small(t) // joint weights 2, 0, 5, 3
	if got, want := LogZ(p), 7000+math.Log(10); math.Abs(got-want) > 1e-11 {
		t.Errorf("log Z = %v, want %v", got, want)
	}
	x, score := NetworkMax(p.Network())
	if !slices.Equal(x, []int{1, 0}) || math.Abs(score-7000-math.Log(5)) > 1e-11 {
		t.Errorf("maximum is %v with %v", x, score)
	}
	nodes, edges := Marginals(p)
	for i, want := range []float64{0.2, 0.8, 0.7, 0.3} {
		if got := nodes[i/2][i%2]; math.Abs(got-want) > 1e-11 {
			t.Errorf("P(x_%d = %d) = %v, want %v", i/2, i%2, got, want)
		}
	}
	for i, want := range []float64{0.2, 0, 0.5, 0.3} {
		if got := edges[0][i]; math.Abs(got-want) > 1e-11 {
			t.Errorf("edge entry %d = %v, want %v", i, got, want)
		}
	}
}

func TestZero(t *testing.T) {
	p := small(t)
	p.Constant = math.Inf(-1)
	if got := LogZ(p); !math.IsInf(got, -1) {
		t.Errorf("log Z = %v, want -Inf", got)
	}
}

func TestPanics(t *testing.T) {
	zero := &mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{LogTable: []float64{math.Inf(-1)}}}}
	for name, call := range map[string]func(){
		"too many states": func() { NetworkLogZ(&mrf.Network{Card: slices.Repeat([]int{2}, 21)}) },
		"overflow":        func() { NetworkLogZ(&mrf.Network{Card: slices.Repeat([]int{1 << 16}, 8)}) },
		"zero":            func() { NetworkMarginals(zero) },
		"large table": func() {
			RandomNetwork(rand.New(rand.NewPCG(1, 1)), []int{1 << 11, 1 << 11}, 50, 2, 1, 0)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestRandomPairwise(t *testing.T) {
	g, err := graph.FromEdges(4, []int32{0, 2, 3}, []int32{1, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	p := RandomPairwise(rand.New(rand.NewPCG(1, 2)), g, []int32{2, 3, 1, 4}, 2, 0.5)
	if err := p.Network().Validate(); err != nil {
		t.Fatal(err)
	}
	if zeros := slices.Index(p.Edge, math.Inf(-1)); zeros < 0 {
		t.Error("no hard zero was drawn")
	}
	if z := LogZ(p); math.IsInf(z, 0) || math.IsNaN(z) {
		t.Errorf("log Z = %v", z)
	}
	again := RandomPairwise(rand.New(rand.NewPCG(1, 2)), g, []int32{2, 3, 1, 4}, 2, 0.5)
	if !slices.Equal(p.Edge, again.Edge) || !slices.Equal(p.Node, again.Node) {
		t.Error("the same seed gave another network")
	}
}
