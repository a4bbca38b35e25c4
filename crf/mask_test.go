package crf

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/safetensors"
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

// TestMaskedPotentials: −Inf where the schema forbids, the formula elsewhere, in
// every block and with tables that edges share.
func TestMaskedPotentials(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed)
		plain := w.model.Clone()
		w.model = must(NewModel(masked(w.model.Schema)))
		copy(w.model.Weights, plain.Weights)
		var pot, unmasked Potentials
		part := w.blocks(t, seed, 3)
		for b := range part.Blocks {
			block := &part.Blocks[b]
			plain.Ground(&unmasked, w.in, block)
			w.model.Ground(&pot, w.in, block)
			if !pot.Forbidding || unmasked.Forbidding {
				t.Fatalf("seed %d: forbidding %v with a mask, %v without", seed, pot.Forbidding, unmasked.Forbidding)
			}
			compare := func(what string, i int32, got, want []float64, forbidden func(x int) bool) {
				for x := range got {
					if forbidden(x) && !math.IsInf(got[x], -1) || !forbidden(x) && got[x] != want[x] {
						t.Fatalf("seed %d, %s %d: potential %d is %v, without a mask %v", seed, what, i, x, got[x], want[x])
					}
				}
			}
			for p, s := range block.Nodes {
				lo, hi := pot.NodeAt[p], pot.NodeAt[p+1]
				kind := &w.model.Schema.NodeTypes[w.in.NodeType(s)]
				compare("node", s, pot.Node[lo:hi], unmasked.Node[lo:hi], func(x int) bool { return slices.Contains(kind.Forbidden, x) })
			}
			for q, e := range block.Edges {
				kind := w.in.EdgeType(e)
				k := w.model.Layout.Edge[kind].States
				_, kv := w.model.Schema.EdgeStates(kind)
				compare("edge", e, pot.Table[pot.EdgeAt[q]:][:k], unmasked.Table[unmasked.EdgeAt[q]:][:k], func(x int) bool {
					return slices.Contains(w.model.Schema.EdgeTypes[kind].Forbidden, [2]int{x / kv, x % kv})
				})
			}
		}
	}
}

// TestMaskValidation: what does not exist, is there twice, or leaves nothing.
func TestMaskValidation(t *testing.T) {
	for want, change := range map[string]func(*Schema){
		"":                              func(s *Schema) { *s = masked(*s) },
		"forbidden[0] is state 3":       func(s *Schema) { s.NodeTypes[0].Forbidden = []int{3} },
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

// TestMaskInFiles: a mask is saved, in a version that programs without masks
// refuse; a model without one is written as they read it.
func TestMaskInFiles(t *testing.T) {
	for want, schema := range map[string]Schema{"1": Homogeneous(NumberedStates(3), 1, 1), "2": masked(Homogeneous(NumberedStates(3), 1, 1))} {
		path := saved(t, must(NewModel(schema)), nil)
		f := must(safetensors.Open(path))
		if got := f.Metadata()["format_version"]; got != want {
			t.Errorf("version %s, want %s", got, want)
		}
		f.Close()
		m, _, err := Load(path)
		if err != nil || !slices.Equal(m.Schema.NodeTypes[0].Forbidden, schema.NodeTypes[0].Forbidden) || !slices.Equal(m.Schema.EdgeTypes[0].Forbidden, schema.EdgeTypes[0].Forbidden) {
			t.Errorf("loaded %+v, %v", m.Schema, err)
		}
	}
}

// TestCheckLabels locates labels that are forbidden, alone or as a pair.
func TestCheckLabels(t *testing.T) {
	w := newWorld(t, 1)
	none := w.model.Schema
	if err := w.in.CheckLabels(&none); err != nil {
		t.Error(err)
	}
	for s, y := range w.in.Samples()[1] {
		if y < 0 {
			continue
		}
		kind := w.in.NodeType(int32(s))
		schema := Schema{NodeTypes: slices.Clone(none.NodeTypes), EdgeTypes: none.EdgeTypes}
		schema.NodeTypes[kind].Forbidden = []int{int(y)}
		var found *ForbiddenLabel
		if err := w.in.CheckLabels(&schema); !errors.As(err, &found) || found.Edge != -1 || w.in.Samples()[found.Sample][found.Node] != y {
			t.Errorf("node %d in state %d: %v", s, y, err)
		}
	}
	u, v := w.in.Graph.Ends()
	for e := range u {
		labels := w.in.Samples()[0]
		x, y := labels[u[e]], labels[v[e]]
		schema := Schema{NodeTypes: none.NodeTypes, EdgeTypes: slices.Clone(none.EdgeTypes)}
		schema.EdgeTypes[w.in.EdgeType(int32(e))].Forbidden = [][2]int{{int(x), int(y)}}
		var found *ForbiddenLabel
		err := w.in.CheckLabels(&schema)
		if x < 0 || y < 0 {
			continue // nothing is known of a pair that is not complete
		}
		if !errors.As(err, &found) || found.Edge < 0 || found.Sample > 0 {
			t.Errorf("edge %d in states %d, %d: %v", e, x, y, err)
		}
		var held *HeldError
		if err := w.in.CheckHeld(&schema, labels); !errors.As(err, &held) || held.Found.Edge != found.Edge {
			t.Errorf("held: edge %d in states %d, %d: %v", e, x, y, err)
		}
		if err := w.in.CheckHeld(&schema, nil); err != nil {
			t.Errorf("nothing is held: %v", err)
		}
	}
}

// TestLogScore is that of the network with explicit tables.
func TestLogScore(t *testing.T) {
	w := newWorld(t, 3)
	network := w.model.Condition(w.in)
	var pot Potentials
	w.model.Ground(&pot, w.in, &partition.Whole(w.in.Graph).Blocks[0])
	x, labels := make([]int, len(network.Card)), make([]int32, len(network.Card))
	rng := source(4)
	for s, k := range network.Card {
		x[s] = rng.IntN(int(k))
		labels[s] = int32(x[s])
	}
	if got, want := pot.LogScore(w.in, labels), network.LogScore(x); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
		t.Errorf("score %v, want %v", got, want)
	}
	for s := range labels {
		labels[s] = Unobserved
	}
	if got := pot.LogScore(w.in, labels); got != 0 {
		t.Errorf("the score of no label is %v", got)
	}
}
