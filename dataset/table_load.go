package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/parallel"
)

// A pair of tables is NAME.nodes.tsv and NAME.edges.tsv, or nodes.tsv and edges.tsv, or
// the same with csv. The tables of a loose pair have other names.
const (
	nodesStem = "nodes"
	edgesStem = "edges"
)

// tableExtensions are those of tables; of tables without a header the first alone.
var tableExtensions = []string{".tsv", ".csv"}

// Names made for graph tables. Nodes of which the features are not known are of the
// type of all others, and a feature says so: edges that reach them need the weights of
// all edges.
const (
	featuredType = "node"
	biasName     = "bias"
	missingName  = "no_features" // 1 where the features are not known, in the place of the bias
)

func isNodesTable(name string) bool { return isTableOf(name, nodesStem) }

func isEdgesTable(name string) bool { return isTableOf(name, edgesStem) }

func isTableOf(name, stem string) bool {
	extension := filepath.Ext(name)
	name = strings.TrimSuffix(name, extension)
	return slices.Contains(tableExtensions, extension) && (name == stem || strings.HasSuffix(name, "."+stem))
}

// tablePair is where one graph is found.
type tablePair struct {
	nodes, edges, name string
	loose              bool // which of the two is which is to be found out
}

// pairOf completes a pair of which a table is given.
func pairOf(table string) tablePair {
	extension := filepath.Ext(table)
	stem := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(table, extension), nodesStem), edgesStem)
	name := strings.TrimSuffix(filepath.Base(stem+nodesStem), "."+nodesStem)
	if name == nodesStem {
		name = "graph"
	}
	return tablePair{nodes: stem + nodesStem + extension, edges: stem + edgesStem + extension, name: name}
}

// incomplete tells of a table that is not there beside the other.
func (p tablePair) incomplete() error {
	for _, table := range []struct{ path, other, wanted, remedy string }{
		{p.nodes, p.edges, "a table of nodes", ""},
		{p.edges, p.nodes, "a table of edges, two nodes in every row,", "; without any edges, it is a header alone"},
	} {
		var lost *fs.PathError
		if _, err := os.Stat(table.path); errors.As(err, &lost) && errors.Is(err, fs.ErrNotExist) {
			if err := infile.Check(table.other, "a table"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err // a device, say: what is beside it does not matter
			}
			return &fs.PathError{Op: "read", Path: table.path, Err: fmt.Errorf("%w; want %s beside %s: write it there, or name both tables if it has another name%s", lost.Err, table.wanted, table.other, table.remedy)}
		}
	}
	return nil
}

// isTable reports whether a path is a file of a table's extension, or a list of edges.
func isTable(path string) bool {
	info, err := os.Stat(path)
	regular := err == nil && info.Mode().IsRegular()
	return regular && (slices.Contains(tableExtensions, filepath.Ext(path)) || isEdgeList(path))
}

// findPairs finds the tables behind paths: pairs of tables by name, prefixes of them,
// folders of them, and two tables by any other names.
func findPairs(paths []string) (pairs []tablePair, notes []string, err error) {
	if len(paths) == 2 && isTable(paths[0]) && isTable(paths[1]) { // named, wherever they lie
		a, b := paths[0], paths[1]
		switch first, second := filepath.Base(a), filepath.Base(b); {
		case isNodesTable(first) && isEdgesTable(second):
			return []tablePair{{nodes: a, edges: b, name: pairOf(a).name}}, nil, nil
		case isEdgesTable(first) && isNodesTable(second):
			return []tablePair{{nodes: b, edges: a, name: pairOf(b).name}}, nil, nil
		case isNodesTable(first) != isNodesTable(second), isEdgesTable(first) != isEdgesTable(second):
			return []tablePair{{nodes: a, edges: b, loose: true}}, nil, nil
		}
	}
	var loose []string
	added := map[tablePair]bool{}
	add := func(p tablePair) {
		if !added[p] { // both of its tables may be given
			added[p] = true
			pairs = append(pairs, p)
		}
	}
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		switch base := filepath.Base(path); {
		case isNodesTable(base), isEdgesTable(base):
			add(pairOf(path))
		case err == nil:
			var tables []string
			for _, e := range entries {
				if isNodesTable(e.Name()) && e.Name()[0] != '.' {
					tables = append(tables, filepath.Join(path, e.Name()))
				}
			}
			slices.SortFunc(tables, naturalCompare)
			var names []string
			for _, table := range tables {
				add(pairOf(table))
				names = append(names, pairOf(table).name)
			}
			if len(tables) > 1 {
				notes = append(notes, fmt.Sprintf("%s holds %d graphs (%s), which share one model; name those to read if that is not meant", path, len(tables), firstFew(names)))
			}
		case isTable(path):
			loose = append(loose, path)
		default:
			add(pairOf(path + "." + nodesStem + extensionBehind(path)))
		}
	}
	switch len(loose) {
	case 0:
		return pairs, notes, nil
	case 1:
		return nil, nil, alone(loose[0])
	case 2:
		return append(pairs, tablePair{nodes: loose[0], edges: loose[1], loose: true}), notes, nil
	}
	return nil, nil, &Error{File: loose[2], Problem: "more than two tables are named by names that do not tell which go together", Remedy: "call them NAME.nodes.csv and NAME.edges.csv"}
}

// alone is the error of a table, or a list of edges, without the other.
func alone(path string) error {
	what, remedy := "one table", "name both, or call them NAME.nodes.csv and NAME.edges.csv and name one"
	if isEdgeList(path) {
		what, remedy = edgeList, "write nodes.csv, id,label and features of nodes, and name both: nodes.csv "+path
	}
	return &Error{File: path, Problem: "it is " + what + ", and a table of nodes and one of edges are wanted", Remedy: remedy}
}

// extensionBehind returns the extension of the table of nodes behind a prefix.
func extensionBehind(prefix string) string {
	for _, extension := range tableExtensions {
		if _, err := os.Stat(prefix + "." + nodesStem + extension); err == nil {
			return extension
		}
	}
	return tableExtensions[0]
}

// hasHeader reports whether a pair of tables have headers: csv has, and tsv where the
// first line has a name that a column of nodes usually has, or is said to have. With the
// four columns of tables without a header, that line lacks the # of a comment.
func (o *Options) hasHeader(pair tablePair) (bool, error) {
	if pair.loose || filepath.Ext(pair.nodes) != tableExtensions[0] {
		return true, nil
	}
	file, _, err := infile.Open(pair.nodes, "a table")
	if err != nil {
		return false, err
	}
	defer file.Close()
	start := make([]byte, mostHeaderBytes)
	n, _ := io.ReadFull(file, start)
	known := slices.Concat(idNames, labelNames, splitNames, o.given(roleID), o.given(roleLabel))
	for _, text := range tableLines(context.Background(), start[:n]) {
		cells := strings.Split(text, string(separatorOf(text, separators)))
		for i, cell := range cells {
			cells[i] = strings.ToLower(strings.Trim(strings.TrimSpace(cell), `"`))
		}
		return !slices.Equal(cells, []string{"node", "label", "split", "features"}) && slices.ContainsFunc(cells, func(cell string) bool {
			return slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, cell) })
		}), nil
	}
	return false, nil
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
	ends     *edgeTable
	topology *graph.Graph
}

func loadTables(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	pairs, notes, err := findPairs(paths)
	if err != nil {
		return nil, []error{err}
	}
	for _, pair := range pairs {
		if err := pair.incomplete(); err != nil {
			return nil, []error{err}
		}
	}
	o.tableNotes = append(edgeListNotes(paths), notes...)
	with := 0
	for _, pair := range pairs {
		header, err := o.hasHeader(pair)
		if err != nil {
			return nil, []error{err}
		}
		if header {
			with++
		}
	}
	switch of := o.Recipe; {
	case with > 0 && with < len(pairs):
		return nil, []error{&Error{File: pairs[0].nodes, Problem: fmt.Sprintf("of %d tables of nodes %d have a header", len(pairs), with), Remedy: "give tables of one kind"}}
	case of != nil && (of.Sheets != nil) != (with > 0):
		return nil, []error{&Error{File: pairs[0].nodes, Problem: fmt.Sprintf("the model was trained on tables that have a header: %v, and these have one: %v", of.Sheets != nil, with > 0), Remedy: "write the tables like those"}}
	case with > 0:
		return loadSheets(ctx, pairs, o)
	case len(o.Columns) > 0:
		return nil, []error{optionError("Columns", "%s has no header that names columns", pairs[0].nodes)}
	}
	l := &tableLoader{loader: newLoader(ctx, o)}
	for _, pair := range pairs {
		if err := parallel.Ended(ctx); err != nil {
			return nil, []error{err}
		}
		l.readManifest(filepath.Dir(pair.nodes), true)
		l.read(pair)
	}
	l.finish()
	return l.result()
}

// finish makes schema, recipe and instances of the tables that were read.
func (l *tableLoader) finish() {
	var splits [][]string
	for _, g := range l.graphs {
		splits = append(splits, g.splits)
	}
	l.run(func() { l.observeSplit(splits) })
	for _, g := range l.graphs {
		l.chain(g.ends.u, g.ends.v, g.place)
		l.tied = l.tied || g.ends.reversed > 0
		l.run(func() { g.topology = l.join(g.edges, len(g.names), g.ends, l.sortEdges(len(g.names), g.ends, nil)) }, func() { l.smooth(g) })
	}
	l.run(l.chooseSchema, l.askWhatHides)
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
	nodes, list := parseNodes(l.ctx, pair.nodes, data, limit, limitOf)
	l.fail(list...)
	data = l.source(pair.edges)
	if data == nil || len(list) > 0 {
		return // edges to the nodes that were not read would only repeat it
	}
	if l.ordered() {
		nodes.sort()
	}
	ends, list := parseEdges(l.ctx, pair.edges, data, nodes)
	l.fail(list...)
	l.set.Warnings = append(l.set.Warnings, ends.warnings(pair.edges)...)
	l.graphs = append(l.graphs, &tableGraph{tablePair: pair, nodeTable: nodes, ends: ends})
}

// smooth replaces features by means over neighbourhoods, where that is asked for.
func (l *tableLoader) smooth(g *tableGraph) {
	dim := int(g.used.largest) + 1
	if l.o.hops() == 0 || dim == 0 {
		return
	}
	if g.ones {
		g.value = nil
	}
	features, err := crf.Sparse(g.start, g.index, g.value, dim)
	if err != nil {
		l.fail(&Error{File: g.path, Problem: err.Error(), Cause: err})
		return
	}
	known := make([]bool, len(g.missing))
	for i, missing := range g.missing {
		known[i] = !missing
	}
	means, reached := l.smoothed(g.path, g.topology, features, known)
	m := means.Data()
	g.start, g.index, g.value, g.ones = m.Start, m.Column, m.Value, false
	for i, known := range reached {
		g.missing[i] = !known
	}
}

// observeSplit checks that the split to be observed occurs.
func (l *loader) observeSplit(all [][]string) {
	splits := map[string]bool{}
	for _, of := range all {
		for _, s := range of {
			splits[s] = true
		}
	}
	known := slices.Sorted(maps.Keys(splits))
	if l.o.Schema == nil || l.o.Observed != "" {
		l.warnOfCase("splits", "are two splits", known)
	}
	if l.o.Observed != "" && !splits[l.o.Observed] {
		l.fail(optionError("Observed", "no node is in the split %q; %s", l.o.Observed, firstNames(l.o.Observed, known)))
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
	*r = Recipe{Kind: KindGraph, FeatureDim: len(l.manifest.NodeFeatures), Bias: !l.o.NoBias, Sorted: true, Hops: l.o.Hops}
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
		l.fail(&Error{File: g.path, Line: int(g.lines[i]), Problem: "the features are not known (?)" + within(r.Hops) + ", but the model was trained on nodes with features only"})
		return
	}
	features, err := g.features(s.NodeTypes[0].Features, r)
	if err != nil {
		l.fail(&Error{File: g.path, Problem: err.Error(), Cause: err})
		return
	}
	parts := graphParts{name: g.name, nodesPath: g.path, edgesPath: g.edges, names: g.names, place: g.place, splits: g.splits, topology: g.topology, reversed: g.ends.reversed, nodeFeatures: features}
	parts.edgeFeatures = func() crf.Features { return crf.Constant(g.topology.NumEdges(), 1) }
	if !l.o.NoLabels {
		parts.labels = l.labels(g)
	} else {
		l.skip(g.labels)
	}
	l.run(func() { l.freezeGraph(parts) })
}

// within says that the neighbours have no features either.
func within(hops int) string {
	if hops == 0 {
		return ""
	}
	return fmt.Sprintf(", nor those of any node within %d hops", hops)
}

// graphParts are what one graph of tables is made of.
type graphParts struct {
	name, nodesPath, edgesPath string
	names, splits              []string // [node]
	place                      []int32  // [row] its node; nil: nodes are in the order of rows
	labels                     []int32  // [node], −1 for none
	topology                   *graph.Graph
	reversed                   int // see edgeTable
	nodeFeatures               crf.Features
	edgeFeatures               func() crf.Features // of the one type that the schema has
}

// freezeGraph freezes one graph; labels of other splits than the observed one are hidden.
func (l *loader) freezeGraph(g graphParts) {
	s := &l.set.Schema
	if g.topology.NumEdges() > 0 && len(s.EdgeTypes) == 0 {
		name := s.NodeTypes[0].Name
		l.failAt(g.edgesPath, "", "", "nodes %q and %q are joined, but the model has no edge type for %q with %q", g.names[g.topology.U(0)], g.names[g.topology.V(0)], name, name)
		return
	}
	if g.reversed > 0 && l.o.Schema == nil && !s.EdgeTypes[0].Symmetric {
		l.fail(&Error{File: g.edgesPath, Line: g.reversed, Problem: "it joins the nodes of an earlier line the other way round; edges are directed, and a network has one edge for two nodes", Remedy: "keep one of the two, or say that edges have no direction"})
		return
	}
	spec := crf.InstanceSpec{Name: g.name, Graph: g.topology, NodeFeat: []crf.Features{g.nodeFeatures}}
	for range s.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, g.edgeFeatures())
	}
	if !l.o.NoLabels {
		for i := range g.labels {
			if l.o.Observed != "" && g.splits[i] != l.o.Observed {
				g.labels[i] = crf.Unobserved
			}
		}
		spec.Labels = [][]int32{g.labels}
	}
	l.freeze(g.nodesPath, spec, nil)
	l.set.Splits = append(l.set.Splits, g.splits)
	names := g.names
	if unnamed(names) {
		names = nil
	}
	l.set.Names = append(l.set.Names, names)
	l.set.Rows = append(l.set.Rows, g.place)
}

// features freezes the sparse features of all nodes, with the columns for the bias and
// for features that are not known at the end.
func (t *nodeTable) features(dim int, r *Recipe) (crf.Features, error) {
	start, index := []int{0}, make([]int32, 0, len(t.index)+len(t.names))
	var value []float64
	if !t.ones {
		value = make([]float64, 0, cap(index))
	}
	for i, missing := range t.missing {
		from, to := t.start[i], t.start[i+1]
		index = append(index, t.index[from:to]...)
		if !t.ones {
			value = append(value, t.value[from:to]...)
		}
		if r.Bias {
			column := r.FeatureDim
			if r.Missing && missing {
				column++
			}
			index = append(index, int32(column))
			if !t.ones {
				value = append(value, 1)
			}
		}
		start = append(start, len(index))
	}
	return crf.Sparse(start, index, value, dim)
}

// labels returns the labels, and reports the first out of range.
func (l *tableLoader) labels(g *tableGraph) []int32 {
	k := l.set.Schema.NodeStates(0)
	labels := slices.Clone(g.labels)
	for s, y := range labels {
		if int(y) >= k {
			l.fail(&Error{File: g.path, Line: int(g.lines[s]), Problem: fmt.Sprintf("label is %d, want -1 (none) or 0 to %d", y, k-1)})
			return nil
		}
	}
	return labels
}
