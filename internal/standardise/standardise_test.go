package standardise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// problem has two instances of a path, with node features: indicator, a large scale far from zero, ones, a small scale,
// and a constant of 5; and an edge feature in single precision without a constant.
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
		g := oracle.Must(graph.FromEdges(n, u, v))(t)
		var x []float64
		for range n {
			x = append(x, float64(rng.IntN(2)), 2000+30*rng.NormFloat64(), 1, 1e-4*rng.NormFloat64(), 5)
		}
		y := make([]float32, n-1)
		for i := range y {
			y[i] = float32(3 + 2*rng.NormFloat64())
		}
		node := oracle.Must(crf.Dense(x, 5))(t)
		edge := oracle.Must(crf.Dense(y, 1))(t)
		in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{Graph: g, Labels: [][]int32{make([]int32, n)},
			NodeFeat: []crf.Features{node}, EdgeFeat: []crf.Features{edge}}))(t)
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

// TestMap: columns are standardised or left alone as they should be, and the potentials of any weights on the new scale
// are those of the original weights, which Standard gets back.
func TestMap(t *testing.T) {
	schema, data := problem(t)
	m := oracle.Must(Measure(context.Background(), schema, data, 3))(t)
	scaled := numeric.Map(data, func(in *crf.Instance) *crf.Instance { return m.Instance(in, nil) })
	for _, j := range []int{0, 2, 4} {
		oracle.Equal(t, columnOf(data, nodes, j), columnOf(scaled, nodes, j), "node feature %d", j)
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

	model := oracle.Must(crf.NewModel(*schema))(t)
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
	one := m.Together(0.5) // the same potentials with one divisor, and deviations that are half in the mean
	one.Original(original.Weights, model.Weights, &model.Layout)
	squares := 0.0
	for i, in := range data {
		s := one.Instance(in, nil)
		want, got := ground.Condition(model, s), ground.Condition(original, in)
		near(t, "node potentials with one divisor", got.Node, want.Node)
		data[i] = s
	}
	for _, j := range []int{1, 3} {
		_, deviation := moment(columnOf(data, nodes, j))
		squares += deviation * deviation / 2
	}
	if math.Abs(squares-0.25) > 1e-12 || m.Changed() != 2 {
		t.Errorf("deviations have the mean square %v, want 1/4; %d features change", squares, m.Changed())
	}
	_, data = problem(t)
	m.Original(original.Weights, model.Weights, &model.Layout)
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

// TestSparse: columns that are in every sparse row are standardised as dense ones are, and the others stay.
func TestSparse(t *testing.T) {
	schema, data := problem(t)
	rng := rand.New(rand.NewPCG(5, 6))
	var sparse []*crf.Instance
	for _, in := range data {
		f := in.NodeFeatures(0)
		var start, column = []int{0}, []int32(nil)
		var value []float64
		row := make([]float64, f.Dim())
		for r := range f.Rows() {
			f.Row(row, r)
			for j, x := range row {
				if x != 0 && (j != 3 || rng.IntN(2) == 0) { // the indicator is not in all rows, and feature 3 is cut
					column, value = append(column, int32(j)), append(value, x)
				}
			}
			start = append(start, len(column))
		}
		spec := in.Spec()
		spec.NodeFeat[0] = oracle.Must(crf.Sparse(start, column, value, f.Dim()))(t)
		sparse = append(sparse, oracle.Must(crf.NewInstance(schema, spec))(t))
	}
	ctx := context.Background()
	dense := oracle.Must(Measure(ctx, schema, data, 1))(t)
	m := oracle.Must(Measure(ctx, schema, sparse, 1))(t)
	if a, b := &m.columns[0], &dense.columns[0]; math.Abs(a.mean[1]-b.mean[1]) > 1e-9 || math.Abs(a.deviation[1]-b.deviation[1]) > 1e-9 || a.constant != 2 {
		t.Errorf("the full column has mean %v and deviation %v, of dense features %v and %v", a.mean[1], a.deviation[1], b.mean[1], b.deviation[1])
	}
	for _, j := range []int{0, 2, 3, 4} {
		if m.columns[0].mean[j] != 0 || m.columns[0].deviation[j] != 1 {
			t.Errorf("feature %d is changed", j)
		}
	}
	scaled := m.Instance(sparse[0], nil)
	before := columnOf(sparse, nodes, 1)
	m.InPlace(sparse)
	for i, x := range columnOf(sparse[:1], nodes, 1) {
		if want := (before[i] - m.columns[0].mean[1]) / m.columns[0].deviation[1]; math.Abs(x-want) > 1e-12 || x != columnOf([]*crf.Instance{scaled}, nodes, 1)[i] {
			t.Errorf("row %d: %v, want %v", i, x, want)
		}
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		oracle.Near(t, got[i], want[i], 1e-6*(1+math.Abs(want[i])), "%s %d", what, i)
	}
}

// TestColumns: a narrow range far from zero is standardised in double precision and is
// rounding in single precision; means go into the last feature of ones, which is the bias.
func TestColumns(t *testing.T) {
	ones := moments{n: 4, mean: 1, least: 1, most: 1, indicator: true}
	all := []moments{{n: 4, mean: 1.7e9, squares: 4 * 30 * 30, least: 1.7e9 - 60, most: 1.7e9 + 60}, ones, ones}
	if c := columnsOf(all, false); c.mean == nil || c.mean[0] != 1.7e9 || c.deviation[0] != 30 || c.constant != 2 {
		t.Errorf("in double precision: %+v", c)
	}
	oracle.Equal(t, columnsOf(all, true).mean == nil, true, "no means in single precision")
}
