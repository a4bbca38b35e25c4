package crf

import (
	"slices"
	"strings"
	"testing"
)

// must returns the value of a call that may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// masked returns the schema with a state and a few pairs forbidden.
func masked(s Schema) Schema {
	s.NodeTypes, s.EdgeTypes = slices.Clone(s.NodeTypes), slices.Clone(s.EdgeTypes)
	s.NodeTypes[0].Forbidden = []int{2}
	for b := range s.EdgeTypes {
		if ku, kv := s.EdgeStates(b); ku > 1 && kv > 1 {
			s.EdgeTypes[b].Forbidden = [][2]int{{0, kv - 1}, {ku - 1, 0}}
		}
	}
	return s
}

// TestMaskValidation: what does not exist, is there twice, or leaves nothing.
func TestMaskValidation(t *testing.T) {
	for want, change := range map[string]func(*Schema){
		"":                              func(s *Schema) { *s = masked(*s) },
		"forbidden[0] is state 3":       func(s *Schema) { s.NodeTypes[0].Forbidden = []int{3} },
		"at most 1024 of each":          func(s *Schema) { s.NodeTypes = slices.Repeat(s.NodeTypes, 1025) },
		"forbidden[1] is state 1 (1)":   func(s *Schema) { s.NodeTypes[0].Forbidden = []int{1, 1} },
		"every state is forbidden":      func(s *Schema) { s.NodeTypes[0].Forbidden = []int{0, 1, 2} },
		"states 0 and 3, want below":    func(s *Schema) { s.EdgeTypes[0].Forbidden = [][2]int{{0, 3}} },
		"the pair 0, 1, which is there": func(s *Schema) { s.EdgeTypes[0].Forbidden = [][2]int{{0, 1}, {0, 1}} },
		"every pair of states is": func(s *Schema) {
			s.NodeTypes[0].Forbidden = []int{1, 2}
			s.EdgeTypes[0].Forbidden = [][2]int{{0, 0}}
		},
	} {
		s := Homogeneous(NumberedStates(3), 1, 1)
		change(&s)
		if err := s.Validate(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestMaskInFiles: a mask is saved.
func TestMaskInFiles(t *testing.T) {
	for _, schema := range []Schema{Homogeneous(NumberedStates(3), 1, 1), masked(Homogeneous(NumberedStates(3), 1, 1))} {
		m, _, err := Load(saved(t, must(NewModel(schema)), nil))
		if err != nil || !slices.Equal(m.Schema.NodeTypes[0].Forbidden, schema.NodeTypes[0].Forbidden) || !slices.Equal(m.Schema.EdgeTypes[0].Forbidden, schema.EdgeTypes[0].Forbidden) {
			t.Errorf("loaded %+v, %v", m.Schema, err)
		}
	}
}
