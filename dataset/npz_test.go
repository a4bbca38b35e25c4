package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// triangle is a network of three nodes and three edges.
func triangle() Arrays {
	return Arrays{
		Edges:        [][2]int32{{0, 1}, {1, 2}, {0, 2}},
		NodeFeatures: &Matrix{2, []float64{1, 2, 3, 4, 5, 6}},
		EdgeFeatures: &Matrix{1, []float64{.1, .2, .3}},
		Labels:       [][]int32{{0, 1, -1}, {1, 1, 0}},
	}
}

// writeSet writes instances 0.npz, 1.npz, … and an optional dataset.json.
func writeSet(t testing.TB, manifest string, instances ...Arrays) string {
	t.Helper()
	folder := t.TempDir()
	if manifest != "" {
		oracle.OK(t, os.WriteFile(filepath.Join(folder, ManifestName), []byte(manifest), 0o644))
	}
	for i := range instances {
		writeRaw(t, filepath.Join(folder, fmt.Sprintf("%d.npz", i)), &instances[i])
	}
	return folder
}

func TestNPZRoundTrip(t *testing.T) {
	a := triangle()
	a.GridShape, a.States, a.Weight = [2]int{1, 3}, []int32{2}, 2.5
	folder := writeSet(t, `{"states": ["off", "on"], "node_features": ["x", "y"]}`, a, a)
	set := mustOpen(t, folder, Options{})
	want := crf.Homogeneous([]string{"off", "on"}, 2, 1)
	want.NodeTypes[0].FeatureNames, want.EdgeTypes[0].Symmetric = []string{"x", "y"}, true
	oracle.Equal(t, set.Schema, want, "schema")
	if !slices.Equal(set.Warnings, []string{"2 of 12 labels are hidden (-1)"}) || len(set.Sources) != 3 || set.Sources[0].Path != filepath.Join(folder, ManifestName) {
		t.Errorf("warnings %q, sources %v", set.Warnings, set.Sources)
	}
	in := set.Instances[0]
	if in.Name != "0" || in.Rows != 1 || in.Cols != 3 || !cmp.Equal(in.Samples(), a.Labels) {
		t.Errorf("instance %q, grid %d×%d, labels %v", in.Name, in.Rows, in.Cols, in.Samples())
	}
	oracle.Equal(t, in.Weight(), 2.5, "weight")
	oracle.Equal(t, row(in.NodeFeatures(0), 1), []float64{3, 4}, "node features of 1")
	oracle.Equal(t, row(in.EdgeFeatures(0), 2), []float64{.3}, "edge features of 2")
	oracle.Equal(t, set.Instances[1].Graph, in.Graph, "graph of the same edges")
	first, _ := os.ReadFile(filepath.Join(folder, "0.npz"))
	second, _ := os.ReadFile(filepath.Join(folder, "1.npz"))
	oracle.Equal(t, first, second, "bytes of the same arrays")
}

// The files were written by NumPy; see testdata/numpy/make.py.
func TestNPZFromNumPy(t *testing.T) {
	set := mustOpen(t, filepath.Join("testdata", "numpy"), Options{})
	names := numeric.Map(set.Instances, func(in *crf.Instance) string { return in.Name })
	oracle.MustEqual(t, names, []string{"2", "3", "10"}, "instances")
	in := set.Instances[0]
	oracle.Equal(t, in.Samples(), [][]int32{{0, 1, 1, -1}, {1, 1, 2, 0}}, "labels")
	// The second row as numpy.load prints it: the array is in Fortran order.
	if got, want := row(in.NodeFeatures(0), 1), []float64{-0.62327445, 0.04132598}; !cmp.Equal(got, want, cmp.Comparer(nearly)) {
		t.Errorf("features are %v, want %v", got, want)
	}
	oracle.Equal(t, row(in.EdgeFeatures(0), 2), []float64{0, 0, 1}, "bin of edge 2")
	if set.Recipe.EdgeForm != formBins || len(set.Warnings) != 2 || set.Instances[1].Graph != in.Graph {
		t.Errorf("recipe %+v, warnings %q", set.Recipe, set.Warnings)
	}
}

func nearly(a, b float64) bool { return a-b < 1e-7 && b-a < 1e-7 }

func TestNPZTypes(t *testing.T) {
	a := Arrays{
		Edges:        [][2]int32{{0, 2}, {1, 2}, {0, 1}},
		NodeFeatures: &Matrix{1, []float64{10, 11, 12}},
		EdgeBins:     []int32{1, 0, 2},
		Labels:       [][]int32{{0, 1, 2}},
		NodeTypes:    []int32{0, 0, 1},
		EdgeTypes:    []int32{1, 1, 0},
		States:       []int32{2, 2, 4},
	}
	set := mustOpen(t, writeSet(t, `{"node_types": ["pixel", "region"], "edge_types": ["next", {"name": "in"}], "edge_bins": 5}`, a), Options{})
	want := crf.Schema{
		NodeTypes: []crf.NodeType{
			{Name: "pixel", States: crf.NumberedStates(2), Features: 1},
			{Name: "region", States: crf.NumberedStates(4), Features: 1},
		},
		EdgeTypes: []crf.EdgeType{{Name: "next", Features: 5, Symmetric: true}, {Name: "in", V: 1, Features: 5}},
	}
	oracle.Equal(t, set.Schema, want, "schema")
	in := set.Instances[0]
	oracle.Equal(t, row(in.NodeFeatures(1), 0)[0], 12, "the feature of the region")
	oracle.Equal(t, row(in.EdgeFeatures(1), 1), []float64{1, 0, 0, 0, 0}, "bin of edge 1")
	// A model's schema gives the same instances, without dataset.json.
	again := mustOpen(t, writeSet(t, "", a), modelOf(set))
	oracle.Equal(t, again.Schema, set.Schema, "schema")
	// Without edge_types, pairs of node types take their place.
	a.EdgeTypes = nil
	set = mustOpen(t, writeSet(t, "", a), Options{})
	if got := edgeNames(&set.Schema); !slices.Equal(got, []string{"0-0", "0-1"}) || set.Instances[0].EdgeType(2) != 0 {
		t.Errorf("edge types are %q", got)
	}
}

// TestNPZFeaturesOfTypes: each type has weights of its own for the features of all.
func TestNPZFeaturesOfTypes(t *testing.T) {
	pieces := raws{
		"edges":         npyOf("<i4", "False", "(1, 2)", binary.LittleEndian, []int32{0, 1}),
		"labels":        npyOf("<i4", "False", "(3,)", binary.LittleEndian, []int32{0, 1, 1}),
		"node_types":    npyOf("<i4", "False", "(3,)", binary.LittleEndian, []int32{0, 1, 0}),
		"node_features": npyOf("<f4", "False", "(3, 2)", binary.LittleEndian, []float32{1, 2, 0, 5, 3, 4}),
		"edge_features": npyOf("|b1", "False", "(1, 1)", binary.LittleEndian, []byte{1}),
	}
	in := mustOpen(t, writeFiles(t, map[string]string{"x.npz": string(zipOf(t, pieces))}), Options{}).Instances[0]
	oracle.Equal(t, row(in.NodeFeatures(0), in.NodeRow(2)), []float64{3, 4}, "features of node 2")
	oracle.Equal(t, row(in.NodeFeatures(1), in.NodeRow(1)), []float64{0, 5}, "features of node 1")
	pieces["node_features.1"] = pieces["node_features"]
	refuses(t, writeFiles(t, map[string]string{"x.npz": string(zipOf(t, pieces))}), Options{},
		"x.npz:node_features.1: unknown array; give one array node_features for elements of all types")
}

// raws are arrays as the bytes of their files.
type raws map[string][]byte

// zipOf puts arrays into an npz file; deflated, as savez_compressed does.
func zipOf(t testing.TB, arrays map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		w := oracle.Must(archive.Create(name + ".npy"))(t)
		oracle.Must(w.Write(arrays[name]))(t)
	}
	oracle.OK(t, archive.Close())
	return b.Bytes()
}

func TestNPZUntied(t *testing.T) {
	a := triangle()
	a.States, a.Labels = []int32{3, 2, 3}, [][]int32{{2, 1, -1}}
	refuses(t, writeSet(t, "", a), Options{Untied: true}, "make the two agree, or give such nodes different node_types")
	a.NodeTypes = []int32{1, 0, 1}
	set := mustOpen(t, writeSet(t, "", a, a), Options{Untied: true})
	constant := []string{formConstant}
	want := crf.Schema{
		NodeTypes: []crf.NodeType{
			{Name: "node_0", States: crf.NumberedStates(2), Features: 1, FeatureNames: constant, Copies: 1},
			{Name: "node_1", States: crf.NumberedStates(3), Features: 1, FeatureNames: constant, Copies: 2},
		},
		EdgeTypes: []crf.EdgeType{
			{Name: "edge_0_1", U: 0, V: 1, Features: 1, FeatureNames: constant, Copies: 1},
			{Name: "edge_1_0", U: 1, V: 0, Features: 1, FeatureNames: constant, Copies: 1},
			{Name: "edge_1_1", U: 1, V: 1, Features: 1, FeatureNames: constant, Copies: 1, Symmetric: true},
		},
	}
	oracle.Equal(t, set.Schema, want, "schema")
	if want := []string{
		`2 of 6 labels are hidden (-1)`,
		`state "0" of node type "node_0", state "0" of node type "node_1", ` +
			`state "1" of node type "node_1" never occur among the labels: ` + avoided,
	}; len(set.Warnings) != 3 || !strings.Contains(set.Warnings[0], "not use") || !slices.Equal(set.Warnings[1:], want) {
		t.Errorf("warnings are %q", set.Warnings)
	}
	model := modelOf(set)
	mustOpen(t, writeSet(t, "", a), model)
	a.Edges[2] = [2]int32{2, 0} // the symmetric one
	mustOpen(t, writeSet(t, "", a), model)
	a.Edges = [][2]int32{{0, 1}, {2, 1}, {0, 2}}
	refuses(t, writeSet(t, "", a), model, "edges: its edges or numbers of states are not those the model was trained on")
	refuses(t, writeSet(t, "", triangle()), model, "0.npz:edges: its edges or numbers of states are not those")

	// One cardinality, from the labels.
	set = mustOpen(t, writeSet(t, "", triangle()), Options{Untied: true, States: []string{"off", "on"}})
	if n := set.Schema.NodeTypes; len(n) != 1 || n[0].Copies != 3 || n[0].States[1] != "on" {
		t.Errorf("node types are %+v", n)
	}
	mustOpen(t, writeSet(t, "", triangle()), Options{Schema: &set.Schema, Recipe: &set.Recipe, NoLabels: true})
}

// change returns a triangle with something changed.
func change(f func(*Arrays)) Arrays {
	a := triangle()
	f(&a)
	return a
}

func TestNPZSetRefuses(t *testing.T) {
	bins := func(b ...int32) func(*Arrays) { return func(a *Arrays) { a.EdgeFeatures, a.EdgeBins = nil, b } }
	for name, c := range map[string]struct {
		manifest string
		options  Options
		second   Arrays
		want     string
	}{
		"columns":       {"", Options{}, change(func(a *Arrays) { a.NodeFeatures = &Matrix{1, []float64{1, 2, 3}} }), "1.npz:node_features: it has 1 columns, "},
		"forms":         {"", Options{}, change(bins(0, 1, 2)), "1.npz: it has edge_bins, "},
		"no features":   {"", Options{}, change(func(a *Arrays) { a.NodeFeatures = nil }), "1.npz: it has no node_features"},
		"label":         {`{"states": 2}`, Options{}, change(func(a *Arrays) { a.Labels = [][]int32{{0, 1, 2}} }), "1.npz:labels[2]: is 2, want -1 (unobserved) or 0 to 1"},
		"sample label":  {`{"states": 2}`, Options{}, change(func(a *Arrays) { a.Labels[1][0] = -2 }), "1.npz:labels[1,0]: is -2, want"},
		"states differ": {`{"states": 2}`, Options{}, change(func(a *Arrays) { a.States = []int32{3} }), "npz:states: is 3"},
		"states vary":   {"", Options{}, change(func(a *Arrays) { a.States = []int32{3, 2, 3} }), "1.npz:states[1]: is 2"},
		"one state":     {"", Options{}, change(func(a *Arrays) { a.NodeTypes, a.Labels = []int32{0, 0, 1}, [][]int32{{0, 1, 0}} }), "1.npz: every label of node type \"1\" is 0, which tells of one state only; if there are more, give \"states\" in dataset.json or the array states"},
		"not finite":    {"", Options{}, change(func(a *Arrays) { a.NodeFeatures.Data[3] /= 0 * a.NodeFeatures.Data[0] }), "1.npz:node_features[1,1]: feature is +Inf"},
		"node type":     {`{"node_types": ["a"]}`, Options{}, change(func(a *Arrays) { a.NodeTypes = []int32{0, 0, 1} }), "1.npz:node_types[2]: is 1, want 0 to 0"},
		"feature names": {`{"node_features": ["x"]}`, Options{}, triangle(), "it names 1 features for type \"node\", the data have 2"},
		"option types":  {"", Options{States: []string{"a", "b"}}, change(func(a *Arrays) { a.NodeTypes = []int32{0, 0, 1} }), "States: the data have 2 node types"},
		"bad bins":      {"", Options{Bins: -1}, triangle(), "Bins: it is -1"},
		"states twice":  {"", Options{States: []string{"a", "a"}}, triangle(), "used twice"},
		"half a model":  {"", Options{Recipe: &Recipe{Kind: kindNPZ}}, triangle(), "the other is missing"},
		"untied":        {"", Options{Untied: true, Directed: true}, change(func(a *Arrays) { a.Edges[0] = [2]int32{1, 0} }), "1.npz:edges: its edges or numbers of states are not those of"},
		"reversed pair": {"", Options{}, change(func(a *Arrays) { a.NodeTypes = []int32{0, 1, 0} }), "1.npz:edges[1]: joins node type \"1\" to \"0\""},
		"edge ends":     {"", Options{}, change(func(a *Arrays) { a.NodeTypes, a.EdgeTypes, a.States = []int32{0, 0, 1}, []int32{0, 0, 0}, []int32{2} }), "edges[1] = (1, 2) is of type \"edge\""},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, writeSet(t, c.manifest, triangle(), c.second), c.options, c.want)
		})
	}
	a := triangle()
	bins(0, 4, 2)(&a)
	refuses(t, writeSet(t, `{"edge_bins": 4}`, a), Options{}, "0.npz:edge_bins[1]: is 4, want 0 to 3")
}

// Types are numbered in the arrays, and dataset.json names what they join.
func TestNPZManifestTypes(t *testing.T) {
	manifest := `{
		"node_types": [{"name": "pixel", "states": 2}, {"name": "region", "states": ["in", "out"], "features": ["x", "y"]}],
		"edge_types": [{"name": "never", "u": "region", "v": "region"}, {"name": "in", "u": "pixel", "v": "region", "features": ["weight"]}]
	}`
	typed := func(f func(*Arrays)) Arrays {
		return change(func(a *Arrays) {
			a.Edges, a.NodeTypes, a.EdgeTypes = [][2]int32{{0, 1}, {2, 1}}, []int32{0, 1, 0}, []int32{1, 1}
			a.EdgeFeatures = &Matrix{1, []float64{1, 2}}
			f(a)
		})
	}
	set := mustOpen(t, writeSet(t, manifest, typed(func(*Arrays) {})), Options{})
	if e := set.Schema.EdgeTypes; e[0].U != 1 || e[0].V != 1 || e[1].V != 1 || e[1].FeatureNames[0] != "weight" || e[0].Features != 1 {
		t.Errorf("edge types are %+v", e)
	}
	if n := set.Schema.NodeTypes[1]; n.States[1] != "out" || n.FeatureNames[1] != "y" {
		t.Errorf("node types are %+v", set.Schema.NodeTypes)
	}
	refuses(t, writeSet(t, `{"edge_types": ["a", "idle"]}`, triangle()), Options{}, `dataset.json:edge_types[1]: type "idle" has no edge in the data to tell what it joins; give its u and v`)
	gap := change(func(a *Arrays) { a.EdgeTypes = []int32{1, 1, 1} })
	if set = mustOpen(t, writeSet(t, `{"states": 2}`, gap), Options{}); len(set.Warnings) != 2 || !strings.Contains(set.Warnings[0], `edge type "0" has no edge`) {
		t.Errorf("warnings are %q", set.Warnings)
	}
	for _, c := range []struct {
		first, code float64 // first is that of all other nodes
		told        bool
	}{
		{1, -9999, true}, {1, -99, true}, {1, 9999, true}, {1, 99, false}, {1, 32768, false}, {0, -9999, false},
		{-9999, -9999, false}, {1, -9, false},
	} {
		far := change(func(a *Arrays) {
			a.NodeFeatures.Data[0], a.NodeFeatures.Data[2], a.NodeFeatures.Data[4] = c.first, c.code, c.first
		})
		note := fmt.Sprintf(`feature "0" of nodes has the magnitude %v, far from its other numbers`, math.Abs(c.code))
		if told := fmt.Sprint(mustOpen(t, writeSet(t, "", far), Options{}).Warnings); strings.Contains(told, note) != c.told {
			t.Errorf("%+v: warnings are %s", c, told)
		}
	}
	first := typed(func(a *Arrays) { a.NodeFeatures.Data[0], a.NodeFeatures.Data[4] = -9999, 1 }) // of the first type
	oracle.Contains(t, fmt.Sprint(mustOpen(t, writeSet(t, manifest, first), Options{}).Warnings),
		"has the magnitude 9999, far")
	for want, a := range map[string]Arrays{
		"0.npz:node_features[2,1]: feature is +Inf":     typed(func(a *Arrays) { a.NodeFeatures.Data[5] = math.Inf(1) }),
		"0.npz:edge_types[0]: is 2, want 0 to 1":        typed(func(a *Arrays) { a.EdgeTypes[0] = 2 }),
		"0.npz: edges[0] = (0, 1) is of type \"never\"": typed(func(a *Arrays) { a.EdgeTypes[0] = 0 }),
		"0.npz:edge_bins[1]: is 9, want 0 to 3": typed(func(a *Arrays) {
			a.EdgeFeatures, a.EdgeBins = nil, []int32{1, 9}
		}),
		"0.npz:edges[0]: joins node type \"pixel\" to \"pixel": typed(func(a *Arrays) { a.EdgeTypes, a.NodeTypes = nil, []int32{0, 0, 0} }),
	} {
		refuses(t, writeSet(t, strings.Replace(manifest, `, "features": ["weight"]}]`, fmt.Sprintf(`}], "edge_bins": %d`, 4*min(1, len(a.EdgeBins))), 1), a), Options{}, want)
	}
	same := `{"states": 2, "node_types": ["n"], "edge_types": [{"name": "a", "u": "n", "v": "n"}, {"name": "b", "u": "n", "v": "n"}]}`
	refuses(t, writeSet(t, same, triangle()), Options{}, "0.npz:edge_types: the array is missing")
}

func TestNPZFoldersDisagree(t *testing.T) {
	a, b := writeSet(t, `{"states": 2}`, triangle()), writeSet(t, `{"states": 3}`, triangle())
	oracle.Fails(Open(t.Context(), []string{a, b}, Options{}))(t, "dataset.json: it differs from "+a)
	set := oracle.Must(Open(t.Context(), []string{a, writeSet(t, `{"states": 2}`, triangle())}, Options{}))(t)
	oracle.Equal(t, len(set.Instances), 2, "instances of folders with the same description")
}

func TestRecipeValidate(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind": "npz", "node_form": "dense", "edge_form": "bins"}`: "",
		`{"kind": "npz", "node_form": "bins", "edge_form": "bins"}`:  "node_form is not as",
		`{"kind": "npz", "node_form": "none", "edge_form": "none"}`:  "edge_form is not as",
		`{"kind": "uai"}`:                                                     "kind is not as",
		`{"kind": "graph", "feature_dim": -1}`:                                "feature_dim is not as",
		`{"kind": "graph", "missing": true}`:                                  `unknown field "missing"; use the model with the version that trained it`,
		`{"kind": "images", "neighbours": 6}`:                                 "neighbours is not as",
		`{"kind": "images", "neighbours": 4, "bins": 2}`:                      "bins is not as",
		`{"kind": "images", "neighbours": 8, "bins": 3, "bin_edges": [1, 1]}`: "bin_edges is not as",
		`{"kind": "images", "colour": 8}`:                                     "colour",
		`{`:                                                                   "recipe: ",
	} {
		_, err := ParseRecipe(text)
		if want != "" {
			oracle.WantError(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestNPZAgainstModel(t *testing.T) {
	set := mustOpen(t, writeSet(t, `{"states": ["off", "on"]}`, triangle()), Options{})
	model := modelOf(set)
	recipe := oracle.Must(ParseRecipe(set.Recipe.String()))(t)
	oracle.MustEqual(t, *recipe, set.Recipe, "recipe after a round trip")
	for name, c := range map[string]struct {
		manifest string
		data     Arrays
		want     string
	}{
		"forms":      {"", change(func(a *Arrays) { a.EdgeFeatures = nil }), "0.npz: it has no edge_features, the model was trained with edge_features"},
		"label":      {"", change(func(a *Arrays) { a.Labels[0][1] = 5 }), "0.npz:labels[0,1]: is 5"},
		"states":     {"", change(func(a *Arrays) { a.States = []int32{3} }), "0.npz:states: is 3, but the model has 2"},
		"names":      {`{"states": ["on", "off"]}`, triangle(), `states: they are ["on" "off"], the model has ["off" "on"]`},
		"node types": {"", change(func(a *Arrays) { a.NodeTypes = []int32{0, 0, 1} }), "node_types[2]: is 1, want 0 to 0"},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, writeSet(t, c.manifest, c.data), model, c.want)
		})
	}
	other := model
	other.Recipe = &Recipe{Kind: kindGraph, Sheets: &sheetRecipe{}}
	refuses(t, writeSet(t, "", triangle()), other, "the model was trained on data of the kind graph")
}

// Everything that can be wrong with one file by itself.
func TestNPZFileRefuses(t *testing.T) {
	le := binary.LittleEndian
	edges := npyOf("<i4", "False", "(2, 2)", le, []int32{0, 1, 1, 2})
	ints := func(shape string, v ...int32) []byte { return npyOf("<i4", "False", shape, le, v) }
	for name, c := range map[string]struct {
		arrays raws
		want   string
	}{
		"unknown dotted": {raws{"edges": edges, "labels.a": nil}, "unknown array"},
		"not an array":   {raws{"edges": []byte("hello, world")}, "x.npz:edges: it does not begin like a NumPy array"},
		"text labels": {raws{"edges": edges, "labels": npyOf("<U3", "False", "(1,)", le, []float64{0})},
			"x.npz:labels: dtype is \"<U3\", want integers, bool or float16 to float64; of texts, numpy.unique"},
		"too long": {raws{"edges": append(slices.Clone(edges), 0)}, "x.npz:edges: the array has "},
		"flat features": {raws{"edges": edges, "node_features": npyOf("<f4", "False", "(3,)", le, []float32{1, 2, 3})},
			"reshape(-1, 1)"},
		"rows": {raws{"edges": edges, "labels": ints("(3,)", 0, 0, 0),
			"edge_features": npyOf("<f4", "False", "(3, 1)", le, []float32{1, 2, 3})},
			"x.npz:edge_features: shape is [3, 1], want 2 rows: edges has 2 edges"},
		"labels": {raws{"edges": edges, "labels": ints("(2, 2)", 0, 0, 0, 0),
			"node_types": ints("(3,)", 0, 0, 0)}, "x.npz:labels: shape is [2, 2], want 3 columns: node_types has 3 nodes"},
		"node types": {raws{"edges": edges, "node_types": ints("(2,)", 0, 0),
			"node_features": npyOf("<f4", "False", "(3, 1)", le, []float32{1, 2, 3})},
			"x.npz:node_types: shape is [2], want 3 rows"},
		"grid":      {raws{"edges": edges, "labels": ints("(3,)", 0, 0, 0), "grid_shape": ints("(2,)", 2, 2)}, "x.npz:grid_shape: it is 2 × 2, want a product of 3"},
		"states":    {raws{"edges": edges, "labels": ints("(3,)", 0, 0, 0), "states": ints("(3,)", 2, 0, 2)}, "x.npz:states[1]: is 0"},
		"loop":      {raws{"edges": ints("(2, 2)", 0, 1, 1, 1)}, "x.npz:edges[1]: is (1, 1): an edge must"},
		"negative":  {raws{"edges": ints("(2, 2)", 0, 1, 1, -1)}, "x.npz:edges[1]: is (1, -1)"},
		"huge id":   {raws{"edges": ints("(1, 2)", 0, 2147483647)}, "x.npz:edges: it asks for 2147483648 nodes, but there are only 1 edges"},
		"no grid":   {raws{"labels": ints("(4,)", 0, 1, 0, 1), "grid_shape": ints("(2,)", -2, -2)}, "x.npz:grid_shape: "},
		"huge grid": {raws{"edges": ints("(1, 2)", 0, 1), "grid_shape": ints("(2,)", 40000, 40000)}, "grid_shape: it asks"},
		"huge void": {raws{"edges": ints("(1, 2)", 0, 1),
			"node_features": npyOf("<f4", "False", "(2000000000, 0)", le, []float32{})},
			"x.npz:node_features: shape is [2000000000, 0], want 2 rows"},
		"huge header": {raws{"edges": npyOf("<i4", "False", "(1000000000000, 2)", le, []int32{0, 1})}, "wants 8000000000"},
		"half weighed": {raws{"edges": edges, "labels": ints("(2, 3)", 0, 1, 0, 1, 1, 0), "sample_weights": ints("(1,)", 1)},
			"x.npz:sample_weights: shape is [1], want 2 rows: labels has 2 samples"},
		"negative sample": {raws{"edges": edges, "labels": ints("(1, 3)", 0, 1, 0), "sample_weights": ints("(1,)", -1)},
			"x.npz:sample_weights[0]: is -1, want a finite number of 0 to 1e150"},
		"nothing weighed": {raws{"edges": edges, "labels": ints("(1, 3)", 0, 1, 0), "sample_weights": ints("(1,)", 0)},
			"all samples weigh 0"},
		"two weights": {raws{"edges": edges, "weight": npyOf("<f8", "False", "(2,)", le, []float64{1, 2})},
			"x.npz:weight: shape is [2], want []"},
		"zero weight": {raws{"edges": edges, "weight": ints("()", 0)},
			"x.npz:weight: is 0, want a finite number of 1e-150 to 1e150; leave the file out"},
		"NaN weight": {raws{"edges": edges, "weight": npyOf("<f8", "False", "(1,)", le, []float64{math.NaN()})},
			"x.npz:weight[0]: is NaN"},
		"from 1": {raws{"edges": ints("(2, 2)", 1, 2, 2, 3), "labels": ints("(3,)", 0, 1, 0)},
			"nodes are 0 to 2; nodes count from 0: subtract 1"},
		"misfit": {raws{"labels": ints("(4,)", 0, 1, 0, 1), "grid_shape": ints("(2,)", 2, 3)},
			"x.npz:grid_shape: it is 2 × 3, want a product of 4: labels has 4 nodes"},
		"column": {raws{"edges": edges, "labels": ints("(4, 1)", 0, 1, 1, 0),
			"node_features": npyOf("<f4", "False", "(4, 1)", le, []float32{1, 2, 3, 4})},
			"want 4 columns: node_features has 4 nodes; put one row behind the other, by labels.ravel()"},
		"no direction": {raws{"edges": edges, "directed": ints("()", 2)}, "directed: is 2, want 0 to 1; 1 says"},
		"empty":        {raws{"edges": npyOf("<f8", "False", "(0,)", le, []float64{})}, "the network has no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := writeFiles(t, map[string]string{"x.npz": string(zipOf(t, c.arrays))})
			refuses(t, filepath.Join(folder, "x.npz"), Options{}, c.want)
		})
	}
}

// TestNPZUnknownArrayHidesNothing: the other arrays are looked at too; but not where
// one of them cannot be read, which the others may depend on.
func TestNPZUnknownArrayHidesNothing(t *testing.T) {
	ints := func(shape string, v ...int32) []byte {
		return npyOf("<i4", "False", shape, binary.LittleEndian, v)
	}
	for name, c := range map[string]struct {
		arrays raws
		want   []string
	}{
		"unknown": {raws{"edges": ints("(1, 2)", 0, -1), "label": ints("(1,)", 0), "grid_shape": ints("(3,)", 1, 1, 1)},
			[]string{"x.npz:label: unknown array", "x.npz:grid_shape: shape is [3]"}},
		"unreadable": {raws{"edges": []byte("no array"), "label": ints("(1,)", 0)}, []string{"x.npz:edges: ", "x.npz:label: unknown array"}},
	} {
		folder := writeFiles(t, map[string]string{"x.npz": string(zipOf(t, c.arrays))})
		_, found := Check(t.Context(), []string{filepath.Join(folder, "x.npz")}, Options{})
		if len(found) != len(c.want) {
			t.Errorf("%s: %d problems, want %d: %v", name, len(found), len(c.want), found)
			continue
		}
		all := errors.Join(found...)
		oracle.WantError(t, all, c.want...)
	}
}

// readArchive reads an instance file, and does not check it.
func readArchive(path string, data []byte) *npzInstance {
	in := arraysAt(path)
	in.ReadArchive(bytes.NewReader(data), int64(len(data)), memory.NewBudget(0))
	return in
}

func TestNPZDamaged(t *testing.T) {
	folder := writeSet(t, `{"states": 2}`, triangle())
	path := filepath.Join(folder, "0.npz")
	sound := oracle.Must(os.ReadFile(path))(t)
	for n := range sound {
		list := readArchive(path, sound[:n]).Errors()
		oracle.WantError(t, firstOf(list), "it is no npz file, or was cut short", "write it with numpy.savez")
	}
	// A flipped bit in the data of an array is found by its checksum.
	sound[bytes.Index(sound, []byte("node_features.npy"))+200] ^= 1
	list := readArchive(path, sound).Errors()
	oracle.WantError(t, firstOf(list), "0.npz:node_features: zip: checksum error: the file is damaged")
}

// TestNPZBombs: arrays that promise more than is there, or more than is likely, are refused before they are made.
func TestNPZBombs(t *testing.T) {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, c := range []struct {
		name        string
		method      uint16
		stored, all uint64
	}{{"states", zip.Store, 100, 50}, {"edges", 93, 100, 50},
		{"node_types", zip.Store, 1 << 20, 1 << 18}, {"labels", zip.Store, 100, 1 << 26}} {
		data := npyOf("<i4", "False", fmt.Sprintf("(%d,)", c.all), binary.LittleEndian, make([]int32, 10))
		w, err := archive.CreateRaw(&zip.FileHeader{Name: c.name + ".npy", Method: c.method, CompressedSize64: c.stored,
			UncompressedSize64: uint64(len(data)-40) + 4*c.all})
		if err == nil {
			_, err = w.Write(data)
		}
		oracle.OK(t, err)
	}
	oracle.OK(t, archive.Close())
	list := readArchive("x", b.Bytes()).Errors()
	text := fmt.Sprint(list)
	oracle.Equal(t, [2]int{len(list), strings.Count(text, "the file is damaged")}, [2]int{4, 2}, "problems: %s", text)
	oracle.Contains(t, text, "x:labels: a small file promises arrays of 514.0 MiB",
		"unsupported compression algorithm; write the file with numpy.savez_compressed")
}

func TestWriteFileRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	for want, a := range map[string]Arrays{
		"x.npz:labels: shape is [2], want 3":               change(func(a *Arrays) { a.Labels = [][]int32{{0, 1}} }),
		"x.npz:labels[1]: it has 1 entries, the first":     change(func(a *Arrays) { a.Labels[1] = []int32{0} }),
		"x.npz:node_features: 6 values do not divide into": change(func(a *Arrays) { a.NodeFeatures.Columns = 4 }),
		"x.npz:edge_bins: shape is [1], want 3 rows": change(func(a *Arrays) {
			a.EdgeFeatures, a.EdgeBins = nil, []int32{1}
		}),
		"x.npz:edge_bins[1]: is -1, want 0 to": change(func(a *Arrays) {
			a.EdgeFeatures, a.EdgeBins = nil, []int32{0, -1, 1}
		}),
		"x.npz:edges[0]: is (0, 7): node 7 does not exist: ": change(func(a *Arrays) { a.Edges[0][1] = 7 }),
	} {
		oracle.WantError(t, a.WriteFile(path), want)
		if _, err := os.Stat(path); err == nil {
			t.Fatal("a file was written")
		}
	}
}

func FuzzNPZ(f *testing.F) {
	folder := writeSet(f, "", triangle(), change(func(a *Arrays) {
		a.EdgeFeatures, a.EdgeBins, a.GridShape, a.States = nil, []int32{0, 1, 2}, [2]int{1, 3}, []int32{2, 2, 3}
		a.NodeTypes, a.EdgeTypes = []int32{0, 0, 1}, []int32{0, 1, 1}
	}))
	for _, path := range []string{filepath.Join(folder, "0.npz"), filepath.Join(folder, "1.npz"), "testdata/numpy/3.npz", "testdata/numpy/10.npz"} {
		data := oracle.Must(os.ReadFile(path))(f)
		f.Add(data, false)
		f.Add(data, true)
	}
	f.Fuzz(fuzzInstance)
}

// FuzzArrays reaches behind the archive's checksums.
func FuzzArrays(f *testing.F) {
	le := binary.LittleEndian
	f.Add(npyOf("<i4", "False", "(2, 2)", le, []int32{0, 1, 1, 2}), npyOf("<i4", "True", "(1, 3)", le, []int32{0, 1, -1}),
		npyOf("<f4", "False", "(3, 1)", le, []float32{1, 2, 3}), npyOf("|i1", "False", "(2,)", le, []int8{1, 0}), npyOf("|u1", "False", "(3,)", le, []uint8{0, 1, 0}), true)
	f.Fuzz(func(t *testing.T, edges, labels, features, bins, types []byte, untied bool) {
		fuzzInstance(t, zipOf(t, raws{edgesArray: edges, labelsArray: labels, nodeFeaturesArray: features, edgeBinsArray: bins, nodeTypesArray: types}), untied)
	})
}

func fuzzInstance(t *testing.T, data []byte, untied bool) {
	in := readArchive("x.npz", data)
	if len(in.check(&graphCache{})) > 0 {
		return
	}
	l := &npzLoader{loader: newLoader(t.Context(), &Options{Untied: untied}), instances: []*npzInstance{in}}
	if l.finish(); len(l.problems) == 0 && len(l.set.Instances) != 1 {
		t.Error("neither an instance nor a problem")
	}
}

// TestLattice: samples of a grid without edges have those of its neighbours.
func TestLattice(t *testing.T) {
	labels := []int32{0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1}
	data := zipOf(t, raws{"labels": npyOf("<i4", "False", "(2, 6)", binary.LittleEndian, labels),
		"grid_shape": npyOf("<i4", "False", "(2,)", binary.LittleEndian, []int32{2, 3})})
	set := mustOpen(t, writeText(t, "lattice.npz", string(data)), Options{Untied: true, Spins: true})
	unlabelled := zipOf(t, raws{"node_features": npyOf("<f8", "False", "(6, 1)", binary.LittleEndian, make([]float64, 6)),
		"grid_shape": npyOf("<i4", "False", "(2,)", binary.LittleEndian, []int32{2, 3})})
	other := mustOpen(t, writeText(t, "new.npz", string(unlabelled)), Options{States: []string{"a", "b"}})
	for _, in := range []*crf.Instance{set.Instances[0], other.Instances[0]} {
		u, v := in.Graph.Ends()
		oracle.Equal(t, fmt.Sprint(u, v), "[0 0 1 1 2 3 4] [1 3 2 4 5 4 5]", "ends")
	}
}
