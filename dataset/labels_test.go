package dataset

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestSpins: labels that are -1 and 1 alone are refused wherever they come from, unless
// something says which of the two -1 is.
func TestSpins(t *testing.T) {
	labelled := func(samples ...[]int32) Arrays {
		a := triangle()
		a.Labels = samples
		return a
	}
	votes := labelled([]int32{-1, 1, 0}, []int32{1, -1, -1}, []int32{1, 1, -1})
	spins := labelled([]int32{1, -1, 1}, []int32{-1, -1, 1})
	const remedy = `if they are spins, use Options.Physics, or write 0 and 1, by labels = (labels + 1) // 2; if -1 is to hide, write "hidden_labels": true into dataset.json`
	for name, c := range map[string]struct {
		manifest string
		arrays   []Arrays
		options  Options
		want     string // of the error; "": there is none
	}{
		"plain":         {"", []Arrays{spins}, Options{}, "0.npz:labels[0,1]: is -1, which hides a label, as are 3 of the 6 labels, and all others are 1; " + remedy},
		"one sample":    {"", []Arrays{labelled([]int32{1, 1, -1})}, Options{}, "0.npz:labels[2]: is -1, which hides a label, as are 1 of the 3 labels"},
		"named":         {`{"states": ["down", "up"]}`, []Arrays{spins}, Options{}, "labels[0,1]"},
		"by an option":  {"", []Arrays{spins}, Options{States: []string{"down", "up"}}, "labels[0,1]"},
		"untied":        {"", []Arrays{spins}, Options{Untied: true}, "labels[0,1]"},
		"two files":     {"", []Arrays{labelled([]int32{1, 1, 1}), spins}, Options{}, "1.npz:labels[0,1]: is -1, which hides a label, as are 3 of the 9 labels"},
		"said":          {`{"hidden_labels": true}`, []Arrays{spins}, Options{}, ""},
		"three states":  {`{"states": 3}`, []Arrays{spins}, Options{}, ""},
		"a zero":        {"", []Arrays{spins, labelled([]int32{1, 0, 1})}, Options{}, ""},
		"votes":         {"", []Arrays{votes}, Options{Spins: true, Untied: true}, ""},
		"votes hidden":  {`{"hidden_labels": true}`, []Arrays{votes}, Options{Spins: true, Untied: true}, ""},
		"many zeros":    {"", []Arrays{votes, labelled([]int32{0, 0, 1})}, Options{Spins: true, Untied: true}, ""},
		"not read":      {`{"states": 2}`, []Arrays{spins}, Options{NoLabels: true}, ""},
		"spins":         {"", []Arrays{spins, labelled([]int32{-1, -1, -1})}, Options{Spins: true}, ""},
		"nothing hides": {"", []Arrays{labelled([]int32{1, 1, 1})}, Options{}, ""},
	} {
		_, err := Open(t.Context(), []string{writeSet(t, c.manifest, c.arrays...)}, c.options)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), remedy)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A check names the first place once: no file is at fault.
	_, list := Check(t.Context(), []string{writeSet(t, "", spins, spins, spins)}, Options{})
	if len(list) != 1 || !strings.Contains(list[0].Error(), "as are 9 of the 18 labels") {
		t.Errorf("check finds %q", list)
	}
	// Of spins that were asked for, a rare 0 is missing.
	set := mustOpen(t, writeSet(t, "", votes), Options{Spins: true, Untied: true})
	if got := set.Instances[0].Samples(); !reflect.DeepEqual(got, [][]int32{{0, 1, -1}, {1, 0, 0}, {1, 1, 0}}) || !strings.Contains(set.Warnings[0], "0 is taken for a missing one (1 of 9)") {
		t.Errorf("votes are %v, with %q", got, set.Warnings)
	}
	// For a model some labels may be given to be held: they are read, with a warning.
	set = mustOpen(t, writeSet(t, "", labelled([]int32{1, 0, 1})), Options{})
	given := mustOpen(t, writeSet(t, "", spins), modelOf(set))
	if len(given.Warnings) != 1 || !strings.Contains(given.Warnings[0], "labels[0,1]: is -1") {
		t.Errorf("warnings %q", given.Warnings)
	}
	learning := Options{Schema: &set.Schema, Recipe: &set.Recipe, Learning: true}
	oracle.Fails(Open(t.Context(), []string{writeSet(t, "", spins)}, learning))(t,
		"0.npz:labels[0,1]: is -1, which hides a label", "if they are spins")
}

// TestAbout: what data say for those who read models is in their recipe, and asked of no other data.
func TestAbout(t *testing.T) {
	for _, untied := range []bool{false, true} {
		a := triangle()
		a.Labels = [][]int32{{0, 1, 1}}
		set := mustOpen(t, writeSet(t, `{"about": "{\"x\": 1}"}`, a), Options{Untied: untied})
		oracle.Equal(t, set.Recipe.About, `{"x": 1}`, "untied %v: the recipe is about", untied)
		mustOpen(t, writeSet(t, "", a), modelOf(set))
	}
}

// TestReadSpins: spins are states 0 and 1, also of data for the model; a zero makes them labels as usual.
func TestReadSpins(t *testing.T) {
	labels := func(samples ...[]int32) string {
		a := triangle()
		a.Labels = samples
		return writeSet(t, "", a)
	}
	set := mustOpen(t, labels([]int32{1, -1, 1}, []int32{-1, -1, 1}), Options{Untied: true, Spins: true})
	if got := set.Instances[0].Samples(); !slices.Equal(got[0], []int32{1, 0, 1}) || !slices.Equal(got[1], []int32{0, 0, 1}) {
		t.Errorf("spins are labels %v", got)
	}
	if states := set.Schema.NodeTypes[0].States; !slices.Equal(states, []string{"-1", "1"}) || len(set.Warnings) != 1 {
		t.Errorf("states %q, warnings %q", states, set.Warnings)
	}
	for _, c := range [][2][]int32{{{-1, -1, -1}, {0, 0, 0}}, {{1, 1, 1}, {1, 1, 1}}, {{0, 1, -1}, {0, 1, -1}}} {
		given := mustOpen(t, labels(c[0]), modelOf(set))
		oracle.Equal(t, given.Instances[0].Samples()[0], c[1], "%v are labels", c[0])
	}
	hidden := triangle()
	hidden.Labels = [][]int32{{1, -1, 1}, {-1, 1, 1}}
	given := mustOpen(t, writeSet(t, `{"hidden_labels": true}`, hidden), Options{Untied: true, Spins: true})
	oracle.Equal(t, given.Instances[0].Samples()[0], []int32{1, -1, 1}, "labels where -1 hides by dataset.json")
}

// TestHiddenOfPlainTables: -1 hides a label there, whatever the others are.
func TestHiddenOfPlainTables(t *testing.T) {
	files := map[string]string{"g.nodes.tsv": "a\t1\ttrain\nb\t-1\ttrain\nc\t1\ttest\n", "g.edges.tsv": "a\tb\n"}
	refuses(t, writeFiles(t, files), Options{}, `g.nodes.tsv: every label is "1", which tells of one state only`)
	set := mustOpen(t, writeFiles(t, files), Options{Observed: "train", States: []string{"p", "q"}})
	if want := []string{`2 of 3 labels are hidden (-1, or not in the split "train")`, `state "p" of node type "node" never occurs among the labels: ` + avoided}; !slices.Equal(set.Warnings, want) {
		t.Errorf("warnings %q, want %q", set.Warnings, want)
	}
}

// TestSpinsOfImages: a table of labels may hold spins, and 255 in a picture hides.
func TestSpinsOfImages(t *testing.T) {
	files := someImages(t)
	files[ManifestName] = `{"states": 2}`
	files["labels/2.regions.txt"] = "1 1 1 -1\n1 1 -7 1\n"
	files["labels/tall.regions.txt"] = "1 1\n1 1\n1 1\n1 1\n"
	files["labels/10.png"] = string(indexed(t, 2, 4, 1, 1, 1, 255, 1, 1, 1, 1))
	folder := writeFiles(t, files)
	refuses(t, folder, Options{Bins: 2}, folder+`/labels/2.regions.txt:1: number 4 is -1, which hides a label, as are 2 of the 23 labels, and all others are 1; if they are spins, write 0 and 1; if -1 is to hide, write "hidden_labels": true into dataset.json`)
	files["labels/2.regions.txt"] = "1 1 1 1\n1 1 1 1\n"
	mustOpen(t, writeFiles(t, files), Options{Bins: 2})
}

// TestStatesThatNeverOccur: some are named, and all are counted.
func TestStatesThatNeverOccur(t *testing.T) {
	a := triangle()
	a.Labels = [][]int32{{0, 8, 8}}
	for manifest, want := range map[string]string{
		`{"states": 9}`: `state "1" of node type "node", state "2" of node type "node", state "3" of node type "node", state "4" of node type "node", state "5" of node type "node" and 2 more never occur among the labels: ` + avoided,
		`{"states": 9, "forbidden_states": ["1", "2", "3", "4", "5", "6"]}`: `state "7" of node type "node" never occurs among the labels: ` + avoided,
	} {
		oracle.Equal(t, mustOpen(t, writeSet(t, manifest, a), Options{}).Warnings, []string{want}, "warnings")
	}
	set := mustOpen(t, writeSet(t, `{"states": 9, "forbidden_states": ["1", "2", "3", "4", "5", "6", "7"]}`, a), Options{})
	oracle.Equal(t, len(set.Warnings), 0, "warnings %q, about states that are forbidden", set.Warnings)
	oracle.Equal(t, len(mustOpen(t, writeSet(t, "", a), modelOf(set)).Warnings), 0, "warnings about data for a model")
}
