package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// forbid puts what the manifest at path forbids into a schema made for training data: into each type what is said of
// that type, or else of all. Types of untied weights are not those of the manifest.
func (m *Manifest) forbid(s *crf.Schema, path string, untied bool) []error {
	p, ownTypes := &problems{file: path}, "untied weights have types of their own"
	number := make([]map[string]int, len(s.NodeTypes))       // of the states of each type
	states, pairs := map[string]bool{}, map[[2]string]bool{} // that some type has
	for a := range s.NodeTypes {
		t, names, own := &s.NodeTypes[a], m.ForbiddenStates, a < len(m.NodeTypes) && m.NodeTypes[a].Forbidden != nil
		if own && untied {
			p.add(0, fmt.Sprintf("node_types[%d].forbidden", a), "use forbidden_states", "%s", ownTypes)
		} else if own {
			names = m.NodeTypes[a].Forbidden
		}
		number[a] = map[string]int{}
		for x, name := range t.States {
			number[a][name] = x
		}
		for _, name := range names {
			if x, known := number[a][name]; known {
				states[name], t.Forbidden = true, append(t.Forbidden, x)
			} else if own && !p.over() {
				p.add(0, fmt.Sprintf("node_types[%d].forbidden", a), suggestion(name, t.States), "node type %q has no state %q",
					t.Name, name)
			}
		}
	}
	for b := range s.EdgeTypes {
		t, list, own := &s.EdgeTypes[b], m.ForbiddenPairs, b < len(m.EdgeTypes) && m.EdgeTypes[b].Forbidden != nil
		if own && untied {
			p.add(0, fmt.Sprintf("edge_types[%d].forbidden", b), "use forbidden_pairs", "%s", ownTypes)
		} else if own {
			list = m.EdgeTypes[b].Forbidden
		}
		for n, pair := range list {
			x, known := number[t.U][pair[0]]
			y, both := number[t.V][pair[1]]
			if known && both {
				pairs[pair], t.Forbidden = true, append(t.Forbidden, [2]int{x, y})
			} else if own && !p.over() {
				p.add(0, fmt.Sprintf("edge_types[%d].forbidden[%d]", b, n), "",
					"edge type %q joins states %q to %q, there is no pair %q", t.Name, s.NodeTypes[t.U].States,
					s.NodeTypes[t.V].States, pair)
			}
		}
	}
	for n, name := range m.ForbiddenStates {
		if !states[name] && !p.over() {
			p.add(0, fmt.Sprintf("forbidden_states[%d]", n), suggestion(name, allStates(s)), "no node type has a state %q", name)
		}
	}
	for n, pair := range m.ForbiddenPairs {
		if !pairs[pair] && !p.over() {
			p.add(0, fmt.Sprintf("forbidden_pairs[%d]", n), "", "no edge type joins states %s; there are %s",
				strings.Join(pair[:], " and "), strings.Join(allStates(s), ", "))
		}
	}
	return p.errors()
}

// allStates lists the states of all node types.
func allStates(s *crf.Schema) (names []string) {
	seen := map[string]bool{}
	for _, t := range s.NodeTypes {
		for _, name := range t.States {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// forbids reports whether the manifest forbids anything.
func (m *Manifest) forbids() bool {
	return len(m.ForbiddenStates)+len(m.ForbiddenPairs) > 0 ||
		slices.ContainsFunc(m.NodeTypes, func(t ManifestNode) bool { return len(t.Forbidden) > 0 }) ||
		slices.ContainsFunc(m.EdgeTypes, func(t ManifestEdge) bool { return len(t.Forbidden) > 0 })
}

// compareMask compares what the manifest at path forbids, if it forbids anything, with the model whose schema the set
// has. The model decides: a difference is a warning, but a problem where the model is to learn from the data.
func (o *Options) compareMask(m *Manifest, path string, set *Set) []error {
	if !m.forbids() {
		return nil
	}
	told := crf.Schema{NodeTypes: slices.Clone(set.Schema.NodeTypes), EdgeTypes: slices.Clone(set.Schema.EdgeTypes)}
	for a := range told.NodeTypes {
		told.NodeTypes[a].Forbidden = nil
	}
	for b := range told.EdgeTypes {
		told.EdgeTypes[b].Forbidden = nil
	}
	list := m.forbid(&told, path, set.Recipe.Untied)
	same := slices.EqualFunc(told.NodeTypes, set.Schema.NodeTypes, func(a, b crf.NodeType) bool {
		return maps.Equal(setOf(a.Forbidden), setOf(b.Forbidden))
	}) && slices.EqualFunc(told.EdgeTypes, set.Schema.EdgeTypes, func(a, b crf.EdgeType) bool {
		return maps.Equal(setOf(a.Forbidden), setOf(b.Forbidden))
	})
	if !same {
		remedy := "the model's mask holds, not this one"
		if o.Learning {
			remedy = "make the two agree, or learn without an initial model"
		}
		list = append(list, &Error{File: path, Problem: "what it forbids is not what the model forbids", Remedy: remedy})
	}
	if o.Learning {
		return list
	}
	for _, err := range list {
		set.Warnings = append(set.Warnings, err.Error())
	}
	return nil
}

// setOf answers whether something is in a list, however long: a search through it, once for each entry of another,
// takes time with the square of their length, which a file may choose.
func setOf[X comparable](list []X) map[X]bool {
	set := make(map[X]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}
