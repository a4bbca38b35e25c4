package learn

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
)

// TestMeasureTimes: every method is timed on problems of all kinds, with counting numbers
// and step rules in turn, and a problem is left as it was.
func TestMeasureTimes(t *testing.T) {
	names, turn := slices.Sorted(maps.Keys(countings)), 0
	for kind, p := range problems(t) {
		for _, method := range Methods {
			turn++
			name, step := names[turn%len(names)], stepRules()[turn%len(stepRules())]
			s := Settings{Method: method, Cut: Cut{Blocks: 4}, Step: must(ParseStep(step)), Threads: 1 + turn%3}
			q := p.with(name).startingAt(p.randomWeights(1, 1))
			before := slices.Clone(q.Model.Weights)
			sizes, err := Measure(q, s)
			if err != nil || !(sizes.SecondsPerPass > 0) || math.IsInf(sizes.SecondsPerPass, 0) {
				t.Fatalf("%s, %s, %s, %s: %+v, %v", kind, method, name, step, sizes, err)
			}
			if !slices.Equal(q.Model.Weights, before) {
				t.Fatalf("%s, %s: the weights have changed", kind, method)
			}
		}
	}
}

// TestExcerpt: an excerpt has the features, labels and types of what it is of, and no more
// than is asked for.
func TestExcerpt(t *testing.T) {
	for kind, p := range problems(t) {
		in := p.Data[0]
		x := must(instances.NewExcerpt(in, []int32{5, 9}, excerptNumbers, func(s int32) bool { return s < 8 }))
		if want := []int32{1, 4, 5, 6, 8, 9, 10, 13}; !slices.Equal(x.Nodes, want) || len(x.Edges) != 7 {
			t.Fatalf("%s: nodes %v with %d edges, want %v with 7", kind, x.Nodes, len(x.Edges), want)
		}
		same := func(a, b *crf.Features, i, j int) {
			t.Helper()
			y, z := make([]float64, a.Dim()), make([]float64, b.Dim())
			a.Row(y, i)
			b.Row(z, j)
			if !slices.Equal(y, z) {
				t.Errorf("%s: features %v, want %v", kind, y, z)
			}
		}
		for i, s := range x.Nodes {
			a := x.Instance.NodeType(int32(i))
			if a != in.NodeType(s) || (x.Of[i] == 0) != (s < 8) || x.Instance.Samples()[0][i] != in.Samples()[0][s] {
				t.Errorf("%s: node %d is not that of the network", kind, s)
			}
			same(x.Instance.NodeFeatures(a), in.NodeFeatures(a), x.Instance.NodeRow(int32(i)), in.NodeRow(s))
		}
		for i, e := range x.Edges {
			b := x.Instance.EdgeType(int32(i))
			if x.Nodes[x.Instance.Graph.U(int32(i))] != in.Graph.U(e) || x.Nodes[x.Instance.Graph.V(int32(i))] != in.Graph.V(e) || b != in.EdgeType(e) {
				t.Errorf("%s: edge %d is not that of the network", kind, e)
			}
			same(x.Instance.EdgeFeatures(b), in.EdgeFeatures(b), x.Instance.EdgeRow(int32(i)), in.EdgeRow(e))
		}
	}
	start, column := []int{0, 2, 2, 3}, []int32{0, 2, 1}
	for _, value := range [][]float64{nil, {3, 4, 5}} {
		whole := must(crf.Sparse(start, column, value, 3))
		some := whole.Pick([]int32{2, 0, 1})
		for i, r := range []int{2, 0, 1} {
			x, y := make([]float64, 3), make([]float64, 3)
			some.Row(x, i)
			whole.Row(y, r)
			if !slices.Equal(x, y) {
				t.Errorf("sparse row %v, want %v", x, y)
			}
		}
	}
}

// TestExcerptIsSmall: whatever the network, and a node with very many edges.
func TestExcerptIsSmall(t *testing.T) {
	const leaves = 5000
	hub, leaf := make([]int32, leaves), make([]int32, leaves)
	for i := range leaf {
		leaf[i] = int32(i + 1)
	}
	s := shape{graph: must(graph.FromEdges(leaves+1, hub, leaf)), schema: crf.Homogeneous(crf.NumberedStates(40), 1, 1)}
	p := s.build(t, 1)
	x := must(instances.NewExcerpt(p.Data[0], []int32{0, 1, 2}, excerptNumbers/2, func(int32) bool { return true }))
	if n := len(x.Edges) * 40 * 40; n > excerptNumbers/2 || n < excerptNumbers/3 {
		t.Errorf("%d edges in an excerpt for two threads: %d numbers", len(x.Edges), n)
	}
	if sizes, err := Measure(p, Settings{Threads: 2}); err != nil || !(sizes.SecondsPerPass > 0) {
		t.Errorf("%+v, %v", sizes, err)
	}
}
