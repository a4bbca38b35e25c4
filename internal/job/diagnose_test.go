package job

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// troubled has two node features by name, two states more than any label has, and
// edges with a constant feature.
func troubled(t *testing.T, features func(row int) []float64, names []string, l2 float64) learn.Problem {
	t.Helper()
	g := oracle.Must(gen.Chain(6))(t)
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "pixel", States: []string{"sky", "tree", "boat", "bird"}, Features: len(names), FeatureNames: names}},
		EdgeTypes: []crf.EdgeType{{Name: "beside", Features: 1}},
	}
	model := oracle.Must(crf.NewModel(schema))(t)
	var x []float64
	for r := range 6 {
		x = append(x, features(r)...)
	}
	in := oracle.Must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{oracle.Must(crf.Dense(x, len(names)))(t)},
		EdgeFeat: []crf.Features{crf.Constant(5, 1)}, Labels: [][]int32{{0, 1, 0, 0, 1, 1}},
	}))(t)
	return learn.Problem{Model: model, Data: []*crf.Instance{in}, L2: l2}
}

// TestDataNotes: what is wrong is named, with a remedy, and nothing else is said.
func TestDataNotes(t *testing.T) {
	names := []string{"red", "green", "blue"}
	value := []float64{0.3, -1.2, 0.8, 2.1, -0.4, 0.1}
	other := []float64{1.1, 0.2, -0.7, 0.4, 0.9, -2.2}
	third := []float64{0.6, 0.5, -1.1, -0.3, 1.7, 0.2}
	for _, test := range []struct {
		features func(r int) []float64
		want     []string
	}{
		{func(r int) []float64 { return []float64{value[r], other[r], third[r]} }, nil},
		{func(r int) []float64 { return []float64{value[r], 1, third[r]} }, nil}, // a bias is no fault
		{func(r int) []float64 { return []float64{value[r], 1000 * other[r], third[r]} }, []string{`"green" has root mean square`, "divide each feature"}},
		{func(r int) []float64 { return []float64{value[r], other[r], -2 * value[r]} }, []string{`"blue" is a multiple of "red"`, "leave one of them out"}},
		{func(r int) []float64 { return []float64{value[r], 1, 3} }, []string{`"blue" is constant, as "green" is`, "leave one of them out"}},
		{func(r int) []float64 { return []float64{value[r], 0.1, third[r]} }, []string{`"green" is 0.1 everywhere`, "1e+02 times as hard", "make it 1"}},
		{func(r int) []float64 { return []float64{value[r], 0, third[r]} }, []string{`"green" is zero everywhere`, "leave it out"}},
	} {
		texts := dataNotes(troubled(t, test.features, names, 1), false)
		if of := dataNotes(troubled(t, test.features, names, 1), true); len(of) > 0 {
			t.Errorf("of means users know nothing, and read %q", of)
		}
		all := strings.Join(texts, "\n")
		if len(texts) != min(1, len(test.want)) {
			t.Errorf("%d texts, want %q: %q", len(texts), test.want, texts)
		}
		for _, want := range test.want {
			if !strings.Contains(all, want) {
				t.Errorf("%q does not contain %q", all, want)
			}
		}
	}
}

// TestResultNotes: what is wrong with a result is named once, with a remedy.
func TestResultNotes(t *testing.T) {
	for _, test := range []struct {
		result learn.Result
		want   string
	}{
		{learn.Result{}, ""},
		{learn.Result{Separable: true}, "the data are separable"},
		{learn.Result{Unsettled: "block 3 of instance x", Residual: 0.5}, "messages in block 3 of instance x still changed by 0.5"},
		{learn.Result{Unsettled: "block 3", Residual: 0.5}, "use counting numbers that are convex"},
		{learn.Result{Unsettled: "block 3", Residual: 0.5, ConvexCounting: true}, "approximate; messages need more passes: {rtol=1e-5}"},
		{learn.Result{Status: learn.PassLimit, Unsettled: "block 3", Residual: 0.5, ConvexCounting: true}, "more passes: raise {max-passes}"},
		{learn.Result{Unsettled: "block 3", Residual: 0.001}, ""},
		{learn.Result{Seeded: []string{"topic", "kind"}}, `some states of node type "topic", "kind" alike, as states that no label has: their weights began at small random numbers of {seed}`},
		{learn.Result{AtStart: true, Status: learn.TimeLimit}, "before its first step, so that the model has the weights that the run began with; go on with a longer {max-time}"},
		{learn.Result{AtStart: true, Status: learn.PassLimit, Iterations: 7, ConvexCounting: true}, "7 iterations, none of which is known to have made the objective smaller, so that the model has the weights that the run began with; go on with more {max-passes}"},
		{learn.Result{AtStart: true, Status: learn.PassLimit, Iterations: 7}, "or use counting numbers that are convex"},
		{learn.Result{AtStart: true, Status: learn.IterationLimit, Iterations: 7}, "go on with a larger {max-iter}"},
		{learn.Result{Damping: 0.3}, "were damped by 0.3"},
	} {
		texts := resultNotes(&test.result)
		if said := strings.Join(texts, "\n"); len(texts) > 1 || !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%+v: %q, want %q", test.result, texts, test.want)
		}
	}
}

// TestCopiesOfMany: the neighbours in the order of cosines are the copies that a look at
// every pair finds, and many features take no time.
func TestCopiesOfMany(t *testing.T) {
	const n, rows = 20000, 6
	c := newFeatureColumns("x", "state", nil, n)
	rng := rand.New(rand.NewPCG(1, 1))
	random := [2][rows]float64{}
	for k := range random {
		for r := range random[k] {
			random[k][r] = rng.NormFloat64()
		}
	}
	values := make([][rows]float64, n)
	copied := map[int]int{}
	for j := range values {
		from, scale := -1, rng.NormFloat64()
		if j > 0 && j%1000 == 0 {
			from = rng.IntN(j)
			for copied[from] != 0 || from%7 == 0 {
				from = rng.IntN(j)
			}
			copied[j] = from
		}
		for r := range rows {
			switch {
			case from >= 0:
				values[j][r] = scale * values[from][r]
			case j%7 > 0: // the others are zero
				values[j][r] = rng.NormFloat64()
			}
			x := values[j][r]
			c.squares[j] += x * x
			c.least[j], c.most[j] = min(c.least[j], x), max(c.most[j], x)
			for k := range random {
				c.shadow[k][j] += x * random[k][r]
			}
		}
	}
	text := c.copies()
	const more = mostNamed // are named before the rest is counted
	for i, j := range slices.Sorted(maps.Keys(copied)) {
		if want := fmt.Sprintf("%s is a multiple of %s", c.name(j), c.name(copied[j])); i < more && !strings.Contains(text, want) {
			t.Errorf("%q is not said: %s", want, text)
		}
	}
	if !strings.Contains(text, fmt.Sprintf("and %d more", len(copied)-more)) {
		t.Errorf("of %d copies it says %s", len(copied), text)
	}
}
