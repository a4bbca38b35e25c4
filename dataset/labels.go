package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/sets"
)

// signs counts the labels of a node type. Where they are -1 and 1 alone, nothing tells
// hidden labels from the spins of a physical model, half of which would vanish.
type signs struct {
	minus, plus, others int
	at                  [3]int // of the first -1: file, sample, node
}

// see takes note of a label that stands somewhere.
func (x *signs) see(label int32, file, sample, node int) {
	switch label {
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

// spins reports whether the labels may be those of spins.
func (x *signs) spins() bool { return x.minus > 0 && x.plus > 0 && x.others == 0 }

// refuseSpins fails at a label, which what names, where those of node type a may be
// spins and dataset.json does not say otherwise. Of three states and more there are no
// spins. Labels that are not learned from are a warning only: some are given to be held.
func (l *loader) refuseSpins(x *signs, a int, what string, place func(*Error) *Error) {
	types := l.set.Schema.NodeTypes
	if l.manifest.HiddenLabels || len(types[a].States) != 2 || !x.spins() {
		return
	}
	of, spins := "", "write 0 and 1"
	if len(types) > 1 {
		of = fmt.Sprintf(" of node type %q", types[a].Name)
	}
	if l.set.Recipe.Kind == KindNPZ {
		spins = "use the option Spins, or write 0 and 1, by labels = (labels + 1) // 2"
	}
	err := place(&Error{
		Problem: fmt.Sprintf("%sis -1, which hides a label, as are %d of the %d labels%s, and all others are 1", what, x.minus, x.minus+x.plus, of),
		Remedy:  fmt.Sprintf("if they are spins, %s; if -1 is to hide, write \"hidden_labels\": true into %s", spins, ManifestName),
		ofAll:   true,
	})
	if l.o.Schema != nil && !l.o.Learning {
		l.set.Warnings = append(l.set.Warnings, err.Error())
		return
	}
	l.fail(err)
}

// refuseSpins looks at the labels of all instance files.
func (l *npzLoader) refuseSpins() {
	found := make([]signs, len(l.set.Schema.NodeTypes))
	for i, in := range l.instances {
		for n, sample := range in.labels {
			for s, y := range sample {
				found[in.nodes.typeOf(s)].see(y, i, n, s)
			}
		}
	}
	for a := range found {
		l.loader.refuseSpins(&found[a], a, "", func(e *Error) *Error {
			at := found[a].at
			e.File, e.Place = l.instances[at[0]].path, l.instances[at[0]].labelPlace(at[1], at[2])
			return e
		})
	}
}

// readSpins numbers the labels of spins, where -1 hides nothing.
func (l *npzLoader) readSpins() {
	var found signs
	for i, in := range l.instances {
		for n, sample := range in.labels {
			for s, y := range sample {
				found.see(y, i, n, s)
			}
		}
	}
	asked := l.o.Spins || l.o.Recipe != nil && l.o.Recipe.Spins
	if l.areSpins = asked && !l.manifest.HiddenLabels && found.minus > 0 && found.others == 0; !l.areSpins {
		return
	}
	for _, in := range l.instances {
		for _, sample := range in.labels {
			for s, y := range sample {
				sample[s] = max(y, 0)
			}
		}
	}
}

// spinStates names the states of spins.
var spinStates = []string{"-1", "1"}

// refuseSpins looks at the labels of all tables, before some are left unobserved.
func (l *tableLoader) refuseSpins() {
	if l.o.NoLabels {
		return
	}
	var found signs
	for i, g := range l.graphs {
		for s, y := range g.labels {
			found.see(y, i, 0, s)
		}
	}
	l.loader.refuseSpins(&found, 0, "label ", func(e *Error) *Error {
		g := l.graphs[found.at[0]]
		e.File, e.Line = g.path, int(g.lines[found.at[2]])
		return e
	})
}

// refuseSpins looks at the labels of all pixels. Those that a picture hides by 255 are
// no spins.
func (l *imageLoader) refuseSpins() {
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
	l.loader.refuseSpins(&found, 0, "", func(e *Error) *Error {
		m := l.images[found.at[0]].labels
		e.File = m.path
		return m.place(e, found.at[2])
	})
}

// mostLabelsNamed bounds how many types or states a warning about labels names.
const mostLabelsNamed = 5

// describeLabels warns of what a model cannot learn: hidden labels, node types whose
// labels have one state alone, and states that no label has.
func (l *loader) describeLabels() {
	l.noteDirection()
	l.noteNoEdges()
	types := l.set.Schema.NodeTypes
	counts := make([][]int, len(types)) // [type][state]
	for a, t := range types {
		counts[a] = make([]int, len(t.States))
	}
	hidden, all := 0, 0
	for _, in := range l.set.Instances {
		for _, labels := range in.Samples() {
			all += len(labels)
			for s, y := range labels {
				if y == crf.Unobserved {
					hidden++
				} else {
					counts[in.NodeType(int32(s))][y]++
				}
			}
		}
	}
	if hidden > 0 {
		l.warn("%d of %d labels are hidden (%s)%s", hidden, all, l.hiddenBy(), l.classesHidden)
	}
	var alone, never []string
	for a, t := range types {
		var seen, missing []int
		forbidden := sets.Of(t.Forbidden)
		for x, n := range counts[a] {
			if n > 0 {
				seen = append(seen, x)
			} else if !forbidden[x] {
				missing = append(missing, x)
			}
		}
		switch {
		case len(seen) == 1 && len(missing) > 0:
			alone = append(alone, fmt.Sprintf("%q of node type %q, which has %d states", t.States[seen[0]], t.Name, len(t.States)))
		case len(seen) > 0: // of nodes without any label nothing is asked
			for _, x := range missing {
				never = append(never, fmt.Sprintf("state %q of node type %q", t.States[x], t.Name))
			}
		}
	}
	if len(alone) > 0 {
		l.warn("all known labels are %s: nothing tells states apart; label some of each", firstFew(alone))
	}
	if len(never) == 1 {
		l.warn("%s never occurs among the labels: %s", never[0], avoided)
	} else if len(never) > 1 {
		l.warn("%s never occur among the labels: %s", firstFew(never), avoided)
	}
}

// noteNoEdges tells of tables and arrays in which no nodes are joined. Sentences of one
// token and pictures of one pixel are what they are.
func (l *loader) noteNoEdges() {
	joined := slices.ContainsFunc(l.set.Instances, func(in *crf.Instance) bool { return in.Graph.NumEdges() > 0 })
	if kind := l.set.Recipe.Kind; !joined && (kind == KindGraph || kind == KindNPZ) {
		l.warn("there are no edges: the model predicts every node from its features alone")
	}
}

// avoided is what comes of states that no label has.
const avoided = "a model learns to avoid what it never sees; label some, or leave such states out of the data"

// hiddenBy says how labels of these data are hidden.
func (l *loader) hiddenBy() string {
	switch {
	case l.set.Recipe.Kind == KindImages:
		return "negative, or 255 in a picture"
	case l.set.Recipe.Text != nil:
		return missingFeatures
	case l.set.Recipe.Sheets != nil && l.o.Observed != "":
		return fmt.Sprintf("%s, or the split is not %q", l.hiddenWords, l.o.Observed)
	case l.set.Recipe.Sheets != nil:
		return l.hiddenWords
	case l.o.Observed != "":
		return fmt.Sprintf("-1, or not in the split %q", l.o.Observed)
	}
	return "-1"
}

// skip counts labels that are left unread.
func (l *loader) skip(labels []int32) {
	for _, y := range labels {
		if l.unread++; y >= 0 {
			l.known++
		}
	}
}

// firstFew lists the first of some texts, and then how many more there are.
func firstFew(texts []string) string {
	list := strings.Join(texts[:min(mostLabelsNamed, len(texts))], ", ")
	if n := len(texts) - mostLabelsNamed; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}
