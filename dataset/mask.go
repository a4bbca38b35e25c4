package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// forbid puts what the manifest at path forbids into a schema made for training
// data: into each type what is said of that type, or else of all. Types of untied
// weights are not those of the manifest.
func (m *Manifest) forbid(s *crf.Schema, path string, untied bool) []error {
	p := &problems{file: path}
	ownStates := make([][]string, len(s.NodeTypes))
	for a, t := range m.NodeTypes {
		if untied && t.Forbidden != nil {
			p.add(0, fmt.Sprintf("node_types[%d].forbidden", a), "use forbidden_states",
				"untied weights have types of their own")
		} else if a < len(ownStates) {
			ownStates[a] = t.Forbidden
		}
	}
	ownPairs := make([][][2]string, len(s.EdgeTypes))
	for b, t := range m.EdgeTypes {
		if untied && t.Forbidden != nil {
			p.add(0, fmt.Sprintf("edge_types[%d].forbidden", b), "use forbidden_pairs", "untied weights have types of their own")
		} else if b < len(ownPairs) {
			ownPairs[b] = t.Forbidden
		}
	}
	number := make([]map[string]int, len(s.NodeTypes)) // of the states of each type
	for a, t := range s.NodeTypes {
		number[a] = map[string]int{}
		for x, name := range t.States {
			number[a][name] = x
		}
	}
	m.forbidStates(s, p, ownStates, number)
	m.forbidPairs(s, p, ownPairs, number)
	return p.errors()
}

func (m *Manifest) forbidStates(s *crf.Schema, p *problems, own [][]string, number []map[string]int) {
	forbidState := func(a int, name string) bool {
		x, known := number[a][name]
		if t := &s.NodeTypes[a]; known {
			t.Forbidden = append(t.Forbidden, x)
		}
		return known
	}
	unused := forbidIn(own, m.ForbiddenStates, forbidState, func(a, _ int, name string) {
		if p.over() {
			return
		}
		t := &s.NodeTypes[a]
		p.add(0, fmt.Sprintf("node_types[%d].forbidden", a), suggestion(name, t.States), "node type %q has no state %q",
			t.Name, name)
	})
	for _, n := range unused {
		if p.over() {
			continue
		}
		p.add(0, fmt.Sprintf("forbidden_states[%d]", n), suggestion(m.ForbiddenStates[n], allStates(s)),
			"no node type has a state %q", m.ForbiddenStates[n])
	}
}

func (m *Manifest) forbidPairs(s *crf.Schema, p *problems, own [][][2]string, number []map[string]int) {
	forbidPair := func(b int, pair [2]string) bool {
		t := &s.EdgeTypes[b]
		x, known := number[t.U][pair[0]]
		y, both := number[t.V][pair[1]]
		if known && both {
			t.Forbidden = append(t.Forbidden, [2]int{x, y})
		}
		return known && both
	}
	unused := forbidIn(own, m.ForbiddenPairs, forbidPair, func(b, n int, pair [2]string) {
		if p.over() {
			return
		}
		t := &s.EdgeTypes[b]
		p.add(0, fmt.Sprintf("edge_types[%d].forbidden[%d]", b, n), "",
			"edge type %q joins states %q to %q, there is no pair %q", t.Name, s.NodeTypes[t.U].States, s.NodeTypes[t.V].States,
			pair)
	})
	for _, n := range unused {
		if p.over() {
			continue
		}
		p.add(0, fmt.Sprintf("forbidden_pairs[%d]", n), "", "no edge type joins states %s; there are %s",
			strings.Join(m.ForbiddenPairs[n][:], " and "), strings.Join(allStates(s), ", "))
	}
}

// forbidIn forbids in every type its own list, or else the general one. forbid reports
// whether the type has what an entry names; unknown is told of entries of its own that it
// has not. Those of the general list that no type has are returned.
func forbidIn[X any](own [][]X, general []X, forbid func(t int, x X) bool, unknown func(t, n int, x X)) (unused []int) {
	used := make([]bool, len(general))
	for t, list := range own {
		if list == nil {
			for n, x := range general {
				used[n] = forbid(t, x) || used[n]
			}
		}
		for n, x := range list {
			if !forbid(t, x) {
				unknown(t, n, x)
			}
		}
	}
	for n, ok := range used {
		if !ok {
			unused = append(unused, n)
		}
	}
	return unused
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

// compareMask compares what the manifest at path forbids, if it forbids anything,
// with the model whose schema the set has. The model decides: a difference is a
// warning, but a problem where the model is to learn from the data.
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
	here, there := onlyForbidden(&told, &set.Schema, "here"), onlyForbidden(&set.Schema, &told, "in the model")
	if only := append(here, there...); len(only) > 0 {
		remedy := "the model's mask holds, not this one"
		if o.Learning {
			remedy = "make the two agree, or learn without an initial model"
		}
		const most = 4
		if more := len(only) - most; more > 0 {
			only = append(only[:most], fmt.Sprintf("and %d more", more))
		}
		list = append(list, &Error{File: path,
			Problem: "what it forbids is not what the model forbids: " + strings.Join(only, "; "), Remedy: remedy})
	}
	if o.Learning {
		return list
	}
	for _, err := range list {
		set.Warnings = append(set.Warnings, err.Error())
	}
	return nil
}

// onlyForbidden describes what a forbids and b does not, of the same types.
func onlyForbidden(a, b *crf.Schema, where string) (list []string) {
	for i, t := range a.NodeTypes {
		other := setOf(b.NodeTypes[i].Forbidden)
		for _, x := range t.Forbidden {
			if !other[x] {
				list = append(list, fmt.Sprintf("state %s of node type %q only %s", t.States[x], t.Name, where))
			}
		}
	}
	for i, t := range a.EdgeTypes {
		other := setOf(b.EdgeTypes[i].Forbidden)
		for _, x := range t.Forbidden {
			if !other[x] {
				list = append(list, fmt.Sprintf("pair %s, %s of edge type %q only %s", a.NodeTypes[t.U].States[x[0]],
					a.NodeTypes[t.V].States[x[1]], t.Name, where))
			}
		}
	}
	return list
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
