package dataset

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// tableLoader turns pairs of tables into a set: those with a header, whose columns become features by their
// cells, and plain ones, whose features and labels are numbers.
type tableLoader struct {
	loader
	plain  bool // no table has a header
	graphs []*tableGraph
	rules  *sheetRecipe // of the set's recipe
	labels labelTexts   // of tables with a header
}

// tableGraph is one graph as its tables give it.
type tableGraph struct {
	name         string
	nodes, edges *table // rows of nodes are brought into order when they are read
	roles        nodeRoles
	ends         [2]int

	names        []string
	byName       map[string]int32 // the node
	row          []int32          // [node] in the table; nil: they are in order
	labels       []int32          // [node] its state or, with a header, its text's number in labelTexts; −1: hidden
	splits       []string
	given        givenFeatures
	used         top // of the indices of features in plain tables, with lines
	features     crf.Features
	topology     *graph.Graph
	reversed     int // see edgeRows
	edgeFeatures crf.Features
}

func loadTables(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &tableLoader{loader: newLoader(ctx, o), rules: &sheetRecipe{}}
	pairs, notes, err := findPairs(paths)
	if err == nil && len(pairs) == 0 {
		err = &Error{File: paths[0], Problem: "there are no tables of nodes"}
	}
	for _, pair := range pairs {
		if err == nil {
			err = pair.incomplete()
		}
	}
	if err != nil {
		return nil, []error{err}
	}
	l.set.Warnings = append(edgeListNotes(paths), notes...)
	if o.Recipe != nil && o.Recipe.Sheets != nil {
		l.rules = o.Recipe.Sheets
	}
	for _, pair := range pairs {
		l.readManifest(filepath.Dir(pair.nodes), true)
		nodes, edges := l.source(pair.nodes), l.source(pair.edges)
		plain := !pair.loose && !o.hasHeader(pair.nodes, nodes)
		if len(l.graphs) == 0 {
			l.plain = plain
		} else if plain != l.plain {
			l.failAt(pair.nodes, "", "give tables of one kind", "it has a header: %v, and %s has one: %v", !plain,
				pairs[0].nodes, plain)
		}
		l.run(func() { l.open(pair, nodes, edges) })
	}
	l.run(func() { l.checkKind(pairs[0].nodes) }, l.chooseColumns)
	if len(l.problems) > 0 {
		return l.result()
	}
	for _, g := range l.graphs {
		if parallel.Ended(ctx) != nil {
			return l.result()
		}
		before := len(l.problems)
		if l.readNodes(g); len(l.problems) == before { // edges to nodes that were not read would only repeat it
			l.readEdges(g)
		}
	}
	l.run(l.observeSplit, l.chooseSchema, l.freezeAll)
	return l.result()
}

// checkKind checks that tables have a header if those of the model have, or if options name columns.
func (l *tableLoader) checkKind(first string) {
	switch of := l.o.Recipe; {
	case of != nil && (of.Sheets == nil) != l.plain:
		l.failAt(first, "", "write the tables like those",
			"the model was trained on tables that have a header: %v, and these have one: %v", of.Sheets != nil, !l.plain)
	case l.plain && len(l.o.Columns) > 0:
		l.fail(optionError("Columns", "%s has no header that names columns", first))
	case !l.plain && l.manifest.NodeFeatures != nil:
		l.failAt(l.manifestPath, "node_features", "remove it", "the headers of the tables name the features")
	}
}

// open reads a pair of tables, and finds out which is which.
func (l *tableLoader) open(pair tablePair, nodes, edges []byte) {
	g := &tableGraph{name: pair.name, roles: nodeRoles{0, 1, 2}, ends: [2]int{0, 1}, used: newTop()}
	for _, of := range []struct {
		path    string
		data    []byte
		columns int // without a header
		into    **table
	}{{pair.nodes, nodes, plainColumns, &g.nodes}, {pair.edges, edges, len(g.ends), &g.edges}} {
		if l.plain {
			*of.into = readPlain(l.ctx, of.path, of.data, of.columns)
			continue
		}
		*of.into = readTable(l.ctx, of.path, of.data)
		l.fail((*of.into).errors()...)
	}
	if l.graphs = append(l.graphs, g); l.plain || len(l.problems) > 0 {
		return
	}
	if pair.loose && l.looksLikeEdges(g.nodes, g.edges) {
		g.nodes, g.edges = g.edges, g.nodes
	}
	if pair.loose {
		g.name = strings.TrimSuffix(filepath.Base(g.nodes.path), filepath.Ext(g.nodes.path))
	}
	l.run(func() { g.roles, g.ends = l.rolesOfNodes(g.nodes), l.rolesOfEdges(g.edges) })
}

// looksLikeEdges reports whether the first of two tables is the one of edges: by the
// options, by the names of columns, or else by the names of the files.
func (l *tableLoader) looksLikeEdges(first, second *table) bool {
	sign := func(t *table) int {
		ends := t.usualEnds()
		switch {
		case t.column(l.o.given(roleSource)...) >= 0, t.column(l.rules.Source) >= 0 && t.column(l.rules.Target) >= 0:
			return 4
		case ends[0] >= 0:
			return 3
		case strings.Contains(strings.ToLower(filepath.Base(t.path)), "edge"):
			return 2
		case t.column(labelNames...) >= 0, t.column(idNames...) >= 0:
			return 0
		}
		return 1
	}
	return sign(first) > sign(second)
}

// chooseColumns decides what features the columns make: as the model has it, or by a
// look at all cells.
func (l *tableLoader) chooseColumns() {
	r := l.rules
	if l.plain {
		return
	}
	if l.o.Recipe != nil {
		for _, g := range l.graphs {
			l.compareColumns(g.nodes, r.Nodes, g.roles.id, g.roles.label, g.roles.split)
			l.compareColumns(g.edges, r.Edges, g.ends[0], g.ends[1])
		}
		return
	}
	first := l.graphs[0]
	name := func(t *table, i int) string {
		if i < 0 {
			return ""
		}
		return t.header[i]
	}
	r.ID, r.Label = name(first.nodes, first.roles.id), name(first.nodes, first.roles.label)
	r.Split = name(first.nodes, first.roles.split)
	r.Source, r.Target = name(first.edges, first.ends[0]), name(first.edges, first.ends[1])
	var nodes, edges []*table
	for _, g := range l.graphs {
		nodes, edges = append(nodes, g.nodes), append(edges, g.edges)
	}
	for _, name := range slices.Concat(l.o.given(roleText), l.o.given(roleIgnore)) {
		if len(l.problems) < mostPerFile && first.nodes.column(name) < 0 && first.edges.column(name) < 0 {
			l.fail(optionError("Columns", "neither %s nor %s has a column %q; %s", first.nodes.path, first.edges.path,
				abbreviate(name), suggestion(name, slices.Concat(first.nodes.header, first.edges.header))))
		}
	}
	l.run(
		func() {
			r.Nodes = l.survey(nodes, l.features(first.nodes, first.roles.id, first.roles.label, first.roles.split))
		},
		func() { r.Edges = l.survey(edges, l.features(first.edges, first.ends[0], first.ends[1])) })
}

// survey decides on the columns of tables, which stand at these places in the first of them.
func (l *tableLoader) survey(tables []*table, at []int) (columns []column) {
	texts, c := l.o.given(roleText), &columnSurvey{}
	for _, i := range at {
		name := tables[0].header[i]
		if err := c.look(tables, name); err != nil {
			l.fail(err)
			continue
		}
		col, notes, err := c.decide(slices.Contains(texts, name))
		if err != nil {
			l.fail(err)
		} else if col != nil {
			columns = append(columns, *col)
		}
		for _, note := range notes {
			l.warn("%s: %s", tables[0].path, option.Text(note))
		}
	}
	return columns
}

// compareColumns checks that a table has the columns of the model; the others are not
// looked at.
func (l *tableLoader) compareColumns(t *table, columns []column, taken ...int) {
	known := map[string]bool{}
	for i := range columns {
		known[infile.Fold(columns[i].Name)] = true
		if len(l.problems) < mostPerFile && t.column(columns[i].Name) < 0 {
			const problem = "there is no column %q, which the model was trained with; %s"
			l.fail(&Error{File: t.path, Line: 1,
				Problem: fmt.Sprintf(problem, abbreviate(columns[i].Name), suggestion(columns[i].Name, t.header))})
		}
	}
	var more []string
	for _, i := range l.features(t, taken...) {
		if name := t.header[i]; !known[infile.Fold(name)] {
			more = append(more, fmt.Sprintf("%q", abbreviate(name)))
		}
	}
	if len(more) > 0 {
		l.warn("%s: the model does not use column %s", t.path, firstFew(more))
	}
}

// observeSplit checks that the split to be observed occurs.
func (l *tableLoader) observeSplit() {
	splits := map[string]bool{}
	for _, g := range l.graphs {
		for _, s := range g.splits {
			splits[s] = true
		}
	}
	known := slices.Sorted(maps.Keys(splits))
	if l.o.Observed != "" && !splits[l.o.Observed] {
		l.fail(optionError("Observed", "no node is in the split %q; %s", l.o.Observed,
			option.Suggestion(l.o.Observed, known, "")))
	}
}

// numbered are the labels of a plain table.
func (g *tableGraph) numbered() numbered {
	return numbered{labels: g.labels, place: func(e *Error, s int) *Error {
		e.File, e.Line = g.nodes.path, int(g.nodes.lines[s])
		return e
	}}
}

// chooseSchema takes the model's schema or makes one for the tables, and gives labels the numbers of its states.
func (l *tableLoader) chooseSchema() {
	if l.plain {
		for _, g := range l.graphs {
			l.numbers = append(l.numbers, g.numbered())
		}
	}
	if l.o.Schema != nil {
		l.adoptModel()
		l.compareNames()
	} else {
		l.learnSchema()
	}
	if l.plain && !l.o.NoLabels {
		l.run(func() { l.askWhatHides("label ") })
	}
	if l.plain {
		return
	}
	l.run(func() {
		of := l.numberLabels(&l.labels, l.set.Schema.NodeTypes[0].States)
		for _, g := range l.graphs {
			for i, text := range g.labels {
				if text >= 0 {
					g.labels[i] = of[text]
				}
			}
		}
	})
}

// learnSchema makes schema and recipe of what the tables have.
func (l *tableLoader) learnSchema() {
	s, r, first := &l.set.Schema, &l.set.Recipe, l.graphs[0].nodes.path
	*r = Recipe{Kind: KindGraph, Hops: l.o.Hops, Bias: !l.o.NoBias, Sorted: true}
	if l.plain {
		l.countFeatures()
		missing := &Error{File: first, Problem: "no node has a label",
			Remedy: "name the states, by \"states\" in " + ManifestName + " or {states}"}
		r.States = l.numberStates("nodes are", "every label", missing)
	} else {
		r.Sheets, r.FeatureDim, r.States = l.rules, widthOf(l.rules.Nodes), l.statesOf(&l.labels, first)
	}
	if len(l.problems) > 0 {
		return
	}
	node := crf.NodeType{Name: featuredType, States: r.States, Features: r.FeatureDim}
	for _, more := range []bool{r.Bias, r.Missing} {
		if more {
			node.Features++
		}
	}
	s.NodeTypes = []crf.NodeType{node}
	if slices.ContainsFunc(l.graphs, func(g *tableGraph) bool { return g.topology.NumEdges() > 0 }) {
		names := append(namesOfColumns(l.rules.Edges), FormConstant)
		s.EdgeTypes = []crf.EdgeType{{Name: "edge", Features: len(names), FeatureNames: names}}
	}
	if l.checkWeights(); len(l.problems) > 0 {
		return // before as many names are made
	}
	names := namesOfColumns(l.rules.Nodes)
	if l.plain {
		names = l.featureNames(r.FeatureDim, false)
	}
	for _, more := range []struct {
		is   bool
		name string
	}{{r.Bias, biasName}, {r.Missing, missingName}} {
		if more.is {
			names = append(names[:len(names):len(names)], more.name)
		}
	}
	s.NodeTypes[0].FeatureNames = names
	l.completeSchema()
}

// countFeatures finds out how many features the nodes of plain tables have, and whether those of some are not known.
func (l *tableLoader) countFeatures() {
	r, missing := &l.set.Recipe, false
	r.FeatureDim = len(l.manifest.NodeFeatures)
	for _, g := range l.graphs {
		if dim := int(g.used.largest) + 1; dim > r.FeatureDim {
			r.FeatureDim = dim
			at := Error{File: g.nodes.path, Line: g.used.at[0], Problem: "the index of a feature "}
			l.refuseFar(&g.used, at, g.used.doubt("feature", ""), `name "node_features" in `+ManifestName)
		}
		missing = missing || slices.Contains(g.given.known, false)
	}
	r.Missing = missing && r.FeatureDim > 0 && r.Bias
}

// freezeAll makes an instance of each graph.
func (l *tableLoader) freezeAll() {
	for _, g := range l.graphs {
		l.run(func() { l.completeFeatures(g) }, func() {
			switch {
			case !l.plain:
			case l.o.NoLabels:
				l.skip(g.labels)
			default:
				l.checkNumbers("label ", l.set.Schema.NodeStates, g.numbered())
			}
		}, func() { l.freezeGraph(g) })
	}
}

// completeFeatures adds the columns for the bias, and for features that are not known, to those of a plain table.
func (l *tableLoader) completeFeatures(g *tableGraph) {
	// Without a bias, or without any features, those of a node where they are not known
	// are all zero, or the bias, like those of others.
	r := &l.set.Recipe
	if i := slices.Index(g.given.known, false); i >= 0 && !r.Missing && r.FeatureDim > 0 && r.Bias {
		within := ""
		if r.Hops > 0 {
			within = fmt.Sprintf(", nor those of any node within %d hops", r.Hops)
		}
		l.fail(&Error{File: g.nodes.path, Line: int(g.nodes.lines[i]),
			Problem: "the features are not known (?)" + within + ", but the model was trained on nodes with features only"})
		return
	}
	var err error
	if g.features, err = g.given.complete(r); err != nil {
		l.fail(&Error{File: g.nodes.path, Problem: err.Error(), Cause: err})
	}
}

// freezeGraph freezes one graph; labels of other splits than the observed one are hidden.
func (l *tableLoader) freezeGraph(g *tableGraph) {
	s := &l.set.Schema
	if g.topology.NumEdges() > 0 && len(s.EdgeTypes) == 0 {
		u, v, name := g.names[g.topology.U(0)], g.names[g.topology.V(0)], s.NodeTypes[0].Name
		l.failAt(g.edges.path, "", "", "nodes %q and %q are joined, but the model has no edge type for %q with %q", u, v,
			name, name)
		return
	}
	if g.reversed > 0 && l.o.Schema == nil && !s.EdgeTypes[0].Symmetric {
		l.fail(&Error{File: g.edges.path, Line: g.reversed,
			Problem: "it joins the nodes of an earlier line the other way round; " +
				"edges are directed, and a network has one edge for two nodes",
			Remedy: "keep one of the two, or say that edges have no direction"})
		return
	}
	spec := crf.InstanceSpec{Name: g.name, Graph: g.topology, NodeFeat: []crf.Features{g.features}}
	if len(s.EdgeTypes) > 0 && len(l.rules.Edges) == 0 {
		g.edgeFeatures = crf.Constant(g.topology.NumEdges(), 1)
	}
	for range s.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, g.edgeFeatures)
	}
	if !l.o.NoLabels {
		for i := range g.labels {
			if l.o.Observed != "" && g.splits[i] != l.o.Observed {
				g.labels[i] = crf.Unobserved
			}
		}
		spec.Labels = [][]int32{g.labels}
	}
	l.freeze(g.nodes.path, spec, nil)
	l.set.Splits, l.set.given = append(l.set.Splits, g.splits), append(l.set.given, g.given)
	names := g.names
	if unnamed(names) {
		names = nil
	}
	l.set.Names = append(l.set.Names, names)
	l.set.Rows = append(l.set.Rows, inverse(g.row))
}
