package dataset

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMask: what dataset.json forbids becomes the schema's mask.
func TestMask(t *testing.T) {
	a := triangle()
	a.Labels = [][]int32{{0, 1, 1}}
	set := mustOpen(t, writeSet(t, `{"states": ["x", "y", "z"], "directed": true, "forbidden_states": ["z"], "forbidden_pairs": [["y", "x"], ["x", "z"]]}`, a), Options{})
	if n, e := set.Schema.NodeTypes[0].Forbidden, set.Schema.EdgeTypes[0].Forbidden; !slices.Equal(n, []int{2}) || !slices.Equal(e, [][2]int{{1, 0}, {0, 2}}) {
		t.Errorf("forbidden %v, %v", n, e)
	}
	// A model's mask decides; labels that it forbids are no error then.
	a.Labels = [][]int32{{1, 0, 1}}
	mustOpen(t, writeSet(t, "", a), modelOf(set))
	refuses(t, writeSet(t, `{"states": ["x", "y"], "directed": true, "forbidden_pairs": [["y", "x"]]}`, a), Options{}, "0.npz: labels of sample 0 at edges[0]: the pair y, x of edge type \"edge\" is forbidden; correct the labels")
	untied := mustOpen(t, writeSet(t, `{"states": ["x", "y"], "forbidden_pairs": [["x", "x"]]}`, a), Options{Untied: true})
	oracle.Equal(t, untied.Schema.EdgeTypes[0].Forbidden, [][2]int{{0, 0}}, "untied: forbidden")
}

// TestMaskOfTypes: each type has the states and pairs that are its own.
func TestMaskOfTypes(t *testing.T) {
	a := triangle()
	a.NodeTypes, a.Labels = []int32{0, 0, 1}, [][]int32{{0, 1, 0}}
	a.EdgeFeatures = nil
	set := mustOpen(t, writeSet(t, `{
		"states": ["x", "y", "z"], "forbidden_states": ["z", "q"], "forbidden_pairs": [["y", "y"], ["x", "r"], ["y", "r"]],
		"node_types": ["a", {"name": "b", "states": ["p", "q", "r"]}],
		"edge_types": [{"name": "aa", "u": "a", "v": "a"}, {"name": "ab", "u": "a", "v": "b"}]}`, a), Options{})
	n, e := set.Schema.NodeTypes, set.Schema.EdgeTypes
	if !slices.Equal(n[0].Forbidden, []int{2}) || !slices.Equal(n[1].Forbidden, []int{1}) || !slices.Equal(e[0].Forbidden, [][2]int{{1, 1}}) || !slices.Equal(e[1].Forbidden, [][2]int{{0, 2}, {1, 2}}) {
		t.Errorf("forbidden %v %v, %v %v", n[0].Forbidden, n[1].Forbidden, e[0].Forbidden, e[1].Forbidden)
	}
}

// TestMaskRefuses: names that do not exist, and masks that leave nothing.
func TestMaskRefuses(t *testing.T) {
	a := triangle()
	for manifest, want := range map[string]string{
		`{"states": ["x", "y"], "forbidden_states": ["yy"]}`:                                                               `dataset.json:forbidden_states[0]: no node type has a state "yy"; did you mean "y"?`,
		`{"states": ["x", "y"], "forbidden_pairs": [["x", "q"]]}`:                                                          "dataset.json:forbidden_pairs[0]: no edge type joins states x and q",
		`{"states": ["x", "y"], "forbidden_pairs": [["x"]]}`:                                                               "want the names of two states",
		`{"states": ["x", "y"], "forbidden_states": ["x", "y"]}`:                                                           "dataset.json: schema: node_types[0] (\"node\"): every state is forbidden",
		`{"states": ["x", "y"], "forbidden_pairs": [["x", "y"]]}`:                                                          `dataset.json: schema: edge_types[0] ("edge"): forbidden[0] is the pair x, y; the type has no direction: forbid y, x too, or say that it has one`,
		`{"states": ["x", "y"], "forbidden_pair": [["x", "y"]]}`:                                                           `did you mean "forbidden_pairs"?`,
		`{"states": ["x", "y"], "forbidden_pairs": [["x", "x"], ["x", "y"], ["y", "x"], ["y", "y"]], "node_types": ["n"]}`: "every pair of states is forbidden",
	} {
		refuses(t, writeSet(t, manifest, a), Options{}, want)
	}
	var data *Error
	_, err := Open(t.Context(), []string{writeSet(t, `{"states": ["x", "y"], "forbidden_states": ["x", "y"]}`, a)}, Options{Untied: true})
	if oracle.WantError(t, err, "dataset.json: ", "every state is forbidden"); !errors.As(err, &data) {
		t.Errorf("%v is no *Error", err)
	}
}

// TestMaskOfModel: a mask that is not that of the model is a warning, and a problem
// where the model is to learn from the data, with weights tied or not.
func TestMaskOfModel(t *testing.T) {
	a := triangle()
	a.Labels = [][]int32{{0, 1, 1}}
	text := func(mask string) string { return `{"states": ["x", "y", "z"]` + mask + `}` }
	npz := func(mask string) string { return writeSet(t, text(mask), a) }
	for _, untied := range []bool{false, true} {
		for _, masked := range []string{"", `, "forbidden_states": ["z"]`} {
			model := mustOpen(t, npz(masked), Options{Untied: untied})
			for _, mask := range []string{"", `, "forbidden_states": ["z"]`, `, "forbidden_pairs": [["y", "x"]]`} {
				data := npz(mask)
				o := modelOf(model)
				differs := mask != "" && mask != masked
				warned := slices.ContainsFunc(mustOpen(t, data, o).Warnings, func(w string) bool {
					return strings.Contains(w, "dataset.json: what it forbids is not what the model forbids")
				})
				oracle.Equal(t, warned, differs, "untied %v: the data have%s, the model has%s: warned", untied, mask, masked)
				o.Learning = true
				_, err := Open(t.Context(), []string{data}, o)
				if differs {
					oracle.WantError(t, err, "dataset.json: what it forbids is not what the model forbids")
				} else if err != nil {
					t.Errorf("untied %v: the data have%s, the model%s: %v", untied, mask, masked, err)
				}
			}
		}
	}
	// Labels to go on learning from must be possible under the model.
	learning := modelOf(mustOpen(t, npz(`, "forbidden_states": ["z"]`), Options{}))
	learning.Learning = true
	a.Labels = [][]int32{{0, 2, 1}}
	refuses(t, npz(""), learning, "0.npz: labels[0,1]: state z", "what the model forbids")
}
