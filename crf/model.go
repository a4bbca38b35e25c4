package crf

import "fmt"

// Model is a schema with its weights θ̃.
//
// Weights is one flat slice: first every node type, then every edge type. The
// weights of a type are laid out as [copy][feature][state] for nodes and
// [copy][feature][state of U][state of V] for edges, so that products with features
// run over contiguous states. Files show them as
// [state, feature] (docs/reference/formats.md).
type Model struct {
	Schema  Schema
	Layout  Layout
	Weights []float64
	// Counts are the counting numbers that the model was trained with, where they were
	// given one by one; nil: a rule makes them for any graph. Inference takes them by
	// counting.Given.
	Counts *Counts
}

// Counts are the counting numbers of one graph's nodes and edges.
type Counts struct{ Node, Edge []float64 }

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

// Layout says where the weights of a model of the schema are. Nothing that is as large
// as they are is made.
func (s *Schema) Layout() Layout {
	l := Layout{Masked: s.masked()}
	add := func(states, features, copies int) Span {
		span := Span{At: l.Size, Features: features, States: states, Untied: copies > 0, Len: states * features * max(1, copies)}
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
		l.Edge = append(l.Edge, add(ku*kv, t.Features, t.Copies))
	}
	return l
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
			return name("edge", t.Name, span, t.FeatureNames, func(x int) string { return "states " + u[x/len(v)] + ", " + v[x%len(v)] })
		}
	}
	return fmt.Sprintf("weight %d", i)
}

func (s Span) holds(i int) bool { return i >= s.At && i < s.At+s.Len }
