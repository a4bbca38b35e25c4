package dataset

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// The states of a dataset.json must be those of the model: by name, or by number
// where one of the two has no names. The option States stands for them.
func TestStatesAgainstModel(t *testing.T) {
	write := func(manifest string) string { return writeSet(t, manifest, triangle()) }
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
		o := modelOf(c.model)
		o.States = c.states
		_, err := Open(t.Context(), []string{write(c.manifest)}, o)
		if c.want != "" {
			oracle.WantError(t, err, c.want)
		} else if err != nil {
			t.Errorf("%s, States %q: %v", c.manifest, c.states, err)
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
			oracle.WantError(t, err, ManifestName, c.want)
		} else if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
