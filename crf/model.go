package crf

import (
	"fmt"
	"slices"
)

// Model is a schema with its weights θ̃.
//
// Weights is one flat slice: first every node type, then every edge type. The weights of a type are laid out as
// [copy][feature][state] for nodes and [copy][feature][state of U][state of V] for edges, so that products with
// features run over contiguous states. Files show them as [state, feature] (docs/reference/formats.md).
type Model struct {
	Schema  Schema
	Layout  Layout
	Weights []float64
	// NodeCounts and EdgeCounts are the counting numbers that the model was trained with, where they were given one by
	// one; nil: a rule makes them for any graph. Inference takes them by counting.Given.
	NodeCounts, EdgeCounts []float64
}

// Layout says where in the flat weights each type begins.
type Layout struct {
	Node []Span // [node types]
	Edge []Span // [edge types]
	Size int    // number of weights
	// TiedSize and UntiedSize divide Size: the weights of tied and of untied types.
	TiedSize, UntiedSize int
	// Masked says that the schema forbids states or pairs of states.
	Masked bool
}

// Span is the place of one type's weights.
type Span struct {
	At       int // first weight
	Len      int // number of weights, over all copies
	Features int // length of the feature vector
	States   int // states of a node, or joint states of an edge
	Untied   bool
	// Ends is the number of states of either end of an edge of a symmetric type, 0 for all other types.
	Ends int
	// Part is the offset among the weights of the same tiedness: gradient
	// contributions of tied and untied weights are stored apart.
	Part int
}

// Copy returns the number of weights of one copy.
func (s Span) Copy() int { return s.Features * s.States }

// NewModel returns the model with all weights zero.
func NewModel(schema Schema) (*Model, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	m := &Model{Schema: schema, Layout: schema.Layout()}
	m.Weights = make([]float64, m.Layout.Size)
	return m, nil
}

// Clone returns a copy that shares nothing that can change.
func (m *Model) Clone() *Model {
	c := *m
	c.Weights = append([]float64(nil), m.Weights...)
	return &c
}

// Layout says where the weights of a model of the schema are. Nothing that is as large as they are is made.
func (s *Schema) Layout() Layout {
	l := Layout{Masked: s.masked()}
	add := func(states, features, copies int) Span {
		span := Span{At: l.Size, Features: features, States: states, Untied: copies > 0,
			Len: states * features * max(1, copies)}
		l.Size += span.Len
		part := &l.TiedSize
		if span.Untied {
			part = &l.UntiedSize
		}
		span.Part = *part
		*part += span.Len
		return span
	}
	for a, t := range s.NodeTypes {
		l.Node = append(l.Node, add(s.NodeStates(a), t.Features, t.Copies))
	}
	for b, t := range s.EdgeTypes {
		ku, kv := s.EdgeStates(b)
		span := add(ku*kv, t.Features, t.Copies)
		if t.Symmetric {
			span.Ends = ku
		}
		l.Edge = append(l.Edge, span)
	}
	return l
}

// Symmetric reports whether some type is.
func (l *Layout) Symmetric() bool {
	return slices.ContainsFunc(l.Edge, func(s Span) bool { return s.Ends > 0 })
}

// Symmetrise puts the mean of both in the places of the states a, b and b, a of symmetric types in x, which is laid
// out like the weights. It is the projection on the weights that such a model can have, of weights and of gradients.
func (l *Layout) Symmetrise(x []float64) {
	for i := range l.Edge {
		if s := &l.Edge[i]; s.Ends > 0 {
			s.Symmetrise(x[s.At:][:s.Len])
		}
	}
}

// Symmetrise does so for tables of the type, one after another.
func (s *Span) Symmetrise(tables []float64) {
	for k, at := s.Ends, 0; k > 0 && at < len(tables); at += k * k {
		table := tables[at:][:k*k]
		for a := range k {
			for b := range a {
				mean := 0.5*table[a*k+b] + 0.5*table[b*k+a]
				table[a*k+b], table[b*k+a] = mean, mean
			}
		}
	}
}

// CheckSymmetry reports the first two weights of a symmetric type that differ and must not. A
// model may be without its weights.
func (m *Model) CheckSymmetry() error {
	for _, s := range m.Layout.Edge {
		for i := s.At; s.Ends > 0 && i < min(s.At+s.Len, len(m.Weights)); i++ {
			joint := (i - s.At) % s.States
			mirror := i - joint + joint%s.Ends*s.Ends + joint/s.Ends
			if m.Weights[i] != m.Weights[mirror] {
				return fmt.Errorf("weight %s is %v, and %s is %v; a symmetric type has one weight for both",
					m.WeightName(i), m.Weights[i], m.WeightName(mirror), m.Weights[mirror])
			}
		}
	}
	return nil
}

// WeightName names flat weight i for messages: type, copy, states and feature.
func (m *Model) WeightName(i int) string {
	name := func(kind, name string, span Span, features []string, states func(x int) string) string {
		at := i - span.At
		number, feature := "", fmt.Sprint(at%span.Copy()/span.States)
		if span.Untied {
			number = fmt.Sprintf(" %d", at/span.Copy())
		}
		if j := at % span.Copy() / span.States; j < len(features) {
			feature = features[j]
		}
		return fmt.Sprintf("%s.%s%s[%s, feature %s]", kind, name, number, states(at%span.States), feature)
	}
	for a, span := range m.Layout.Node {
		if t := &m.Schema.NodeTypes[a]; span.holds(i) {
			return name("node", t.Name, span, t.FeatureNames, func(x int) string { return "state " + t.States[x] })
		}
	}
	for b, span := range m.Layout.Edge {
		if t := &m.Schema.EdgeTypes[b]; span.holds(i) {
			u, v := m.Schema.NodeTypes[t.U].States, m.Schema.NodeTypes[t.V].States
			return name("edge", t.Name, span, t.FeatureNames, func(x int) string {
				return "states " + u[x/len(v)] + ", " + v[x%len(v)]
			})
		}
	}
	return fmt.Sprintf("weight %d", i)
}

func (s Span) holds(i int) bool { return i >= s.At && i < s.At+s.Len }
