package dataset

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// renumber replaces the labels of all instances, a being the type of node s, until one has no number.
func (l *npzLoader) renumber(number func(y int32, a int) (x int32, known bool)) {
	for _, in := range l.instances {
		for n, sample := range in.labels {
			for s, y := range sample {
				x, known := number(y, in.nodes.typeOf(s))
				if !known {
					names := labelTextsOf(l.names[in.nodes.typeOf(s)])
					l.at(in, in.labelPlace(n, s), "", "is %d, want -1 (unobserved) or a state of the model: %s", y, firstFew(names))
					return
				}
				sample[s] = x
			}
		}
	}
}

// readLabels gives labels that are no numbers of states such numbers: spins, and names of states. In training
// data these are labels that do not begin at 0 where nothing else tells the states, and else those that the model
// has learned so. As in tables, states are the labels that occur then, in ascending order.
func (l *npzLoader) readLabels() {
	for _, in := range l.instances {
		for n := range in.labels {
			l.numbers = append(l.numbers, in.numbered(n))
		}
	}
	l.labels = l.surveyLabels()
	var all labelSurvey
	for _, of := range l.labels {
		all.minus, all.zeros, all.plus, all.others = all.minus+of.minus, all.zeros+of.zeros, all.plus+of.plus,
			all.others+of.others
	}
	if l.areSpins = l.minusOne(&all, len(spinStates)) == isSpin; l.areSpins {
		l.renumber(func(y int32, _ int) (int32, bool) { return max(y, 0), true })
		return
	}
	l.names = map[int][]int32{}
	switch {
	case l.o.Recipe != nil:
		for _, a := range l.o.Recipe.LabelNames {
			if a < len(l.o.Schema.NodeTypes) {
				l.names[a] = numbersOf(l.o.Schema.NodeTypes[a].States)
			}
		}
	case l.o.Schema == nil && len(l.o.States) == 0 && l.manifest.States == nil &&
		!slices.ContainsFunc(l.instances, func(in *npzInstance) bool { return in.states != nil }):
		l.findNames()
	}
	if len(l.names) == 0 {
		return
	}
	l.renumber(func(y int32, a int) (int32, bool) {
		names, named := l.names[a]
		if !named || y == crf.Unobserved {
			return y, true
		}
		x, known := slices.BinarySearch(names, y)
		return int32(x), known
	})
}

// spinStates names the states of spins.
var spinStates = []string{"-1", "1"}

// findNames finds the labels of the node types whose labels do not begin at 0.
func (l *npzLoader) findNames() {
	types := slices.Sorted(maps.Keys(l.labels))
	if slices.ContainsFunc(types, func(a int) bool { return l.labels[a].negative }) { // these are refused
		return
	}
	for _, a := range types {
		told := a >= 0 && a < len(l.manifest.NodeTypes) && l.manifest.NodeTypes[a].States != nil
		names := slices.Sorted(maps.Keys(l.labels[a].numbers))
		if told || len(names) < 2 || names[0] == 0 || len(names) > mostStates || l.o.Untied && len(types) > 1 {
			continue
		}
		l.names[a] = names
		l.warn("labels do not begin at 0, and are the names of %d states: %s; if they number states, give \"states\" in %s",
			len(names), firstFew(labelTextsOf(names)), ManifestName)
	}
}

// labelTextsOf are labels as names of states.
func labelTextsOf(labels []int32) []string {
	names := make([]string, len(labels))
	for x, y := range labels {
		names[x] = strconv.Itoa(int(y))
	}
	return names
}

// numbersOf are the labels whose names states are; 0 where one is no number, which no
// labels are.
func numbersOf(states []string) []int32 {
	numbers := make([]int32, len(states))
	for x, name := range states {
		if y, err := strconv.ParseInt(strings.TrimSpace(name), 10, 32); err == nil {
			numbers[x] = int32(y)
		}
	}
	return numbers
}

// Labels returns states of an instance's nodes as the data have them for labels: the same, or the numbers that are
// the names of states. A state that is not known is crf.Unobserved, or one less where that is a label.
func (s *Set) Labels(in *crf.Instance, states []int32) []int32 {
	labels := states
	for a := range s.Schema.NodeTypes {
		if !s.namesAreLabels(a) {
			continue
		}
		labels = slices.Clone(labels)
		numbers := numbersOf(s.Schema.NodeTypes[a].States)
		unknown := min(crf.Unobserved, slices.Min(numbers)-1)
		for v, x := range states {
			switch {
			case len(s.Schema.NodeTypes) > 1 && in.NodeType(int32(v)) != a:
			case x == crf.Unobserved:
				labels[v] = unknown
			default:
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
