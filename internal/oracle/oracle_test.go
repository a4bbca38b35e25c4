package oracle

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// recorder keeps what a test would say as it fails.
type recorder struct{ said string }

func (r *recorder) Helper()                           {}
func (r *recorder) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }
func (r *recorder) Fatal(args ...any)                 { r.said += fmt.Sprint(args...) }

// TestComparisons: what all tests compare by fails where it should, and says what differs.
func TestComparisons(t *testing.T) {
	inf, nan, long := math.Inf(1), math.NaN(), slices.Repeat([]int{7}, 200)
	for _, c := range []struct {
		compare func(tb TB)
		want    string // part of what is said; nothing: they are equal
	}{
		{func(tb TB) { Equal(tb, 3, 3, "n") }, ""},
		{func(tb TB) { Equal(tb, 3, 4, "nodes of %s", "a") }, "nodes of a: 3, want 4"},
		{func(tb TB) { MustEqual(tb, "a", "b", "name") }, `name: "a", want "b"`},
		{func(tb TB) { Equal(tb, nan, nan, "x") }, "x: NaN, want NaN"},
		{func(tb TB) { Equal(tb, []int{}, nil, "list") }, ""},
		{func(tb TB) { Equal(tb, nil, []int{0}, "list") }, "list: [], want [0]"},
		{func(tb TB) { MustEqual(tb, [][]float64{{1, 2}}, [][]float64{{1, 3}}, "table") }, "table: [[1 2]], want [[1 3]]"},
		{func(tb TB) { Equal(tb, &mrf.Network{Card: []int{2}}, &mrf.Network{Card: []int{2}}, "place") }, "place: "},
		{func(tb TB) { Equal[any](tb, []any{1.0}, []any{1}, "type") }, "type: "},
		{func(tb TB) { Equal(tb, long, append([]int{8}, long[1:]...), "long") }, "(-want +got)"},
		{func(tb TB) { Near(tb, 1, 1.25, 0.25, "x") }, ""},
		{func(tb TB) { Near(tb, -inf, -inf, 0, "x") }, ""},
		{func(tb TB) { Near(tb, nan, 1, inf, "x") }, "x: NaN, want 1, to within +Inf"},
		{func(tb TB) { MustNear(tb, 1, 1.5, 0.25, "x") }, "x: 1, want 1.5, to within 0.25"},
		{func(tb TB) { Contains(tb, "one text", "one", "two") }, `there is no "two" in:`},
		{func(tb TB) { WantError(tb, errors.New("one text"), "text") }, ""},
		{func(tb TB) { WantError(tb, nil) }, "there is no error"},
		{func(tb TB) { Fails(1, errors.New("one text"))(tb, "two") }, `there is no "two" in:`},
		{func(tb TB) { OK(tb, errors.New("one text")) }, "one text"},
	} {
		var r recorder
		if c.compare(&r); (r.said == "") != (c.want == "") || !strings.Contains(r.said, c.want) {
			t.Errorf("it says %q, want %q", r.said, c.want)
		}
	}
}
