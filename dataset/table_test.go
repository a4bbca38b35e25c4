package dataset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/google/go-cmp/cmp"
)

const someNodes = "#node\tlabel(-1=none)\tsplit\tsparse_features\n" +
	"a\t0\ttrain\t3:0.5 0\n" +
	"b\t2\ttest\t\r\n" +
	"\n" +
	"c\t-1\ttrain\t?\n" +
	"d\t1\n"

const someEdges = "a\tb\nc\ta\nb b\nd c\nb\ta\nd\td\n"

func tables(nodes, edges string) map[string]string {
	return map[string]string{"x.nodes.tsv": nodes, "x.edges.tsv": edges}
}

func TestTables(t *testing.T) {
	folder := writeFiles(t, tables(someNodes, someEdges))
	for _, path := range []string{folder, folder + "/x", folder + "/x.nodes.tsv", folder + "/x.edges.tsv"} {
		set := mustOpen(t, path, Options{States: []string{"p", "q", "r"}})
		in := set.Instances[0]
		if in.Name != "x" || in.Graph.NumNodes() != 4 || in.Graph.NumEdges() != 3 {
			t.Errorf("instance %q has %d nodes and %d edges", in.Name, in.Graph.NumNodes(), in.Graph.NumEdges())
		}
	}
	set := mustOpen(t, folder, Options{})
	in, s := set.Instances[0], set.Schema
	if names := s.NodeTypes[0].FeatureNames; len(s.NodeTypes) != 1 || !slices.Equal(names, []string{"0", "1", "2", "3", "features (missing)", "bias"}) {
		t.Errorf("node types are %+v", s.NodeTypes)
	}
	oracle.Equal(t, edgeNames(&s), []string{"edge"}, "edge types %+v, recipe %+v", s.EdgeTypes, set.Recipe)
	for node, want := range [][]float64{{1, 0, 0, .5, 0, 1}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 1, 0}} {
		oracle.Equal(t, row(in.NodeFeatures(0), node), want, "features of node %d", node)
	}
	if u, v := in.Graph.Ends(); !slices.Equal(u, []int32{0, 0, 2}) || !slices.Equal(v, []int32{1, 2, 3}) {
		t.Errorf("edges join %v and %v", u, v)
	}
	if !cmp.Equal(in.Samples(), [][]int32{{0, 2, -1, 1}}) || !cmp.Equal(set.Splits, [][]string{{"train", "test", "train", ""}}) || !cmp.Equal(set.Names, [][]string{{"a", "b", "c", "d"}}) {
		t.Errorf("labels %v, splits %q, names %q", in.Samples(), set.Splits, set.Names)
	}
	for i, want := range []string{`column "features" has 1 missing cells of 2: nothing stands for them`, "x.edges.tsv:3: an edge from a node to itself is left out (2 in all)", "x.edges.tsv:5: an edge that is there already", "1 of 4 labels are hidden (-1)"} {
		oracle.Contains(t, set.Warnings[i], want)
	}
	set = mustOpen(t, folder, Options{Observed: "train", NoBias: true})
	if !cmp.Equal(set.Instances[0].Samples(), [][]int32{{0, -1, -1, -1}}) || len(set.Schema.NodeTypes) != 1 || set.Schema.NodeTypes[0].Features != 5 {
		t.Errorf("labels %v, schema %+v", set.Instances[0].Samples(), set.Schema)
	}
	if set = mustOpen(t, folder, Options{NoLabels: true, States: []string{"p", "q", "r"}}); len(set.Instances[0].Samples()) != 0 {
		t.Error("there are labels")
	}
}

func TestTablesAgainstModel(t *testing.T) {
	whole := "0\t0\ta\t1\n1\t1\ta\t0\n"
	set := mustOpen(t, writeFiles(t, tables(whole, "0\t1\n")), Options{})
	model := modelOf(set)
	mustOpen(t, writeFiles(t, tables("0\t-1\ta\t1\n", "")), model)
	for nodes, want := range map[string]string{
		"0\t0\ta\t2\n":          `x.nodes.tsv:1:features: feature "2": index is beyond the 2 features that there are`,
		whole + "2\t2\ta\t1\n":  `x.nodes.tsv:3: label is "2", which is none of the 2 states`,
		whole + "2\t-2\ta\t1\n": `x.nodes.tsv:3: label is "-2"`,
	} {
		refuses(t, writeFiles(t, tables(nodes, "")), model, want)
	}
	// A model that saw a node without features takes data with and without.
	set = mustOpen(t, writeFiles(t, tables("0\t0\ta\t1\n1\t1\ta\t?\n", "1\t0\n")), Options{})
	model = modelOf(set)
	for nodes, want := range map[string][]float64{"0\t0\ta\t?\n1\t1\ta\t?\n": {0, 0, 1, 0}, "0\t0\ta\t0\n1\t1\ta\t1\n": {0, 1, 0, 1}} {
		in := mustOpen(t, writeFiles(t, tables(nodes, "1\t0\n")), model).Instances[0]
		oracle.Equal(t, row(in.NodeFeatures(0), 1), want, "%q: features of node 1", nodes)
	}
}

// TestTablesAgainstOtherModels: the model has types that tables do not have, or no edge type.
func TestTablesAgainstOtherModels(t *testing.T) {
	states := []string{"p", "q"}
	schema := crf.Schema{NodeTypes: []crf.NodeType{{Name: "node", States: states, Features: 3}}}
	model := Options{Schema: &schema, Recipe: oracle.Must(ParseRecipe(`{"kind": "graph", "feature_dim": 2, "bias": true}`))(t)}
	paths := []string{writeFiles(t, tables("0\t0\ta\t0\n1\t1\ta\t1\n", "1\t0\n"))}
	oracle.Fails(Open(t.Context(), paths, model))(t, `x.nodes.tsv: 1 edges, but the model has no edge type`)
	schema.NodeTypes = append(schema.NodeTypes, crf.NodeType{Name: "other", States: states, Features: 1})
	oracle.Fails(Open(t.Context(), paths, model))(t, "recipe: it makes other features than the model has weights for")
}

func TestTablesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, edges string
		want         []string
	}{
		"twice":     {"0\t0\n0\t1\n", "", []string{`x.nodes.tsv:2:id: node "0" is on line 1 already`}},
		"feature":   {"0\t0\t\t1:x\n", "", []string{`x.nodes.tsv:1:features: feature "1:x": value`}},
		"hex":       {"0\t0\t\t1:0x1p-2\n", "", []string{`x.nodes.tsv:1:features: feature "1:0x1p-2": value is not a finite decimal number`}},
		"index":     {"0\t0\t\tone\n", "", []string{`feature "one": want index or index:value, or ?`}},
		"negative":  {"0\t0\t\t-1\n", "", []string{`feature "-1": want`}},
		"huge":      {"0\t0\t\t2000000000\n", "", []string{"index is beyond the 1 features that there are"}},
		"repeated":  {"0\t0\t\t3 1 3\n", "", []string{"feature 3 is given twice"}},
		"no node":   {"0\t0\n", "0 7\n", []string{`x.edges.tsv:1:target: there is no node "7" in `}},
		"one state": {"0\t0\n1\t0\n", "", []string{"x.nodes.tsv: every label is \"0\"", "dataset.json"}},
		"no label":  {"0\t-1\n", "", []string{"x.nodes.tsv: no node has a label; fill in some"}},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, writeFiles(t, tables(c.nodes, c.edges)), Options{}, c.want...)
		})
	}
	one := writeFiles(t, map[string]string{"d.edges.tsv": ""})
	refuses(t, filepath.Join(one, "d.edges.tsv"), Options{}, "d.nodes.tsv", "no such file")
	refuses(t, writeFiles(t, tables("0\t0\ttrain\n", "")), Options{Observed: "tran"}, `Observed: no node is in the split "tran"; did you mean train?`)
	refuses(t, writeFiles(t, tables("0\t0\ttrain\n1\t1\ttest\n", "")), Options{Observed: "foo"}, `no node is in the split "foo"; valid are test, train`)
	files := tables("0\t0\ttrain\n", "")
	files[ManifestName] = `{"edge_bins": 3}`
	refuses(t, writeFiles(t, files), Options{}, "dataset.json:edge_bins: it applies to npz data only")
	if _, list := Check(t.Context(), []string{writeFiles(t, tables(strings.Repeat("x\t0\n", 30), ""))},
		Options{}); len(list) != option.MostPerFile+1 {
		t.Errorf("%d problems, want %d", len(list), option.MostPerFile+1)
	}
}

func TestTablesManifestAndSeveral(t *testing.T) {
	files := tables("0\t0\ttrain\t1\n", "")
	files["y.nodes.tsv"], files["y.edges.tsv"] = "0\t1\tx\t0\n", ""
	files[ManifestName] = `{"states": ["no", "yes"], "node_features": ["a", "b"]}`
	folder := writeFiles(t, files)
	set, err := Open(t.Context(), []string{folder + "/x", folder + "/y"}, Options{})
	oracle.OK(t, err)
	n := set.Schema.NodeTypes[0]
	if !slices.Equal(n.FeatureNames, []string{"a", "b", "bias"}) || !slices.Equal(n.States, []string{"no", "yes"}) || len(set.Instances) != 2 || len(set.Sources) != 5 {
		t.Errorf("type %+v, %d instances, sources %v", n, len(set.Instances), set.Sources)
	}
	set = mustOpen(t, folder, Options{})
	if in := set.Instances; len(in) != 2 || in[0].Name != "x" || in[1].Name != "y" ||
		!strings.Contains(set.Warnings[0], "holds 2 graphs, which share one model") {
		t.Errorf("%d instances, warnings %q", len(in), set.Warnings)
	}
	files["y.nodes.tsv"] = "0\t1\tx\t2\n"
	refuses(t, writeFiles(t, files)+"/y", Options{}, "index is beyond the 2 features that there are")
}
