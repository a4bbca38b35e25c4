package job

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestNoTemperature: metadata that are no temperature are refused.
func TestNoTemperature(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "-1", "x", "NaN", "Inf", ""} {
		if err := checkMeta(map[string]string{MetaTemperature: text}); err == nil {
			t.Errorf("metadata say temperature %q: no error", text)
		}
	}
}

func twoTypes() []crf.NodeType {
	return []crf.NodeType{{Name: "user", States: []string{"ok", "fraud"}},
		{Name: "item", States: []string{"ok", "bad", "worse"}}}
}

// beliefsOf are beliefs of nodes that are user and item in turn.
func beliefsOf(t *testing.T, beliefs ...[]float64) (*crf.Instance, *infer.Beliefs) {
	t.Helper()
	schema := crf.Schema{NodeTypes: twoTypes()}
	b, types := &infer.Beliefs{NodeAt: []int{0}, Labels: make([]int32, len(beliefs))}, make([]int32, len(beliefs))
	for s, belief := range beliefs {
		b.Node = append(b.Node, belief...)
		b.NodeAt = append(b.NodeAt, len(b.Node))
		types[s] = int32(s % 2)
	}
	g := oracle.Must(graph.FromEdges(len(beliefs), nil, nil))(t)
	in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{Graph: g, NodeType: types,
		NodeFeat: make([]crf.Features, 2)}))(t)
	return in, b
}

// TestCostsDecide: no other state has a smaller expected cost.
func TestCostsDecide(t *testing.T) {
	types, missed := twoTypes(), map[string]float64{"ok": 1.5, "bad": 4, "worse": 1, "fraud": 20}
	c := oracle.Must(ParseCosts("fraud=20,ok=1.5,bad=4", types))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 500 {
		p, q := rng.Float64(), rng.Float64()
		in, b := beliefsOf(t, []float64{p, 1 - p}, []float64{p * q, p * (1 - q), 1 - p})
		c.decide(in, b)
		for s, label := range b.Labels {
			states := types[s].States
			expected := func(predicted int32) (sum float64) {
				for i, truth := range states {
					if int32(i) != predicted {
						sum += b.Of(s)[i] * missed[truth]
					}
				}
				return sum
			}
			for other := range int32(len(states)) {
				if expected(other) < expected(label)-1e-12 {
					t.Fatalf("beliefs %v: %s costs %v, %s costs %v", b.Of(s), states[label], expected(label),
						states[other], expected(other))
				}
				if b.Of(s)[other] > b.Of(s)[label] {
					moved++
				}
			}
		}
		truth := []int32{1, crf.Unobserved}
		got := c.sum(in, func(s int) int { return s }, b.Labels, truth, nil)
		oracle.MustEqual(t, got, missed["fraud"]*float64(1-b.Labels[0]), "labels cost")
		oracle.MustEqual(t, c.sum(in, func(s int) int { return s }, b.Labels, []int32{0, 0}, []bool{false, false}), 0,
			"labels of no node cost")
	}
	if moved == 0 {
		t.Error("the largest belief won everywhere: the test shows nothing")
	}
}

// TestCostsOfTheImpossible: what is held, or forbidden, stays so.
func TestCostsOfTheImpossible(t *testing.T) {
	types := twoTypes()
	c := oracle.Must(ParseCosts("fraud=1000", types))(t)
	in, b := beliefsOf(t, []float64{1, 0})
	if c.decide(in, b); b.Labels[0] != 0 {
		t.Error("a state of belief 0 was chosen")
	}
}

// TestBadCosts: what is wrong is named, with its place.
func TestBadCosts(t *testing.T) {
	for spec, wanted := range map[string]string{
		"fraud":           "want STATE=COST",
		"fruad=2":         `no state "fruad"; did you mean fraud?`,
		"fraud=-2":        "0 or more",
		"fraud=":          "0 or more",
		"fraud=0x10":      "0 or more",
		"fraud=NaN":       "0 or more",
		"fraud=2,fraud=3": `state "fraud" is there twice`,
	} {
		if c, err := ParseCosts(spec, twoTypes()); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("costs %q: %v, %v, want %q", spec, c, err, wanted)
		}
	}
}
