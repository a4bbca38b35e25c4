package standardise

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
)

// problem has two instances of a path, with node features: indicator, a large scale far
// from zero, ones, a small scale, and a constant of 5; and an edge feature in single
// precision without a constant.
func problem(t *testing.T) (*crf.Schema, []*crf.Instance) {
	t.Helper()
	schema := crf.Homogeneous([]string{"a", "b", "c"}, 5, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	var data []*crf.Instance
	for _, n := range []int{7, 12} {
		u, v := make([]int32, n-1), make([]int32, n-1)
		for i := range u {
			u[i], v[i] = int32(i), int32(i+1)
		}
		g, err := graph.FromEdges(n, u, v)
		if err != nil {
			t.Fatal(err)
		}
		var x []float64
		for range n {
			x = append(x, float64(rng.IntN(2)), 2000+30*rng.NormFloat64(), 1, 1e-4*rng.NormFloat64(), 5)
		}
		y := make([]float32, n-1)
		for i := range y {
			y[i] = float32(3 + 2*rng.NormFloat64())
		}
		node, err := crf.Dense(x, 5)
		if err != nil {
			t.Fatal(err)
		}
		edge, err := crf.Dense(y, 1)
		if err != nil {
			t.Fatal(err)
		}
		in, err := crf.NewInstance(&schema, crf.InstanceSpec{Graph: g, Labels: [][]int32{make([]int32, n)}, NodeFeat: []crf.Features{node}, EdgeFeat: []crf.Features{edge}})
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, in)
	}
	return &schema, data
}

// columnOf returns a feature of all nodes (or edges) of all instances.
func columnOf(data []*crf.Instance, features func(*crf.Instance) *crf.Features, j int) (column []float64) {
	for _, in := range data {
		f := features(in)
		row := make([]float64, f.Dim())
		for r := range f.Rows() {
			f.Row(row, r)
			column = append(column, row[j])
		}
	}
	return column
}

func nodes(in *crf.Instance) *crf.Features { return in.NodeFeatures(0) }
func edges(in *crf.Instance) *crf.Features { return in.EdgeFeatures(0) }

func moment(column []float64) (mean, deviation float64) {
	for _, x := range column {
		mean += x / float64(len(column))
	}
	for _, x := range column {
		deviation += (x - mean) * (x - mean) / float64(len(column))
	}
	return mean, math.Sqrt(deviation)
}

// TestMap: columns are standardised or left alone as they should be, and the potentials
// of any weights on the new scale are those of the original weights, which Standard gets
// back.
func TestMap(t *testing.T) {
	schema, data := problem(t)
	m, err := Of(context.Background(), schema, data, 3)
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	var scaled []*crf.Instance
	for _, in := range data {
		s, err := m.Instance(in)
		if err != nil {
			t.Fatal(err)
		}
		scaled = append(scaled, s)
	}
	for _, j := range []int{0, 2, 4} {
		if !slices.Equal(columnOf(data, nodes, j), columnOf(scaled, nodes, j)) {
			t.Errorf("node feature %d was changed", j)
		}
	}
	for _, j := range []int{1, 3} {
		if mean, deviation := moment(columnOf(scaled, nodes, j)); math.Abs(mean) > 1e-9 || math.Abs(deviation-1) > 1e-12 {
			t.Errorf("node feature %d: mean %g, deviation %g", j, mean, deviation)
		}
	}
	before, spread := moment(columnOf(data, edges, 0))
	if mean, deviation := moment(columnOf(scaled, edges, 0)); math.Abs(mean-before/spread) > 1e-6 || math.Abs(deviation-1) > 1e-6 {
		t.Errorf("edge feature without a constant: mean %g, deviation %g, want %g and 1", mean, deviation, before/spread)
	}

	model, err := crf.NewModel(*schema)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range model.Weights {
		model.Weights[i] = rng.NormFloat64()
	}
	original := model.Clone()
	m.Original(original.Weights, model.Weights, &model.Layout)
	for i := range data {
		want, got := ground.Condition(model, scaled[i]), ground.Condition(original, data[i])
		near(t, "node potentials", got.Node, want.Node)
		near(t, "edge potentials", got.Edge, want.Edge)
	}
	m.InPlace(append(data, data[0])) // one of them twice
	for i := range data {
		want, got := ground.Condition(model, scaled[i]), ground.Condition(model, data[i])
		near(t, "node potentials in place", got.Node, want.Node)
		near(t, "edge potentials in place", got.Edge, want.Edge)
	}
	back := make([]float64, len(model.Weights))
	m.Standard(back, original.Weights, &model.Layout)
	near(t, "weights there and back", back, model.Weights)
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6*(1+math.Abs(want[i])) {
			t.Errorf("%s %d: %v, want %v", what, i, got[i], want[i])
		}
	}
}
