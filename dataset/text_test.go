package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

func TestNaturalOrder(t *testing.T) {
	want := []string{"", "1.npz", "02.npz", "2.npz", "10.npz", "a", "a1b2", "a1b10", "a2"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, numeric.NaturalOrder)
	oracle.Equal(t, got, want, "order")
}

func TestParseList(t *testing.T) {
	entries, list := parseList("l.txt", []byte("# ids\r\n\r\n a b \r\n2\n"))
	if want := []listEntry{{"a b", 3}, {"2", 4}}; len(list) > 0 || !slices.Equal(entries, want) {
		t.Errorf("%v (%v), want %v", entries, list, want)
	}
	for text, want := range map[string]string{
		"":            "l.txt: the list is empty",
		"PK\x03\x00":  "l.txt:1: it is not text",
		"\xff\xfe\n1": "l.txt:1: it is not text",
	} {
		_, list := parseList("l.txt", []byte(text))
		oracle.WantError(t, firstOf(list), want)
	}
}

func FuzzList(f *testing.F) {
	f.Add([]byte("# ids\na\nb\n\na"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, list := parseList("l", data)
		if len(entries) == 0 && len(list) == 0 {
			t.Error("an empty list without an error")
		}
	})
}

func TestManifestRoundTrip(t *testing.T) {
	want := Manifest{
		NodeFeatures: []string{"height"},
		EdgeBins:     4,
		NodeTypes: []ManifestType{{Name: "pixel", States: stateNames{"sky", "tree"}},
			{Name: "region", States: stateNames{"0", "1", "2"}, Features: []string{"size"}}},
		EdgeTypes: []ManifestType{{Name: "in", U: "pixel", V: "region"}, {Name: "next"}},
	}
	folder := t.TempDir()
	oracle.OK(t, want.Write(folder))
	written := oracle.Must(os.ReadFile(filepath.Join(folder, ManifestName)))(t)
	got := oracle.Must(parseManifest("d", written))(t)
	oracle.Equal(t, got, want, "manifest")
	short := `{"states": 2, "node_types": ["pixel", {"name": "region", "states": 3}], "edge_types": ["next"]}`
	got, err := parseManifest("d", []byte(short))
	if err != nil || got.NodeTypes[0].Name != "pixel" || len(got.NodeTypes[1].States) != 3 || len(got.States) != 2 || got.EdgeTypes[0].Name != "next" {
		t.Errorf("%+v (%v)", got, err)
	}
	oracle.WantError(t, (&Manifest{EdgeBins: -1}).Write(folder), "edge_bins is -1, want 1 to")
}

func TestManifestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "d.json:1: the JSON ends too early",
		"{\n\"states\": [\"a\",]\n}":             "d.json:2: ",
		"{\n\n\"sates\": [\"a\"]}":               `d.json:3: unknown field "sates"; did you mean "states"?`,
		`{"node_types": [{"nam": "x"}]}`:         `unknown field "nam"; did you mean "name"?`,
		`{} {}`:                                  "text after",
		`{"states": 0}`:                          "states is 0",
		`{"states": 1000000000}`:                 "states is 1000000000",
		`{"states": "sky"}`:                      `states is "sky", want a list of names or their number`,
		`{"states": ["a", "a"]}`:                 `states[1] is "a", which is used twice`,
		`{"states": [""]}`:                       "states[0] has no name",
		`{"edge_bins": -1}`:                      "edge_bins is -1",
		`{"edge_bins": "ten"}`:                   "d.json:edge_bins: found a JSON string, want a whole number",
		`{"node_types": ["a", "a"]}`:             "used twice",
		`{"edge_types": [{"name": ""}]}`:         "edge_types[0] has no name",
		`{"edge_types": [{"name":"x","u":"a"}]}`: "give both u and v",
		`{"node_types":["ab"],"edge_types":[{"name":"x","u":"aa","v":"ab"}]}`: `node type "aa" is not among node_types; did you mean "ab"?`,
		`{"node_types":[{"name":"a","states":["x","x"]}]}`:                    "node_types[0].states[1]",
		`{"node_types":[{"name":"a","u":"x"}]}`:                               "u, v and directed are of edges",
		`{"edge_types":[{"name":"a","states":3}]}`:                            "edge_types[0]: states are of nodes",
		`[]`: "found a JSON array, want an object",
	} {
		oracle.Fails(parseManifest("d.json", []byte(text)))(t, "d.json:", want)
	}
}

// FuzzManifest: a manifest that loads is one that can be used.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"states": ["a"], "node_types": ["p", {"name": "q", "states": 3}], "edge_types": [{"name": "e", "u": "p", "v": "q"}], "edge_bins": 3}`))
	f.Add([]byte(`{"states": 7, "node_features": ["x"], "edge_features": null}`))
	f.Add([]byte(`{"states": 2, "States": 3}`))
	f.Add([]byte(`{"edge_types": [{"name": "e", "bins": 3, "bins": 4}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest("d.json", data)
		if err != nil {
			return
		}
		oracle.Equal(t, m.validate(), "", "what the manifest lacks")
	})
}

func TestDetect(t *testing.T) {
	both := writeFiles(t, map[string]string{"a.npz": "", "x.nodes.tsv": "", "images/1.jpg": "", "empty/x.csv": ""})
	for _, c := range []struct{ path, kind, want, err string }{
		{"a.npz", "", kindNPZ, ""}, {"x.nodes.tsv", "", kindGraph, ""}, {"x", "", kindGraph, ""},
		{"", kindImages, kindImages, ""}, {"", kindGraph, kindGraph, ""},
		{"", "", "", "kinds npz and images and graph, such as "},
		{"a.npz", kindGraph, "", "a.npz is npz data, not graph"},
		{"empty", "", "", "x.csv looks like a table, and has no name by which a folder is read"},
		{"none", "", "", "no such file"},
		{"a.npz", "grap", "", `did you mean "graph"?`},
	} {
		kind, list := formats.KindOf([]string{filepath.Join(both, c.path)}, c.kind, false)
		if c.err != "" {
			oracle.WantError(t, firstOf(list), c.err)
		} else if len(list) > 0 || kind != c.want {
			t.Errorf("%q: %s (%v), want %s", c.path, kind, list, c.want)
		}
	}
	_, list := formats.KindOf([]string{filepath.Join(both, "a.npz"), filepath.Join(both, "x")}, "", false)
	oracle.WantError(t, firstOf(list), "give data of one kind")
	oracle.Fails(Open(t.Context(), nil, Options{}))(t, "no data are given")
	// The model says which of several kinds a folder is read as.
	refuses(t, both, Options{Recipe: &Recipe{Kind: kindGraph, Sheets: &sheetRecipe{}}, Schema: &crf.Schema{}},
		"schema: no node type")
	if _, err := Open(t.Context(), []string{filepath.Join(both, "none")}, Options{}); !os.IsNotExist(err) {
		t.Errorf("error is %v, want the disk's", err)
	}
}
