package dataset

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
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
func (l *loader) minusOne(x *signs, states int) meaning {
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

// signs counts the labels of a node type.
type signs struct {
	minus, zeros, plus, others int
	at                         [3]int // of the first -1: file, sample, node
}

// see takes note of a label that stands somewhere.
func (x *signs) see(label int32, file, sample, node int) {
	switch label {
	case 0:
		x.zeros++
	case 1:
		x.plus++
	case crf.Unobserved:
		if x.minus == 0 {
			x.at = [3]int{file, sample, node}
		}
		x.minus++
	default:
		x.others++
	}
}

// askWhatHides fails at the first -1 of node type a where it may be meant as a state. what
// names it, and place puts its place into an error. Where labels are only used with a model,
// some are given to be held, and where they only look like votes, this is a warning.
func (l *loader) askWhatHides(x *signs, a int, what string, place func(*Error) *Error) {
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
		remedy = "if they are spins, use the option Spins, or write 0 and 1, by labels = (labels + 1) // 2; "
	}
	if is == isVote {
		problem += fmt.Sprintf("; but %d are 1, and 0 is the rarest, as of votes that are missing", x.plus)
		remedy = "if 0 is no vote, write 1 for yes, 0 for no and -1 for none, " +
			"by labels = numpy.where(labels == 0, -1, (labels + 1) // 2); "
	} else {
		problem += ", and all others are 1"
	}
	err := place(&Error{Problem: problem, Remedy: remedy + "if -1 is to hide, " + sayHidden, ofAll: true})
	if l.o.Schema != nil && !l.o.Learning || is == isVote && !l.o.Spins {
		l.set.Warnings = append(l.set.Warnings, err.Error())
		return
	}
	l.fail(err)
}

// askWhatHides looks at the labels of all instance files.
func (l *npzLoader) askWhatHides() {
	found := make([]signs, len(l.set.Schema.NodeTypes))
	for i, in := range l.instances {
		for n, sample := range in.labels {
			for s, y := range sample {
				found[in.nodes.typeOf(s)].see(y, i, n, s)
			}
		}
	}
	for a := range found {
		l.loader.askWhatHides(&found[a], a, "", func(e *Error) *Error {
			at := found[a].at
			e.File, e.Place = l.instances[at[0]].path, l.instances[at[0]].labelPlace(at[1], at[2])
			return e
		})
	}
}

// askWhatHides looks at the labels of all tables, before some are left unobserved.
func (l *tableLoader) askWhatHides() {
	if l.o.NoLabels {
		return
	}
	var found signs
	for i, g := range l.graphs {
		for s, y := range g.labels {
			found.see(y, i, 0, s)
		}
	}
	l.loader.askWhatHides(&found, 0, "label ", func(e *Error) *Error {
		g := l.graphs[found.at[0]]
		e.File, e.Line = g.nodes.path, int(g.nodes.lines[found.at[2]])
		return e
	})
}

// askWhatHides looks at the labels of all pixels. Those that a picture hides by 255 are
// no spins.
func (l *imageLoader) askWhatHides() {
	var found signs
	for i, d := range l.images {
		if d.labels == nil {
			continue
		}
		for s, y := range d.labels.labels {
			if d.labels.form == labelsText || y != crf.Unobserved {
				found.see(y, i, 0, s)
			}
		}
	}
	l.loader.askWhatHides(&found, 0, "", func(e *Error) *Error {
		m := l.images[found.at[0]].labels
		e.File = m.path
		return m.place(e, found.at[2])
	})
}
