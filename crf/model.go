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
	m := &Model{Schema: schema, Layout: newLayout(&schema)}
	m.Weights = make([]float64, m.Layout.Size)
	return m, nil
}

// Clone returns a copy that shares nothing that can change.
func (m *Model) Clone() *Model {
	c := *m
	c.Weights = append([]float64(nil), m.Weights...)
	return &c
}

func newLayout(s *Schema) Layout {
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
	for a, span := range m.Layout.Node {
		if i >= span.At && i < span.At+span.Len {
			t := &m.Schema.NodeTypes[a]
			c, j, x := span.locate(i)
			return fmt.Sprintf("node.%s%s[state %s, feature %s]", t.Name, copyName(span, c), t.States[x], featureName(t.FeatureNames, j))
		}
	}
	for b, span := range m.Layout.Edge {
		if i >= span.At && i < span.At+span.Len {
			t := &m.Schema.EdgeTypes[b]
			c, j, x := span.locate(i)
			_, kv := m.Schema.EdgeStates(b)
			u, v := m.Schema.NodeTypes[t.U].States[x/kv], m.Schema.NodeTypes[t.V].States[x%kv]
			return fmt.Sprintf("edge.%s%s[states %s, %s, feature %s]", t.Name, copyName(span, c), u, v, featureName(t.FeatureNames, j))
		}
	}
	return fmt.Sprintf("weight %d", i)
}

func (s Span) locate(i int) (copyIndex, feature, state int) {
	i -= s.At
	return i / s.Copy(), i % s.Copy() / s.States, i % s.States
}

func copyName(s Span, c int) string {
	if s.Untied {
		return fmt.Sprintf(" %d", c)
	}
	return ""
}

func featureName(names []string, j int) string {
	if j < len(names) {
		return names[j]
	}
	return fmt.Sprint(j)
}
