package dataset

import (
	"image"
	"image/color"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestLabelNames: labels that do not begin at 0 are the names of as many states, in the
// schema, of data for the model and of what is predicted, unless something tells the states.
func TestLabelNames(t *testing.T) {
	labelled := func(samples ...[]int32) Arrays {
		a := triangle()
		a.Labels = samples
		return a
	}
	for _, untied := range []bool{false, true} {
		set := mustOpen(t, writeSet(t, "", labelled([]int32{1003, -1, 1001}), labelled([]int32{1002, 1002, 1001})), Options{Untied: untied})
		oracle.Equal(t, set.Schema.NodeTypes[0].States, []string{"1001", "1002", "1003"}, "untied %v: states", untied)
		if a, b := set.Instances[0].Samples()[0], set.Instances[1].Samples()[0]; !slices.Equal(a, []int32{2, -1, 0}) || !slices.Equal(b, []int32{1, 1, 0}) {
			t.Errorf("untied %v: labels are states %v and %v", untied, a, b)
		}
		const note = `labels do not begin at 0, and are the names of 3 states: 1001, 1002, 1003; if they number states, ` +
			`give "states" in dataset.json, and if one says that none is known, write -1 (255 in a picture)`
		if !slices.Contains(set.Warnings, note) {
			t.Errorf("untied %v: warnings %q", untied, set.Warnings)
		}
		recipe, err := ParseRecipe(set.Recipe.String())
		oracle.OK(t, err)
		of := Options{Schema: &set.Schema, Recipe: recipe}
		given := mustOpen(t, writeSet(t, "", labelled([]int32{-1, 1003, 1003})), of)
		oracle.Equal(t, given.Instances[0].Samples()[0], []int32{-1, 2, 2},
			"untied %v: of data for the model labels are states", untied)
		oracle.Equal(t, given.Labels(given.Instances[0], []int32{2, -1, 0}), []int32{1003, -1, 1001},
			"untied %v: predicted states are labels", untied)
		for _, wrong := range []int32{2, 1004, -2} {
			refuses(t, writeSet(t, "", labelled([]int32{1001, wrong, 1003})), of, "0.npz:labels[1]: label is ", "want -1 (unobserved) or a state of the model: 1001, 1002, 1003")
		}
	}
	for name, c := range map[string]struct {
		manifest string
		options  Options
		states   int
		labels   []int32
	}{
		"from 0":         {"", Options{}, 4, []int32{0, 3, 3}},
		"one alone":      {"", Options{}, 2, []int32{1, 1, 1}},
		"states":         {`{"states": 4}`, Options{}, 4, []int32{1, 3, 3}},
		"by the options": {"", Options{States: []string{"a", "b", "c", "d"}}, 4, []int32{1, 3, 3}},
	} {
		set := mustOpen(t, writeSet(t, c.manifest, labelled(c.labels)), c.options)
		got := set.Instances[0].Samples()[0]
		if len(set.Schema.NodeTypes[0].States) != c.states || !slices.Equal(got, c.labels) || !slices.Equal(set.Labels(set.Instances[0], got), got) {
			t.Errorf("%s: states %q, labels %v", name, set.Schema.NodeTypes[0].States, got)
		}
	}
}

// TestLabelNamesOfTypes: each type of nodes has names of its own.
func TestLabelNamesOfTypes(t *testing.T) {
	a := triangle()
	a.NodeTypes, a.EdgeTypes, a.NodeFeatures, a.Labels = []int32{0, 0, 1}, nil, nil, [][]int32{{0, 1, 7}, {1, 1, 9}}
	set := mustOpen(t, writeSet(t, "", a), Options{})
	if x, y := set.Schema.NodeTypes[0].States, set.Schema.NodeTypes[1].States; !slices.Equal(x, []string{"0", "1"}) || !slices.Equal(y, []string{"7", "9"}) || !slices.Equal(set.Recipe.LabelNames, []int{1}) {
		t.Errorf("states %q and %q, names %v", x, y, set.Recipe.LabelNames)
	}
	oracle.Equal(t, set.Labels(set.Instances[0], set.Instances[0].Samples()[1]), []int32{1, 1, 9}, "labels")
}

// TestLabelsOfNamesThatAreNumbers: spins of -1 and 1, masks of 0 and 255 and classes of tables that are numbers are
// predicted as the data have them; numbered states that dataset.json names are not.
func TestLabelsOfNamesThatAreNumbers(t *testing.T) {
	for _, c := range []struct {
		recipe Recipe
		states []string
		want   []int32 // of states 1, 0 and none
	}{
		{Recipe{Kind: kindNPZ, Spins: true}, spinStates, []int32{1, -1, -2}},
		{Recipe{Kind: kindNPZ}, spinStates, []int32{1, 0, -1}},
		{Recipe{Kind: kindImages, LabelColours: true}, []string{"0", "255"}, []int32{255, 0, -1}},
		{Recipe{Kind: kindImages}, []string{"1", "2"}, []int32{1, 0, -1}},
		{Recipe{Kind: kindGraph, Sheets: &sheetRecipe{}}, []string{"1", "2"}, []int32{2, 1, -1}},
		{Recipe{Kind: kindGraph, Sheets: &sheetRecipe{}}, []string{"01", "2"}, []int32{1, 0, -1}},
	} {
		set := Set{Recipe: c.recipe, Schema: crf.Schema{NodeTypes: []crf.NodeType{{States: c.states}}}}
		oracle.Equal(t, set.Labels(nil, []int32{1, 0, crf.Unobserved}), c.want, "%+v of %q", c.recipe, c.states)
	}
}

// TestLabelsWithGaps: numbers most of which never occur are names, in pictures, with their colours, tables and arrays.
func TestLabelsWithGaps(t *testing.T) {
	coded := image.NewPaletted(image.Rect(0, 0, 4, 2), make(color.Palette, 256))
	for i := range coded.Palette {
		coded.Palette[i] = color.RGBA{R: uint8(200 - i/2), A: 255}
	}
	copy(coded.Pix, []uint8{3, 255, 15})
	for kind, files := range map[string]map[string]string{
		"palette": labelFolder(t, nil, coded),
		"table":   tables("a\t3\ttrain\t0\nb\t-1\ttrain\t0\nc\t15\ttrain\t0\nd\t0\ttrain\t0\n", "a\tb\n"),
	} {
		folder := writeFiles(t, files)
		set := mustOpen(t, folder, Options{})
		again := mustOpen(t, folder, modelOf(set))
		for _, set := range []*Set{set, again} {
			states := set.Instances[0].Samples()[0]
			if got := set.Labels(set.Instances[0], states)[:4]; !slices.Equal(got, []int32{3, -1, 15, 0}) ||
				!slices.Equal(states[:4], []int32{1, -1, 2, 0}) ||
				!slices.Equal(set.Schema.NodeTypes[0].States, []string{"0", "3", "15"}) {
				t.Errorf("%s: states %v of %q are labels %v", kind, states, set.Schema.NodeTypes[0].States, got)
			}
		}
		if p := set.Recipe.Palette; kind == "palette" && !slices.Equal(p, [][3]uint8{{200}, {199}, {193}}) {
			t.Errorf("colours %v", p)
		}
	}
}
