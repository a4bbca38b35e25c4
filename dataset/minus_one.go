package dataset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/option"
)

// meaning is what -1 among labels that are numbers stands for.
type meaning int

const (
	hides    meaning = iota // a label that is not known
	isSpin                  // one of the two states of a spin
	isEither                // hidden labels or spins, which nothing tells apart
	isVote                  // hidden labels, or votes against something, where 0 is no vote
)

// minusOne is the one rule of what -1 means: it hides a label. Where it may be meant as a
// state, which is among two states alone, this is a question:
//
//   - Labels that are -1 and 1 alone may be spins. The option Spins says that they are, and
//     dataset.json that -1 hides.
//   - Labels that are -1, 0 and 1, and 0 by far the least often, look like votes for and
//     against, and 0 for none. Dataset.json can say that -1 hides.
//
// In tables with a header an empty cell hides a label, and -1 is a name like others: where it
// stands beside more than 1 this is an error.
func (l *loader) minusOne(x *labelSurvey, states int) meaning {
	asked := l.o.Spins || l.o.Recipe != nil && l.o.Recipe.Spins
	switch {
	case x.minus == 0 || l.manifest.HiddenLabels:
		return hides
	case asked && x.zeros == 0 && x.others == 0:
		return isSpin
	case states != 2 || x.plus == 0 || x.others > 0:
		return hides
	case x.zeros == 0:
		return isEither
	case farFewer*x.zeros <= min(x.minus, x.plus):
		return isVote
	}
	return hides
}

// farFewer is so many labels for one of those that look like missing votes.
const farFewer = 2

// sayHidden is how data say that -1, or 255 in a picture, hides a label.
const sayHidden = `write "hidden_labels": true into ` + ManifestName

// numbered are labels that are numbers, as an array of the data has them.
type numbered struct {
	labels []int32
	typeOf func(s int) int              // of nodes; nil: 0
	place  func(e *Error, s int) *Error // puts the place of a label into an error
	voids  bool                         // a picture hides labels, which says nothing of spins
}

// labelSurvey is what the labels of one node type are, where they are numbers.
type labelSurvey struct {
	minus, zeros, plus, others int
	first                      [2]int         // of -1: the array, and the element
	known                      top            // of labels that are not hidden
	numbers                    map[int32]bool // that occur, until 0 is among them
	negative                   bool           // some are below −1
}

// surveyLabels looks at all labels that are numbers.
func (l *loader) surveyLabels() map[int]*labelSurvey {
	all := map[int]*labelSurvey{}
	for i, n := range l.numbers {
		of, last, before := (*labelSurvey)(nil), 0, int32(crf.Unobserved)
		for s, y := range n.labels {
			a := 0
			if n.typeOf != nil {
				a = n.typeOf(s)
			}
			if of == nil || a != last {
				if last, before = a, crf.Unobserved; all[a] == nil {
					all[a] = &labelSurvey{known: newTop(), numbers: map[int32]bool{}}
				}
				of = all[a]
			}
			of.see(&n, y, i, s)
			if y >= 0 && y != before && !of.numbers[0] {
				of.numbers[y] = true
			}
			before = y
		}
	}
	return all
}

func (x *labelSurvey) see(n *numbered, y int32, i, s int) {
	switch {
	case y == 0:
		x.zeros++
	case y == 1:
		x.plus++
	case y != crf.Unobserved:
		x.others++
	case !n.voids:
		if x.minus == 0 {
			x.first = [2]int{i, s}
		}
		x.minus++
	}
	if x.negative = x.negative || y < crf.Unobserved; y >= 0 {
		x.known.see(y, i, s, 0)
	}
}

// checkNumbers reports the first label of each array that is out of range.
func (l *loader) checkNumbers(what string, states func(a int) int, arrays ...numbered) {
	for _, n := range arrays {
		hidden := "-1"
		if n.voids {
			hidden = "255"
		}
		for s, y := range n.labels {
			a := 0
			if n.typeOf != nil {
				a = n.typeOf(s)
			}
			if k := states(a); y < crf.Unobserved || int(y) >= k {
				l.fail(n.place(&Error{Problem: fmt.Sprintf("%sis %d, want %s (unobserved) or 0 to %d", what, y, hidden, k-1)}, s))
				break
			}
		}
	}
}

// askWhatHides fails at the first -1 of each node type where it may be meant as a state; what names a label. Where
// labels are only used with a model, some are given to be held, and where they only look like votes, this is a warning.
func (l *loader) askWhatHides(what string) {
	all := l.surveyLabels()
	for _, a := range slices.Sorted(maps.Keys(all)) {
		l.askOfType(all[a], a, what)
	}
}

func (l *loader) askOfType(x *labelSurvey, a int, what string) {
	types := l.set.Schema.NodeTypes
	is := l.minusOne(x, len(types[a].States))
	if is == hides {
		return
	}
	all, of := x.minus+x.zeros+x.plus, ""
	if len(types) > 1 {
		of = fmt.Sprintf(" of node type %q", types[a].Name)
	}
	problem := fmt.Sprintf("%sis -1, which hides a label, as are %d of the %d labels%s", what, x.minus, all, of)
	remedy := "if they are spins, write 0 and 1; "
	if l.set.Recipe.Kind == KindNPZ {
		remedy = "if they are spins, use {model!blockbp train --model ising}, or write 0 and 1, by labels = (labels + " +
			"1) // 2; "
	}
	if is == isVote {
		problem += fmt.Sprintf("; but %d are 1, and 0 is the rarest, as of votes that are missing", x.plus)
		remedy = "if 0 is no vote, write 1 for yes, 0 for no and -1 for none, " +
			"by labels = numpy.where(labels == 0, -1, (labels + 1) // 2); "
	} else {
		problem += ", and all others are 1"
	}
	err := l.numbers[x.first[0]].place(&Error{Problem: problem, Remedy: remedy + "if -1 is to hide, " + sayHidden,
		OfAll: true}, x.first[1])
	if l.o.Schema != nil && !l.o.Learning || is == isVote && !l.o.Spins {
		l.warn("%s", option.References(err))
		return
	}
	l.fail(err)
}
