package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/option"
)

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
		l.warn("%d of %d labels are hidden (%s)", hidden, all, option.Text(l.hiddenBy()))
	}
	var alone, never []string
	for a, t := range types {
		var seen, missing []int
		forbidden := setOf(t.Forbidden)
		for x, n := range counts[a] {
			if n > 0 {
				seen = append(seen, x)
			} else if !forbidden[x] {
				missing = append(missing, x)
			}
		}
		switch {
		case len(seen) == 1 && len(missing) > 0:
			alone = append(alone, fmt.Sprintf("%q of node type %q, which has %d states", t.States[seen[0]], t.Name,
				len(t.States)))
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
	how := "-1"
	switch r := &l.set.Recipe; {
	case r.Kind == KindImages:
		how = "negative, or 255 in a picture"
	case r.Text != nil:
		how = missingFeatures
	case r.Sheets != nil:
		how = "empty cells, and words such as NA unless {states} names them"
	}
	if l.o.Observed != "" {
		how += fmt.Sprintf(", or not in the split %q", option.Literal(l.o.Observed))
	}
	return how
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
