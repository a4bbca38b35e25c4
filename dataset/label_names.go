package dataset

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// nameStates finds the node types of instance files whose labels are names of states, and
// numbers these labels: in training data those that do not begin at 0 where nothing else
// tells the states, and else those that the model has learned so. As in tables, states are
// the labels that occur then, in ascending order.
func (l *npzLoader) nameStates() {
	if l.names = map[int][]int32{}; l.areSpins {
		return
	}
	switch {
	case l.o.Recipe != nil:
		for _, a := range l.o.Recipe.LabelNames {
			if a < len(l.o.Schema.NodeTypes) {
				l.names[a] = numbersOf(l.o.Schema.NodeTypes[a].States)
			}
		}
	case l.o.Schema == nil && len(l.o.States) == 0 && l.manifest.States == nil &&
		!slices.ContainsFunc(l.instances, tellsStates):
		l.findNames()
	}
	if len(l.names) == 0 {
		return
	}
	l.eachLabel(func(in *npzInstance, sample []int32, n, s, a int) bool {
		names, named := l.names[a]
		if !named || sample[s] == crf.Unobserved {
			return true
		}
		x, known := slices.BinarySearch(names, sample[s])
		if !known {
			l.at(in, in.labelPlace(n, s), "", "is %d, want -1 (unobserved) or a state of the model: %s",
				sample[s], firstFew(labelTextsOf(names)))
			return false
		}
		sample[s] = int32(x)
		return true
	})
}

// tellsStates reports whether the file of an instance has numbers of states.
func tellsStates(in *npzInstance) bool { return in.states != nil }

// findNames finds the labels of the node types whose labels do not begin at 0.
func (l *npzLoader) findNames() {
	type labels map[int32]bool
	found := map[int]labels{} // those of each node type, until 0 is among them
	var of labels
	last, negative := -1, false
	l.eachLabel(func(_ *npzInstance, sample []int32, _, s, a int) bool {
		negative = negative || sample[s] < crf.Unobserved
		if a != last {
			if found[a] == nil {
				found[a] = labels{}
			}
			of, last = found[a], a
		}
		if y := sample[s]; y >= 0 && (s == 0 || y != sample[s-1]) && !of[0] {
			of[y] = true
		}
		return true
	})
	if negative { // which are no names, and are refused
		return
	}
	for _, a := range slices.Sorted(maps.Keys(found)) {
		told := a < len(l.manifest.NodeTypes) && l.manifest.NodeTypes[a].States != nil
		names := slices.Sorted(maps.Keys(found[a]))
		if told || len(names) < 2 || names[0] == 0 || len(names) > mostStates || l.o.Untied && len(found) > 1 {
			continue
		}
		l.names[a] = names
		largest := newTop()
		for _, y := range names {
			largest.see(y, 0, 0, 0)
		}
		doubt := largest.doubt("label", unobservedHint)
		l.set.origins.states[a] = origin{
			"states", len(names), "labels do not begin at 0, and have as many different numbers", doubt,
		}
		if doubt != "" {
			doubt = "; " + doubt
		}
		l.warn("labels do not begin at 0, and are the names of %d states: %s%s; if they number states, give \"states\" in %s",
			len(names), firstFew(labelTextsOf(names)), doubt, ManifestName)
	}
}

// eachLabel visits the labels of all instances until visit returns false. a is the type of
// node s.
func (l *npzLoader) eachLabel(visit func(in *npzInstance, sample []int32, n, s, a int) bool) {
	for _, in := range l.instances {
		for n, sample := range in.labels {
			for s := range sample {
				if !visit(in, sample, n, s, in.nodes.typeOf(s)) {
					return
				}
			}
		}
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

// Labels returns states of an instance's nodes as the data have them for labels: the same,
// or the numbers that are the names of states, of types in Recipe.LabelNames.
func (s *Set) Labels(in *crf.Instance, states []int32) []int32 {
	labels := states
	for _, a := range s.Recipe.LabelNames {
		labels = slices.Clone(labels)
		numbers := numbersOf(s.Schema.NodeTypes[a].States)
		for v, x := range states {
			if x != crf.Unobserved && in.NodeType(int32(v)) == a {
				labels[v] = numbers[x]
			}
		}
	}
	return labels
}
