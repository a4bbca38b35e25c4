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
	// States names the states of every node type that has none of its own.
	States stateNames `json:"states,omitempty"`
	// NodeFeatures names the columns of node_features, EdgeFeatures those of
	// edge_features, for types that have no names of their own.
	NodeFeatures []string `json:"node_features,omitempty"`
	EdgeFeatures []string `json:"edge_features,omitempty"`
	// EdgeBins is the number of bins where instances have edge_bins.
	EdgeBins int `json:"edge_bins,omitempty"`
	// NodeTypes and EdgeTypes name the numbers in node_types and edge_types.
	NodeTypes []ManifestNode `json:"node_types,omitempty"`
	EdgeTypes []ManifestEdge `json:"edge_types,omitempty"`
	// ForbiddenStates and ForbiddenPairs name what no node, and no edge, can be in, for all types that have these
	// states: a pair is a state of the first end, and one of the second.
	ForbiddenStates []string   `json:"forbidden_states,omitempty"`
	ForbiddenPairs  [][]string `json:"forbidden_pairs,omitempty"`
	// Directed says that edges lead from their first end to the second, for all types without a word of their own:
	// what comes after what. Without it, an edge that joins nodes of one type has no direction, and the pairs a, b
	// and b, a have one weight. nil: so have edges, unless every one leads from a row to the next.
	Directed *bool `json:"directed,omitempty"`
	// HiddenLabels says that -1 hides a label. It is needed where all others are 1:
	// labels that are -1 and 1 alone are an error, since they may be spins.
	HiddenLabels bool `json:"hidden_labels,omitempty"`
	// About is what a program that writes data wants to find in models of them.
	About string `json:"about,omitempty"`
}

// stateNames are names of states; in JSON also their number, for the names "0", "1", ….
type stateNames []string

// ManifestNode describes a node type. In JSON a plain string is its name.
type ManifestNode struct {
	Name     string     `json:"name"`
	States   stateNames `json:"states,omitempty"`
	Features []string   `json:"features,omitempty"`
}

// ManifestEdge describes an edge type. In JSON a plain string is its name.
type ManifestEdge struct {
	Name string `json:"name"`
	// U and V name the node types of the first and second end; without them, the
	// first edge of the type in the data decides.
	U        string   `json:"u,omitempty"`
	V        string   `json:"v,omitempty"`
	Features []string `json:"features,omitempty"`
	// Directed, of edges between nodes of one type; nil: Manifest.Directed.
	Directed *bool `json:"directed,omitempty"`
}

func (s *stateNames) UnmarshalJSON(data []byte) error {
	var count int
	if json.Unmarshal(data, &count) == nil {
		if count < 1 || count > mostStates {
			return fmt.Errorf("states is %d, want 1 to %d, or a list of names", count, mostStates)
		}
		*s = crf.NumberedStates(count)
		return nil
	}
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("states is %s, want a list of names or their number", abbreviate(string(data)))
	}
	*s = names
	return nil
}

// UnmarshalJSON reads a type, or its name alone.
func (t *ManifestNode) UnmarshalJSON(data []byte) error {
	type whole ManifestNode
	if json.Unmarshal(data, &t.Name) == nil {
		return nil
	}
	return fileio.JSON(data, (*whole)(t))
}

// UnmarshalJSON reads a type, or its name alone.
func (t *ManifestEdge) UnmarshalJSON(data []byte) error {
	type whole ManifestEdge
	if json.Unmarshal(data, &t.Name) == nil {
		return nil
	}
	return fileio.JSON(data, (*whole)(t))
}

func nodeName(t *ManifestNode) *string { return &t.Name }
func edgeName(t *ManifestEdge) *string { return &t.Name }

func namesOf[T any](types []T, name func(*T) *string) (names []string) {
	for i := range types {
		names = append(names, *name(&types[i]))
	}
	return names
}

// WriteManifest writes dataset.json into folder, whole or not at all.
func WriteManifest(folder string, m Manifest) error {
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
	switch {
	case m.EdgeFeatures != nil:
		return "edge_features"
	case m.EdgeBins > 0:
		return "edge_bins"
	case m.NodeTypes != nil:
		return "node_types"
	case m.EdgeTypes != nil:
		return "edge_types"
	}
	return ""
}

// node returns what is said of a node type, or else of all.
func (m *Manifest) node(a int) (t ManifestNode) {
	if a < len(m.NodeTypes) {
		t = m.NodeTypes[a]
	}
	if t.States == nil {
		t.States = m.States
	}
	if t.Features == nil {
		t.Features = m.NodeFeatures
	}
	return t
}

// edge returns what is said of an edge type, or else of all.
func (m *Manifest) edge(b int) (t ManifestEdge) {
	if b < len(m.EdgeTypes) {
		t = m.EdgeTypes[b]
	}
	if t.Features == nil {
		t.Features = m.EdgeFeatures
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
		return Manifest{}, &Error{File: path, Problem: problem}
	}
	return m, nil
}

var manifestFields = []string{
	"states", "node_features", "edge_features", "edge_bins", "node_types", "edge_types",
	"forbidden_states", "forbidden_pairs", "hidden_labels", "directed", "name", "features", "u", "v",
}

// manifestError finds the line that a decoding error is about.
func manifestError(path string, data []byte, err error) error {
	e := &Error{File: path, Problem: err.Error(), Cause: err}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var repeated *fileio.RepeatedKey
	switch {
	case errors.As(err, &repeated):
		e.Line = repeated.Line
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Line, e.Problem = lineAt(data, len(data)), "the JSON ends too early"
	case errors.As(err, &syntax):
		e.Line = lineAt(data, int(syntax.Offset))
	case errors.As(err, &kind):
		e.Place, e.Problem = kind.Field, fmt.Sprintf("found a JSON %s, want %s", kind.Value,
			cmp.Or(jsonNames[kind.Type.Kind()], "a string"))
	case strings.Contains(err.Error(), "unknown field "):
		_, quoted, _ := strings.Cut(err.Error(), "unknown field ")
		name := strings.Trim(quoted, `"`)
		e.Line = lineAt(data, bytes.Index(data, []byte(quoted)))
		e.Problem, e.Remedy = fmt.Sprintf("unknown field %q", name), suggestion(name, manifestFields)
	}
	return e
}

// jsonNames are what JSON calls Go kinds.
var jsonNames = map[reflect.Kind]string{reflect.Slice: "a list", reflect.Struct: "an object",
	reflect.Int: "a whole number", reflect.Bool: "true or false"}

// lineAt returns the line, from 1, of the byte at offset.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:max(0, min(offset, len(data)))], []byte("\n"))
}

// abbreviate shortens text for a message.
func abbreviate(text string) string {
	const most = 40
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return option.Literal(text)
}

// directed reports whether it says that edges are.
func (m *Manifest) directed() bool { return m.Directed != nil && *m.Directed }

// validate returns the first contradiction within the manifest, or "".
func (m *Manifest) validate() string {
	total := len(m.States)
	for _, t := range m.NodeTypes {
		total += len(t.States)
	}
	if total > mostNamedStates {
		return fmt.Sprintf("node_types have %d states in all, at most %d are supported", total, mostNamedStates)
	}
	if problem := namesProblem("states", m.States, mostStates); problem != "" {
		return problem
	}
	if m.EdgeBins < 0 || m.EdgeBins > mostFeatures {
		return fmt.Sprintf("edge_bins is %d, want 1 to %d", m.EdgeBins, mostFeatures)
	}
	for a, t := range m.NodeTypes {
		if problem := namesProblem(fmt.Sprintf("node_types[%d].states", a), t.States, mostStates); problem != "" {
			return problem
		}
	}
	for i, pair := range m.ForbiddenPairs {
		if len(pair) != 2 {
			return fmt.Sprintf("forbidden_pairs[%d] is %q, want the names of two states", i, pair)
		}
	}
	names := namesOf(m.NodeTypes, nodeName)
	if problem := namesProblem("node_types", names, mostTypes); problem != "" {
		return problem
	}
	if problem := namesProblem("edge_types", namesOf(m.EdgeTypes, edgeName), mostTypes); problem != "" {
		return problem
	}
	for b, t := range m.EdgeTypes {
		if problem := t.problem(names); problem != "" {
			return fmt.Sprintf("edge_types[%d]: %s", b, problem)
		}
	}
	return ""
}

func (t *ManifestEdge) problem(nodeTypes []string) string {
	if (t.U == "") != (t.V == "") {
		return "it names one end's node type; give both u and v, or neither"
	}
	for _, end := range []string{t.U, t.V} {
		if end != "" && !slices.Contains(nodeTypes, end) {
			return fmt.Sprintf("node type %q is not among node_types; %s", end, suggestion(end, nodeTypes))
		}
	}
	return ""
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
