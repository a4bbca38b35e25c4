package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
)

const (
	// manyStates is how many different labels are taken for states without a doubt. More
	// are refused where most are of one row: nothing can be learned of such states.
	manyStates = 20
	// mostFractions is how many different labels that are numbers with fractions can be
	// states, such as grades.
	mostFractions = 10
	// hiddenNumber is what other formats have for a label that is not known.
	hiddenNumber = "-1"
)

// labelTexts numbers the different labels of tables and tagged text in the order in which
// they occur.
type labelTexts struct {
	number map[string]int32
	texts  []string
	count  []int
	first  []Error // where each stands
	total  int
	named  map[string]bool // states that options, dataset.json or a model name
	tokens bool            // of tagged text
}

// see returns the number of the label in a cell, −1 where it is hidden. A word for missing
// cells that is the name of a state is a label.
func (t *labelTexts) see(path string, line int, cell string) int32 {
	cell = wholeNumber(strings.TrimSpace(cell))
	if !missingCell(cell) || t.named[cell] {
		return t.add(path, line, cell)
	}
	return crf.Unobserved
}

// add returns the number of a label that is known.
func (t *labelTexts) add(path string, line int, cell string) int32 {
	i, known := t.number[cell]
	if !known {
		if t.number == nil {
			t.number = map[string]int32{}
		}
		i = int32(len(t.texts))
		cell = strings.Clone(cell)
		t.number[cell] = i
		t.texts, t.count = append(t.texts, cell), append(t.count, 0)
		t.first = append(t.first, Error{File: path, Line: line})
	}
	t.count[i]++
	t.total++
	return i
}

// wholeNumber writes 1.0 as 1: pandas makes floating-point numbers of a column of whole
// ones in which some are missing.
func wholeNumber(cell string) string {
	whole, zeros, found := strings.Cut(cell, ".")
	if !found || strings.Trim(zeros, "0") != "" || whole == "" || zeros == "" {
		return cell
	}
	if digits := strings.TrimPrefix(whole, "-"); digits == "" || strings.Trim(digits, "0123456789") != "" {
		return cell
	}
	return whole
}

// at is a problem where a label first stands.
func (t *labelTexts) at(i int, remedy, format string, arguments ...any) error {
	e := t.first[i]
	e.Problem, e.Remedy = fmt.Sprintf(format, arguments...), remedy
	return &e
}

// fraction is the first label that is a number with a fraction; −1: there is none.
func (t *labelTexts) fraction() int {
	return slices.IndexFunc(t.texts, func(text string) bool {
		x, err := numeric.ParseDecimal(text)
		return err == nil && x != math.Trunc(x)
	})
}

// inOrder returns the labels: numbers by their size, before others by the alphabet.
func (t *labelTexts) inOrder() []string {
	key := func(text string) float64 {
		if x, err := numeric.ParseDecimal(text); err == nil {
			return x
		}
		return math.Inf(1)
	}
	return slices.SortedFunc(slices.Values(t.texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), strings.Compare(a, b))
	})
}

// statesOf names the states: as the model, the options or dataset.json do, or else
// the labels that occur.
func (l *loader) statesOf(t *labelTexts, file string) []string {
	if l.o.Schema != nil {
		return l.o.Schema.NodeTypes[0].States
	}
	if names, _ := l.namedStates(0); len(names) > 0 {
		return names
	}
	if minus, ok := t.number[hiddenNumber]; ok && !l.manifest.HiddenLabels {
		if _, plus := t.number["1"]; !plus || len(t.texts) > 2 {
			l.fail(t.at(int(minus), "leave the cell empty, or "+sayHidden+", if -1 is to hide a label; name the states in "+
				"{states} if it is one of them",
				"label is -1, as are %d of %d", t.count[minus], t.total))
			return nil
		}
		l.warn("the labels -1 and 1 are two states; an empty cell hides a label")
	}
	if i, ok := t.number["None"]; ok && !t.tokens {
		l.warn("%d of %d labels are None, which is a state; an empty cell hides a label", t.count[i], t.total)
	}
	states := t.inOrder()
	if l.manifest.HiddenLabels {
		states = slices.DeleteFunc(states, func(s string) bool { return s == hiddenNumber })
	}
	switch {
	case len(states) == 0:
		l.fail(&Error{File: file, Problem: "no node has a label", Remedy: "fill in some"})
	case len(states) == 1:
		l.failAt(file, "", "if there are more states, give \"states\" in "+ManifestName+" or {states}, also those called NA "+
			"or null", "every label is %q, which tells of one state only", abbreviate(states[0]))
	case len(states) > mostFractions && t.fraction() >= 0:
		i := t.fraction()
		l.fail(t.at(i, "divide the numbers into classes, or name another column as that of labels",
			"label is %s, a number with a fraction, of %d different ones, and states are wanted", abbreviate(t.texts[i]),
			len(states)))
	case len(states) > manyStates && 2*len(states) > t.total, len(states) > mostStates:
		remedy := "is it the column of labels?"
		if !t.tokens { // whose columns have no names
			remedy += " {columns=label=NAME} says which is"
		}
		const problem = "%d labels have %d different texts, such as %q, and states are wanted"
		l.fail(&Error{File: file, Remedy: remedy,
			Problem: fmt.Sprintf(problem, t.total, len(states), abbreviate(t.texts[0]))})
	}
	return states
}

// rareLabels is so many labels for one that a model does not know: of many tags some are in
// no training set, while of another set of tags most are.
const rareLabels = 20

// numberLabels returns the state of every label that occurs, −1 for hidden ones, and for rare
// tags that a model does not know.
func (l *loader) numberLabels(t *labelTexts, states []string) []int32 {
	number := make(map[string]int32, len(states))
	for x, s := range states {
		if !t.tokens { // whose labels are as they stand
			s = wholeNumber(s)
		}
		number[s] = int32(x)
	}
	of, wrong, unknown, first := make([]int32, len(t.texts)), 0, 0, -1
	for i, text := range t.texts {
		x, known := number[text]
		switch {
		case known:
			of[i] = x
			continue
		case text == hiddenNumber && l.manifest.HiddenLabels:
		case t.tokens && l.o.Schema != nil && !l.o.Learning:
			if unknown += t.count[i]; first < 0 {
				first = i
			}
		default:
			if wrong++; wrong <= mostPerFile {
				remedy := suggestion(text, states)
				if text == hiddenNumber {
					remedy = "leave the cell empty, or " + sayHidden + ", if -1 is to hide a label"
				}
				l.fail(t.at(i, remedy, "label is %q, which is none of the %d states", abbreviate(text), len(states)))
			}
		}
		of[i] = crf.Unobserved
	}
	switch {
	case unknown == 0:
	case rareLabels*unknown > t.total:
		l.fail(t.at(first, suggestion(t.texts[first], states), "label is %q, which is none of the %d states",
			abbreviate(t.texts[first]), len(states)))
	default:
		l.warn("%d of %d labels are not compared: the model has no such states, as %q of %s:%d", unknown, t.total,
			abbreviate(t.texts[first]), t.first[first].File, t.first[first].Line)
	}
	return of
}
