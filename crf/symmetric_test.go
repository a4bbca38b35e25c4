package crf

import (
	"slices"
	"strings"
	"testing"
)

// symmetricModel has a tied symmetric type, an untied one and a directed one; weights of the
// states a, b and b, a of the first two are the same.
func symmetricModel() *Model {
	m := must(NewModel(Schema{
		NodeTypes: []NodeType{{Name: "word", States: []string{"x", "y", "z"}, Features: 1}},
		EdgeTypes: []EdgeType{{Name: "beside", Features: 2, Symmetric: true}, {Name: "bond", Features: 1, Copies: 2, Symmetric: true}, {Name: "next", Features: 1}},
	}))
	for i := range m.Weights {
		m.Weights[i] = float64(i * i % 17)
	}
	m.Layout.Symmetrise(m.Weights)
	return m
}

// TestSymmetrise: tables of symmetric types get the mean of both ways round, and no others
// change.
func TestSymmetrise(t *testing.T) {
	m := symmetricModel()
	if err := m.CheckSymmetry(); err != nil {
		t.Error(err)
	}
	directed := m.Layout.Edge[2]
	for i := directed.At; i < directed.At+directed.Len; i++ {
		if m.Weights[i] != float64(i*i%17) {
			t.Errorf("weight %d of the directed type changed to %v", i, m.Weights[i])
		}
	}
	tied := m.Layout.Edge[0]
	x, y := tied.At+9+0*3+2, tied.At+9+2*3+0 // second feature, states 0, 2 and 2, 0
	if want := float64(x*x%17+y*y%17) / 2; m.Weights[x] != want || m.Weights[y] != want {
		t.Errorf("weights %d and %d are %v and %v, want %v", x, y, m.Weights[x], m.Weights[y], want)
	}
	before := slices.Clone(m.Weights)
	if m.Layout.Symmetrise(m.Weights); !slices.Equal(before, m.Weights) {
		t.Error("a second time changes something")
	}
}

// TestSymmetricFile: files keep what is symmetric, and models that are not what they say are
// refused both ways.
func TestSymmetricFile(t *testing.T) {
	m := symmetricModel()
	path := saved(t, m, nil)
	got, _, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Weights, m.Weights) || !got.Schema.EdgeTypes[0].Symmetric || !got.Schema.EdgeTypes[1].Symmetric || got.Schema.EdgeTypes[2].Symmetric {
		t.Errorf("read back as %+v", got.Schema.EdgeTypes)
	}
	m.Weights[m.Layout.Edge[1].At+1]++
	if err := Save(path, m, nil); err == nil || !strings.Contains(err.Error(), `edge.bond 0[states x, y, feature 0] is`) || !strings.Contains(err.Error(), "states y, x") {
		t.Errorf("saving: %v", err)
	}
	m.Schema.EdgeTypes[1].Symmetric = false
	m.Layout = m.Schema.Layout()
	if err := Save(path, m, nil); err != nil {
		t.Error(err)
	}
}

// TestSymmetricSchema: what cannot be symmetric is refused.
func TestSymmetricSchema(t *testing.T) {
	s := Schema{
		NodeTypes: []NodeType{{Name: "a", States: NumberedStates(2), Features: 1}, {Name: "b", States: NumberedStates(2), Features: 1}},
		EdgeTypes: []EdgeType{{Name: "e", U: 0, V: 1, Features: 1, Symmetric: true}},
	}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), `edge_types[0] ("e"): it is symmetric, but joins node type "a" to "b"`) {
		t.Errorf("two types: %v", err)
	}
	s.EdgeTypes[0].V, s.EdgeTypes[0].Forbidden = 0, [][2]int{{0, 1}}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "forbid 1, 0 too") {
		t.Errorf("one way forbidden: %v", err)
	}
	s.EdgeTypes[0].Forbidden = [][2]int{{0, 1}, {1, 0}}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
