package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// forbid puts what the manifest at path forbids into a schema made for training data: into each type what it has.
func (m *Manifest) forbid(s *crf.Schema, path string) []error {
	p := &option.Problems{File: path}
	var names []string                                 // of all states
	number := make([]map[string]int, len(s.NodeTypes)) // of the states of each type
	known := map[string]bool{}
	for a, t := range s.NodeTypes {
		number[a] = map[string]int{}
		for x, name := range t.States {
			if number[a][name] = x; !known[name] {
				known[name], names = true, append(names, name)
			}
		}
	}
	for n, name := range m.ForbiddenStates {
		if !known[name] && !p.Over() {
			p.Add(0, fmt.Sprintf("forbidden_states[%d]", n), option.DidYouMean(name, names), "no node type has a state %q", name)
		}
		for a := range s.NodeTypes {
			if x, has := number[a][name]; has {
				s.NodeTypes[a].Forbidden = append(s.NodeTypes[a].Forbidden, x)
			}
		}
	}
	for n, pair := range m.ForbiddenPairs {
		found := false
		for b := range s.EdgeTypes {
			t := &s.EdgeTypes[b]
			x, first := number[t.U][pair[0]]
			y, second := number[t.V][pair[1]]
			if first && second {
				found, t.Forbidden = true, append(t.Forbidden, [2]int{x, y})
			}
		}
		if !found && !p.Over() {
			p.Add(0, fmt.Sprintf("forbidden_pairs[%d]", n), "", "no edge type joins states %s; there are %s",
				strings.Join(pair, " and "), strings.Join(names, ", "))
		}
	}
	return p.Errors()
}

// compareMask compares what the manifest at path forbids, if it forbids anything, with the model whose schema the set
// has. The model decides: a difference is a warning, but a problem where the model is to learn from the data.
func (o *Options) compareMask(m *Manifest, path string, set *Set) []error {
	if len(m.ForbiddenStates)+len(m.ForbiddenPairs) == 0 {
		return nil
	}
	told := crf.Schema{
		NodeTypes: numeric.Map(set.Schema.NodeTypes, func(t crf.NodeType) crf.NodeType { t.Forbidden = nil; return t }),
		EdgeTypes: numeric.Map(set.Schema.EdgeTypes, func(t crf.EdgeType) crf.EdgeType { t.Forbidden = nil; return t })}
	list := m.forbid(&told, path)
	if !slices.EqualFunc(told.NodeTypes, set.Schema.NodeTypes, func(s, t crf.NodeType) bool {
		return maps.Equal(numeric.SetOf(s.Forbidden), numeric.SetOf(t.Forbidden))
	}) || !slices.EqualFunc(told.EdgeTypes, set.Schema.EdgeTypes, func(s, t crf.EdgeType) bool {
		return maps.Equal(numeric.SetOf(s.Forbidden), numeric.SetOf(t.Forbidden))
	}) {
		list = append(list, option.At(path, 0, "",
			"the model's mask holds, not this one: make the two agree, or learn without an initial model",
			"what it forbids is not what the model forbids"))
	}
	if o.Learning {
		return list
	}
	set.Warnings = append(set.Warnings, numeric.Map(list, error.Error)...)
	return nil
}
