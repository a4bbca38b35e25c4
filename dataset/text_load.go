package dataset

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// mostAttributeWeights bounds the weights of tokens, as long as some of their attributes
// are rare: training keeps some 30 vectors of this length, of 16 MiB.
const mostAttributeWeights = 1 << 21

// longestSentence is how many tokens a sentence may have that is alone, without a doubt.
const longestSentence = 300

// textRecipe is how tagged text is read. The attributes are the names of the features.
type textRecipe struct {
	Form string `json:"form"` // formats.TextColumns and so on
	// Columns is how many a line has, with the label, for formats.TextColumns.
	Columns int `json:"columns,omitempty"`
	// Skip is 1 where the first of these, in what was learned from, numbers the tokens of a sentence.
	Skip int `json:"skip,omitempty"`
}

func (r *textRecipe) sound() bool {
	return slices.Contains([]string{formats.TextColumns, formats.TextAttributes, formats.TextCoNLLU}, r.Form) &&
		r.Skip >= 0 && (r.Form != formats.TextColumns || r.Columns >= 2+r.Skip)
}

// split gives what the fields of a line, without a number, tell of its token, the word first, and its label, or "".
func (r *textRecipe) split(fields []string) (told []string, label string) {
	switch at := r.Columns - r.Skip - 1; {
	case r.Form == formats.TextAttributes:
		return fields[1:], fields[0]
	case r.Form == formats.TextCoNLLU && fields[formats.CoNLLUTag] == formats.CoNLLUNothing:
		return fields[formats.CoNLLUWord : formats.CoNLLUWord+1], ""
	case r.Form == formats.TextCoNLLU:
		return fields[formats.CoNLLUWord : formats.CoNLLUWord+1], strings.Trim(fields[formats.CoNLLUTag], formats.Blanks)
	case at < len(fields):
		return fields[:at], strings.Trim(fields[at], formats.Blanks)
	}
	return fields, ""
}

// textLoader turns files of tagged text into a set: an instance for each sentence.
type textLoader struct {
	loader
	files []*formats.Text
	rules *textRecipe

	labels     labelTexts
	attributes map[string]int32 // the number of each: in the model, or in the order in which they occur
	names      []string         // of attributes, where there is no model
	count      []int            // how often each occurs
	number     []int32          // of each among the features, -1 for those that are left out

	graphs    graphCache
	sentences []textSentence
	numbered  map[string]int // sentences of files of a name
}

// textSentence is one sentence with its labels as numbers of labelTexts.
type textSentence struct {
	name  string
	path  string
	lines []int32
	words []string
	texts []int32
	rows  [][]sparseValue // attributes of tokens
}

func loadText(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &textLoader{loader: newLoader(ctx, o), attributes: map[string]int32{}, numbered: map[string]int{},
		labels: labelTexts{tokens: true}}
	for _, path := range l.expand(paths) {
		l.readManifest(filepath.Dir(path), true)
		data := l.source(path, "tagged text", anySize)
		if data == nil {
			continue
		}
		switch f, err := formats.ReadText(path, data); {
		case err != nil:
			l.fail(err)
		case f.Ends == 0:
			l.noTokens(path)
		default:
			if l.files = append(l.files, f); f.Header != "" {
				l.warn("%s: %q names the columns, or is a comment, and no token", option.Place(path, 1, ""), f.Header)
			}
		}
	}
	if l.manifest.NodeFeatures != nil {
		l.failAt(l.manifestPath, "node_features", "remove it", "the attributes of tokens are their own names")
	}
	l.run(l.chooseForm, l.readAll, l.chooseAttributes, l.finish)
	return l.result()
}

func (l *textLoader) noTokens(path string) {
	l.failAt(path, "", "write a token and its label on each line, and an empty line between sentences",
		"there are no tokens")
}

// expand lists the files behind paths: those of a folder are the ones with a known extension.
func (l *textLoader) expand(paths []string) (files []string) {
	for _, path := range paths {
		found, err := filesIn(path, func(name string) bool {
			return slices.Contains(formats.TextExtensions, filepath.Ext(name))
		})
		if err != nil {
			files = append(files, path)
			continue
		}
		if len(found) > 1 {
			l.warn("%s: the tagged text of %d files is read, by their extensions: %s", path, len(found), option.FirstFew(found))
		}
		files = append(files, found...)
	}
	return files
}

// textForms are the forms in words.
var textForms = map[string]string{formats.TextColumns: "a word, perhaps more, and its label on each line (CoNLL)",
	formats.TextAttributes: "a label and its attributes on each line (crfsuite)",
	formats.TextCoNLLU:     "ten columns of CoNLL-U"}

// chooseForm decides how the lines are read, and checks that all have their columns.
func (l *textLoader) chooseForm() {
	if l.o.Recipe != nil {
		l.rules = l.o.Recipe.Text
	} else {
		l.rules = &textRecipe{Form: l.files[0].Form()}
		if l.rules.Form != formats.TextAttributes {
			l.rules.Columns = l.files[0].Usual
		}
		if l.rules.Form == formats.TextColumns && l.rules.Columns > 2 && l.files[0].Numbered {
			l.rules.Skip = 1
		}
		if l.rules.Form == formats.TextColumns && l.rules.Columns < 2 {
			l.failAt(l.files[0].Path, "", "give text with labels; a model predicts those of text without",
				"lines have one column, and a label is wanted behind the token")
		}
	}
}

// suits checks that a file is of the form that the recipe says. Numbers of tokens may stand first in some files.
func (l *textLoader) suits(f *formats.Text) bool {
	is, want := f.Form(), l.rules.Form
	tenColumns := f.Usual != l.rules.Columns && slices.Contains([]string{is, want}, formats.TextCoNLLU)
	// is no slip
	if is != want && (filepath.Ext(f.Path) == formats.CrfsuiteExtension || is != formats.TextAttributes && tenColumns) {
		l.failAt(f.Path, "", "give text of one form", "it is %s, where the text before it, or of the model, is %s",
			textForms[is], textForms[want])
		return false
	}
	f.CoNLLU, f.Attributes = want == formats.TextCoNLLU, want == formats.TextAttributes
	if want == formats.TextColumns && (f.Numbered || f.Counts && l.rules.Skip > 0) {
		f.Skip = 1
	}
	return true
}

// unlabelled reports whether the lines of a file that a model is to predict lack the column of labels.
func (l *textLoader) unlabelled(f *formats.Text) bool {
	return l.o.Recipe != nil && !l.o.Learning && l.rules.Form == formats.TextColumns && f.Least == f.Most &&
		f.Most-f.Skip == l.rules.Columns-l.rules.Skip-1
}

// emit gives the attributes of a token, and reports what is wrong with one.
func (l *textLoader) emit(p *option.Problems, s *formats.Sentence, i int, use func(name []byte, value float64)) {
	if l.rules.Form != formats.TextAttributes {
		formats.ColumnAttributes(s, i, use)
		return
	}
	var buffer []byte
	for _, field := range s.Tokens[i] {
		if field == "" {
			continue
		}
		name, value, problem := formats.SplitAttribute(formats.Key(field), buffer)
		if problem != "" {
			p.Add(int(s.Lines[i]), "", "", "%s", problem)
			continue
		}
		buffer = name
		use(name, value)
	}
}

// readAll reads the sentences of all files, with the attributes of their tokens.
func (l *textLoader) readAll() {
	if l.o.Recipe != nil {
		names := l.o.Schema.NodeTypes[0].FeatureNames
		l.number = numeric.To(min(len(names), l.o.Recipe.FeatureDim))
		for _, j := range l.number {
			l.attributes[names[j]] = j
		}
	}
	for _, f := range l.files {
		if parallel.Ended(l.ctx) == nil && l.suits(f) {
			l.read(f)
		}
	}
}

// attribute gives the number of an attribute, -1 where a model knows none. Without a model it counts them.
func (l *textLoader) attribute(name []byte) int32 {
	j, known := l.attributes[string(name)]
	switch {
	case l.o.Recipe != nil && !known:
		return -1
	case l.o.Recipe != nil:
		return j
	case !known:
		j = int32(len(l.names))
		l.names, l.count = append(l.names, string(name)), append(l.count, 0)
		l.attributes[l.names[j]] = j
	}
	l.count[j]++
	return j
}

// chooseAttributes numbers the features: all attributes that occur, in order, without the rarest where the weights
// would be too many. Those of a model are as they are.
func (l *textLoader) chooseAttributes() {
	if l.o.Recipe != nil {
		return
	}
	most := mostAttributeWeights / max(2, len(l.labels.texts), len(l.o.States), len(l.manifest.States))
	least := max(1, l.o.MinCount)
	if beyond := len(l.count) - 1 - most; beyond >= 0 {
		least = max(least, 1+slices.Sorted(slices.Values(l.count))[beyond])
	}
	var kept []string
	for j, n := range l.count {
		l.number = append(l.number, -1)
		if n >= least {
			l.number[j], kept = int32(len(kept)), append(kept, l.names[j])
		}
	}
	if least > 1 {
		l.warn("of %d attributes of tokens the %d that occur %d times or more are kept", len(l.names), len(kept), least)
	}
	l.names = kept
}

// alike says how to make a line have as many columns as others, which begins with word.
func (l *textLoader) alike(word string) string {
	remedy := "separate columns alike on every line, and sentences by an empty line"
	if l.o.Recipe != nil {
		remedy += `; of a sentence a line, awk '{gsub(/ +/, "\n"); print $0 "\n"}' makes tokens`
	}
	if strings.HasPrefix(word, "#") {
		return `begin a comment with "# ", and leave tabs out of it; ` + remedy
	}
	return remedy
}

// read reads the sentences of a file.
func (l *textLoader) read(f *formats.Text) {
	p, base := &option.Problems{File: f.Path}, strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	bare, columns := l.unlabelled(f), l.rules.Columns-l.rules.Skip+f.Skip
	if bare && !l.o.NoLabels {
		l.warn("%s: the number of columns is %d, not %d: there are no labels", option.Place(f.Path, 0, ""), f.Most, columns)
	}
	attributes, known, row := 0, 0, []sparseValue(nil)
	f.Sentences(func(s *formats.Sentence) {
		l.numbered[base]++ // on from other files of this name
		t := textSentence{name: fmt.Sprintf("%s-%d", base, l.numbered[base]), path: f.Path, lines: slices.Clone(s.Lines)}
		for i, fields := range s.Tokens {
			if n := len(fields); l.rules.Form != formats.TextAttributes && n != columns && !bare {
				p.Add(int(s.Lines[i]), "", l.alike(fields[0]), "the number of columns is %d, want %d: the token first, the label "+
					"last", n, columns)
				continue
			}
			told, label := l.rules.split(fields[f.Skip:])
			s.Tokens[i] = told
			text := int32(crf.Unobserved)
			if label != "" && label != missingFeatures && !l.o.NoLabels {
				text = l.labels.add(f.Path, int(s.Lines[i]), label)
			}
			t.texts = append(t.texts, text)
		}
		if len(p.List) > 0 && l.rules.Form != formats.TextAttributes {
			return
		}
		for i, told := range s.Tokens {
			row = row[:0]
			l.emit(p, s, i, func(name []byte, value float64) {
				attributes++
				if j := l.attribute(name); j >= 0 {
					known++
					row = append(row, sparseValue{j, value})
				}
			})
			t.rows = append(t.rows, slices.Clone(row))
			if l.rules.Form != formats.TextAttributes {
				t.words = append(t.words, strings.Clone(told[0]))
			}
		}
		l.sentences = append(l.sentences, t)
	})
	if attributes > 0 && known == 0 {
		l.warn("%s: the model knows none of the attributes, and all tokens look alike to it; are they those that it "+
			"learned from?", option.Place(f.Path, 0, ""))
	}
	l.fail(p.Errors()...)
	if l.o.Recipe == nil || l.o.Learning {
		f.Text = "" // no longer needed
	}
}

// finish makes schema, recipe and instances.
func (l *textLoader) finish() {
	if l.set.texts = l.files; len(l.sentences) == 0 {
		l.noTokens(l.files[0].Path)
		return
	}
	if tokens := len(l.sentences[0].texts); len(l.sentences) == 1 && tokens > longestSentence &&
		l.rules.Form != formats.TextAttributes {
		l.warn("%s: all %d tokens are one sentence, since no empty line separates any",
			option.Place(l.files[0].Path, 0, ""), tokens)
	}
	states := l.statesOf(&l.labels, l.files[0].Path)
	l.run(l.noteColumns, func() { l.chooseSchema(states) })
	if len(l.problems) > 0 {
		return
	}
	of := l.numberLabels(&l.labels, l.set.Schema.NodeTypes[0].States)
	for i := range l.sentences {
		if len(l.problems) < option.MostPerFile {
			l.build(&l.sentences[i], of)
		}
	}
}

// entityTag begins tags of entities, and entityColumn attributes with such.
var entityTag, entityColumn = regexp.MustCompile(`^[BI][-_]`), regexp.MustCompile(`^column (\d+)=[BI][-_]`)

// noteColumns looks for labels that do not stand last.
func (l *textLoader) noteColumns() {
	if l.o.Recipe != nil || l.rules.Form != formats.TextColumns {
		return
	}
	labels, words, tags, column := &l.labels, 0, 0, ""
	for name := range l.attributes {
		if is := entityColumn.FindStringSubmatch(name); is != nil {
			column = max(column, is[1])
		} else if word, is := strings.CutPrefix(name, "word="); is {
			if words++; entityTag.MatchString(strings.ToUpper(word)) {
				tags++
			}
		}
	}
	if n := len(labels.texts); n > max(2*words, 20) || n > words && 2*tags >= words {
		l.warn("there are %d different labels of %d different words: if labels stand first, put them last", n, words)
	} else if column != "" && !slices.ContainsFunc(labels.texts, entityTag.MatchString) {
		l.warn("column %s has tags of entities, and the last is learned, such as %q: put the column of labels last", column,
			option.Short(labels.texts[0]))
	}
}

func (l *textLoader) chooseSchema(states []string) {
	if l.o.Schema != nil {
		l.adoptModel()
		l.compareNames()
		return
	}
	l.set.Recipe = Recipe{Kind: kindText, Bias: l.bias(), States: states, FeatureDim: len(l.names), Text: l.rules}
	if l.bias() {
		l.names = append(l.names, biasName)
	}
	s := &l.set.Schema
	s.NodeTypes = []crf.NodeType{{Name: "token", States: states, Features: len(l.names), FeatureNames: l.names}}
	s.EdgeTypes = []crf.EdgeType{{Name: "next", Features: 1, FeatureNames: []string{formConstant}}}
	l.completeSchema()
}

// build freezes one sentence, in which every token is joined with the next.
func (l *textLoader) build(t *textSentence, of []int32) {
	edges := make([]int32, 0, 2*len(t.texts))
	for i := range int32(len(t.texts) - 1) {
		edges = append(edges, i, i+1)
	}
	g, err := l.graphs.get(len(t.texts), edges)
	var rows sparseRows
	dim := l.set.Schema.NodeTypes[0].Features
	for _, row := range t.rows {
		kept := row[:0]
		for _, x := range row {
			if x.index = l.number[x.index]; x.index >= 0 {
				kept = append(kept, x)
			}
		}
		if l.bias() {
			kept = append(kept, sparseValue{int32(dim - 1), 1})
		}
		rows.add(kept)
	}
	t.rows = nil // no longer needed
	features, wrong := rows.features(dim)
	if err = cmp.Or(err, wrong); err != nil {
		l.fail(option.OfFile(t.path, err))
		return
	}
	spec := crf.InstanceSpec{Name: t.name, Graph: g, NodeFeat: []crf.Features{features},
		EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}}
	if !l.o.NoLabels {
		spec.Labels = [][]int32{ofTexts(t.texts, of)}
	}
	l.freeze(t.path, spec, t.lines)
	l.set.Names = append(l.set.Names, t.words)
}
