package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/oracle"
)

const someColumns = "-DOCSTART- -X- O\n\nAnn NNP B\nsees VBZ O\nAnn NNP ?\n\n\nIt PRP O\n"

const someAttributes = "B\tw=Ann\t__BOS__\nO\tw=sees\tlen:4\tlen:1\nB\tw\\:1=a:0.5\n\nO\tw=It\t__BOS__\n"

// namedRow lists the features of a token that are not zero, by name.
func namedRow(set *Set, sentence, token int) map[string]float64 {
	found := map[string]float64{}
	for j, x := range row(set.Instances[sentence].NodeFeatures(0), token) {
		if x != 0 {
			found[set.Schema.NodeTypes[0].FeatureNames[j]] = x
		}
	}
	return found
}

func ones(names ...string) map[string]float64 {
	all := map[string]float64{}
	for _, n := range names {
		all[n] = 1
	}
	return all
}

func TestTextColumns(t *testing.T) {
	for _, name := range []string{"a.conll", "a.txt", "a"} {
		set := mustOpen(t, writeFiles(t, map[string]string{name: someColumns})+"/"+name, Options{})
		if len(set.Instances) != 2 || set.Instances[0].Name != "a-1" || set.Instances[1].Graph.NumNodes() != 1 {
			t.Fatalf("%d sentences", len(set.Instances))
		}
		u, v := set.Instances[0].Graph.Ends()
		if !slices.Equal(u, []int32{0, 1}) || !slices.Equal(v, []int32{1, 2}) || !cmp.Equal(edgeNames(&set.Schema), []string{"next"}) || set.Schema.EdgeTypes[0].Symmetric {
			t.Errorf("edges join %v and %v, of types %+v", u, v, set.Schema.EdgeTypes)
		}
		if !cmp.Equal(set.Schema.NodeTypes[0].States, []string{"B", "O"}) || !cmp.Equal(set.Instances[0].Samples(), [][]int32{{0, 1, -1}}) || !cmp.Equal(set.Names, [][]string{{"Ann", "sees", "Ann"}, {"It"}}) {
			t.Errorf("states %q, labels %v, names %q", set.Schema.NodeTypes[0].States, set.Instances[0].Samples(), set.Names)
		}
		want := ones("word=sees", "shape=x", "column 2=VBZ", "before:word=ann", "before:shape=Xx", "before:column 2=NNP", "after:word=ann", "after:shape=Xx", "after:column 2=NNP", "ending=s", "ending=es", "ending=ees", "bias")
		oracle.Equal(t, namedRow(set, 0, 1), want, "attributes")
		want = ones("word=it", "shape=Xx", "column 2=PRP", "first", "last", "ending=t", "bias")
		oracle.Equal(t, namedRow(set, 1, 0), want, "attributes")
	}
	composed, apart := "caf\u00e9\t\u00e9\tA\n", "cafe\u0301\te\u0301\tA\n" // é as one letter and as two
	set := mustOpen(t, writeFiles(t, map[string]string{"a.conll": composed + "\n" + apart + "\nx\ty\tB\n"}), Options{})
	oracle.Equal(t, namedRow(set, 1, 0), namedRow(set, 0, 0), "attributes")
}

func TestTextAttributes(t *testing.T) {
	set := mustOpen(t, writeFiles(t, map[string]string{"a.crfsuite": someAttributes}), Options{NoBias: true})
	for token, want := range []map[string]float64{ones("w=Ann", "__BOS__"), {"w=sees": 1, "len": 5}, {"w:1=a": 0.5}} {
		oracle.Equal(t, namedRow(set, 0, token), want, "attributes of token %d", token)
	}
	if set.Names[0] != nil || !cmp.Equal(set.Instances[0].Samples(), [][]int32{{0, 1, 0}}) ||
		set.Recipe.Text.Form != formats.TextAttributes {
		t.Errorf("names %v, labels %v, recipe %+v", set.Names, set.Instances[0].Samples(), set.Recipe.Text)
	}
	// As many attributes everywhere.
	set = mustOpen(t, writeFiles(t, map[string]string{"a.crfsuite": "A\tx\ty\nB\tx\tz\n\nA\ty\tx\n"}), Options{NoBias: true, MinCount: 2})
	if got := set.Schema.NodeTypes[0].FeatureNames; !slices.Equal(got, []string{"x", "y"}) || !strings.Contains(set.Warnings[0], "of 3 attributes of tokens the 2 that occur 2 times or more are kept") {
		t.Errorf("attributes %q, warnings %q", got, set.Warnings)
	}
	set = mustOpen(t, writeFiles(t, map[string]string{"a.crfsuite": "A\tw=e\u0301\nB\tw=\u00e9\n"}), Options{NoBias: true})
	oracle.Equal(t, set.Schema.NodeTypes[0].FeatureNames, []string{"w=\u00e9"}, "attributes in both forms of Unicode")
	set = mustOpen(t, writeFiles(t, map[string]string{"a.crfsuite": "A\tw=1\tv=2\nB\tw=2\tv=1\n"}), Options{})
	oracle.Equal(t, set.Recipe.Text.Form, formats.TextAttributes, "form of the recipe %+v", set.Recipe.Text)
}

func TestTextForModel(t *testing.T) {
	trained := mustOpen(t, writeFiles(t, map[string]string{"a.conll": someColumns}), Options{})
	recipe := oracle.Must(ParseRecipe(trained.Recipe.String()))(t)
	oracle.MustEqual(t, *recipe.Text, *trained.Recipe.Text, "recipe")
	model := Options{Schema: &trained.Schema, Recipe: recipe, NoLabels: true}
	set := mustOpen(t, writeFiles(t, map[string]string{"b.conll": "Bob NNP\nsees VBZ\n"}), model)
	if got, want := namedRow(set, 0, 0), ones("shape=Xx", "column 2=NNP", "first", "after:word=sees", "after:shape=x", "after:column 2=VBZ", "bias"); !cmp.Equal(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
	oracle.Equal(t, len(set.Instances[0].Samples()), 0, "samples of labels")
	// Text of one column less has no labels, by any name.
	model.NoLabels = false
	set = mustOpen(t, writeFiles(t, map[string]string{"b.list": "Bob NNP\nsees VBZ\n"})+"/b.list", model)
	if !cmp.Equal(set.Instances[0].Samples(), [][]int32{{-1, -1}}) || !strings.Contains(set.Warnings[0], "b.list: the number of columns is 2, not 3: there are no labels") {
		t.Errorf("labels %v, warnings %q", set.Instances[0].Samples(), set.Warnings)
	}
	refuses(t, writeFiles(t, map[string]string{"b.conll": "Bob NNP B\nsees VBZ\n"}), model,
		"b.conll:2: the number of columns is 2, want 3", "of a sentence a line, awk")
	model.Learning = true
	refuses(t, writeFiles(t, map[string]string{"b.conll": "Bob NNP\nsees VBZ\n"}), model, "b.conll:1: the number of columns is 2, want 3")
	model.Learning = false
	// Numbers of tokens may stand first.
	set = mustOpen(t, writeFiles(t, map[string]string{"b.conll": "1 Bob NNP\n2 sees VBZ\n",
		"c.conll": "Bob NNP O\n"}), model)
	oracle.Equal(t, set.Names, [][]string{{"Bob", "sees"}, {"Bob"}}, "tokens")
	counted := modelOf(mustOpen(t, writeFiles(t, map[string]string{"a.conll": "1 x A\n2 y B\n\n3 y B\n"}), Options{}))
	set = mustOpen(t, writeFiles(t, map[string]string{"b.conll": "7 x\n8 y\n\n9 x\n"}), counted)
	oracle.Equal(t, set.Names, [][]string{{"x", "y"}, {"x"}}, "tokens of a part of a text")
	refuses(t, writeFiles(t, map[string]string{"b.conll": "Bob NNP X\n"}), model, `b.conll:1: label is "X", which is none of the 2 states; there are "B", "O"`)
}

func TestTextRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a B\nb\n":                "x.conll:2: the number of columns is 1, want 2: the token first, the label last",
		"a\nb\n":                  "lines have one column, and a label is wanted behind the token",
		"a B\nb B\n":              `every label is "B", which tells of one state only`,
		"\n\n":                    "x.conll: there are no tokens",
		"#of\na\tN\tB\nb\tN\tC\n": "x.conll:1: the number of columns is 1, want 3: the token first, the label last; begin a",
		"a\tB\t\nb\tC\t\n":        "a tab at the end of a line begins another column",
		"a\xff B\n":               "x.conll:1: it is not text in UTF-8",
		"a\tB\nb\tA\tz\nc\tB\n":   "x.conll:2: the number of columns is 3, want 2",
	} {
		refuses(t, writeFiles(t, map[string]string{"x.conll": text}), Options{}, want)
	}
	slip := map[string]string{"x.txt": "Ann\tB-PER\nsees\tO\nBo\tB-PER\n\nCy\tN\tB-PER\n"}
	refuses(t, writeFiles(t, slip)+"/x.txt", Options{}, "x.txt:5: the number of columns is 3, want 2")
	refuses(t, writeFiles(t, map[string]string{"x.txt": "1\tAnn\tX\n2\tsees\tY\n3\tBo\tX\n\n1\tCy\n"})+"/x.txt", Options{},
		"x.txt:5: the number of columns is 2, want 3")
	text := "N\tcat\tXx\nV\truns\tXx\tx\nD\tthe\tXx\nX\tnow\tx\nN\tman\tx\n" // attributes, the last of which are few
	set := mustOpen(t, writeFiles(t, map[string]string{"x.txt": text})+"/x.txt", Options{})
	oracle.Equal(t, set.Schema.NodeTypes[0].States, []string{"D", "N", "V", "X"}, "the states of attributes")
	refuses(t, writeFiles(t, map[string]string{"x.crfsuite": "A\tw:x\tv\nB\tw\tv\n"}), Options{}, `x.crfsuite:1: attribute "w:x": want NAME or NAME:NUMBER`)
	refuses(t, writeFiles(t, map[string]string{"w.txt": "\xff\xfea\x00"})+"/w.txt", Options{}, "iconv -f UTF-16")
	refuses(t, writeFiles(t, map[string]string{"list.txt": "my data/0.npz\nmy data/1.npz\n"})+"/list.txt", Options{}, "list.txt: it is a list of files, which is not read; give the files that it names")
}

// TestTextLines: what separates and what does not, in the forms that people have text in.
func TestTextLines(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want [][]string
	}{
		"a no-break space":          {"1\u00a0000 A\n\u3000 B\n", [][]string{{"1\u00a0000", "\u3000"}}},
		"blanks around":             {" x  A \n y\tB\n \t\nz A\n", [][]string{{"x", "y"}, {"z"}}},
		"blanks behind tabs":        {"x\tA \ny\t B\n", [][]string{{"x", "y"}}},
		"comments between tabs":     {"# id\nx\tA\ny\tB\n", [][]string{{"x", "y"}}},
		"comments between blanks":   {"# id 1\nx A\n\n# id 2\n# text\ny B\n# A\n", [][]string{{"x"}, {"y", "#"}}},
		"GermEval":                  {"#\tweb [1]\n1\tx\tA\n2\t#\tB\n\n#\tweb\n1\ty\tB\n", [][]string{{"x", "#"}, {"y"}}},
		"words # between tabs":      {"#\tA\nx\tB\n\ny\tA\n\n#\tA\nz\tB\n", [][]string{{"#", "x"}, {"y"}, {"#", "z"}}},
		"ten columns, no CoNLL-U":   {"1 x l C _ _ 0 r _ A\n2 y l D _ _ 1 r _ B\n", [][]string{{"x", "y"}}},
		"CoNLL-U of blanks":         {"1 x l A _ _ 0 r _ _\n2 y l B 0 0 1 r _ _", [][]string{{"x", "y"}}},
		"a word like a comment":     {"# A\nx B\n\ny A\n\nz B\n", [][]string{{"#", "x"}, {"y"}, {"z"}}},
		"comments of other sizes":   {"# of my own\n# id 1\nx A\n\ny B\n", [][]string{{"x"}, {"y"}}},
		"numbers from 1":            {"1 x A\n2 y B\n\n1 z A\n", [][]string{{"x", "y"}, {"z"}}},
		"numbers from 0":            {"0\tx\tA\n1\ty\tB\n", [][]string{{"x", "y"}}},
		"numbers that are words":    {"1 A\n2 B\n", [][]string{{"1", "2"}}},
		"numbers through the file":  {"1 x A\n2 y B\n\n3 z A\n4 x B\n\n5 z A\n", [][]string{{"x", "y"}, {"z", "x"}, {"z"}}},
		"numbers that begin later":  {"1 x A\n2 y B\n\n5 z A\n", [][]string{{"1", "2"}, {"5"}}},
		"numbers that do not count": {"0 x A\n0 y B\n\n1 z A\n", [][]string{{"0", "0"}, {"1"}}},
		"a document ends sentences": {"x A\n-DOCSTART- O\ny B\n", [][]string{{"x"}, {"y"}}},
	} {
		set := mustOpen(t, writeFiles(t, map[string]string{"a.conll": c.text})+"/a.conll", Options{})
		if !cmp.Equal(set.Names, c.want) || !cmp.Equal(set.Schema.NodeTypes[0].States, []string{"A", "B"}) {
			t.Errorf("%s: tokens %q, states %q", name, set.Names, set.Schema.NodeTypes[0].States)
		}
	}
}

// TestTextWarns: what may be a slip is told.
func TestTextWarns(t *testing.T) {
	long, turned := strings.Repeat("the D\ndog N\n", longestSentence), ""
	for word := range 66 {
		turned += fmt.Sprintf("N w%d\n", word%22)
	}
	for _, c := range []struct {
		files map[string]string
		want  []string
	}{
		{map[string]string{"a.conll": long}, []string{"a.conll: all 600 tokens are one sentence"}},
		{map[string]string{"a.conll": "x A\ny B\n", "b.conll": "x A\n"}, []string{"of 2 files is read"}},
		{map[string]string{"a.conll": turned}, []string{"22 different labels of 1 "}},
		{map[string]string{"a.conll": "B-PER Ann\nO sees\nB-PER Bo\n"},
			[]string{"3 different labels of 2 different words: if lab"}},
		{map[string]string{"a.conll": "Ann B-PER N\nsees O V\n"}, []string{"column 2 has tags of entities, and the last"}},
		{map[string]string{"a.conll": "Ann B-PER\nBo B-Per\n"}, []string{`"B-PER" and "B-Per" are two states`}},
		{map[string]string{"a.crfsuite": strings.Repeat("A\tx\nB\ty\n", longestSentence)}, nil},
	} {
		set := mustOpen(t, writeFiles(t, c.files), Options{})
		if !slices.EqualFunc(set.Warnings, c.want, strings.Contains) {
			t.Errorf("warnings %q, want %q", set.Warnings, c.want)
		}
	}
}

// TestReadTwice: a file that a folder holds counts twice if it is named, too, as a note tells.
func TestReadTwice(t *testing.T) {
	folder := writeFiles(t, map[string]string{"a.conll": "x A\ny B\n", "b.conll": "x A\ny B\n"})
	for more, want := range map[string]int{"": 0, "/./a.conll": 1} {
		paths := slices.Compact([]string{folder, folder + more})
		set, err := Open(t.Context(), paths, Options{})
		oracle.OK(t, err)
		oracle.Equal(t, strings.Count(strings.Join(set.Warnings, "\n"), "a.conll is read twice, and counts twice"), want,
			"notes of %q", paths)
	}
}

// TestTextHeader: a line of names of columns is no token, and stays as it is where tags are written.
func TestTextHeader(t *testing.T) {
	for text, want := range map[string]string{
		"word\ttag\nAnn\tB-PER\nLee\tI-PER\n": "B-PER I-PER", "Token POS NER_tag\n\nAnn N B-PER\nsees V O\n": "B-PER O",
		"# mine\nAnn B-PER\nsees O\n": "B-PER O", "# NN\nAnn NNP\n\nit NN\n": "NN NNP",
		"word NN\nAnn NNP\n": "NN NNP", "Ann NNP\nword tag\n": "NNP tag",
		"Text\tPOS\nwas\tNEG\nfine\tPOS\n": "NEG POS",
	} {
		set := mustOpen(t, writeFiles(t, map[string]string{"a.conll": text}), Options{})
		oracle.Equal(t, strings.Join(set.Schema.NodeTypes[0].States, " "), want, "states of %q", text)
		told := strings.Contains(strings.Join(set.Warnings, ""), "names the columns")
		oracle.Equal(t, told, strings.HasPrefix(want, "B-PER"), "%q has a note", text)
	}
	model := modelOf(mustOpen(t, writeFiles(t, map[string]string{"a.conll": "Ann N\nsees V\n"}), Options{}))
	set, b := mustOpen(t, writeFiles(t, map[string]string{"a.conll": "word\ttag\nAnn\tV\n"}), model), strings.Builder{}
	oracle.OK(t, set.WriteTags(&b, [][]string{{"N"}}))
	oracle.Equal(t, b.String(), "word\ttag\nAnn\tV\tN\n", "text with tags")
}

// TestTextNewLabels: a few that training has not seen are not compared; many are a mistake.
func TestTextNewLabels(t *testing.T) {
	trained := mustOpen(t, writeFiles(t, map[string]string{"a.conll": "x A\ny B\n"}), Options{})
	model := modelOf(trained)
	some := strings.Repeat("x A\ny B\n", 10)
	set := mustOpen(t, writeFiles(t, map[string]string{"b.conll": some + "z C\n"}), model)
	if labels := set.Instances[0].Samples()[0]; labels[19] != 1 || labels[20] != -1 || !strings.HasPrefix(set.Warnings[0],
		`1 of 21 labels are not compared`) || !strings.HasSuffix(set.Warnings[0], "b.conll:21") {
		t.Errorf("labels %v, warnings %q", labels, set.Warnings)
	}
	refuses(t, writeFiles(t, map[string]string{"b.conll": some + "z C\nz D\n"}), model, `b.conll:21: label is "C", which is none of the 2 states`)
	model.Learning = true
	refuses(t, writeFiles(t, map[string]string{"b.conll": some + "z C\n"}), model, `b.conll:21: label is "C", which is none of the 2 states`)
}

// TestTextOfOtherForm: text that a model reads in another way is no line with too many columns.
func TestTextOfOtherForm(t *testing.T) {
	texts := map[string]string{"a.conll": "the D\ndog N\n\na D\ncat N\n", "a.crfsuite": someAttributes, "a.conllu": universal}
	for of, text := range texts {
		trained := mustOpen(t, writeFiles(t, map[string]string{of: text}), Options{})
		for name, other := range texts {
			_, err := Open(t.Context(), []string{writeFiles(t, map[string]string{name: other})},
				Options{Schema: &trained.Schema, Recipe: &trained.Recipe, NoLabels: true})
			if of == name && err != nil || of != name && (of != "a.crfsuite" || name != "a.conll") &&
				(err == nil || !strings.Contains(err.Error(), "where the text before it, or of the model, is ")) {
				t.Errorf("%s for a model of %s: %v", name, of, err)
			}
		}
	}
}

// TestTextUnknown: columns that are read as attributes have nothing that a model knows.
func TestTextUnknown(t *testing.T) {
	trained := mustOpen(t, writeFiles(t, map[string]string{"a.crfsuite": someAttributes}), Options{})
	model := Options{Schema: &trained.Schema, Recipe: &trained.Recipe, NoLabels: true}
	for text, want := range map[string]int{"Ann NNP\nsees VBZ\n": 1, "O\tw=of\t__BOS__\n": 0, "O\nO\n": 0} {
		set := mustOpen(t, writeFiles(t, map[string]string{"b.conll": text}), model)
		if len(set.Warnings) != want || want > 0 && !strings.Contains(set.Warnings[0], "knows none of the attributes") {
			t.Errorf("%q: warnings %q", text, set.Warnings)
		}
	}
}

// TestTextForbidden: what is forbidden is told with its lines.
func TestTextForbidden(t *testing.T) {
	folder := writeFiles(t, map[string]string{"a.conll": "a O\n\nb O\nc I\n\nd B\ne O\nf I\n", ManifestName: `{"states": ["O", "B", "I"], "forbidden_pairs": [["O", "I"]]}`})
	_, list := Check(t.Context(), []string{folder}, Options{})
	oracle.MustEqual(t, len(list), 2, "how many problems of %q", list)
	oracle.WantError(t, list[0], `a.conll:4: the pair O, I of edge type "next" is forbidden`)
	oracle.WantError(t, list[1], "a.conll:8: the pair O, I")
}

// TestTextByContent: sentences are text by any name; lines that no empty one separates may be something else.
func TestTextByContent(t *testing.T) {
	const text = "x\tA\ny\tB\n\ny\tB\n"
	for name, want := range map[string]string{"eng.testa": text, "a.iob2": text, "a.CONLL": text, "a.tsv": text + "\n" + text, "a.ner": "# id 1\nx A\n\n# id 2\ny B\n"} {
		oracle.Equal(t, mustOpen(t, writeFiles(t, map[string]string{name: want})+"/"+name, Options{}).Recipe.Kind, kindText,
			"%s is of the kind", name)
	}
	for name, text := range map[string]string{"a.tsv": "x\tA\ny\tB\n", "a.log": "x A\ny B\n", "a.nodes.tsv": "ann\tA\nbob\tB\n"} {
		if set, err := Open(t.Context(), []string{writeFiles(t, map[string]string{name: text}) + "/" + name}, Options{}); err == nil {
			t.Errorf("%s is read as %s", name, set.Recipe.Kind)
		}
	}
	// Tables that are called so may have empty lines.
	folder := writeFiles(t, map[string]string{"a.nodes.tsv": "id\tlabel\nann\tA\n\nbob\tB\n\n", "a.edges.tsv": "u\tv\nann\tbob\n\nbob\tann\n"})
	set, err := Open(t.Context(), []string{folder + "/a.nodes.tsv", folder + "/a.edges.tsv"}, Options{})
	if err != nil || set.Recipe.Kind != kindGraph || set.Instances[0].Graph.NumNodes() != 2 {
		t.Errorf("tables with empty lines: %v", err)
	}
}

// TestTextRareAttributes: weights are bounded by leaving out what is rare.
func TestTextRareAttributes(t *testing.T) {
	oracle.Long(t)
	var text strings.Builder
	for i := range 120000 {
		text.WriteString([]string{"A", "B"}[i%2])
		for k := range 9 { // 1080000 attributes that occur once, for two states
			text.WriteString("\tw" + strings.Repeat("x", k) + "=")
			for n := i + 1; n > 0; n /= 10 {
				text.WriteByte(byte('0' + n%10))
			}
		}
		text.WriteString("\tcommon\n\n")
	}
	set := mustOpen(t, writeFiles(t, map[string]string{"a.crfsuite": text.String()}), Options{})
	if names := set.Schema.NodeTypes[0].FeatureNames; !cmp.Equal(names, []string{"common", "bias"}) || !strings.Contains(set.Warnings[0], "of 1080001 attributes of tokens the 1 that occur 2 times or more are kept") {
		t.Errorf("%d attributes, warnings %q", len(names), set.Warnings)
	}
}

func TestShape(t *testing.T) {
	for word, want := range map[string]string{"McGee-42nd": "XxXx-0x", "IBM": "X", "...": ".", "Ölüm1": "Xx0", "": ""} {
		oracle.Equal(t, formats.Shape(word), want, "%q has the shape", word)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(someColumns))
	f.Add([]byte(someAttributes))
	f.Add([]byte("Ann A\nis B\nAnn A\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := writeFiles(t, map[string]string{"x": string(data)}) + "/x"
		set, err := Open(t.Context(), []string{path}, Options{Kind: kindText})
		if err != nil {
			return
		}
		recipe, err := ParseRecipe(set.Recipe.String())
		if err != nil || recipe.fits(&set.Schema) != nil || len(set.Instances) == 0 {
			t.Fatalf("recipe %s, %d sentences: %v", &set.Recipe, len(set.Instances), err)
		}
	})
}
