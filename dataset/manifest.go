package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// ManifestName is the file that describes the data of its folder.
const ManifestName = "dataset.json"

// mostStates bounds cardinalities: an edge's table has the square of it.
const mostStates = 1 << 16

// mostNamedStates bounds the states of all types of a manifest, each of which may be given by a number alone.
const mostNamedStates = 4 * mostStates

// mostTypes bounds the types of nodes, and those of edges, named or taken from the largest
// number in node_types and edge_types. Learning goes through all elements once for each.
const mostTypes = 1 << 10

// mostFeatures bounds the length of feature vectors that is taken from the
// largest index in the data, where a slip of the pen must not ask for all memory.
const mostFeatures = 1 << 24

// Manifest is the content of dataset.json: names for what the arrays number. All fields are optional.
type Manifest struct {
	States stateNames `json:"states,omitempty"` // of every node type that has none of its own
	// NodeFeatures names the columns of node_features, EdgeFeatures those of
	// edge_features, for types that have no names of their own.
	NodeFeatures []string `json:"node_features,omitempty"`
	EdgeFeatures []string `json:"edge_features,omitempty"`
	EdgeBins     int      `json:"edge_bins,omitempty"` // how many there are
	// NodeTypes and EdgeTypes name the numbers in node_types and edge_types.
	NodeTypes []ManifestType `json:"node_types,omitempty"`
	EdgeTypes []ManifestType `json:"edge_types,omitempty"`
	// ForbiddenStates and ForbiddenPairs name what no node, and no edge, can be in, for all types that have these
	// states: a pair is a state of the first end, and one of the second.
	ForbiddenStates []string   `json:"forbidden_states,omitempty"`
	ForbiddenPairs  [][]string `json:"forbidden_pairs,omitempty"`
	// Directed says that edges lead from their first end to the second, for all types without a word of their own;
	// nil: edges between nodes of one type have no direction, unless every one leads from a row to the next.
	Directed *bool `json:"directed,omitempty"`
	// HiddenLabels says that -1 hides a label, also where all others are 1, which may be spins.
	HiddenLabels bool   `json:"hidden_labels,omitempty"`
	About        string `json:"about,omitempty"` // what a program that writes data wants to find in models of them
}

// stateNames are names of states; in JSON also their number, for the names "0", "1", ….
type stateNames []string

// ManifestType describes a type of nodes or edges. In JSON a plain string is its name.
type ManifestType struct {
	Name     string     `json:"name"`
	States   stateNames `json:"states,omitempty"` // of nodes
	Features []string   `json:"features,omitempty"`
	// U and V name, for edges, the node types of the first and second end; without them, the
	// first edge of the type in the data decides.
	U string `json:"u,omitempty"`
	V string `json:"v,omitempty"`
	// Directed, of edges between nodes of one type; nil: Manifest.Directed.
	Directed *bool `json:"directed,omitempty"`
}

func (s *stateNames) UnmarshalJSON(data []byte) error {
	var count int
	switch {
	case json.Unmarshal(data, (*[]string)(s)) == nil:
	case json.Unmarshal(data, &count) != nil:
		return fmt.Errorf("states is %s, want a list of names or their number", option.Short(string(data)))
	case count < 1 || count > mostStates:
		return fmt.Errorf("states is %d, want 1 to %d, or a list of names", count, mostStates)
	default:
		*s = crf.NumberedStates(count)
	}
	return nil
}

// UnmarshalJSON reads a type, or its name alone.
func (t *ManifestType) UnmarshalJSON(data []byte) error {
	type whole ManifestType
	if json.Unmarshal(data, &t.Name) == nil {
		return nil
	}
	return fileio.JSON(data, (*whole)(t))
}

func namesOf(types []ManifestType) []string {
	return numeric.Map(types, func(t ManifestType) string { return t.Name })
}

// Write writes dataset.json into folder, whole or not at all.
func (m *Manifest) Write(folder string) error {
	if problem := m.validate(); problem != "" {
		return fmt.Errorf("%s: %s", ManifestName, problem)
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return fileio.Write(filepath.Join(folder, ManifestName), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// ofTypes returns the first field that describes types, or features of edges, or "".
func (m *Manifest) ofTypes() string {
	given := []bool{m.EdgeFeatures != nil, m.EdgeBins > 0, m.NodeTypes != nil, m.EdgeTypes != nil, true}
	return []string{"edge_features", "edge_bins", "node_types", "edge_types", ""}[slices.Index(given, true)]
}

func (m *Manifest) node(a int) ManifestType { return typeOf(m.NodeTypes, a, m.States, m.NodeFeatures) }
func (m *Manifest) edge(b int) ManifestType { return typeOf(m.EdgeTypes, b, nil, m.EdgeFeatures) }

// typeOf returns what is said of a type, or else of all.
func typeOf(types []ManifestType, i int, states stateNames, features []string) (t ManifestType) {
	if i < len(types) {
		t = types[i]
	}
	if t.States == nil {
		t.States = states
	}
	if t.Features == nil {
		t.Features = features
	}
	return t
}

// parseManifest reads the bytes of the dataset.json at path.
func parseManifest(path string, data []byte) (Manifest, error) {
	var m Manifest
	if err := fileio.JSON(data, &m); err != nil {
		return Manifest{}, manifestError(path, data, err)
	}
	if problem := m.validate(); problem != "" {
		return Manifest{}, &option.Error{File: path, Problem: problem}
	}
	return m, nil
}

var manifestFields = []string{
	"states", "node_features", "edge_features", "edge_bins", "node_types", "edge_types",
	"forbidden_states", "forbidden_pairs", "hidden_labels", "directed", "name", "features", "u", "v",
}

// manifestError finds the line that a decoding error is about.
func manifestError(path string, data []byte, err error) error {
	e := &option.Error{File: path, Problem: err.Error(), Cause: err}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Line, e.Problem = formats.LineAt(data, len(data)), "the JSON ends too early"
	case errors.As(err, &syntax):
		e.Line = formats.LineAt(data, int(syntax.Offset))
	case errors.As(err, &kind):
		e.Place, e.Problem = kind.Field, fmt.Sprintf("found a JSON %s, want %s", kind.Value,
			cmp.Or(jsonNames[kind.Type.Kind()], "a string"))
	case strings.Contains(err.Error(), "unknown field "):
		_, quoted, _ := strings.Cut(err.Error(), "unknown field ")
		name := strings.Trim(quoted, `"`)
		e.Line = formats.LineAt(data, bytes.Index(data, []byte(quoted)))
		e.Problem, e.Remedy = fmt.Sprintf("unknown field %q", name), option.DidYouMean(name, manifestFields)
	}
	return e
}

// jsonNames are what JSON calls Go kinds.
var jsonNames = map[reflect.Kind]string{reflect.Slice: "a list", reflect.Struct: "an object",
	reflect.Int: "a whole number", reflect.Bool: "true or false"}

// directed reports whether it says that edges are.
func (m *Manifest) directed() bool { return m.Directed != nil && *m.Directed }

// validate returns the first contradiction within the manifest, or "".
func (m *Manifest) validate() string {
	nodes, total := namesOf(m.NodeTypes), len(m.States)
	problem := cmp.Or(namesProblem("states", m.States, mostStates), namesProblem("node_types", nodes, mostTypes),
		namesProblem("edge_types", namesOf(m.EdgeTypes), mostTypes))
	if m.EdgeBins < 0 || m.EdgeBins > mostFeatures {
		problem = cmp.Or(problem, fmt.Sprintf("edge_bins is %d, want 1 to %d", m.EdgeBins, mostFeatures))
	}
	for a, t := range m.NodeTypes {
		problem = cmp.Or(problem, namesProblem(fmt.Sprintf("node_types[%d].states", a), t.States, mostStates))
		if total += len(t.States); total > mostNamedStates {
			return fmt.Sprintf("node_types have more than %d states in all, which is not supported", mostNamedStates)
		}
		if t.U+t.V != "" || t.Directed != nil {
			problem = cmp.Or(problem, fmt.Sprintf("node_types[%d]: u, v and directed are of edges", a))
		}
	}
	for i, pair := range m.ForbiddenPairs {
		if len(pair) != 2 {
			problem = cmp.Or(problem, fmt.Sprintf("forbidden_pairs[%d] is %q, want the names of two states", i, pair))
		}
	}
	for b, t := range m.EdgeTypes {
		at := fmt.Sprintf("edge_types[%d]: ", b)
		if (t.U == "") != (t.V == "") {
			problem = cmp.Or(problem, at+"it names one end's node type; give both u and v, or neither")
		}
		if t.States != nil {
			problem = cmp.Or(problem, at+"states are of nodes")
		}
		for _, end := range []string{t.U, t.V} {
			if end != "" && !slices.Contains(nodes, end) {
				problem = cmp.Or(problem, fmt.Sprintf("%snode type %q is not among node_types; %s", at, end,
					option.DidYouMean(end, nodes)))
			}
		}
	}
	return problem
}

// namesProblem says what keeps names from being used as distinct names.
func namesProblem(field string, names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s has %d names, at most %d are supported", field, len(names), most)
	}
	seen := map[string]bool{}
	for i, name := range names {
		if name == "" {
			return fmt.Sprintf("%s[%d] has no name", field, i)
		}
		if seen[name] {
			return fmt.Sprintf("%s[%d] is %q, which is used twice", field, i, name)
		}
		seen[name] = true
	}
	return ""
}
