package crf

import (
	"fmt"
	"strconv"
)

// Schema names the types of nodes and edges of a model, their states and their
// features.
type Schema struct {
	NodeTypes []NodeType `json:"node_types"`
	EdgeTypes []EdgeType `json:"edge_types"`
}

// NodeType describes a kind of variable.
type NodeType struct {
	Name string `json:"name"`
	// States names the states; their number is the cardinality.
	States []string `json:"states"`
	// Features is the length of a node's feature vector; 0 gives potentials of
	// zero. Untied types usually have the single constant feature.
	Features int `json:"features"`
	// FeatureNames is optional; if present it has Features entries.
	FeatureNames []string `json:"feature_names,omitempty"`
	// Copies is 0 for a tied type. Otherwise the type is untied: it has this many
	// nodes in every instance, each with weights of its own, in node order.
	Copies int `json:"copies,omitempty"`
	// Forbidden are states that no node of the type can be in, whatever the weights:
	// their potentials are −Inf.
	Forbidden []int `json:"forbidden,omitempty"`
}

// EdgeType describes a kind of edge. The first end of such an edge is of node
// type U and the second of node type V.
type EdgeType struct {
	Name         string   `json:"name"`
	U            int      `json:"u"`
	V            int      `json:"v"`
	Features     int      `json:"features"`
	FeatureNames []string `json:"feature_names,omitempty"`
	Copies       int      `json:"copies,omitempty"`
	// Forbidden are pairs of states, of the first end and of the second, that no edge
	// of the type can join.
	Forbidden [][2]int `json:"forbidden,omitempty"`
}

// NumberedStates returns the state names "0" … "n-1".
func NumberedStates(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// Homogeneous returns the schema with one tied node type and one tied edge type.
func Homogeneous(states []string, nodeFeatures, edgeFeatures int) Schema {
	return Schema{
		NodeTypes: []NodeType{{Name: "node", States: states, Features: nodeFeatures}},
		EdgeTypes: []EdgeType{{Name: "edge", Features: edgeFeatures}},
	}
}

// NodeStates returns the number of states of node type a.
func (s *Schema) NodeStates(a int) int { return len(s.NodeTypes[a].States) }

// EdgeStates returns the numbers of states of the first and second end of an
// edge of type b.
func (s *Schema) EdgeStates(b int) (u, v int) {
	t := s.EdgeTypes[b]
	return s.NodeStates(t.U), s.NodeStates(t.V)
}

// Validate reports the first thing that makes the schema unusable.
func (s *Schema) Validate() error {
	if len(s.NodeTypes) == 0 {
		return fmt.Errorf("schema: no node type")
	}
	names := map[string]bool{}
	for a, t := range s.NodeTypes {
		where := fmt.Sprintf("schema: node_types[%d] (%q)", a, t.Name)
		switch {
		case t.Name == "":
			return fmt.Errorf("schema: node_types[%d] has no name", a)
		case names["node."+t.Name]:
			return fmt.Errorf("%s: name is used twice", where)
		case len(t.States) < 1:
			return fmt.Errorf("%s: no states", where)
		case t.Features < 0 || t.Copies < 0:
			return fmt.Errorf("%s: features %d and copies %d must not be negative", where, t.Features, t.Copies)
		case len(t.FeatureNames) > 0 && len(t.FeatureNames) != t.Features:
			return fmt.Errorf("%s: %d feature names for %d features", where, len(t.FeatureNames), t.Features)
		}
		names["node."+t.Name] = true
	}
	for b, t := range s.EdgeTypes {
		where := fmt.Sprintf("schema: edge_types[%d] (%q)", b, t.Name)
		switch {
		case t.Name == "":
			return fmt.Errorf("schema: edge_types[%d] has no name", b)
		case names["edge."+t.Name]:
			return fmt.Errorf("%s: name is used twice", where)
		case t.U < 0 || t.U >= len(s.NodeTypes) || t.V < 0 || t.V >= len(s.NodeTypes):
			return fmt.Errorf("%s: ends of node types %d and %d, want 0 to %d", where, t.U, t.V, len(s.NodeTypes)-1)
		case t.Features < 0 || t.Copies < 0:
			return fmt.Errorf("%s: features %d and copies %d must not be negative", where, t.Features, t.Copies)
		case len(t.FeatureNames) > 0 && len(t.FeatureNames) != t.Features:
			return fmt.Errorf("%s: %d feature names for %d features", where, len(t.FeatureNames), t.Features)
		}
		names["edge."+t.Name] = true
	}
	return s.validateMask()
}
