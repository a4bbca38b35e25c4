package dataset

import (
	"strings"
	"testing"
)

// The states of a dataset.json must be those of the model: by name, or by number
// where one of the two has no names. The option States stands for them.
func TestStatesAgainstModel(t *testing.T) {
	files := func(manifest string) map[string]string {
		f := tables("a\t0\t\t0\nb\t1\t\t0\n", "a\tb\n")
		if manifest != "" {
			f[ManifestName] = manifest
		}
		return f
	}
	images := func(manifest string) map[string]string {
		f := someImages(t)
		f["labels/2.regions.txt"], f["labels/10.png"] = "0 1 1 -1\n1 1 -7 0\n", indexed(t, 2, 4, 0, 1)
		f[ManifestName] = manifest
		return f
	}
	kinds := map[string]func(manifest string) string{
		"npz":    func(m string) string { return writeSet(t, m, triangle()) },
		"tables": func(m string) string { return writeFiles(t, files(m)) },
		"images": func(m string) string { return writeFiles(t, images(m)) },
	}
	for kind, write := range kinds {
		named := mustOpen(t, write(`{"states": ["off", "on"]}`), Options{})
		numbered := mustOpen(t, write(`{"states": 2}`), Options{})
		for _, c := range []struct {
			model    *Set
			manifest string
			states   []string
			want     string // "": accepted
		}{
			{named, `{"states": ["off", "on"]}`, nil, ""},
			{named, `{"states": 2}`, nil, ""},
			{numbered, `{"states": ["off", "on"]}`, nil, ""},
			{named, `{"states": ["on", "off"]}`, nil, `dataset.json`},
			{named, `{"states": ["on", "off"]}`, []string{"off", "on"}, ""},
			{named, `{"states": 3}`, nil, `they are 3, the model has 2 (["off" "on"])`},
		} {
			_, err := Open(t.Context(), []string{write(c.manifest)}, Options{Schema: &c.model.Schema, Recipe: &c.model.Recipe, States: c.states})
			if c.want != "" {
				wantError(t, err, c.want)
			} else if err != nil {
				t.Errorf("%s %s, States %q: %v", kind, c.manifest, c.states, err)
			}
		}
	}
}

// The names of types and features of a dataset.json must be those of the model too:
// what the arrays number would be something else.
func TestNamesAgainstModel(t *testing.T) {
	const manifest = `{"node_types": [{"name": "a", "features": ["x", "y"]}, {"name": "b", "features": ["z", "bias"]}],
		"edge_types": [{"name": "near", "features": ["far"]}, "part"], "states": ["off", "on"]}`
	arrays := triangle()
	arrays.NodeTypes, arrays.EdgeTypes = []int32{0, 0, 1}, []int32{0, 1, 1}
	named := mustOpen(t, writeSet(t, manifest, arrays), Options{})
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"x", "y"`, `"y", "x"`, `node_features: they are ["y" "x"], the model has ["x" "y"] for node type "a"`},
		{`"x", "y"`, `"0", "1"`, ""},
		{`"z"`, `"w"`, `for node type "b"`},
		{`"part"`, `"whole"`, `edge_types: they are ["near" "whole"], the model has ["near" "part"]`},
		{`"a", "features": ["x", "y"]}, {"name": "b", "features": ["z", "bias"]}`, `"b", "features": ["x", "y"]}, {"name": "a", "features": ["z", "bias"]}`, "node_types"},
		{`"far"`, `"close"`, `edge_features: they are ["close"]`},
	} {
		text := strings.Replace(manifest, c.from, c.to, 1)
		_, err := Open(t.Context(), []string{writeSet(t, text, arrays)}, modelOf(named))
		if c.want != "" {
			wantError(t, err, ManifestName, c.want)
		} else if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
