package dataset

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/parallel"
)

// mostAttributeWeights bounds the weights of tokens, as long as some of their attributes
// are rare: training keeps some 30 vectors of this length, of 16 MiB.
const mostAttributeWeights = 1 << 21

// longestSentence is how many tokens a sentence may have that is alone, without a doubt.
const longestSentence = 300

// textRecipe is how tagged text is read. The attributes are the names of the features.
type textRecipe struct {
	Form string `json:"form"` // textColumns or textAttributes
	// Columns is how many a line has, with the label, for textColumns.
	Columns int `json:"columns,omitempty"`
	// Skip is 1 where the first of these numbers the tokens of a sentence, which tells nothing else.
	Skip int `json:"skip,omitempty"`
}

func (r *textRecipe) sound() bool {
	return slices.Contains([]string{textColumns, textAttributes, textCoNLLU}, r.Form) &&
		r.Skip >= 0 && (r.Form != textColumns || r.Columns >= 2+r.Skip)
}

// textExtensions are those of tagged text. Names with one of plainExtensions tell nothing.
var (
	textExtensions  = []string{".conll", ".conllu", crfsuiteExtension, ".iob", ".bio"}
	plainExtensions = []string{"", ".txt", ".data", ".train", ".dev", ".test"}
)

// tabbedTextExtension is of tables and of tagged text, and crfsuiteExtension of text with attributes.
const (
	tabbedTextExtension = ".tsv"
	crfsuiteExtension   = ".crfsuite"
)

// fewEnds is how often lines end before an empty one, or the end, where that may be by chance.
const fewEnds = 2

// textLoader turns files of tagged text into a set: an instance for each sentence.
type textLoader struct {
	loader
	files      []*textFile
	rules      *textRecipe
	labels     labelTexts
	attributes map[string]int32 // the feature of each

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
	rows  sparseRows
}

func loadText(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &textLoader{loader: newLoader(ctx, o), attributes: map[string]int32{}, labels: labelTexts{tokens: true}}
	for _, path := range l.expand(paths) {
		l.readManifest(filepath.Dir(path), true)
		data := l.source(path)
		if data == nil {
			continue
		}
		f, err := newTextFile(path, data)
		if err != nil {
			l.fail(err)
			continue
		}
		if f.first == 0 {
			l.failAt(path, "", "write a token and its label on each line, and an empty line between sentences",
				"there are no tokens")
			continue
		}
		l.files = append(l.files, f)
	}
	if l.manifest.NodeFeatures != nil {
		l.failAt(l.manifestPath, "node_features", "remove it", "the attributes of tokens are their own names")
	}
	l.run(l.chooseForm, l.chooseAttributes)
	for _, f := range l.files {
		if parallel.Ended(ctx) != nil {
			return l.result()
		}
		l.run(func() { l.read(f) })
	}
	l.run(l.finish)
	return l.result()
}

// expand lists the files behind paths: those of a folder are the ones with a known extension.
func (l *textLoader) expand(paths []string) (files []string) {
	for _, path := range paths {
		found, err := filesIn(path, func(name string) bool { return slices.Contains(textExtensions, filepath.Ext(name)) })
		if err != nil {
			files = append(files, path)
			continue
		}
		if len(found) > 1 {
			l.warn("%s: the tagged text of %d files is read, by their extensions: %s", path, len(found), firstFew(found))
		}
		files = append(files, found...)
	}
	return files
}

// textForms are the forms in words.
var textForms = map[string]string{textColumns: "a word, perhaps more, and its label on each line (CoNLL)",
	textAttributes: "a label and its attributes on each line (crfsuite)", textCoNLLU: "ten columns of CoNLL-U"}

// chooseForm decides how the lines are read, and checks that all have their columns.
func (l *textLoader) chooseForm() {
	if l.o.Recipe != nil {
		l.rules = l.o.Recipe.Text
	} else {
		l.rules = &textRecipe{Form: l.files[0].form()}
		if l.rules.Form != textAttributes {
			l.rules.Columns = l.files[0].usual
		}
		if l.rules.Form == textColumns && l.rules.Columns > 2 && l.files[0].numbered {
			l.rules.Skip = 1
		}
		if l.rules.Form == textColumns && l.rules.Columns < 2 {
			l.failAt(l.files[0].path, "", "give text with labels; a model predicts those of text without",
				"lines have one column, and a label is wanted behind the token")
			return
		}
	}
	for _, f := range l.files {
		is, want := f.form(), l.rules.Form
		tenColumns := f.usual != l.rules.Columns && slices.Contains([]string{is, want}, textCoNLLU)
		if is != want && (filepath.Ext(f.path) == crfsuiteExtension || is != textAttributes && tenColumns) { // is no slip
			l.failAt(f.path, "", "give text of one form", "it is %s, where the text before it, or of the model, is %s",
				textForms[is], textForms[want])
			continue
		}
		if skip := l.rules.Skip > 0; l.rules.Form == textColumns && (skip && !f.counts || !skip && f.numbered) {
			l.failAt(f.path, "", "number the tokens of all text, from 0 or 1 in each sentence, or of none",
				"the first column %s, other than in the text before it, or of the model",
				map[bool]string{true: "does not number tokens", false: "numbers tokens"}[skip])
			continue
		}
		p := &problems{file: f.path}
		bare := l.unlabelled(f)
		if bare && !l.o.NoLabels {
			l.warn("%s: the number of columns is %d, not %d: there are no labels", f.path, f.most, l.rules.Columns)
		}
		f.each(func(line int, text string) {
			if n := len(f.fields(text)); l.rules.Form != textAttributes && n != l.rules.Columns && !bare {
				p.add(line, "", "separate columns alike on every line, and sentences by an empty line",
					"the number of columns is %d, want %d: the token first, the label last", n, l.rules.Columns)
			}
		}, nil)
		l.fail(p.errors()...)
		f.ten, f.attributes, f.skip = l.rules.Form == textCoNLLU, l.rules.Form == textAttributes, l.rules.Skip
	}
}

// tokenColumns is how many columns before that of the label tell of a token.
func (r *textRecipe) tokenColumns() int {
	if r.Form == textCoNLLU {
		return 1
	}
	return r.Columns - r.Skip - 1
}

// unlabelled reports whether the lines of a file that a model is to predict lack the column of labels.
func (l *textLoader) unlabelled(f *textFile) bool {
	return l.o.Recipe != nil && !l.o.Learning && l.rules.Form == textColumns && f.least == f.most &&
		f.most == l.rules.Columns-1
}

// emit gives the attributes of a token, and reports what is wrong with one.
func (l *textLoader) emit(p *problems, s *sentence, i int, use func(name []byte, value float64)) {
	if l.rules.Form != textAttributes {
		columnAttributes(s, i, l.rules.tokenColumns(), func(name []byte) { use(name, 1) })
		return
	}
	var buffer []byte
	for _, field := range s.tokens[i][1:] {
		if field == "" {
			continue
		}
		name, value, problem := splitAttribute(field, buffer)
		if problem != "" {
			p.add(int(s.lines[i]), "", "", "%s", problem)
			continue
		}
		buffer = name
		use(name, value)
	}
}

// chooseAttributes numbers the attributes: those of the model, or those that occur, in
// order, without the rarest where the weights would be too many.
func (l *textLoader) chooseAttributes() {
	if l.o.Recipe != nil {
		names := l.o.Schema.NodeTypes[0].FeatureNames
		for j, name := range names[:min(len(names), l.o.Recipe.FeatureDim)] {
			l.attributes[name] = int32(j)
		}
		return
	}
	var names []string
	var count []int32
	labels := map[string]bool{}
	for _, f := range l.files {
		p := &problems{file: f.path}
		f.sentences(func(s *sentence) {
			for i := range s.tokens {
				labels[l.label(s.tokens[i])] = true
				l.emit(p, s, i, func(name []byte, _ float64) {
					j, known := l.attributes[string(name)]
					if !known {
						j = int32(len(names))
						names, count = append(names, string(name)), append(count, 0)
						l.attributes[names[j]] = j
					}
					if count[j] < math.MaxInt32 {
						count[j]++
					}
				})
			}
		})
		l.fail(p.errors()...)
	}
	most := mostAttributeWeights / max(2, len(labels), len(l.o.States), len(l.manifest.States))
	least := int32(max(1, min(l.o.MinCount, math.MaxInt32)))
	for kept := most + 1; kept > most; least++ {
		kept = 0
		for _, n := range count {
			if n >= least {
				kept++
			}
		}
	}
	least--
	clear(l.attributes)
	for j, name := range names {
		if count[j] >= least {
			l.attributes[name] = int32(len(l.attributes))
		}
	}
	if least > 1 {
		l.warn("of %d attributes of tokens the %d that occur %d times or more are kept", len(names), len(l.attributes), least)
	}
}

// label returns the label of a token, "" where its line has none.
func (l *textLoader) label(fields []string) string {
	if l.rules.Form == textAttributes {
		return fields[0]
	}
	at := l.rules.tokenColumns()
	if at >= len(fields) || l.rules.Form == textCoNLLU && fields[at] == conlluNothing {
		return ""
	}
	return strings.Trim(fields[at], blanks)
}

// read turns the sentences of a file into sparse features.
func (l *textLoader) read(f *textFile) {
	p := &problems{file: f.path}
	base := strings.TrimSuffix(filepath.Base(f.path), filepath.Ext(f.path))
	if l.numbered == nil {
		l.numbered = map[string]int{}
	}
	attributes, known, row := 0, 0, []sparseValue(nil)
	unread, ofModel := "", false // the first label that is left unread, and whether any is a state of the model
	f.sentences(func(s *sentence) {
		l.numbered[base]++ // on from other files of this name
		t := textSentence{name: fmt.Sprintf("%s-%d", base, l.numbered[base]), path: f.path, lines: slices.Clone(s.lines)}
		for i, fields := range s.tokens {
			row = row[:0]
			l.emit(p, s, i, func(name []byte, value float64) {
				attributes++
				if j, found := l.attributes[string(name)]; found {
					known++
					row = append(row, sparseValue{j, value})
				}
			})
			if l.bias() {
				row = append(row, sparseValue{int32(len(l.attributes)), 1})
			}
			t.rows.add(row)
			if l.rules.Form != textAttributes {
				t.words = append(t.words, strings.Clone(fields[0]))
			}
			text := int32(crf.Unobserved)
			switch label := l.label(fields); {
			case label == "" || label == missingFeatures:
			case !l.o.NoLabels:
				text = l.labels.add(f.path, int(s.lines[i]), label)
			case l.o.Schema != nil && !ofModel:
				unread = cmp.Or(unread, strings.Clone(label))
				ofModel = slices.Contains(l.o.Schema.NodeTypes[0].States, label)
			}
			t.texts = append(t.texts, text)
		}
		l.sentences = append(l.sentences, t)
	})
	switch {
	case attributes > 0 && known == 0:
		l.warn("%s: the model knows none of the attributes, and all tokens look alike to it; are they those that it "+
			"learned from?", f.path)
	case unread != "" && !ofModel:
		l.warn("%s: the last column is taken for labels, but none, such as %s, is a state of the model: tokens without "+
			"labels have one column less", f.path, abbreviate(unread))
	}
	l.fail(p.errors()...)
	if l.o.Recipe == nil || l.o.Learning {
		f.text = "" // no longer needed
	}
}

// finish makes schema, recipe and instances.
func (l *textLoader) finish() {
	l.set.texts = l.files
	if tokens := len(l.sentences[0].texts); len(l.sentences) == 1 && tokens > longestSentence &&
		l.rules.Form != textAttributes {
		l.warn("%s: all %d tokens are one sentence, since no empty line separates any", l.files[0].path, tokens)
	}
	states := l.statesOf(&l.labels, l.files[0].path)
	l.run(func() { l.chooseSchema(states) })
	if len(l.problems) > 0 {
		return
	}
	of := l.numberLabels(&l.labels, l.set.Schema.NodeTypes[0].States)
	for i := range l.sentences {
		if len(l.problems) < mostPerFile {
			l.build(&l.sentences[i], of)
		}
	}
}

func (l *textLoader) chooseSchema(states []string) {
	if l.o.Schema != nil {
		l.adoptModel()
		l.compareNames()
		return
	}
	l.set.Recipe = Recipe{Kind: KindText, Bias: l.bias(), States: states, FeatureDim: len(l.attributes), Text: l.rules}
	names := make([]string, len(l.attributes), len(l.attributes)+1)
	for name, j := range l.attributes {
		names[j] = name
	}
	if l.bias() {
		names = append(names, biasName)
	}
	s := &l.set.Schema
	s.NodeTypes = []crf.NodeType{{Name: "token", States: states, Features: len(names), FeatureNames: names}}
	s.EdgeTypes = []crf.EdgeType{{Name: "next", Features: 1, FeatureNames: []string{FormConstant}}}
	l.completeSchema()
}

// build freezes one sentence, in which every token is joined with the next.
func (l *textLoader) build(t *textSentence, of []int32) {
	edges := make([]int32, 0, 2*len(t.texts))
	for i := range int32(len(t.texts) - 1) {
		edges = append(edges, i, i+1)
	}
	g, err := l.graphs.get(len(t.texts), edges)
	features, wrong := t.rows.features(l.set.Schema.NodeTypes[0].Features)
	if err = cmp.Or(err, wrong); err != nil {
		l.fail(ofFile(t.path, err))
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
