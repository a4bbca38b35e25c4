package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// checkTypes reports the first of types, or bins, beyond their number.
func (l *npzLoader) checkTypes(in *npzInstance, array string, types []int32, limit int) {
	if i := slices.IndexFunc(types, func(t int32) bool { return t < 0 || int(t) >= limit }); i >= 0 {
		l.at(in, fmt.Sprintf("%s[%d]", array, i), "", "is %d, want 0 to %d", types[i], limit-1)
	}
}

// typeNames names the types of nodes or edges as dataset.json does, or else by number, a single one by the word. It
// checks the numbers in the instances' array of types.
func (l *npzLoader) typeNames(array, word string, named []string, of func(*npzInstance) *elements) []string {
	count := 0
	for _, in := range l.instances {
		for _, t := range of(in).types {
			count = max(count, int(t)+1)
		}
		if len(named) > 0 {
			l.checkTypes(in, array, of(in).types, len(named))
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
	names := l.typeNames(nodeTypesArray, "node", namesOf(l.manifest.NodeTypes), nodesOf)
	if len(l.o.States) > 0 && len(names) > 1 && !l.o.Untied {
		l.fail(option.Wrong("States", "the data have %d node types; name the states of each in %s", len(names), ManifestName))
	}
	for a, name := range names {
		t := crf.NodeType{Name: name, States: l.statesOfType(a, name)}
		if l.o.Untied && len(names) > 1 && len(l.manifest.NodeTypes) == 0 {
			t.Name = fmt.Sprintf("node_%d", a)
		}
		types = append(types, t)
	}
	return types
}

// statesOfType names the states of a node type: by the options, dataset.json, the array states, or the
// largest label, in this order.
func (l *npzLoader) statesOfType(a int, name string) []string {
	named, _ := l.namedStates(a)
	if in := l.instances[0]; in.samples != nil {
		return in.samples.states[a]
	}
	given := l.givenStates(a, name, len(named))
	switch {
	case named != nil:
		return named
	case (given == 0 || given == len(spinStates)) && (l.areSpins || l.o.Spins && l.o.Statistics):
		return spinStates
	case given > 0:
		return crf.NumberedStates(given)
	}
	of := fmt.Sprintf("node type %q", name)
	const array = " or the array " + statesArray
	return l.countStates(a, l.labels, of+" is", "every label of "+of, array, option.At(l.instances[0].File, 0, "",
		"give \"states\" in "+ManifestName+array, "nothing tells the number of states of %s: it has no labels",
		option.Text(of)))
}

// givenStates returns the number of states that the arrays states agree on for a node type, or 0. It must be the
// one that dataset.json, an option or the model has; 0: they have none.
func (l *npzLoader) givenStates(a int, name string, want int) (count int) {
	_, where := l.namedStates(a)
	if l.o.Schema != nil {
		where = "the model"
	}
	for _, in := range l.instances {
		of := in.Arrays[statesArray].Ints // empty: the file does not say
		for s := 0; s < in.nodes.count && len(of) > 0; s++ {
			k := int(of[min(s, len(of)-1)])
			if in.nodes.typeOf(s) != a {
				continue
			}
			if want == 0 {
				want, where = k, option.Literal(in.File+":"+in.statesPlace(s))
			}
			if count = k; k != want {
				l.at(in, in.statesPlace(s), "make the two agree, or give such nodes different "+nodeTypesArray,
					"is %d, but %s has %d states for node type %q", k, option.Text(where), want, name)
				return count
			}
		}
	}
	return count
}

// edgeTypesOf returns the edge types of the training data, without features.
func (l *npzLoader) edgeTypesOf(nodeTypes []crf.NodeType) (types []crf.EdgeType) {
	if l.o.Untied {
		return l.pairTypes(nodeTypes)
	}
	names := l.typeNames(edgeTypesArray, "edge", namesOf(l.manifest.EdgeTypes), edgesOf)
	if len(l.manifest.EdgeTypes) == 0 && names != nil && !slices.ContainsFunc(l.instances,
		func(in *npzInstance) bool { return in.edges.types != nil }) {
		if len(nodeTypes) == 1 {
			return []crf.EdgeType{{Name: "edge"}}
		}
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
	if t := l.manifest.edge(b); t.U != "" {
		number := func(name string) int {
			return slices.IndexFunc(nodeTypes, func(t crf.NodeType) bool { return t.Name == name })
		}
		return number(t.U), number(t.V)
	}
	for _, in := range l.instances {
		for e := range in.edges.count {
			if in.edges.typeOf(e) == b {
				return in.endTypes(e)
			}
		}
	}
	if b < len(l.manifest.EdgeTypes) {
		l.failAt(l.manifestPath, fmt.Sprintf("edge_types[%d]", b), "give its u and v",
			"type %q has no edge in the data to tell what it joins", name)
	} else {
		l.warn("edge type %q has no edge in the data: its weights will not be learned", name)
	}
	return 0, 0
}

// endTypes returns the node types of the ends of edge e.
func (in *npzInstance) endTypes(e int) (u, v int) {
	return in.nodes.typeOf(int(in.spec.Graph.U(int32(e)))), in.nodes.typeOf(int(in.spec.Graph.V(int32(e))))
}

// pairTypes makes one edge type for every pair of node types that is joined.
func (l *npzLoader) pairTypes(nodeTypes []crf.NodeType) (types []crf.EdgeType) {
	pairs, instances := map[[2]int]int{}, l.instances
	if l.o.Untied { // whose edges are all alike
		instances = instances[:1]
	}
	for _, in := range instances {
		for e := range in.edges.count {
			u, v := in.endTypes(e)
			if u > v && !l.o.Untied {
				l.at(in, edgePlace(e), "write it the other way round, or give "+edgeTypesArray,
					"joins node type %q to %q, but the smaller type must come first where there are no %s", nodeTypes[u].Name,
					nodeTypes[v].Name, edgeTypesArray)
				return nil
			}
			pairs[[2]int{u, v}]++
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(pairs), comparePairs) {
		u, v := nodeTypes[p[0]].Name, nodeTypes[p[1]].Name
		t := crf.EdgeType{Name: u + "-" + v, U: p[0], V: p[1]}
		if l.o.Untied {
			t.Name, t.Copies = "edge"+strings.TrimPrefix(u, "node")+strings.TrimPrefix(v, "node"), pairs[p]
		}
		types = append(types, t)
	}
	return types
}

func comparePairs[T cmp.Ordered](a, b [2]T) int { return slices.Compare(a[:], b[:]) }

// typeEdges gives edges the types that their ends decide, where the file does not say any; nil is 0 for all.
func (l *npzLoader) typeEdges() {
	nodes, edges, byEnds := l.set.Schema.NodeTypes, l.set.Schema.EdgeTypes, map[[2]int]int32{}
	for b, t := range edges {
		byEnds[[2]int{t.U, t.V}] = int32(b)
	}
	for _, in := range l.instances {
		if in.edges.count > 0 && len(edges) == 0 {
			l.at(in, edgesArray, "", "there are %d edges, but the model has no edge type", in.edges.count)
		}
		if in.edges.types != nil || len(edges) <= 1 {
			continue
		}
		for b, t := range edges {
			if byEnds[[2]int{t.U, t.V}] != int32(b) {
				l.at(in, edgeTypesArray, "", "the array is missing; edge types %q and others join the same node types", t.Name)
				return
			}
		}
		in.edges.types = make([]int32, in.edges.count)
		for e := range in.edges.types {
			u, v := in.endTypes(e)
			b, ok := byEnds[[2]int{u, v}]
			if in.edges.types[e] = b; !ok {
				l.at(in, edgePlace(e), "", "joins node type %q to %q, for which there is no edge type", nodes[u].Name,
					nodes[v].Name)
				break
			}
		}
	}
}

// learnFeatures adds the lengths and names of the feature vectors to the schema, and how many copies untied types have.
func (l *npzLoader) learnFeatures() {
	s, m, r := &l.set.Schema, &l.manifest, &l.set.Recipe
	if i := slices.IndexFunc(l.instances, func(in *npzInstance) bool {
		return in.nodes.features.Shape != nil || in.edges.features.Shape != nil
	}); i >= 0 && r.Untied {
		l.warn("%s has features, which untied weights do not use", l.instances[i].File)
	}
	copies := l.instances[0].nodes.counts(len(s.NodeTypes))
	dim := l.columns(nodeFeaturesArray, r.NodeForm, formNone, nodesOf)
	for a := range s.NodeTypes {
		t := &s.NodeTypes[a]
		if t.Features, t.FeatureNames = dim, l.namesFor(r.NodeForm, m.node(a).Features, dim, t.Name); r.Untied {
			t.Copies = copies[a]
		}
	}
	dim = l.columns(edgeFeaturesArray, r.EdgeForm, formConstant, edgesOf)
	for b := range s.EdgeTypes {
		t := &s.EdgeTypes[b]
		t.Features, t.FeatureNames = dim, l.namesFor(r.EdgeForm, m.edge(b).Features, dim, t.Name)
	}
}

// namesFor checks the number of feature names for a type.
func (l *npzLoader) namesFor(form string, names []string, dim int, kind string) []string {
	if form == formConstant {
		return []string{formConstant}
	}
	if len(names) > 0 && dim > 0 && len(names) != dim {
		l.mistold = append(l.mistold, option.At(l.manifestPath, 0, "", "",
			"it names %d features for type %q, the data have %d", len(names), kind, dim))
		return nil
	}
	return names[:min(len(names), dim)]
}

// columns returns the length of feature vectors, and checks that every instance has the arrays of them that the recipe
// is for. Those of an untied network are not used, and may differ.
func (l *npzLoader) columns(array, want, none string, of func(*npzInstance) *elements) (columns int) {
	other := "the model was trained with"
	if l.set.Recipe.Untied {
		return 1
	}
	if l.o.Recipe == nil {
		other = l.instances[0].File + " has"
	}
	name := map[string]string{formBins: edgeBinsArray, formDense: array, none: "no " + array}
	for i, in := range l.instances {
		m := &of(in).features
		switch form := of(in).form(none); {
		case form != want:
			l.at(in, "", "every instance needs the same arrays", "it has %s, %s %s", name[form], other, name[want])
		case i == 0 && form == formDense:
			columns = m.Width()
		case form == formDense && m.Width() != columns && l.o.Schema == nil:
			l.at(in, array, "every instance needs the same features", "it has %d columns, %s has %d", m.Width(),
				l.instances[0].File, columns)
		}
	}
	switch want {
	case formConstant:
		return 1
	case formBins:
		return l.countBins()
	}
	return columns
}

// features freezes the features of every type of nodes, or edges, of one instance, of a length that all have.
func (l *npzLoader) features(in *npzInstance, e *elements, form string, types, dim int) []crf.Features {
	if form == formNone {
		dim = 0
	}
	frozen := numeric.Map(e.counts(types), func(count int) crf.Features { return crf.Constant(count, dim) })
	if types == 0 || dim == 0 || form == formConstant {
		return frozen
	}
	m, whole := &e.features, crf.Features{}
	switch { // numbers are finite
	case m.Ints != nil:
		if l.checkTypes(in, edgeBinsArray, m.Ints, dim); len(l.problems) > 0 {
			return frozen
		}
		whole, _ = crf.Bins(m.Ints, dim)
	case m.Single != nil:
		whole, _ = crf.Dense(m.Single, m.Width())
	default:
		whole, _ = crf.Dense(m.Double, m.Width())
	}
	whole.Data().Owner = m.Owner
	if frozen[0] = whole; e.types == nil || types == 1 {
		return frozen
	}
	for t := range frozen {
		frozen[t] = whole.Pick(slices.DeleteFunc(numeric.To(e.count), func(r int32) bool { return int(e.types[r]) != t }))
	}
	return frozen
}

// countBins returns the number of bins in the training data: as dataset.json says, or one more than the largest bin.
func (l *npzLoader) countBins() int {
	seen := labelCounts{}
	for _, in := range l.instances {
		for _, bin := range in.edges.features.Ints {
			seen[bin]++
		}
	}
	if l.manifest.EdgeBins > 0 {
		return l.manifest.EdgeBins
	}
	return l.count(seen, l.instances[0].File, edgeBinsArray, edgeBinsArray)
}
