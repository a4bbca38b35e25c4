package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/parallel"
)

// A pair of tables is NAME.nodes.tsv and NAME.edges.tsv, or nodes.tsv and
// edges.tsv.
const (
	nodesTable  = "nodes.tsv"
	edgesTable  = "edges.tsv"
	nodesSuffix = "." + nodesTable
)

// Names made for graph tables. Edges that reach nodes without features need the
// weights of all others: of edge types of their own nothing would tell which state
// is which where no such node has a label. So all nodes are of one type, and a
// feature says that the others are not known.
const (
	featuredType = "node"
	biasName     = "bias"
	missingName  = "no_features" // 1 where the features are not known, in the place of the bias
)

func isNodesTable(name string) bool {
	return name == nodesTable || strings.HasSuffix(name, nodesSuffix)
}

func isEdgesTable(name string) bool {
	return name == edgesTable || strings.HasSuffix(name, "."+edgesTable)
}

// tablePair is where one graph is found.
type tablePair struct{ nodes, edges, name string }

func pairOf(nodes string) tablePair {
	stem := strings.TrimSuffix(nodes, nodesTable)
	name := strings.TrimSuffix(filepath.Base(nodes), nodesSuffix)
	if name == nodesTable {
		name = "graph"
	}
	return tablePair{nodes: nodes, edges: stem + edgesTable, name: name}
}

// findPair finds the tables behind a path.
func findPair(path string) (tablePair, error) {
	base := filepath.Base(path)
	switch {
	case isNodesTable(base):
		return pairOf(path), nil
	case isEdgesTable(base):
		return pairOf(strings.TrimSuffix(path, edgesTable) + nodesTable), nil
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return pairOf(path + nodesSuffix), nil
	}
	if err != nil {
		return tablePair{}, err
	}
	var found []string
	for _, e := range entries {
		if isNodesTable(e.Name()) {
			found = append(found, filepath.Join(path, e.Name()))
		}
	}
	if len(found) != 1 {
		return tablePair{}, &Error{File: path, Problem: fmt.Sprintf("it holds %d tables of nodes: %q", len(found), found), Remedy: "name one of them"}
	}
	return pairOf(found[0]), nil
}

// tableLoader turns tables into a set.
type tableLoader struct {
	o            *Options
	set          *Set
	manifest     Manifest
	manifestPath string
	graphs       []*tableGraph
	problems     []error
}

// tableGraph is one graph as its tables give it.
type tableGraph struct {
	tablePair
	*nodeTable
	ends *edgeTable
}

func loadTables(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &tableLoader{o: o, set: &Set{}}
	for _, path := range paths {
		if err := parallel.Ended(ctx); err != nil {
			return nil, []error{err}
		}
		pair, err := findPair(path)
		if err != nil {
			l.problems = append(l.problems, err)
			continue
		}
		l.readManifest(filepath.Dir(pair.nodes))
		l.read(pair)
	}
	l.finish()
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	return l.set, nil
}

// finish makes schema, recipe and instances of the tables that were read.
func (l *tableLoader) finish() {
	if len(l.problems) == 0 {
		l.observe()
	}
	if len(l.problems) == 0 {
		l.chooseSchema()
	}
	for _, g := range l.graphs {
		if len(l.problems) == 0 {
			l.build(g)
		}
	}
}

// readManifest reads the dataset.json of a folder; where several folders have
// one, they must be the same.
func (l *tableLoader) readManifest(folder string) {
	m, sources, err := findManifest(folder)
	switch {
	case err != nil:
		l.problems = append(l.problems, err)
	case len(sources) == 0 || slices.Contains(l.set.Sources, sources[0]):
	case differs(l.set.Sources, sources[0]) != "":
		l.problems = append(l.problems, manifestsDiffer(sources[0].Path, differs(l.set.Sources, sources[0])))
	default:
		if err := m.withoutTypes(sources[0].Path); err != nil {
			l.problems = append(l.problems, err)
		}
		l.manifest, l.manifestPath = m, sources[0].Path
		l.set.Sources = append(l.set.Sources, sources...)
	}
}

// withoutTypes refuses what has no meaning beside tables and images.
func (m *Manifest) withoutTypes(path string) error {
	field := ""
	switch {
	case m.EdgeFeatures != nil:
		field = "edge_features"
	case m.EdgeBins > 0:
		field = "edge_bins"
	case m.NodeTypes != nil:
		field = "node_types"
	case m.EdgeTypes != nil:
		field = "edge_types"
	default:
		return nil
	}
	return &Error{File: path, Place: field, Problem: "it applies to npz data only", Remedy: "remove it"}
}

// read parses the two tables of a graph.
func (l *tableLoader) read(pair tablePair) {
	limit, limitOf := mostFeatures, "any model"
	switch {
	case l.o.Recipe != nil:
		limit, limitOf = l.o.Recipe.FeatureDim, "the model"
	case l.manifest.NodeFeatures != nil:
		limit, limitOf = len(l.manifest.NodeFeatures), ManifestName
	}
	data, source, err := readSource(pair.nodes)
	if err != nil {
		l.problems = append(l.problems, err)
		return
	}
	l.set.Sources = append(l.set.Sources, source)
	nodes, list := parseNodes(pair.nodes, data, limit, limitOf)
	l.problems = append(l.problems, list...)
	data, source, err = readSource(pair.edges)
	if err != nil {
		l.problems = append(l.problems, err)
		return
	}
	l.set.Sources = append(l.set.Sources, source)
	if len(list) > 0 {
		return // edges to the nodes that were not read would only repeat it
	}
	ends, list := parseEdges(pair.edges, data, nodes)
	l.problems = append(l.problems, list...)
	l.set.Warnings = append(l.set.Warnings, ends.warnings(pair.edges)...)
	l.graphs = append(l.graphs, &tableGraph{pair, nodes, ends})
}

// observe checks that the split to be observed occurs.
func (l *tableLoader) observe() {
	splits := map[string]bool{}
	for _, g := range l.graphs {
		for _, s := range g.splits {
			splits[s] = true
		}
	}
	if l.o.Observed != "" && !splits[l.o.Observed] {
		known := slices.Sorted(maps.Keys(splits))
		l.problems = append(l.problems, optionError("Observed", "no node is in the split %q; %s", l.o.Observed, suggestion(l.o.Observed, known)))
	}
}

// chooseSchema takes the model's schema or makes one for the tables.
func (l *tableLoader) chooseSchema() {
	if l.o.Schema != nil {
		l.set.Schema, l.set.Recipe = *l.o.Schema, *l.o.Recipe
		if problem := l.o.contradiction(l.manifest.States, l.set.Schema.NodeTypes[0].States); problem != "" {
			l.problems = append(l.problems, &Error{File: l.manifestPath, Place: "states", Problem: problem})
		}
		l.problems = append(l.problems, l.o.compareMask(&l.manifest, l.manifestPath, l.set)...)
		return
	}
	dim := len(l.manifest.NodeFeatures)
	for _, g := range l.graphs {
		dim = max(dim, g.dim)
	}
	states := l.states()
	if len(l.problems) > 0 {
		return
	}
	l.set.Recipe = Recipe{Kind: KindGraph, FeatureDim: dim, Bias: !l.o.NoBias, States: states}
	names := l.manifest.NodeFeatures
	if names == nil {
		names = crf.NumberedStates(dim)
	}
	if l.set.Recipe.Bias {
		names = append(names[:dim:dim], biasName)
	}
	for _, g := range l.graphs {
		if dim > 0 && l.set.Recipe.Bias && slices.Contains(g.missing, true) {
			l.set.Recipe.Missing = true
		}
	}
	if l.set.Recipe.Missing {
		names = append(names, missingName)
	}
	s := &l.set.Schema
	s.NodeTypes = []crf.NodeType{{Name: featuredType, States: states, Features: len(names), FeatureNames: names}}
	for _, g := range l.graphs {
		if len(g.ends.u) > 0 {
			s.EdgeTypes = []crf.EdgeType{{Name: "edge", Features: 1, FeatureNames: []string{FormConstant}}}
		}
	}
	l.problems = append(l.problems, l.manifest.forbid(s, l.manifestPath, false)...)
	if err := s.Validate(); err != nil && len(l.problems) == 0 {
		l.problems = append(l.problems, &Error{File: l.manifestPath, Problem: err.Error()})
	}
}

// nodeTypeOf returns the type of a node. Models of earlier versions have a second
// type, of nodes without features.
func (l *tableLoader) nodeTypeOf(g *tableGraph, s int32) int32 {
	if len(l.set.Schema.NodeTypes) > 1 && g.missing[s] {
		return 1
	}
	return 0
}

// states names the states of training data.
func (l *tableLoader) states() []string {
	largest, place := int32(-1), ""
	for _, g := range l.graphs {
		for s, y := range g.labels {
			if y > largest {
				largest, place = y, fmt.Sprintf("%s:%d", g.path, g.lines[s])
			}
		}
	}
	states := l.o.States
	if len(states) == 0 {
		states = l.manifest.States
	}
	switch {
	case len(states) > 0:
	case largest < 0:
		l.problems = append(l.problems, &Error{File: l.graphs[0].path, Problem: "no node has a label", Remedy: "name the states, by \"states\" in " + ManifestName + " or the option States"})
	case largest == 0:
		l.problems = append(l.problems, &Error{File: l.graphs[0].path, Problem: "every label is 0, which tells of one state only", Remedy: oneStateRemedy})
	default:
		states = crf.NumberedStates(int(largest) + 1)
		l.set.Warnings = append(l.set.Warnings, fmt.Sprintf("nodes are taken to have %d states, because the largest label is %d (%s); give \"states\" in "+ManifestName+" or the option States to be sure", largest+1, largest, place))
	}
	return states
}

// takesMissing reports whether the schema has a place for nodes whose features are
// not known: a feature that says so, or a type of their own. Without a bias, or
// without any features, theirs are all zero, or the bias, like those of others.
func (l *tableLoader) takesMissing() bool {
	r := &l.set.Recipe
	return r.Missing || len(l.set.Schema.NodeTypes) > 1 || r.FeatureDim == 0 || !r.Bias
}

// build freezes one graph.
func (l *tableLoader) build(g *tableGraph) {
	s := &l.set.Schema
	types := make([]int32, len(g.names))
	for i := range types {
		types[i] = l.nodeTypeOf(g, int32(i))
		if g.missing[i] && !l.takesMissing() {
			l.problems = append(l.problems, &Error{File: g.path, Line: int(g.lines[i]), Problem: "the features are not known (?), but the model was trained on nodes with features only"})
			return
		}
	}
	edgeTypes, ok := l.orient(g, types)
	if !ok {
		return
	}
	topology, err := graph.FromEdges(len(types), g.ends.u, g.ends.v)
	if err != nil {
		l.problems = append(l.problems, &Error{File: g.edges, Problem: err.Error(), Cause: err})
		return
	}
	spec := crf.InstanceSpec{Name: g.name, Graph: topology, NodeType: types, EdgeType: edgeTypes}
	spec.NodeFeat, err = g.features(s, types, &l.set.Recipe)
	for b := range s.EdgeTypes {
		rows := 0
		for _, t := range edgeTypes {
			if int(t) == b {
				rows++
			}
		}
		spec.EdgeFeat = append(spec.EdgeFeat, crf.Constant(rows, 1))
	}
	if !l.o.NoLabels {
		spec.Labels = [][]int32{l.labels(g)}
	}
	if err == nil && len(l.problems) == 0 {
		var instance *crf.Instance
		if instance, err = crf.NewInstance(s, spec); err == nil {
			if masked := checkMask(instance, l.o, g.path); masked != nil {
				l.problems = append(l.problems, masked)
			}
		}
		l.set.Instances = append(l.set.Instances, instance)
	}
	if err != nil {
		l.problems = append(l.problems, &Error{File: g.path, Problem: err.Error(), Cause: err})
	}
	l.set.Splits = append(l.set.Splits, g.splits)
	l.set.Names = append(l.set.Names, g.namesUnlessNumbers())
}

// orient turns edges so that their first end is of the first node type of their
// edge type, and returns the edge types.
func (l *tableLoader) orient(g *tableGraph, types []int32) ([]int32, bool) {
	byEnds := map[[2]int]int32{}
	for b, t := range l.set.Schema.EdgeTypes {
		byEnds[[2]int{t.U, t.V}] = int32(b)
	}
	edgeTypes := make([]int32, len(g.ends.u))
	for e := range edgeTypes {
		u, v := g.ends.u[e], g.ends.v[e]
		if types[u] > types[v] {
			g.ends.u[e], g.ends.v[e] = v, u
			u, v = v, u
		}
		b, ok := byEnds[[2]int{int(types[u]), int(types[v])}]
		if !ok {
			l.problems = append(l.problems, &Error{File: g.edges, Problem: fmt.Sprintf("nodes %q and %q are joined, but the model has no edge type for %q with %q",
				g.names[u], g.names[v], l.set.Schema.NodeTypes[types[u]].Name, l.set.Schema.NodeTypes[types[v]].Name)})
			return nil, false
		}
		edgeTypes[e] = b
	}
	return edgeTypes, true
}

// features freezes the features of every node type: sparse ones with the columns
// for the bias and for features that are not known at the end, and the bias alone.
func (t *nodeTable) features(s *crf.Schema, types []int32, r *Recipe) ([]crf.Features, error) {
	start, index := []int{0}, make([]int32, 0, len(t.values)+len(types))
	var value []float64
	featureless := 0
	for i, a := range types {
		if a != 0 {
			featureless++
			continue
		}
		for _, f := range t.values[t.start[i]:t.start[i+1]] {
			index = append(index, f.index)
			if t.valued {
				value = append(value, f.value)
			}
		}
		if r.Bias {
			column := r.FeatureDim
			if r.Missing && t.missing[i] {
				column++
			}
			index = append(index, int32(column))
			if t.valued {
				value = append(value, 1)
			}
		}
		start = append(start, len(index))
	}
	sparse, err := crf.Sparse(start, index, value, s.NodeTypes[0].Features)
	features := []crf.Features{sparse}
	for a := 1; a < len(s.NodeTypes); a++ {
		features = append(features, crf.Constant(featureless, s.NodeTypes[a].Features))
	}
	return features, err
}

// labels returns the observed labels, and reports the first out of range.
func (l *tableLoader) labels(g *tableGraph) []int32 {
	k := l.set.Schema.NodeStates(0)
	labels := slices.Clone(g.labels)
	for s, y := range labels {
		if int(y) >= k {
			l.problems = append(l.problems, &Error{File: g.path, Line: int(g.lines[s]), Problem: fmt.Sprintf("label is %d, want -1 (none) or 0 to %d", y, k-1)})
			return nil
		}
		if l.o.Observed != "" && g.splits[s] != l.o.Observed {
			labels[s] = -1
		}
	}
	return labels
}

// namesUnlessNumbers returns the names of the nodes, or nil if node i is named i.
func (t *nodeTable) namesUnlessNumbers() []string {
	for i, name := range t.names {
		if name != strconv.Itoa(i) {
			return t.names
		}
	}
	return nil
}
