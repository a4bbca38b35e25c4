package ground

import (
	"errors"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// The tests of this file are of package crf, on worlds with types of every kind.

// TestLayout: types follow one another without gaps, tied and untied parts are
// numbered apart, and every weight has a name of its own.
func TestLayout(t *testing.T) {
	for seed := range uint64(10) {
		m := newWorld(t, seed).model
		at, tied, untied := 0, 0, 0
		for i, span := range slices.Concat(m.Layout.Node, m.Layout.Edge) {
			part := &tied
			if span.Untied {
				part = &untied
			}
			if span.At != at || span.Part != *part || span.Len%max(1, span.Copy()) != 0 || span.Copy() != span.States*span.Features {
				t.Errorf("type %d: %+v, want it at %d and its part at %d", i, span, at, *part)
			}
			at += span.Len
			*part += span.Len
		}
		if m.Layout.Size != at || m.Layout.TiedSize != tied || m.Layout.UntiedSize != untied || len(m.Weights) != at || untied == 0 {
			t.Errorf("sizes %d = %d + %d, want %d = %d + %d", m.Layout.Size, m.Layout.TiedSize, m.Layout.UntiedSize, at, tied, untied)
		}
		names := map[string]bool{}
		for i := range m.Weights {
			names[m.WeightName(i)] = true
		}
		oracle.Equal(t, len(names), at, "names of weights")
		clone := m.Clone()
		if clone.Weights[0]++; m.Weights[0] == clone.Weights[0] {
			t.Error("a clone shares the weights")
		}
	}
}

// TestInstanceAccessors: rows within types, cardinalities.
func TestInstanceAccessors(t *testing.T) {
	w := newWorld(t, 5)
	in, seen := w.in, make([]int, len(w.node))
	cards := in.Cards()
	for s := range int32(in.Graph.NumNodes()) {
		a := in.NodeType(s)
		if in.NodeRow(s) != seen[a] || int(cards[s]) != in.States(s) || in.States(s) != in.Schema().NodeStates(a) {
			t.Errorf("node %d of type %d: row %d, want %d; %d states", s, a, in.NodeRow(s), seen[a], in.States(s))
		}
		seen[a]++
	}
	for a, n := range seen {
		if f := in.NodeFeatures(a); f.Rows() != n || f.Dim() != w.model.Layout.Node[a].Features {
			t.Errorf("type %d: features of %d rows, want %d", a, f.Rows(), n)
		}
	}
}

func sameTable(f *crf.Features, r, q int) bool {
	m := (*matrix)(f.Data())
	return m.tableOf(r) == m.tableOf(q)
}

// TestFeatureForms: a row reads the same in every form, and Tables and tableOf
// say which rows are equal by construction.
func TestFeatureForms(t *testing.T) {
	rng := source(1)
	for _, f := range allForms {
		features, matrix := drawFeatures(t, rng, f, 20, 5)
		if features.Rows() != 20 || features.Dim() != 5 {
			t.Fatalf("form %d: %d rows of %d", f, features.Rows(), features.Dim())
		}
		row := make([]float64, 5)
		for r, want := range matrix {
			if features.Row(row, r); !slices.Equal(row, want) {
				t.Errorf("form %d, row %d: %v, want %v", f, r, row, want)
			}
		}
		tables := map[form]int{formConstant: 1, formBins: 5, formCoded: 3}[f]
		oracle.Equal(t, Tables(&features), tables, "form %d: tables", f)
		for r := range matrix {
			for q := range r {
				if tables > 0 && (sameTable(&features, r, q)) != slices.Equal(matrix[r], matrix[q]) {
					t.Errorf("form %d: rows %d and %d have one table: %v", f, r, q, sameTable(&features, r, q))
				}
			}
		}
	}
}

// TestCheckLabels locates labels that are forbidden, alone or as a pair.
func TestCheckLabels(t *testing.T) {
	w := newWorld(t, 1)
	none := w.model.Schema
	oracle.OK(t, w.in.CheckLabels(&none))
	for s, y := range w.in.Samples()[1] {
		if y < 0 {
			continue
		}
		kind := w.in.NodeType(int32(s))
		schema := crf.Schema{NodeTypes: slices.Clone(none.NodeTypes), EdgeTypes: none.EdgeTypes}
		schema.NodeTypes[kind].Forbidden = []int{int(y)}
		var found *crf.Error
		if err := w.in.CheckLabels(&schema); !errors.As(err, &found) || found.Array != "labels" || w.in.Samples()[found.Index[0]][found.Index[1]] != y {
			t.Errorf("node %d in state %d: %v", s, y, err)
		}
	}
	u, v := w.in.Graph.Ends()
	for e := range u {
		labels := w.in.Samples()[0]
		x, y := labels[u[e]], labels[v[e]]
		schema := crf.Schema{NodeTypes: none.NodeTypes, EdgeTypes: slices.Clone(none.EdgeTypes)}
		schema.EdgeTypes[w.in.EdgeType(int32(e))].Forbidden = [][2]int{{int(x), int(y)}}
		var found *crf.Error
		err := w.in.CheckLabels(&schema)
		if x < 0 || y < 0 {
			continue // nothing is known of a pair that is not complete
		}
		if !errors.As(err, &found) || found.Array != "labels of sample 0 at edges" {
			t.Errorf("edge %d in states %d, %d: %v", e, x, y, err)
		}
		var held *crf.Error
		if err := w.in.CheckHeld(&schema, labels); !errors.As(err, &held) || held.Array != "held labels of sample 0 at edges" || held.Index[0] != found.Index[0] {
			t.Errorf("held: edge %d in states %d, %d: %v", e, x, y, err)
		}
		if err := w.in.CheckHeld(&schema, nil); err != nil {
			t.Errorf("nothing is held: %v", err)
		}
	}
}
