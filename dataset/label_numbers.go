package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// spins is the one rule of what -1 means among labels that are numbers: it hides a label. The option Spins says that
// it is a spin where it stands beside 1 alone; then a 0 that is by far the rarest of -1, 0 and 1 is a missing value.
// Where it stands beside 1 alone and nothing tells, this is a question, which dataset.json can answer.
func (l *loader) spins(x labelCounts) bool {
	return (l.o.Spins || l.o.Recipe != nil && l.o.Recipe.Spins) && x[-1] > 0 && !l.manifest.HiddenLabels &&
		(len(x) == 1 || len(x) == 2+min(x[0], 1) && x[1] > 0 && farFewer*x[0] <= min(x[-1], x[1]))
}

// farFewer are so many labels for one of those that are missing votes.
const farFewer = 2

// voteNote tells which of -1, 0 and 1 is taken for a missing one.
const voteNote = "values are -1, 0 and 1: %s is taken for a missing one (%d of %d)"

// sayHidden is how data say that -1, or 255 in a picture, hides a label.
const sayHidden = `write "hidden_labels": true into ` + ManifestName

// numbered are labels that are numbers, as an array of the data has them.
type numbered struct {
	labels []int32
	typeOf func(s int) int                            // of nodes
	place  func(e *option.Error, s int) *option.Error // puts the place of a label into an error
	hides  string                                     // a label: -1, or 255 in a picture, where it says nothing of spins
}

// labelCounts says how often each label occurs, where labels are numbers, or each of other numbers.
type labelCounts map[int32]int

// largest is -1 where all labels are hidden.
func (c labelCounts) largest() int32 {
	return slices.Max(append(slices.Collect(maps.Keys(c)), crf.Unobserved))
}

// countLabels counts all labels that are numbers, of each node type, but for those that a picture hides.
func (l *loader) countLabels() map[int]labelCounts {
	all := map[int]labelCounts{}
	for _, n := range l.numbers {
		for s := 0; s < len(n.labels); {
			from, y, a := s, n.labels[s], n.typeOf(s)
			for s < len(n.labels) && n.labels[s] == y && n.typeOf(s) == a {
				s++
			}
			if n.hides != hiddenNumber && y == crf.Unobserved {
				continue
			}
			if all[a] == nil {
				all[a] = labelCounts{}
			}
			all[a][y] += s - from
		}
	}
	return all
}

// placeOf puts the place of the first label of a node type that is this one into an error.
func (l *loader) placeOf(e *option.Error, a int, label int32) *option.Error {
	for _, n := range l.numbers {
		for s, y := range n.labels {
			if y == label && n.typeOf(s) == a && !(n.hides != hiddenNumber && y == crf.Unobserved) {
				return n.place(e, s)
			}
		}
	}
	return e
}

// checkNumbers reports the first label of each array that is out of range.
func (l *loader) checkNumbers(states func(a int) int, arrays ...numbered) {
	for _, n := range arrays {
		for s, y := range n.labels {
			if k := states(n.typeOf(s)); y < crf.Unobserved || int(y) >= k {
				l.fail(n.place(option.At("", 0, "", "", "is %d, want %s (unobserved) or 0 to %d", y, n.hides, k-1), s))
				break
			}
		}
	}
}

// askWhatHides fails at the first -1 of each node type where it may be meant as a state. Where
// labels are only used with a model, some are given to be held, and where they only look like votes, this is a warning.
func (l *loader) askWhatHides() {
	all, types := l.countLabels(), l.set.Schema.NodeTypes
	for _, a := range slices.Sorted(maps.Keys(all)) {
		x := all[a]
		if x[-1] == 0 || x[1] == 0 || len(x) != 2 || len(types[a].States) != 2 || l.manifest.HiddenLabels || l.spins(x) {
			continue
		}
		of, remedy := "", "if they are spins, write 0 and 1; "
		if len(types) > 1 {
			of = fmt.Sprintf(" of node type %q", types[a].Name)
		}
		if l.set.Recipe.Kind == kindNPZ {
			remedy = "if they are spins, use {model!blockbp train --model ising}, or write 0 and 1, by labels = (labels + " +
				"1) // 2; "
		}
		err := option.At("", 0, "", remedy+"if -1 is to hide, "+sayHidden, "is -1, which hides a label, as are %d of the %d "+
			"labels%s, and all others are 1", x[-1], x[-1]+x[1], of)
		err = l.placeOf(err, a, crf.Unobserved)
		if l.o.Schema != nil && !l.o.Learning {
			l.warn("%s", option.References(err))
		} else {
			l.fail(err)
		}
	}
}

// countStates names the states of a node type by the labels that are names, or as many as the largest label asks for.
// otherwise says where else than in dataset.json they can be given.
func (l *loader) countStates(a int, all map[int]labelCounts, what, every, otherwise string, missing error) []string {
	if l.names[a] != nil {
		return labelTextsOf(l.names[a])
	}
	largest := all[a].largest()
	if largest < 0 {
		l.fail(missing)
		return nil
	}
	at := l.placeOf(&option.Error{}, a, largest)
	switch {
	case largest >= mostStates:
		at.Problem, at.Remedy = fmt.Sprintf("is %d, want less than %d", largest, mostStates), "-1 means unobserved"
		l.fail(at)
	case largest == 0:
		l.failAt(at.File, "", "if there are more, give \"states\" in "+ManifestName+otherwise,
			"%s is 0, which tells of one state only", every)
	default:
		where := option.Place(at.File, at.Line, at.Place)
		if at.Problem != "" { // the number on a line of a table
			where += option.Text(", " + strings.TrimSpace(at.Problem))
		}
		l.warn("%s taken to have %d states, because the largest label is %d (%s); give \"states\" in %s%s to be sure",
			what, largest+1, largest, where, ManifestName, option.Text(otherwise))
		return crf.NumberedStates(int(largest) + 1)
	}
	return nil
}

// skip counts labels that are left unread.
func (l *loader) skip(labels []int32) {
	for _, y := range labels {
		if l.unread++; y >= 0 {
			l.known++
		}
	}
}

// readLabels gives labels that are no numbers of states such numbers: spins, and names of states.
func (l *npzLoader) readLabels() {
	for _, in := range l.instances {
		if l.o.NoLabels {
			l.skip(slices.Concat(in.spec.Labels...))
			in.spec.Labels = nil
		}
		for n := range in.spec.Labels {
			if in.samples == nil { // whose labels are numbered
				l.numbers = append(l.numbers, in.numbered(n))
			}
		}
	}
	l.labels = l.countLabels()
	all := labelCounts{}
	for _, of := range l.labels {
		for y, n := range of {
			all[y] += n
		}
	}
	if l.areSpins = l.spins(all); !l.areSpins {
		l.readNames(l.labels, l.manifest.States != nil ||
			slices.ContainsFunc(l.instances, func(in *npzInstance) bool { return in.Has(statesArray) }))
		return
	}
	if all[0] > 0 {
		l.warn(voteNote, "0", all[0], all[-1]+all[0]+all[1])
	}
	for _, n := range l.numbers {
		for s, y := range n.labels {
			if n.labels[s] = max(y, 0); y == 0 && all[1] > 0 {
				n.labels[s] = crf.Unobserved
			}
		}
	}
}

// spinStates names the states of spins.
var spinStates = []string{"-1", "1"}

// readNames replaces labels that are the names of states by the numbers of these: those that the model has learned so,
// or, in training data of which nothing tells the states, those that do not begin at 0, or have large gaps. As in
// tables, states are the labels that occur then, in ascending order.
func (l *loader) readNames(all map[int]labelCounts, told bool) {
	l.names = map[int][]int32{}
	if r := l.o.Recipe; r != nil {
		for _, a := range r.LabelNames {
			if a < len(l.o.Schema.NodeTypes) {
				l.names[a] = numbersOf(l.o.Schema.NodeTypes[a].States)
			}
		}
	} else if l.o.Schema == nil && len(l.o.States) == 0 && !told {
		l.findNames(all)
	}
	for _, n := range l.numbers {
		if len(l.names) == 0 || len(l.problems) > 0 {
			return
		}
		for s, y := range n.labels {
			names, named := l.names[n.typeOf(s)]
			if !named || y == crf.Unobserved {
				continue
			}
			x, known := slices.BinarySearch(names, y)
			if n.labels[s] = int32(x); !known {
				l.fail(n.place(option.At("", 0, "", "learn from labels that have it, too",
					"label is %d, want %s (unobserved) or a state of the model: %s", y, n.hides,
					option.FirstFew(labelTextsOf(names))), s))
				break
			}
		}
	}
}

// findNames finds the node types whose labels are names of states: most numbers up to the largest, or 0, are none.
func (l *loader) findNames(all map[int]labelCounts) {
	for _, a := range slices.Sorted(maps.Keys(all)) {
		names, why := slices.Sorted(maps.Keys(all[a])), "labels do not begin at 0"
		names = slices.DeleteFunc(names, func(y int32) bool { return y == crf.Unobserved })
		told := a >= 0 && a < len(l.manifest.NodeTypes) && l.manifest.NodeTypes[a].States != nil
		if told || len(names) < 2 || names[0] < 0 || len(names) > mostStates || l.o.Untied && len(all) > 1 {
			continue
		}
		if names[0] == 0 {
			if 2*len(names) > int(all[a].largest()) {
				continue
			}
			why = fmt.Sprintf("most numbers from 0 to %d are no label: labels have gaps", all[a].largest())
		}
		l.names[a] = names
		l.warn("%s, and are the names of %d states: %s; if they number states, give \"states\" in %s, and if one says that "+
			"none is known, write -1 (255 in a picture)", why, len(names), option.FirstFew(labelTextsOf(names)), ManifestName)
	}
}

// labelTextsOf are labels as names of states.
func labelTextsOf(labels []int32) []string {
	return numeric.Map(labels, func(y int32) string { return strconv.Itoa(int(y)) })
}

// numbersOf are the labels whose names states are; 0 where one is no number, which no labels are.
func numbersOf(states []string) []int32 {
	numbers := make([]int32, len(states))
	for x, name := range states {
		y, _ := strconv.ParseInt(strings.TrimSpace(name), 10, 32)
		numbers[x] = int32(y)
	}
	return numbers
}

// Labels returns states of an instance's nodes as the data have them for labels: the same, or the numbers that are
// the names of states. A state that is not known is crf.Unobserved, or one less where that is a label.
func (s *Set) Labels(in *crf.Instance, states []int32) []int32 {
	labels, types := slices.Clone(states), s.Schema.NodeTypes
	for a := range types {
		if !s.namesAreLabels(a) {
			continue
		}
		numbers := numbersOf(types[a].States)
		for v, x := range states {
			if len(types) > 1 && in.NodeType(int32(v)) != a {
				continue
			}
			if labels[v] = min(crf.Unobserved, slices.Min(numbers)-1); x != crf.Unobserved {
				labels[v] = numbers[x]
			}
		}
	}
	return labels
}

// namesAreLabels reports whether the states of a node type are named by the numbers that the data have for labels.
func (s *Set) namesAreLabels(a int) bool {
	r, names := &s.Recipe, s.Schema.NodeTypes[a].States
	return slices.Contains(r.LabelNames, a) || r.Spins && slices.Equal(names, spinStates) ||
		(r.Sheets != nil || r.LabelColours) && len(names) > 0 && slices.Equal(names, labelTextsOf(numbersOf(names)))
}
