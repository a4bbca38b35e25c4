package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/option"
)

// checkTypes reports entries of node_types and edge_types out of range. limit
// is the number of types where it is known, or else only a bound.
func (l *npzLoader) checkTypes(in *npzInstance, array string, types []int32, limit int) {
	for i, t := range types {
		if t < 0 || int(t) >= limit {
			l.at(in, fmt.Sprintf("%s[%d]", array, i), "", "is %d, want 0 to %d", t, limit-1)
			return
		}
	}
}

// typeNames names the types of nodes or edges as dataset.json does, or else by number, a
// single one by the word. It checks the numbers in the instances' array of types.
func (l *npzLoader) typeNames(array, word string, named []string, of func(*npzInstance) *elements) []string {
	limit := mostTypes
	if len(named) > 0 {
		limit = len(named)
	}
	count := 0
	for _, in := range l.instances {
		types := of(in).types
		l.checkTypes(in, array, types, limit)
		if len(types) > 0 {
			count = max(count, int(slices.Max(types))+1)
		}
	}
	switch {
	case len(l.problems) > 0:
		return nil
	case len(named) > 0:
		return named
	case count <= 1:
		return []string{word}
	}
	return crf.NumberedStates(count)
}

// nodeTypesOf returns the node types of the training data, without features.
func (l *npzLoader) nodeTypesOf() (types []crf.NodeType) {
	names := l.typeNames(nodeTypesArray, "node", namesOf(l.manifest.NodeTypes, nodeName), nodesOf)
	for a, name := range names {
		types = append(types, crf.NodeType{Name: name, States: l.statesOf(a, name, len(names))})
	}
	return types
}

// statesOf names the states of a node type: by the options, dataset.json, the
// array states, or the largest label, in this order.
func (l *npzLoader) statesOf(a int, name string, numTypes int) []string {
	if len(l.o.States) > 0 && numTypes > 1 {
		l.fail(optionError("States", "the data have %d node types; name the states of each in %s", numTypes, ManifestName))
	}
	named, where := l.namedStates(a)
	given, in, place := l.givenStates(a, name)
	switch {
	case named != nil:
		if given > 0 && given != len(named) {
			l.at(in, place, "make the two agree", "is %d, but %s has %d states", given, option.Text(where), len(named))
		}
		return named
	case given > 0:
		return crf.NumberedStates(given)
	case l.areSpins:
		return spinStates
	case l.names[a] != nil:
		return labelTextsOf(l.names[a])
	}
	if of := l.labels[a]; of != nil && of.known.largest >= mostStates {
		e := &Error{Problem: fmt.Sprintf("is %d, want less than %d", of.known.largest, mostStates),
			Remedy: "-1 means unobserved"}
		l.fail(l.numbers[of.known.at[0]].place(e, of.known.at[1]))
		return nil
	}
	of := fmt.Sprintf("node type %q", name)
	const array = " or the array " + statesArray
	return l.countStates(a, l.labels, of+" is", "every label of "+of, array, &Error{File: l.instances[0].path,
		Problem: "nothing tells the number of states of " + of + ": it has no labels",
		Remedy:  "give \"states\" in " + ManifestName + array})
}

// givenStates returns the number of states that the arrays states agree on for
// a node type, or 0, and the first place that gave it.
func (l *npzLoader) givenStates(a int, name string) (count int, first *npzInstance, place string) {
	for _, in := range l.instances {
		for s := range in.nodes.count {
			k := in.statesAt(s)
			if k == 0 {
				break // the file does not say
			}
			if in.nodes.typeOf(s) != a {
				continue
			}
			if count == 0 {
				count, first, place = k, in, in.statesPlace(s)
			}
			if k != count {
				l.at(in, in.statesPlace(s), "give such nodes different "+nodeTypesArray+", or train untied weights",
					"is %d, but %s:%s is %d for the same node type %q", k, first.path, place, count, name)
				return count, first, place
			}
		}
	}
	return count, first, place
}

// statesAt returns the number of states the file gives for a node, or 0.
func (in *npzInstance) statesAt(s int) int {
	switch len(in.states) {
	case 0:
		return 0
	case 1:
		return int(in.states[0])
	}
	return int(in.states[s])
}

func (in *npzInstance) statesPlace(s int) string {
	if len(in.states) == 1 {
		return statesArray
	}
	return fmt.Sprintf("%s[%d]", statesArray, s)
}

// edgeTypesOf returns the edge types of the training data, without features.
func (l *npzLoader) edgeTypesOf(nodeTypes []crf.NodeType) (types []crf.EdgeType) {
	names := l.typeNames(edgeTypesArray, "edge", namesOf(l.manifest.EdgeTypes, edgeName), edgesOf)
	if len(l.manifest.EdgeTypes) == 0 && names != nil && !slices.ContainsFunc(l.instances,
		func(in *npzInstance) bool { return in.edges.types != nil }) {
		return l.pairTypes(nodeTypes)
	}
	for b, name := range names {
		u, v := l.endsOf(b, name, nodeTypes)
		types = append(types, crf.EdgeType{Name: name, U: u, V: v})
	}
	return types
}

// endsOf returns the node types an edge type joins: as dataset.json says, or as the first edge of the type has them.
func (l *npzLoader) endsOf(b int, name string, nodeTypes []crf.NodeType) (u, v int) {
	if b < len(l.manifest.EdgeTypes) && l.manifest.EdgeTypes[b].U != "" {
		t := l.manifest.EdgeTypes[b]
		named := func(name string) int {
			return slices.IndexFunc(nodeTypes, func(t crf.NodeType) bool { return t.Name == name })
		}
		return named(t.U), named(t.V)
	}
	for _, in := range l.instances {
		for e := range in.edges.count {
			if in.edges.typeOf(e) == b {
				return in.endTypes(e)
			}
		}
	}
	if b < len(l.manifest.EdgeTypes) {
		l.fail(&Error{File: l.manifestPath, Place: fmt.Sprintf("edge_types[%d]", b),
			Problem: fmt.Sprintf("type %q has no edge in the data to tell what it joins", name), Remedy: "give its u and v"})
		return 0, 0
	}
	l.warn("edge type %q has no edge in the data: its weights will not be learned", name)
	return 0, 0
}

// endTypes returns the node types of the ends of edge e.
func (in *npzInstance) endTypes(e int) (u, v int) {
	return in.nodes.typeOf(int(in.graph.U(int32(e)))), in.nodes.typeOf(int(in.graph.V(int32(e))))
}

// pairTypes makes one edge type for every pair of node types that is joined.
func (l *npzLoader) pairTypes(nodeTypes []crf.NodeType) []crf.EdgeType {
	if len(nodeTypes) == 1 {
		return []crf.EdgeType{{Name: "edge"}}
	}
	pairs := map[[2]int]bool{}
	for _, in := range l.instances {
		for e := range in.edges.count {
			u, v := in.endTypes(e)
			if u > v {
				l.at(in, fmt.Sprintf("%s[%d]", edgesArray, in.row(e)), "write it the other way round, or give "+edgeTypesArray,
					"joins node type %q to %q, but the smaller type must come first where there are no %s", nodeTypes[u].Name,
					nodeTypes[v].Name, edgeTypesArray)
				return nil
			}
			pairs[[2]int{u, v}] = true
		}
	}
	var types []crf.EdgeType
	for _, p := range slices.SortedFunc(maps.Keys(pairs), comparePairs) {
		types = append(types, crf.EdgeType{Name: nodeTypes[p[0]].Name + "-" + nodeTypes[p[1]].Name, U: p[0], V: p[1]})
	}
	return types
}

func comparePairs[T cmp.Ordered](a, b [2]T) int { return slices.Compare(a[:], b[:]) }

// edgeTypesFor returns the type of every edge of an instance, or nil for all 0;
// where the file does not say, the ends decide.
func (l *npzLoader) edgeTypesFor(in *npzInstance) []int32 {
	if in.edges.types != nil || len(l.set.Schema.EdgeTypes) <= 1 {
		return in.edges.types
	}
	byEnds := map[[2]int]int32{}
	for b, t := range l.set.Schema.EdgeTypes {
		pair := [2]int{t.U, t.V}
		if _, twice := byEnds[pair]; twice {
			l.at(in, edgeTypesArray, "", "the array is missing; edge types %q and others join the same node types", t.Name)
			return nil
		}
		byEnds[pair] = int32(b)
	}
	types := make([]int32, in.edges.count)
	for e := range types {
		u, v := in.endTypes(e)
		b, ok := byEnds[[2]int{u, v}]
		if !ok {
			l.at(in, fmt.Sprintf("%s[%d]", edgesArray, in.row(e)), "",
				"joins node type %q to %q, for which there is no edge type", l.set.Schema.NodeTypes[u].Name,
				l.set.Schema.NodeTypes[v].Name)
			return nil
		}
		types[e] = b
	}
	return types
}
