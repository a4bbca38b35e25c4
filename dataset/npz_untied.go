package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// loadUntied makes a set whose nodes and edges all have weights of their own: one node type per cardinality and one
// edge type per pair of cardinalities, with the constant feature.
func (l *npzLoader) loadUntied() {
	l.findDirection()
	cards := l.cardinalities()
	if len(l.problems) > 0 {
		return
	}
	where := "those the model was trained on"
	if l.o.Schema != nil {
		l.adoptModel()
	} else {
		where = "those of " + l.instances[0].path
		l.learnUntied(cards[0])
	}
	l.run(func() {
		for i, in := range l.instances {
			if structureOf(in, cards[i], &l.set.Schema) != l.set.Recipe.Structure {
				remedy := "untied weights belong to one graph; train tied weights for several"
				if in.samples != nil {
					remedy = "name the table of edges of the training behind the samples, if there was one"
				}
				l.at(in, edgesArray, remedy,
					"its edges or numbers of states are not %s", where)
				continue
			}
			l.keepEdges(in)
			l.typeByStates(in, cards[i])
		}
	}, l.build)
}

// keepEdges leaves those that the recipe keeps, if it does not keep all.
func (l *npzLoader) keepEdges(in *npzInstance) {
	kept := l.set.Recipe.KeptEdges
	if n := len(kept); n > 0 && int(kept[n-1]) >= in.edges.count {
		l.at(in, edgesArray, "", "there are %d edges, and the model keeps edges up to %d", in.edges.count, kept[n-1])
	} else if n > 0 {
		in.graph, in.edges.count = l.fewer.some(in.graph, kept), n
	}
}

// some is the graph with some of its edges.
func (c *graphCache) some(g *graph.Graph, kept []int32) *graph.Graph {
	var ends []int32
	for _, e := range kept {
		ends = append(ends, g.U(e), g.V(e))
	}
	g, _ = c.get(g.NumNodes(), ends) // some edges of a graph make a graph
	return g
}

// KeepEdges returns the set with some of the edges of its untied networks, numbered and in ascending order, and no
// others: types have so many copies less, and those that lose all of their edges are left out. The recipe keeps these
// edges of new data, too.
func (s *Set) KeepEdges(kept []int32) (*Set, error) {
	less, graphs := *s, graphCache{}
	less.Recipe.KeptEdges, less.Instances, less.Schema.EdgeTypes = kept, nil, nil
	var features []crf.Features
	types := make([]int32, len(kept)) // of the edges
	for b, t := range s.Schema.EdgeTypes {
		t.Copies = 0
		for i, e := range kept {
			if s.Instances[0].EdgeType(e) == b {
				types[i] = int32(len(features))
				t.Copies++
			}
		}
		if t.Copies > 0 {
			less.Schema.EdgeTypes, features = append(less.Schema.EdgeTypes, t), append(features, crf.Constant(t.Copies, 1))
		}
	}
	for _, in := range s.Instances {
		spec := in.Spec()
		spec.Graph, spec.EdgeType, spec.EdgeFeat = graphs.some(in.Graph, kept), types, features
		in, err := crf.NewInstance(&less.Schema, spec)
		if err != nil {
			return nil, err
		}
		less.Instances = append(less.Instances, in)
	}
	return &less, nil
}

// cardinalities returns the number of states of every node of every instance: of files without the array states,
// as the types of nodes have them, or a model that has one cardinality alone.
func (l *npzLoader) cardinalities() [][]int32 {
	types, s := []crf.NodeType(nil), l.o.Schema
	for _, in := range l.instances {
		switch {
		case in.states != nil:
		case s != nil && len(s.NodeTypes) > 1:
			l.at(in, statesArray, "", "the array is missing; the model has nodes of %d cardinalities", len(s.NodeTypes))
		case s != nil:
			types, in.nodes.types = s.NodeTypes, nil
		case types == nil:
			types = l.nodeTypesOf()
		}
	}
	if len(l.problems) > 0 {
		return nil
	}
	cards := make([][]int32, len(l.instances))
	for i, in := range l.instances {
		cards[i] = make([]int32, in.nodes.count)
		for s := range cards[i] {
			if cards[i][s] = int32(in.statesAt(s)); cards[i][s] == 0 {
				cards[i][s] = int32(len(types[in.nodes.typeOf(s)].States))
			}
		}
	}
	return cards
}

// learnUntied makes the schema for the given cardinalities, those of the first instance.
func (l *npzLoader) learnUntied(cards []int32) {
	in, s := l.instances[0], &l.set.Schema
	l.set.Recipe = Recipe{Kind: KindNPZ, NodeForm: FormConstant, EdgeForm: FormConstant, Untied: true, Spins: l.o.Spins,
		LabelNames: slices.Sorted(maps.Keys(l.names))}
	kinds := slices.Compact(slices.Sorted(slices.Values(cards))) // what tells nodes apart that are of different types
	if in.samples != nil {
		kinds, l.set.Recipe.Columns = numbersTo(len(in.samples.states)), in.samples.columns
	}
	for a, k := range kinds {
		t := crf.NodeType{Name: "node", Features: 1, FeatureNames: []string{FormConstant}}
		if len(kinds) > 1 {
			t.Name = fmt.Sprintf("node_%d", k)
		}
		if in.samples != nil {
			t.States = in.samples.states[a]
		} else {
			t.States = l.untiedStates(int(k))
		}
		s.NodeTypes = append(s.NodeTypes, t)
	}
	if l.typeByStates(in, cards); len(l.problems) > 0 {
		return
	}
	for a, n := range in.nodes.counts(len(kinds)) {
		s.NodeTypes[a].Copies = n
	}
	edges := map[[2]int]int{}
	for e := range in.edges.count {
		u, v := in.endTypes(e)
		edges[[2]int{u, v}]++
	}
	for _, pair := range slices.SortedFunc(maps.Keys(edges), comparePairs) {
		t := crf.EdgeType{Name: "edge", U: pair[0], V: pair[1], Features: 1, FeatureNames: []string{FormConstant},
			Copies: edges[pair]}
		if len(kinds) > 1 {
			t.Name = fmt.Sprintf("edge_%d_%d", kinds[pair[0]], kinds[pair[1]])
		}
		s.EdgeTypes = append(s.EdgeTypes, t)
	}
	if l.completeSchema(); len(l.problems) == 0 {
		l.set.Recipe.Structure = structureOf(in, cards, s)
	}
	for _, in := range l.instances {
		if nodes, edges := in.forms(); nodes != FormNone || edges != FormConstant {
			l.warn("%s has features, which untied weights do not use", in.path)
			return
		}
	}
}

// untiedStates names k states as the options or dataset.json do, or the labels, if they name that many.
func (l *npzLoader) untiedStates(k int) []string {
	named := [][]string{l.o.States, l.manifest.States, labelTextsOf(l.names[0])}
	if l.areSpins || l.o.Spins && l.o.Statistics {
		named = append(named, spinStates)
	}
	for _, t := range l.manifest.NodeTypes {
		named = append(named, t.States)
	}
	if i := slices.IndexFunc(named, func(names []string) bool { return len(names) == k }); i >= 0 {
		return named[i]
	}
	if len(l.o.States) > 0 {
		l.fail(optionError("States", "it names %d states, the data have nodes with %d", len(l.o.States), k))
	}
	return crf.NumberedStates(k)
}

// typeByStates gives nodes the types of their cardinalities, and edges those of their ends.
func (l *npzLoader) typeByStates(in *npzInstance, cards []int32) {
	byCard := map[int32]int32{}
	for a := range l.set.Schema.NodeTypes {
		byCard[int32(l.set.Schema.NodeStates(a))] = int32(a)
	}
	in.nodes.types, in.edges.types = make([]int32, in.nodes.count), nil
	for i, k := range cards {
		in.nodes.types[i] = byCard[k]
		if columns := l.set.Recipe.Columns; i < len(columns) {
			in.nodes.types[i] = int32(columns[i].Type)
		}
	}
	in.edges.types = l.edgeTypesFor(in)
}

// structureOf hashes what the weights of an untied model belong to. Which end of a symmetric
// edge comes first is no part of it.
func structureOf(in *npzInstance, cards []int32, s *crf.Schema) string {
	hash := sha256.New()
	u, v := in.graph.Ends()
	if slices.ContainsFunc(s.EdgeTypes, func(t crf.EdgeType) bool { return t.Symmetric }) {
		u, v = slices.Clone(u), slices.Clone(v)
		for e := range u {
			if cards[u[e]] == cards[v[e]] {
				u[e], v[e] = min(u[e], v[e]), max(u[e], v[e])
			}
		}
	}
	for _, ints := range [][]int32{{int32(in.nodes.count)}, cards, u, v} {
		data, _ := binary.Append(nil, binary.LittleEndian, ints) // integers cannot fail
		hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
