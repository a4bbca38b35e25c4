package crf

import (
	"fmt"
	"strconv"
	"sync"
)

// Schema names the types of nodes and edges of a model, their states and their features.
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
	// Forbidden are states that no node of the type can be in, whatever the weights: their potentials are −Inf.
	Forbidden []int `json:"forbidden,omitempty"`
}

// EdgeType describes a kind of edge. The first end of such an edge is of node type U and the second of node type V.
type EdgeType struct {
	Name         string   `json:"name"`
	U            int      `json:"u"`
	V            int      `json:"v"`
	Features     int      `json:"features"`
	FeatureNames []string `json:"feature_names,omitempty"`
	Copies       int      `json:"copies,omitempty"`
	// Forbidden are pairs of states, of the first end and of the second, that no edge of the type can join.
	Forbidden [][2]int `json:"forbidden,omitempty"`
	// Symmetric ties the weights of the states a, b of the two ends to those of b, a: which end of an edge comes first
	// means nothing. Both ends are of one node type, and what is forbidden is so both ways.
	Symmetric bool `json:"symmetric,omitempty"`
}

// numbered are the names of the first numbers, which all types share: a count in a few
// bytes of a file must not make so many texts for each.
var numbered struct {
	lock  sync.Mutex
	names []string
}

// mostShared bounds numbered, which is never let go.
const mostShared = 1 << 16

// NumberedStates returns the state names "0" … "n-1". They must not be changed: others may have the same slice.
func NumberedStates(n int) []string {
	if n > mostShared {
		return numbersFrom(make([]string, 0, n), n)
	}
	numbered.lock.Lock()
	defer numbered.lock.Unlock()
	numbered.names = numbersFrom(numbered.names, n)
	return numbered.names[:n:n]
}

// numbersFrom appends the numbers up to n.
func numbersFrom(names []string, n int) []string {
	for i := len(names); i < n; i++ {
		names = append(names, strconv.Itoa(i))
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

// EdgeStates returns the numbers of states of the first and second end of an edge of type b.
func (s *Schema) EdgeStates(b int) (u, v int) {
	t := s.EdgeTypes[b]
	return s.NodeStates(t.U), s.NodeStates(t.V)
}

// mostTypes bounds the types of nodes, and those of edges: learning goes through all elements once for each.
const mostTypes = 1 << 10

// Validate reports the first thing that makes the schema unusable.
func (s *Schema) Validate() error {
	if len(s.NodeTypes) == 0 {
		return fmt.Errorf("schema: no node type")
	}
	if most := max(len(s.NodeTypes), len(s.EdgeTypes)); most > mostTypes {
		return fmt.Errorf("schema: %d types of nodes and %d of edges, at most %d of each are supported; a feature can "+
			"tell kinds apart within a type", len(s.NodeTypes), len(s.EdgeTypes), mostTypes)
	}
	names := map[string]bool{}
	for a, t := range s.NodeTypes {
		own := ""
		if len(t.States) < 1 {
			own = "no states"
		}
		if err := checkType("node", a, t.Name, names, own, t.Features, t.Copies, len(t.FeatureNames)); err != nil {
			return err
		}
	}
	clear(names) // a node type and an edge type may have the same name
	for b, t := range s.EdgeTypes {
		own := ""
		if t.U < 0 || t.U >= len(s.NodeTypes) || t.V < 0 || t.V >= len(s.NodeTypes) {
			own = fmt.Sprintf("ends of node types %d and %d, want 0 to %d", t.U, t.V, len(s.NodeTypes)-1)
		} else if t.Symmetric && t.U != t.V {
			own = fmt.Sprintf("it is symmetric, but joins node type %q to %q; want one type at both ends",
				s.NodeTypes[t.U].Name, s.NodeTypes[t.V].Name)
		}
		if err := checkType("edge", b, t.Name, names, own, t.Features, t.Copies, len(t.FeatureNames)); err != nil {
			return err
		}
	}
	return s.validateMask()
}

// checkType checks a type; names are those before it, and own is what is wrong with what types of its kind alone have.
func checkType(
	kind string, i int, name string, names map[string]bool, own string, features, copies, featureNames int,
) error {
	where := fmt.Sprintf("schema: %s_types[%d] (%q)", kind, i, name)
	switch {
	case name == "":
		return fmt.Errorf("schema: %s_types[%d] has no name", kind, i)
	case names[name]:
		return fmt.Errorf("%s: name is used twice", where)
	case own != "":
		return fmt.Errorf("%s: %s", where, own)
	case features < 0 || copies < 0:
		return fmt.Errorf("%s: features %d and copies %d must not be negative", where, features, copies)
	case featureNames > 0 && featureNames != features:
		return fmt.Errorf("%s: %d feature names for %d features", where, featureNames, features)
	}
	names[name] = true
	return nil
}
