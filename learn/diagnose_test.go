package learn

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
)

// troubled has two node features by name, two states more than any label has, and
// edges with a constant feature.
func troubled(t *testing.T, features func(row int) []float64, names []string, l2 float64) Problem {
	t.Helper()
	g := must(gen.Chain(6))
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "pixel", States: []string{"sky", "tree", "boat", "bird"}, Features: len(names), FeatureNames: names}},
		EdgeTypes: []crf.EdgeType{{Name: "beside", Features: 1}},
	}
	model := must(crf.NewModel(schema))
	var x []float64
	for r := range 6 {
		x = append(x, features(r)...)
	}
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{must(crf.Dense(x, len(names)))}, EdgeFeat: []crf.Features{crf.Constant(5, 1)}, Labels: [][]int32{{0, 1, 0, 0, 1, 1}},
	}))
	return Problem{Model: model, Data: []*crf.Instance{in}, L2: l2}
}

// TestDiagnose: what is wrong is named, with a remedy, and nothing else is said.
func TestDiagnose(t *testing.T) {
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
		texts := Diagnose(troubled(t, test.features, names, 1))
		all := strings.Join(texts, "\n")
		unseenText := `no label of node type "pixel" has the state "boat", "bird"`
		if !strings.Contains(all, unseenText) {
			t.Errorf("%q does not contain %q", all, unseenText)
		}
		if len(test.want) == 0 && len(texts) != 1 || len(test.want) > 0 && len(texts) != 2 {
			t.Errorf("%d texts, want %q and the states: %q", len(texts), test.want, texts)
		}
		for _, want := range test.want {
			if !strings.Contains(all, want) {
				t.Errorf("%q does not contain %q", all, want)
			}
		}
	}
}

// TestSeparableIsTold: without l2, labels that features tell exactly are said to have no
// optimum, and those that they do not tell are not.
func TestSeparableIsTold(t *testing.T) {
	label := []float64{0, 1, 0, 0, 1, 1}
	tells := func(r int) []float64 { return []float64{label[r], 1 - label[r]} }
	silent := func(r int) []float64 { return []float64{float64(r / 4), 1} }
	for _, counting := range []string{"convex", "trw", "bethe"} {
		p := troubled(t, tells, []string{"a", "b"}, 0).with(counting)
		r := fit(t, p, Settings{MaxPasses: 300, RelativeTolerance: 1e-9})
		said := strings.Contains(strings.Join(r.Diagnose(), "\n"), "the data are separable")
		if !said {
			t.Errorf("%s: %s, objective %v, but nothing is said", counting, r.Reason, r.Objective)
		}
	}
	// A run that stops early cannot know, and says what it suspects.
	early := fit(t, troubled(t, tells, []string{"a", "b"}, 0), Settings{MaxPasses: 300, RelativeTolerance: 0.5})
	if text := strings.Join(early.Diagnose(), "\n"); early.Separable || !strings.Contains(text, "the data are probably separable") || !strings.Contains(text, "give l2 a positive value") {
		t.Errorf("objective %v: the result says %q", early.Objective, text)
	}
	r := fit(t, troubled(t, silent, []string{"a", "b"}, 0).withoutEdges(), Settings{MaxPasses: 300})
	if r.Separable || r.Memorised {
		t.Errorf("objective %v is called separable", r.Objective)
	}
	if r := fit(t, troubled(t, tells, []string{"a", "b"}, 1), Settings{}); r.Separable || r.Memorised {
		t.Error("with l2 there is an optimum")
	}
}

// withoutEdges leaves edges out.
func (p Problem) withoutEdges() Problem {
	for i, in := range p.Data {
		p.Data[i] = in.WithoutEdges()
	}
	return p
}
