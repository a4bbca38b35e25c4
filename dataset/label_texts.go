package dataset

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

const (
	// manyStates is how many different labels are taken for states without a doubt. More are refused where most are of one
	// row: nothing can be learned of such states.
	manyStates = 20
	// fewOfState is how few labels of a state, where there are many that are numbers, may be measurements.
	fewOfState = 10
	// mostNumbers is how many labels that are numbers can be states where most have few rows.
	mostNumbers = 100
	// mostFractions is how many different labels that are numbers with fractions can be states, such as grades.
	mostFractions = 10
	// rareLabels is so many labels for one that a model does not know: of many tags some are in no training set, while of
	// another set of tags most are.
	rareLabels = 20
	// hiddenNumber is what other formats have for a label that is not known.
	hiddenNumber = "-1"
)

// distinct numbers the different texts of cells in the order in which they occur.
type distinct struct {
	number map[string]int32
	texts  []string
	count  []int
	first  []place // where each stands
	total  int
}

type place struct {
	File string
	Line int
}

// labelTexts are the texts of labels of tables and tagged text.
type labelTexts struct {
	distinct
	named  map[string]bool // states that options, dataset.json or a model name
	tokens bool            // of tagged text
}

// see returns the number of the label in a cell, −1 where it is hidden. The name of a state is one, whatever it is.
func (t *labelTexts) see(path string, line int, cell string) int32 {
	cell = formats.WholeNumber(strings.TrimSpace(cell))
	if !formats.MissingCell(cell) || t.named[cell] {
		return t.add(path, line, cell)
	}
	return crf.Unobserved
}

// add returns the number of a text.
func (t *distinct) add(path string, line int, cell string) int32 {
	i, known := t.number[cell]
	if !known {
		if t.number == nil {
			t.number = map[string]int32{}
		}
		i, cell = int32(len(t.texts)), strings.Clone(cell)
		t.number[cell] = i
		t.texts, t.count = append(t.texts, cell), append(t.count, 0)
		t.first = append(t.first, place{path, line})
	}
	t.count[i]++
	t.total++
	return i
}

// at is a problem where a text first stands.
func (t *distinct) at(i int, remedy, format string, arguments ...any) *option.Error {
	return option.At(t.first[i].File, t.first[i].Line, "", remedy, format, arguments...)
}

// namesOfStates are the names of states of labels that are texts, as model, options or dataset.json have them, or nil.
func (l *loader) namesOfStates() []string {
	if l.o.Schema != nil {
		return l.o.Schema.NodeTypes[0].States
	}
	names, _ := l.namedStates(0)
	return names
}

// statesOf names the states: as something does, or else the labels that occur.
func (l *loader) statesOf(t *labelTexts, file string) []string {
	if names := l.namesOfStates(); len(names) > 0 {
		return names
	}
	states := numeric.InOrder(t.texts)
	if l.manifest.HiddenLabels {
		states = slices.DeleteFunc(states, func(s string) bool { return s == hiddenNumber })
	} else if minus, ok := t.number[hiddenNumber]; ok {
		if !slices.Equal(states, spinStates) {
			l.fail(t.at(int(minus), "leave the cell empty, or "+sayHidden+", if -1 is to hide a label; name the states in "+
				"{states} if it is one of them", "label is -1, as are %d of %d", t.count[minus], t.total))
			return nil
		}
		l.warn("the labels -1 and 1 are two states; an empty cell hides a label")
	}
	t.noteDoubts(l.warn, "")
	numbers, fractions := true, false
	for _, text := range states {
		x, err := numeric.ParseDecimal(text)
		numbers, fractions = numbers && err == nil, fractions || err == nil && x != math.Trunc(x)
	}
	const measured, remedy = "%d labels are %d different numbers, each a state of its own", "if they measure something, " +
		"divide them into classes"
	switch n := len(states); {
	case n == 0:
		remedy := map[bool]string{true: formats.Look(file).Advise("no tags") +
			"; a tab at the end of a line begins another column", false: "fill in some"}[t.tokens]
		l.failAt(file, "", remedy, "no node has a label")
	case n == 1:
		l.failAt(file, "", "if there are more states, give \"states\" in "+ManifestName+" or {states}, also those called NA "+
			"or null", "every label is %q, which tells of one state only", option.Short(states[0]))
	case numbers && (fractions && n > mostFractions || n > mostNumbers && fewOfState*n > 2*t.total):
		l.failAt(file, "", remedy+", or name another column as that of labels; if not, name the states in {states}", measured,
			t.total, n)
	case t.tooMany():
		remedy := "is it the column of labels?"
		if !t.tokens { // whose columns have no names
			remedy += " {columns=label=NAME} says which is"
		}
		l.failAt(file, "", remedy, "%d labels have %d different texts, such as %q, and states are wanted", t.total, n,
			option.Short(t.texts[0]))
	case numbers && n > manyStates:
		l.warn(measured+", which takes long; "+remedy, t.total, n)
	}
	return states
}

// tooMany reports whether there are more different labels than states that anything can be learned of.
func (t *labelTexts) tooMany() bool {
	n := len(t.texts)
	return n > manyStates && 2*n > t.total || n > mostStates
}

// noteAlike tells of two texts, which are two of some things, that only case, zeros, blanks or Unicode tell apart.
func (t *distinct) noteAlike(note func(format string, arguments ...any), texts, things string) {
	cases := map[string]string{}
	for _, text := range t.texts {
		bare := formats.Bare(text)
		if other, twice := cases[bare]; twice && len(other+text) > 2 {
			note("%s %q and %q are two %s, and differ in case, zeros or Unicode form alone: write them alike if they mean "+
				"one", texts, option.Short(other), option.Short(text), things)
			return
		}
		cases[bare] = text
	}
}

// noteDoubts tells of a label of a table that people write where none is known, since only the words of
// formats.MissingCell hide one, and of two that look alike, as yes and Yes. more is one more such mark.
func (t *labelTexts) noteDoubts(note func(format string, arguments ...any), more string) {
	marks := strings.Split("unknown|unlabeled|unlabelled|not labeled|not labelled|missing|undefined|hidden|none|null|n.a."+
		"|not available|nil|unk|tbd|don't know|"+more+"|"+formats.MissingCode(t.texts), "|")
	instead, word := "leave the cell empty", regexp.MustCompile(`[\pL\pN]`)
	if signs := slices.DeleteFunc(slices.Clone(t.texts), word.MatchString); len(signs) == 1 { // + and - are two states
		marks = append(marks, signs[0])
	}
	t.noteAlike(note, "the labels", "states")
	if t.tokens { // whose other marks are tags
		marks, instead = []string{formats.CoNLLUNothing}, "write "+hiddenName
	}
	for _, text := range t.texts {
		if slices.Contains(marks, strings.Trim(formats.Bare(text), "()[]<>{}")) {
			note("the label %q is a state like any other; if it means that none is known, %s", option.Short(text), instead)
			marks = nil
		}
		if !t.tokens && formats.Joined(text, t.texts) {
			note("the label %q is a state beside its parts: of several that a node has, learn each alone", option.Short(text))
			return
		}
	}
}

// numberLabels returns the state of every label that occurs, −1 for hidden ones, and for rare tags unknown to a model.
func (l *loader) numberLabels(t *labelTexts, states []string) []int32 {
	number := make(map[string]int32, len(states))
	for x, s := range states {
		if !t.tokens { // whose labels are as they stand
			s = formats.WholeNumber(s)
		}
		number[s] = int32(x)
	}
	for x := range states { // plain tables may have their numbers
		if _, name := number[strconv.Itoa(x)]; !name && l.hiddenBy == hiddenNumber {
			number[strconv.Itoa(x)] = int32(x)
		}
	}
	of, unknown, first := make([]int32, len(t.texts)), 0, 0
	refuse := func(i int) {
		remedy := option.DidYouMean(t.texts[i], states)
		if t.texts[i] == hiddenNumber {
			remedy = "leave the cell empty, or " + sayHidden + ", if -1 is to hide a label"
		}
		l.fail(t.at(i, remedy, "label is %q, which is none of the %d states", option.Short(t.texts[i]), len(states)))
	}
	for i, text := range t.texts {
		x, known := number[text]
		switch of[i] = crf.Unobserved; {
		case known:
			of[i] = x
		case text == hiddenNumber && l.manifest.HiddenLabels:
		case t.tokens && l.o.Schema != nil && !l.o.Learning:
			if unknown == 0 {
				first = i
			}
			unknown += t.count[i]
		case len(l.problems) < option.MostPerFile:
			refuse(i)
		}
	}
	if rareLabels*unknown > t.total {
		refuse(first)
	} else if unknown > 0 {
		l.warn("%d of %d labels are not compared: the model has no such states, as %q of %s:%d", unknown, t.total,
			option.Short(t.texts[first]), t.first[first].File, t.first[first].Line)
	}
	return of
}

// ofTexts gives labels, which are numbers of texts, the states of these.
func ofTexts(labels, states []int32) []int32 {
	for i, text := range labels {
		if text >= 0 {
			labels[i] = states[text]
		}
	}
	return labels
}
