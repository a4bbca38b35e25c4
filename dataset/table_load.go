package dataset

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// biasName is that of the constant feature.
const biasName = "bias"

// tableLoader turns pairs of tables into a set, whose columns become features by their cells.
type tableLoader struct {
	loader
	graphs []*tableGraph
	rules  *sheetRecipe // of the set's recipe
	labels labelTexts
}

// tableGraph is one graph as its tables give it.
type tableGraph struct {
	name         string
	nodes, edges *formats.Table // rows are brought into order when they are read

	names        []string
	byName       map[string]int32 // the node
	row          []int32          // [node] in the table; nil: they are in order
	labels       []int32          // [node] its text's number in labelTexts; −1: hidden
	splits       []string
	features     crf.Features
	topology     *graph.Graph
	reversed     int // the first line that joins nodes the other way round than one before; 0: none
	edgeFeatures crf.Features
}

func loadTables(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &tableLoader{loader: newLoader(ctx, o), rules: &sheetRecipe{}}
	for _, path := range paths {
		if formats.IsEdgeList(path) {
			l.warn("%s is read as %s", path, formats.EdgeList)
		}
	}
	pairs := l.findPairs(paths)
	for _, pair := range pairs {
		l.run(func() { l.fail(pair.Incomplete()) })
	}
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	if o.Recipe != nil && o.Recipe.Sheets != nil {
		l.rules = o.Recipe.Sheets
	}
	for _, pair := range pairs {
		l.readManifest(filepath.Dir(pair.Nodes), true)
		nodes, edges := l.source(pair.Nodes, "a table", anySize), l.source(pair.Edges, "a table", anySize)
		l.run(func() { l.open(pair, nodes, edges) })
	}
	l.run(l.chooseColumns, l.readGraphs, l.observeSplit, l.chooseSchema)
	for _, g := range l.graphs {
		l.run(func() { l.freezeGraph(g) })
	}
	set, problems := l.result()
	if set == nil || set.Recipe.Hops == 0 {
		return set, problems
	}
	means, err := set.averaged(ctx, set.Recipe.Hops, o.Memory)
	if err != nil {
		return nil, []error{option.OfFile(pairs[0].Nodes, err)}
	}
	return means, nil
}

// readGraphs reads nodes and edges; edges to nodes that were not read would only repeat what is wrong with these.
func (l *tableLoader) readGraphs() {
	for _, g := range l.graphs {
		if before := len(l.problems); parallel.Ended(l.ctx) == nil {
			if l.readNodes(g); len(l.problems) == before {
				l.readEdges(g)
			}
		}
	}
}

// open reads a pair of tables, and finds out which is which.
func (l *tableLoader) open(pair formats.TablePair, nodes, edges []byte) {
	g := &tableGraph{name: pair.Name}
	l.graphs = append(l.graphs, g)
	plain := !pair.Loose && formats.IsPlain(pair.Nodes, nodes)
	if g.edges = formats.ReadTable(pair.Edges, edges, plain, pair.Nodes); plain {
		g.nodes, l.hiddenBy = formats.ReadPlain(pair.Nodes, nodes), hiddenNumber
	} else {
		g.nodes = formats.ReadTable(pair.Nodes, nodes, false)
	}
	if l.fail(slices.Concat(g.nodes.Errors(), g.edges.Errors())...); pair.Loose && len(l.problems) == 0 {
		if !l.isOfEdges(g.edges) && (l.isOfEdges(g.nodes) || l.hasLabels(g.edges) && !l.hasLabels(g.nodes)) {
			g.nodes, g.edges = g.edges, g.nodes
		}
		g.name = strings.TrimSuffix(filepath.Base(g.nodes.File), filepath.Ext(g.nodes.File))
	}
	l.run(func() { l.rolesOfNodes(g.nodes) }, func() { l.rolesOfEdges(g.edges, g.isNode) })
}

// isNode reports whether a node has the name.
func (g *tableGraph) isNode(name string) bool {
	t := g.nodes
	return slices.ContainsFunc(t.Rows, func(cells []string) bool {
		return formats.Key(t.Cell(cells, formats.RoleID)) == formats.Key(name)
	})
}

// hasLabels reports whether a table has a column of labels.
func (l *tableLoader) hasLabels(t *formats.Table) bool {
	return t.Column(slices.Concat(l.o.given(formats.RoleLabel), []string{l.rules.Label}, labelNames)...) >= 0
}

// isOfEdges reports whether a table is that of edges: by the options, the names of columns, or that of the file.
func (l *tableLoader) isOfEdges(t *formats.Table) bool {
	return t.Column(l.o.given(formats.RoleSource)...) >= 0 || t.Column(l.rules.Source) >= 0 &&
		t.Column(l.rules.Target) >= 0 || t.UsualEnds() != formats.NoEnds ||
		strings.Contains(strings.ToLower(filepath.Base(t.File)), "edge")
}

// chooseColumns decides what features the columns make: as the model has it, or by a look at all cells.
func (l *tableLoader) chooseColumns() {
	r, first := l.rules, l.graphs[0]
	if !first.nodes.Plain && l.manifest.NodeFeatures != nil {
		l.failAt(l.manifestPath, "node_features", "remove it", "the headers of the tables name the features")
	}
	var nodes, edges []*formats.Table
	for _, g := range l.graphs {
		if nodes, edges = append(nodes, g.nodes), append(edges, g.edges); l.o.Recipe != nil {
			l.compareColumns(g.nodes, r.Nodes)
			l.compareColumns(g.edges, r.Edges)
		}
	}
	if l.o.Recipe != nil {
		return
	}
	for _, t := range []*formats.Table{first.nodes, first.edges} {
		for role, i := range t.Roles {
			if i >= 0 {
				*r.name(role) = t.Header[i]
			}
		}
	}
	for _, name := range slices.Concat(l.o.given(formats.RoleText), l.o.given(formats.RoleIgnore)) {
		if len(l.problems) < option.MostPerFile && first.nodes.Column(name) < 0 && first.edges.Column(name) < 0 {
			l.fail(option.Wrong("Columns", "neither %s nor %s has a column %q; %s", first.nodes.File, first.edges.File,
				option.Short(name), option.DidYouMean(name, slices.Concat(first.nodes.Header, first.edges.Header))))
		}
	}
	l.run(func() { r.Nodes = l.survey(nodes) }, func() { r.Edges = l.survey(edges) })
}

// survey decides on the columns of tables but for those of the first that have a role.
func (l *tableLoader) survey(tables []*formats.Table) (columns []column) {
	first := tables[0]
	taken := slices.Collect(maps.Values(first.Roles))
	if i := slices.Index(first.Header, ""); i >= 0 && !slices.Contains(taken, i) {
		l.warn("%s: column %d has no name, as row numbers that pandas writes, and is left out", first.File, i+1)
	}
	names, texts := l.features(first), l.o.named(formats.RoleText, first.Header)
	for _, t := range tables {
		l.wants(t, names, first.File+" has")
	}
	if len(l.problems) > 0 {
		return nil
	}
	lower := numeric.Map(names, strings.ToLower)
	split := slices.Contains(lower, "train") && slices.Contains(lower, "test")
	for i, name := range names {
		is, labelled, c := lower[i], slices.Contains(taken, first.Column(l.rules.Label)), look(name, tables...)
		_, train := c.number["train"]
		// The column says what the label is, in too many rows for chance: of many columns and few labels one may agree.
		tells := !c.mixed && fewCells*(len(c.label)+fewCells) < c.labelled
		if _, test := c.number["test"]; train && test || labelled && (slices.Contains(labelNames, is) || tells) ||
			slices.Contains(splitNames, is) || split && (is == "train" || is == "test") {
			l.warn("%s: %q is a feature, beside the labels %q; {columns=ignore=%[2]s} omits it", first.File, name, l.rules.Label)
		}
		col, err := c.decide(texts[name], func(format string, arguments ...any) {
			l.warn("%s: "+format, append([]any{first.File}, arguments...)...)
		})
		if l.fail(err); col != nil {
			if col.Indices > 0 {
				col.Indices = l.countIndices(first.File, c)
			}
			columns = append(columns, *col)
		}
	}
	return columns
}

// countIndices finds out how many features the lists of a column have.
func (l *tableLoader) countIndices(file string, c *columnSurvey) int {
	if names := l.manifest.NodeFeatures; names != nil {
		return len(names)
	}
	seen := labelCounts{}
	for _, text := range c.texts {
		for field := range strings.FieldsSeq(text) {
			index, _, _ := strings.Cut(field, ":")
			if x, err := strconv.ParseInt(index, 10, 32); err == nil && x < mostFeatures {
				seen[int32(x)]++
			}
		}
	}
	return l.count(seen, file, c.name, "node_features")
}

// wants checks that a table has columns, as something else has.
func (l *tableLoader) wants(t *formats.Table, names []string, as string) {
	for _, name := range names {
		if len(l.problems) < option.MostPerFile && t.Column(name) < 0 {
			l.fail(option.At(t.File, 1, "", "", "there is no column %q, which %s; %s", option.Short(name), as,
				option.DidYouMean(name, t.Header)))
		}
	}
}

// compareColumns checks that a table has the columns of the model; the others are not looked at.
func (l *tableLoader) compareColumns(t *formats.Table, columns []column) {
	var more []string
	l.wants(t, numeric.Map(columns, func(c column) string { return c.Name }), "the model was trained with")
	for _, name := range l.features(t) {
		if !slices.ContainsFunc(columns, func(c column) bool { return strings.EqualFold(c.Name, name) }) {
			more = append(more, fmt.Sprintf("%q", option.Short(name)))
		}
	}
	if len(more) > 0 {
		l.warn("%s: the model does not use column %s", t.File, option.FirstFew(more))
	}
}

// observeSplit checks that the split to be observed occurs.
func (l *tableLoader) observeSplit() {
	splits := map[string]bool{}
	for _, g := range l.graphs {
		maps.Copy(splits, numeric.SetOf(g.splits))
	}
	if l.o.Observed != "" && !splits[l.o.Observed] {
		l.fail(option.Wrong("Observed", "no node is in the split %q; %s", l.o.Observed,
			option.Suggestion(l.o.Observed, slices.Sorted(maps.Keys(splits)), "")))
	}
}

// chooseSchema takes the model's schema or makes one for the tables, and gives labels the numbers of its states.
func (l *tableLoader) chooseSchema() {
	if l.o.Schema != nil {
		l.adoptModel()
		l.compareNames()
	} else {
		l.learnSchema()
	}
	if l.o.NoLabels || len(l.problems) > 0 {
		return
	}
	of := l.numberLabels(&l.labels, l.set.Schema.NodeTypes[0].States)
	for _, g := range l.graphs {
		ofTexts(g.labels, of)
	}
}

// learnSchema makes schema and recipe of what the tables have.
func (l *tableLoader) learnSchema() {
	s, r, first := &l.set.Schema, &l.set.Recipe, l.graphs[0].nodes.File
	*r = Recipe{Kind: kindGraph, Hops: l.o.Hops, Bias: !l.o.NoBias, Sorted: true, Sheets: l.rules,
		FeatureDim: sizeOfColumns(l.rules.Nodes), States: l.statesOf(&l.labels, first)}
	if len(l.problems) > 0 {
		return
	}
	s.NodeTypes = []crf.NodeType{{Name: "node", States: r.States, Features: r.nodeDim()}}
	if slices.ContainsFunc(l.graphs, func(g *tableGraph) bool { return g.topology.NumEdges() > 0 }) {
		names := append(namesOfColumns(l.rules.Edges), formConstant)
		s.EdgeTypes = []crf.EdgeType{{Name: "edge", Features: len(names), FeatureNames: names}}
	}
	if l.checkWeights(); len(l.problems) > 0 {
		return // before as many names are made
	}
	names := namesOfColumns(l.rules.Nodes)
	copy(names, l.manifest.NodeFeatures) // of the lists of plain tables
	if r.Bias {
		names = append(names, biasName)
	}
	s.NodeTypes[0].FeatureNames = names
	l.completeSchema()
}

// freezeGraph freezes one graph; labels of other splits than the observed one are hidden.
func (l *tableLoader) freezeGraph(g *tableGraph) {
	s := &l.set.Schema
	if g.reversed > 0 && l.o.Schema == nil && !s.EdgeTypes[0].Symmetric {
		l.fail(option.At(g.edges.File, g.reversed, "", "keep one of the two, or say that edges have no direction",
			"it joins the nodes of an earlier line the other way round; edges are directed, and two nodes have one edge"))
		return
	}
	spec := crf.InstanceSpec{Name: g.name, Graph: g.topology, NodeFeat: []crf.Features{g.features}}
	if len(s.EdgeTypes) > 0 {
		spec.EdgeFeat = []crf.Features{g.edgeFeatures}
	}
	if !l.o.NoLabels {
		for i := range g.labels {
			if l.o.Observed != "" && g.splits[i] != l.o.Observed {
				g.labels[i] = crf.Unobserved
			}
		}
		spec.Labels = [][]int32{g.labels}
	}
	l.freeze(g.nodes.File, spec, nil)
	l.set.Splits, l.set.given = append(l.set.Splits, g.splits), append(l.set.given, g.features)
	if unnamed(g.names) {
		g.names = nil
	}
	l.set.Names, l.set.Rows = append(l.set.Names, g.names), append(l.set.Rows, inverse(g.row))
}
