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

// Names made for graph tables. Nodes of which the features are not known are of the
// type of all others, and a feature says so: edges that reach them need the weights of
// all edges.
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
	loader
	graphs []*tableGraph
}

// tableGraph is one graph as its tables give it.
type tableGraph struct {
	tablePair
	*nodeTable
	ends *edgeTable
}

func loadTables(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &tableLoader{loader: newLoader(ctx, o)}
	for _, path := range paths {
		if err := parallel.Ended(ctx); err != nil {
			return nil, []error{err}
		}
		pair, err := findPair(path)
		if err != nil {
			l.fail(err)
			continue
		}
		l.readManifest(filepath.Dir(pair.nodes), true)
		l.read(pair)
	}
	l.finish()
	return l.result()
}

// finish makes schema, recipe and instances of the tables that were read.
func (l *tableLoader) finish() {
	l.run(l.observe, l.chooseSchema, l.refuseSpins)
	for _, g := range l.graphs {
		l.run(func() { l.build(g) })
	}
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
	data := l.source(pair.nodes)
	if data == nil {
		return
	}
	nodes, list := parseNodes(pair.nodes, data, limit, limitOf)
	l.fail(list...)
	data = l.source(pair.edges)
	if data == nil || len(list) > 0 {
		return // edges to the nodes that were not read would only repeat it
	}
	ends, list := parseEdges(pair.edges, data, nodes)
	l.fail(list...)
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
		l.fail(optionError("Observed", "no node is in the split %q; %s", l.o.Observed, suggestion(l.o.Observed, known)))
	}
}

// chooseSchema takes the model's schema or makes one for the tables.
func (l *tableLoader) chooseSchema() {
	if l.o.Schema != nil {
		l.adoptModel()
		l.compareNames()
		return
	}
	r := &l.set.Recipe
	*r = Recipe{Kind: KindGraph, FeatureDim: len(l.manifest.NodeFeatures), Bias: !l.o.NoBias}
	missing := false
	found := origin{what: "features", number: r.FeatureDim, because: l.manifestPath + " names them"}
	for _, g := range l.graphs {
		if dim := int(g.used.largest) + 1; dim > r.FeatureDim {
			r.FeatureDim = dim
			found = origin{"features", dim, fmt.Sprintf("feature %d at %s:%d", g.used.largest, g.path, g.used.at[0]), g.used.doubt("feature", "")}
		}
		missing = missing || slices.Contains(g.missing, true)
	}
	r.Missing = missing && r.FeatureDim > 0 && r.Bias
	r.States = l.numberStates(l.largestLabel, "nodes are", "every label",
		&Error{File: l.graphs[0].path, Problem: "no node has a label", Remedy: "name the states, by \"states\" in " + ManifestName + " or the option States"})
	if len(l.problems) > 0 {
		return
	}
	dim := r.FeatureDim
	for _, more := range []bool{r.Bias, r.Missing} {
		if more {
			dim++
		}
	}
	s := &l.set.Schema
	s.NodeTypes = []crf.NodeType{{Name: featuredType, States: r.States, Features: dim}}
	if slices.ContainsFunc(l.graphs, func(g *tableGraph) bool { return len(g.ends.u) > 0 }) {
		s.EdgeTypes = []crf.EdgeType{{Name: "edge", Features: 1, FeatureNames: []string{FormConstant}}}
	}
	l.set.origins.nodeFeatures[0] = found
	if found.doubt != "" {
		l.warn("nodes are taken to have %d features: %s", found.number, found.doubt)
	}
	if l.checkWeights(); len(l.problems) > 0 {
		return // before as many names are made
	}
	names := l.featureNames(r.FeatureDim, r.Bias)
	if r.Missing {
		names = append(names, missingName)
	}
	s.NodeTypes[0].FeatureNames = names
	l.completeSchema()
}

func (l *tableLoader) largestLabel() labelled {
	found := labelled{top: newTop(), file: l.graphs[0].path}
	for i, g := range l.graphs {
		for s, y := range g.labels {
			found.see(y, i, 0, s)
		}
	}
	if found.largest >= 0 {
		g := l.graphs[found.at[0]]
		found.place = fmt.Sprintf("%s:%d", g.path, g.lines[found.at[2]])
	}
	return found
}

// build freezes one graph.
func (l *tableLoader) build(g *tableGraph) {
	s, r := &l.set.Schema, &l.set.Recipe
	// Without a bias, or without any features, those of a node where they are not known
	// are all zero, or the bias, like those of others.
	if i := slices.Index(g.missing, true); i >= 0 && !r.Missing && r.FeatureDim > 0 && r.Bias {
		l.fail(&Error{File: g.path, Line: int(g.lines[i]), Problem: "the features are not known (?), but the model was trained on nodes with features only"})
		return
	}
	if m := len(g.ends.u); m > 0 && len(s.EdgeTypes) == 0 {
		name := s.NodeTypes[0].Name
		l.failAt(g.edges, "", "", "nodes %q and %q are joined, but the model has no edge type for %q with %q", g.names[g.ends.u[0]], g.names[g.ends.v[0]], name, name)
		return
	}
	topology, err := graph.FromEdges(len(g.names), g.ends.u, g.ends.v)
	if err != nil {
		l.fail(&Error{File: g.edges, Problem: err.Error(), Cause: err})
		return
	}
	spec := crf.InstanceSpec{Name: g.name, Graph: topology}
	features, err := g.features(s.NodeTypes[0].Features, r)
	if err != nil {
		l.fail(&Error{File: g.path, Problem: err.Error(), Cause: err})
		return
	}
	spec.NodeFeat = []crf.Features{features}
	for range s.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, crf.Constant(topology.NumEdges(), 1))
	}
	if !l.o.NoLabels {
		spec.Labels = [][]int32{l.labels(g)}
	}
	l.run(func() { l.freeze(g.path, spec) })
	l.set.Splits = append(l.set.Splits, g.splits)
	names := g.names
	if unnamed(names) {
		names = nil
	}
	l.set.Names = append(l.set.Names, names)
}

// features freezes the sparse features of all nodes, with the columns for the bias and
// for features that are not known at the end.
func (t *nodeTable) features(dim int, r *Recipe) (crf.Features, error) {
	start, index := []int{0}, make([]int32, 0, len(t.values)+len(t.names))
	var value []float64
	for i, missing := range t.missing {
		for _, f := range t.values[t.start[i]:t.start[i+1]] {
			index = append(index, f.index)
			if t.valued {
				value = append(value, f.value)
			}
		}
		if r.Bias {
			column := r.FeatureDim
			if r.Missing && missing {
				column++
			}
			index = append(index, int32(column))
			if t.valued {
				value = append(value, 1)
			}
		}
		start = append(start, len(index))
	}
	return crf.Sparse(start, index, value, dim)
}

// labels returns the observed labels, and reports the first out of range.
func (l *tableLoader) labels(g *tableGraph) []int32 {
	k := l.set.Schema.NodeStates(0)
	labels := slices.Clone(g.labels)
	for s, y := range labels {
		if int(y) >= k {
			l.fail(&Error{File: g.path, Line: int(g.lines[s]), Problem: fmt.Sprintf("label is %d, want -1 (none) or 0 to %d", y, k-1)})
			return nil
		}
		if l.o.Observed != "" && g.splits[s] != l.o.Observed {
			labels[s] = -1
		}
	}
	return labels
}
