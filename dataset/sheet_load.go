package dataset

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/sets"
	"github.com/blockbp/blockbp/internal/strictjson"
)

// sheetLoader turns pairs of tables with a header into a set.
type sheetLoader struct {
	loader
	graphs []*sheetGraph
	rules  *sheetRecipe // of the set's recipe
	labels labelTexts
}

// sheetGraph is one graph as its tables give it.
type sheetGraph struct {
	name         string
	nodes, edges *sheet
	roles        nodeRoles
	ends         [2]int

	names        []string
	byName       map[string]int32 // the row
	lines        []int32          // [row]
	place        []int32          // [row] its node; nil: they are the same
	texts        []int32          // [node] number of the label in labelTexts, −1 where it is hidden
	splits       []string
	otherIDs     map[string]map[string]bool // columns that could be that of identifiers; nil: not looked for
	features     crf.Features
	topology     *graph.Graph
	reversed     int // see edgeTable
	edgeFeatures crf.Features
}

func loadSheets(ctx context.Context, pairs []tablePair, o *Options) (*Set, []error) {
	l := &sheetLoader{loader: newLoader(ctx, o), rules: &sheetRecipe{}}
	if o.Recipe != nil && o.Recipe.Sheets != nil {
		l.rules = o.Recipe.Sheets
	}
	for _, pair := range pairs {
		l.readManifest(filepath.Dir(pair.nodes), true)
		l.open(pair)
	}
	if l.manifest.NodeFeatures != nil {
		l.failAt(l.manifestPath, "node_features", "remove it", "the headers of the tables name the features")
	}
	l.run(l.chooseColumns)
	for _, g := range l.graphs {
		if parallel.Ended(ctx) != nil {
			return l.result()
		}
		l.run(func() { l.readNodes(g) })
		l.run(func() { l.readEdges(g) })
	}
	l.run(func() { l.observeSplit(l.splits()) }, l.finish)
	return l.result()
}

func (l *sheetLoader) splits() (all [][]string) {
	for _, g := range l.graphs {
		all = append(all, g.splits)
	}
	return all
}

// open reads the headers of a pair of tables, and finds out which is which.
func (l *sheetLoader) open(pair tablePair) {
	g := &sheetGraph{name: pair.name}
	for _, table := range []struct {
		path string
		into **sheet
	}{{pair.nodes, &g.nodes}, {pair.edges, &g.edges}} {
		data := l.source(table.path)
		if data == nil {
			return
		}
		s, err := newSheet(l.ctx, table.path, data)
		if err != nil {
			l.fail(err)
			return
		}
		if s.header[0] == pandasIndex && !l.calls(pandasIndex) {
			s.header[0] = ""
			s.findColumns()
		}
		*table.into = s
	}
	if pair.loose && l.looksLikeEdges(g.nodes, g.edges) {
		g.nodes, g.edges = g.edges, g.nodes
	}
	if pair.loose {
		g.name = strings.TrimSuffix(filepath.Base(g.nodes.path), filepath.Ext(g.nodes.path))
	}
	g.roles = l.rolesOfNodes(g.nodes)
	g.ends = l.rolesOfEdges(g.edges)
	l.graphs = append(l.graphs, g)
}

// calls reports whether the options or the model name a column.
func (l *sheetLoader) calls(name string) bool {
	r, is := l.rules, func(c column) bool { return c.Name == name }
	return slices.Contains([]string{r.ID, r.Label, r.Split, r.Source, r.Target}, name) || slices.ContainsFunc(r.Nodes, is) || slices.ContainsFunc(r.Edges, is) ||
		slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(l.o.given(role), name) })
}

// looksLikeEdges reports whether the first of two tables is the one of edges: by the
// options, by the names of columns, or else by the names of the files.
func (l *sheetLoader) looksLikeEdges(first, second *sheet) bool {
	sign := func(s *sheet) int {
		ends := s.usualEnds()
		switch {
		case s.column(l.o.given(roleSource)...) >= 0, s.column(l.rules.Source) >= 0 && s.column(l.rules.Target) >= 0:
			return 4
		case ends[0] >= 0:
			return 3
		case strings.Contains(strings.ToLower(filepath.Base(s.path)), "edge"):
			return 2
		case s.column(labelNames...) >= 0, s.column(idNames...) >= 0:
			return 0
		}
		return 1
	}
	return sign(first) > sign(second)
}

// chooseColumns decides what features the columns make: as the model has it, or by a
// look at all cells.
func (l *sheetLoader) chooseColumns() {
	r := l.rules
	if l.o.Recipe != nil {
		for _, g := range l.graphs {
			l.compareColumns(g.nodes, r.Nodes, g.roles.id, g.roles.label, g.roles.split)
			l.compareColumns(g.edges, r.Edges, g.ends[0], g.ends[1])
		}
		return
	}
	first := l.graphs[0]
	name := func(s *sheet, i int) string {
		if i < 0 {
			return ""
		}
		return s.header[i]
	}
	r.ID, r.Label, r.Split = name(first.nodes, first.roles.id), name(first.nodes, first.roles.label), name(first.nodes, first.roles.split)
	r.Source, r.Target = name(first.edges, first.ends[0]), name(first.edges, first.ends[1])
	var nodes, edges []*sheet
	for _, g := range l.graphs {
		nodes, edges = append(nodes, g.nodes), append(edges, g.edges)
	}
	for _, role := range []string{roleText, roleIgnore} {
		for _, name := range l.o.given(role) {
			if len(l.problems) < mostPerFile && first.nodes.column(name) < 0 && first.edges.column(name) < 0 {
				l.fail(optionError("Columns", "neither %s nor %s has a column %q; %s", first.nodes.path, first.edges.path, abbreviate(name), firstNames(name, slices.Concat(first.nodes.header, first.edges.header))))
			}
		}
	}
	l.run(
		func() {
			r.Nodes = l.survey(nodes, l.features(first.nodes, first.roles.id, first.roles.label, first.roles.split))
		},
		func() { r.Edges = l.survey(edges, l.features(first.edges, first.ends[0], first.ends[1])) })
}

// survey looks at all cells of the columns of tables, which stand at these places in the
// first of them.
func (l *sheetLoader) survey(sheets []*sheet, at []int) (columns []column) {
	surveys, texts := make([]*columnSurvey, len(at)), sets.Of(l.o.given(roleText))
	for k, i := range at {
		name := sheets[0].header[i]
		surveys[k] = newSurvey(name, texts[name])
	}
	if l.surveyCells(sheets, surveys); len(l.problems) > 0 {
		return nil
	}
	var again []*columnSurvey
	for k, c := range surveys {
		if c = c.again(); c != nil {
			surveys[k], again = c, append(again, c)
		}
	}
	if len(again) > 0 {
		l.surveyCells(sheets, again)
	}
	for _, c := range surveys {
		if problem := c.listOfFeatures(); problem != nil {
			l.fail(problem)
			continue
		}
		col, note, err := c.decide()
		switch {
		case err != nil:
			l.fail(err)
		case col != nil:
			columns = append(columns, *col)
		}
		if note != "" {
			l.warn("%s: %s", sheets[0].path, note)
		}
	}
	return columns
}

// surveyCells shows all cells of columns to their surveys.
func (l *sheetLoader) surveyCells(sheets []*sheet, surveys []*columnSurvey) {
	for _, s := range sheets {
		places := make([]int, len(surveys))
		for k, c := range surveys {
			if places[k] = s.column(c.name); places[k] < 0 {
				l.fail(&Error{File: s.path, Line: 1, Problem: fmt.Sprintf("there is no column %q, which %s has", abbreviate(c.name), sheets[0].path)})
			}
		}
		if len(l.problems) > 0 {
			return
		}
		p := &problems{file: s.path}
		s.each(p, func(line int, cells []string) {
			for k, i := range places {
				surveys[k].see(s.path, line, cells[i])
			}
		})
		l.fail(p.errors()...)
	}
}

// listOfFeatures refuses a column of lists of features, as tables without a header have.
func (c *columnSurvey) listOfFeatures() error {
	cell := c.odd.cell
	if !strings.EqualFold(c.name, "features") || !strings.ContainsAny(cell, " :") || !isDigit(cell[0]) {
		return nil
	}
	return &Error{File: c.odd.path, Line: c.odd.line, Place: c.name, Problem: fmt.Sprintf("%q is a list of features, which tables without a header have", abbreviate(cell)), Remedy: "begin the header with #, or give every feature a column"}
}

// compareColumns checks that a table has the columns of the model; the others are not
// looked at.
func (l *sheetLoader) compareColumns(s *sheet, columns []column, taken ...int) {
	for i := range columns {
		if len(l.problems) < mostPerFile && s.column(columns[i].Name) < 0 {
			l.fail(&Error{File: s.path, Line: 1, Problem: fmt.Sprintf("there is no column %q, which the model was trained with; %s", abbreviate(columns[i].Name), firstNames(columns[i].Name, s.header))})
		}
	}
	known := map[string]bool{}
	for i := range columns {
		known[strictjson.Fold(columns[i].Name)] = true
	}
	var more []string
	for _, i := range l.features(s, taken...) {
		name := s.header[i]
		if !known[strictjson.Fold(name)] {
			more = append(more, fmt.Sprintf("%q", abbreviate(name)))
		}
	}
	if len(more) > 0 {
		l.warn("%s: the model does not use column %s", s.path, firstFew(more))
	}
}

// fillerOf makes a filler for the rows of a sheet.
func (l *sheetLoader) fillerOf(s *sheet, columns []column, bias bool) *filler {
	at := make([]int, len(columns))
	for i := range columns {
		at[i] = s.column(columns[i].Name)
	}
	rows := bytes.Count(s.data, []byte("\n")) + 1
	_, _, perRow, _ := rowForm(columns, bias)
	l.allow(s.path, "", fmt.Sprintf("the features of %d rows", rows), float64(rows)*perRow, l.o.Memory, nil)
	if len(l.problems) > 0 {
		return nil
	}
	return newFiller(columns, at, bias, rows)
}

// readNodes reads the table of nodes of a graph.
func (l *sheetLoader) readNodes(g *sheetGraph) {
	s, bias := g.nodes, l.bias()
	f := l.fillerOf(s, l.rules.Nodes, bias)
	if f == nil {
		return
	}
	l.labels.named = sets.Of(l.namedStates())
	delete(l.labels.named, "")
	g.byName = map[string]int32{}
	p := &problems{file: s.path}
	splits := map[string]string{} // one copy of each
	alike := make([]alike, len(l.rules.Nodes))
	s.each(p, func(line int, cells []string) {
		name := strings.TrimSpace(cells[g.roles.id])
		if before, twice := g.byName[name]; twice {
			p.add(line, abbreviate(s.header[g.roles.id]), l.otherID(s, oneRow), "node %q is on line %d already", abbreviate(name), g.lines[before])
			return
		}
		if name == "" {
			p.add(line, abbreviate(s.header[g.roles.id]), ownName, "the node has no identifier")
			return
		}
		name = strings.Clone(name)
		g.byName[name] = int32(len(g.names))
		g.names, g.lines = append(g.names, name), append(g.lines, int32(line))
		text := int32(crf.Unobserved)
		switch {
		case g.roles.label >= 0 && l.o.NoLabels:
			l.skipCell(cells[g.roles.label])
		case g.roles.label >= 0:
			text = l.labels.see(s.path, line, cells[g.roles.label])
		}
		g.texts = append(g.texts, text)
		if text >= 0 && l.o.Recipe == nil {
			for i := range alike {
				alike[i].see(text, strings.TrimSpace(cells[f.at[i]]))
			}
		}
		split := ""
		if g.roles.split >= 0 {
			cell, known := splits[strings.TrimSpace(cells[g.roles.split])]
			if !known {
				cell = strings.Clone(strings.TrimSpace(cells[g.roles.split]))
				splits[cell] = cell
			}
			split = cell
		}
		g.splits = append(g.splits, split)
		if place, problem := f.add(line, cells, bias); problem != "" {
			p.add(line, abbreviate(place), "", "%s", problem)
		}
	})
	if len(g.names) == 0 && len(p.list) == 0 {
		p.add(0, "", "", "there are no nodes below the header")
	}
	l.fail(p.errors()...)
	l.warnUnknown(s, f)
	for i := range alike {
		if name := l.rules.Nodes[i].Name; alike[i].evident() {
			l.warn("%s: column %q tells the label of all %d nodes that have one, by a value for each: say --columns ignore=%s if it was made of the labels", s.path, abbreviate(name), alike[i].seen, name)
		}
	}
	l.run(func() { l.sortNodes(g, f) }, func() { l.freezeFeatures(s, f, &g.features) })
}

// alike is whether the cells of a column are labels by other names: each label goes with one
// cell, and each cell with one label.
type alike struct {
	seen   int
	cells  map[int32]string
	labels map[string]int32
	differ bool
}

func (a *alike) see(label int32, cell string) {
	if a.differ {
		return
	}
	if a.seen++; a.cells == nil {
		a.cells, a.labels = map[int32]string{}, map[string]int32{}
	}
	had, known := a.cells[label]
	of, taken := a.labels[cell]
	if !known && !taken {
		cell = strings.Clone(cell)
		a.cells[label], a.labels[cell] = cell, label
	} else if !known || !taken || had != cell || of != label {
		a.differ, a.cells, a.labels = true, nil, nil
	}
}

// evident reports whether that is not by chance: of two states as many labels as leastAlike are
// of cells by chance once in a thousand columns.
func (a *alike) evident() bool {
	return !a.differ && len(a.cells) > 1 && a.seen-len(a.cells) >= leastAlike
}

const leastAlike = 10

// sortNodes brings the nodes of a table into order.
func (l *sheetLoader) sortNodes(g *sheetGraph, f *filler) {
	if !l.ordered() {
		return
	}
	var row []int32
	if row, g.place = rowsInOrder(g.names); row != nil {
		g.names, g.texts, g.splits = take(g.names, row), take(g.texts, row), take(g.splits, row)
		f.reorder(row)
	}
}

// otherID is a remedy for nodes that are there again: several graphs are in one table, or another
// column identifies nodes, where none was named.
func (l *sheetLoader) otherID(s *sheet, remedy string) string {
	if s.column(graphNames...) >= 0 {
		return "write a pair of tables for each graph, as NAME.nodes.csv and NAME.edges.csv in one folder"
	}
	if len(l.o.given(roleID)) > 0 {
		return remedy
	}
	return remedy + ", or say by --columns id=NAME which column identifies the nodes"
}

// skipCell counts a label that is left unread.
func (l *sheetLoader) skipCell(cell string) {
	cell = strings.TrimSpace(cell)
	if l.unread++; !missingCell(cell) || l.labels.named[cell] {
		l.known++
	}
}

func (l *sheetLoader) bias() bool {
	if l.o.Recipe != nil {
		return l.o.Recipe.Bias
	}
	return !l.o.NoBias
}

// freezeFeatures makes features of what a filler has.
func (l *sheetLoader) freezeFeatures(s *sheet, f *filler, into *crf.Features) {
	var err error
	switch {
	case f.dim == 0:
		*into = crf.Constant(len(f.start)-1, 0)
	case f.dense:
		*into, err = crf.Dense(f.numbers, f.dim)
	default:
		*into, err = crf.Sparse(f.start, f.index, f.value, f.dim)
	}
	if err != nil {
		l.fail(&Error{File: s.path, Problem: err.Error(), Cause: err})
	}
}

// warnUnknown tells of cells for which the model has no feature.
func (l *sheetLoader) warnUnknown(s *sheet, f *filler) {
	for i := range f.unknown {
		u, c := &f.unknown[i], &f.columns[i]
		instead := "they count as none of its texts"
		if c.Values == nil {
			instead = fmt.Sprintf("%.6g, the mean in training, stands for them", c.Mean)
		}
		if u.count > 0 {
			l.warn("%s:%d:%s: the model has not learned of the cell %q (and of %d more in this column): %s", s.path, u.line, abbreviate(c.Name), abbreviate(u.cell), u.count-1, instead)
		}
	}
}

// readEdges reads the table of edges of a graph.
func (l *sheetLoader) readEdges(g *sheetGraph) {
	s := g.edges
	f := l.fillerOf(s, l.rules.Edges, true)
	if f == nil {
		return
	}
	t := &edgeTable{}
	p := &problems{file: s.path}
	seen := map[[2]int32]int32{} // by the ends, smaller first: the row in t
	var lines []int32            // [row], where edges have features
	var differing *Error         // the first row that joins two nodes again, with other features
	s.each(p, func(line int, cells []string) {
		var ends [2]int32
		for k, i := range g.ends {
			name := strings.TrimSpace(cells[i])
			node, known := g.byName[name]
			if !known {
				remedy := ""
				if !p.full() { // it looks at all nodes
					remedy = g.unknownNode(name, cells)
				}
				if name == "" {
					p.add(line, abbreviate(s.header[i]), cmp.Or(remedy, "fill in the identifier of a node, or leave the row out"), "the cell is empty, and names no node")
					return
				}
				p.add(line, abbreviate(s.header[i]), cmp.Or(remedy, unknownEnd), "there is no node %q in %s", abbreviate(name), g.nodes.path)
				return
			}
			ends[k] = nodeOf(g.place, node)
		}
		u, v := ends[0], ends[1]
		pair := [2]int32{min(u, v), max(u, v)}
		first, again := seen[pair]
		if u == v {
			t.loops = append(t.loops, line)
			return
		}
		if len(f.columns) > 0 { // without any, all have the constant
			if place, problem := f.add(line, cells, true); problem != "" {
				p.add(line, abbreviate(place), "", "%s", problem)
				return
			}
		}
		if !again {
			seen[pair] = int32(len(t.u))
			t.u, t.v = append(t.u, u), append(t.v, v)
			if len(f.columns) > 0 {
				lines = append(lines, int32(line))
			}
			return
		}
		t.repeat(line, u, first)
		if len(f.columns) > 0 {
			if !f.lastIs(int(first)) {
				e := &Error{File: s.path, Line: line, Problem: fmt.Sprintf("it joins the nodes of line %d again, with other features", lines[first]), Remedy: "a network has one edge for two nodes: make one row of such rows, or give both the same features"}
				if differing == nil {
					differing = e
				}
				p.keep(e)
			}
			f.dropLast()
		}
	})
	if differing != nil {
		differing.Remedy += "; " + g.summed(t.reversed > 0)
	}
	if problem := g.edgeHeaderMissing(); problem != nil {
		p.list, p.more = []error{problem}, 0
	}
	l.fail(p.errors()...)
	l.set.Warnings = append(l.set.Warnings, t.warnings(s.path)...)
	l.warnUnknown(s, f)
	l.run(
		func() {
			l.chain(t.u, t.v, g.place)
			l.tied = l.tied || t.reversed > 0
			turned := l.sortEdges(len(g.names), t, f)
			g.topology, g.reversed = l.join(s.path, len(g.names), t, turned), t.reversed
		},
		func() {
			if len(f.columns) > 0 {
				l.freezeFeatures(s, f, &g.edgeFeatures)
			}
		},
		func() { g.features, _ = l.smoothed(g.nodes.path, g.topology, g.features, nil) })
	s.data, g.nodes.data = nil, nil // no longer needed
}

// summed says how to write the table of edges with one row for two nodes, in which numbers
// are summed. ordered puts the ends of every row in order first, as rows that join nodes
// the other way round need.
func (g *sheetGraph) summed(ordered bool) string {
	s := g.edges
	u, v := s.header[g.ends[0]], s.header[g.ends[1]]
	ends, separator := fmt.Sprintf("[%q, %q]", u, v), ""
	if s.comma != ',' {
		separator = fmt.Sprintf("sep=%q, ", s.comma)
	}
	table, order := fmt.Sprintf("pandas.read_csv(%q, %sdtype={%q: str, %q: str})", s.path, separator, u, v), ""
	if ordered {
		order, table = fmt.Sprintf("t = %s; t[%s] = numpy.sort(t[%s], axis=1); ", table, ends, ends), "t"
	}
	return fmt.Sprintf(`in Python %s%s.groupby(%s).sum(numeric_only=True).to_csv("summed.csv") sums them, for use in the place of this table`, order, table, ends)
}

// edgeHeaderMissing tells of a header that is an edge.
func (g *sheetGraph) edgeHeaderMissing() error {
	u, v := g.edges.header[g.ends[0]], g.edges.header[g.ends[1]]
	_, known := g.byName[u]
	if _, both := g.byName[v]; !known || !both {
		return nil
	}
	return &Error{File: g.edges.path, Line: 1, Problem: fmt.Sprintf("the header is missing: the first line joins the nodes %q and %q", abbreviate(u), abbreviate(v)), Remedy: "put a line with the names of the columns first, such as source and target"}
}

// unknownNode guesses why a node of a row is not known.
func (g *sheetGraph) unknownNode(name string, cells []string) (remedy string) {
	if _, known := g.byName[wholeNumber(name)]; known {
		return fmt.Sprintf("%q is one: write identifiers as whole numbers in both tables", wholeNumber(name))
	}
	if _, known := g.byName[name+".0"]; known {
		return fmt.Sprintf("%q is one: write identifiers as whole numbers in both tables", name+".0")
	}
	if at := g.columnsOfNodes(cells); len(at) == 2 {
		u, v := g.edges.header[at[0]], g.edges.header[at[1]]
		return fmt.Sprintf("the columns %q and %q of this line name nodes: say --columns source=%s,target=%s if they are the ends", abbreviate(u), abbreviate(v), u, v)
	}
	if g.otherIDs == nil {
		g.otherIDs = g.nodes.identifying()
	}
	for _, column := range g.nodes.header {
		if g.otherIDs[column][name] {
			return fmt.Sprintf("the column %q of that table has it: say --columns id=%s if it identifies the nodes", abbreviate(column), column)
		}
	}
	bare := strings.TrimLeft(name, "0")
	for _, other := range g.names {
		switch {
		case name != "" && isDigit(name[0]) && strings.TrimLeft(other, "0") == bare:
			return fmt.Sprintf("%q is one: write identifiers with the same leading zeros in both tables, as texts; a program that takes them for numbers drops zeros", other)
		case strings.EqualFold(name, other):
			return fmt.Sprintf("%q is one: write identifiers in the same case in both tables", other)
		}
	}
	return ""
}

// columnsOfNodes returns the columns of a row of edges that hold names of nodes.
func (g *sheetGraph) columnsOfNodes(cells []string) (at []int) {
	for i, cell := range cells {
		if _, known := g.byName[strings.TrimSpace(cell)]; known && g.edges.header[i] != "" {
			at = append(at, i)
		}
	}
	return at
}

// finish makes schema and instances of the tables that were read.
func (l *sheetLoader) finish() {
	states := l.statesOf(&l.labels, l.graphs[0].nodes.path)
	l.hiddenWords = l.labels.hiddenWords()
	if strings.Contains(l.hiddenWords, `"`) {
		l.classesHidden = "; if such a word is a class, name all states in the option States"
	}
	l.run(func() { l.chooseSchema(states) })
	if len(l.problems) > 0 {
		return
	}
	of := l.numberLabels(&l.labels, l.set.Schema.NodeTypes[0].States)
	for _, g := range l.graphs {
		l.run(func() { l.build(g, of) })
	}
}

// chooseSchema takes the model's schema or makes one for the tables.
func (l *sheetLoader) chooseSchema(states []string) {
	if l.o.Schema != nil {
		l.adoptModel()
		l.compareNames()
		return
	}
	l.set.Recipe = Recipe{Kind: KindGraph, Hops: l.o.Hops, Bias: !l.o.NoBias, Sorted: true, States: states, FeatureDim: widthOf(l.rules.Nodes), Sheets: l.rules}
	s := &l.set.Schema
	names := namesOfColumns(l.rules.Nodes)
	if !l.o.NoBias {
		names = append(names, biasName)
	}
	s.NodeTypes = []crf.NodeType{{Name: featuredType, States: states, Features: len(names), FeatureNames: names}}
	if slices.ContainsFunc(l.graphs, func(g *sheetGraph) bool { return g.topology.NumEdges() > 0 }) {
		names := append(namesOfColumns(l.rules.Edges), FormConstant)
		s.EdgeTypes = []crf.EdgeType{{Name: "edge", Features: len(names), FeatureNames: names}}
	}
	l.set.origins.nodeFeatures[0] = origin{what: "features", number: len(names), because: fmt.Sprintf("the columns of %s make as many", l.graphs[0].nodes.path)}
	l.completeSchema()
}

// build freezes one graph, with the states of the labels that occur.
func (l *sheetLoader) build(g *sheetGraph, of []int32) {
	s := &l.set.Schema
	labels := make([]int32, len(g.texts))
	for i, text := range g.texts {
		if labels[i] = crf.Unobserved; text >= 0 {
			labels[i] = of[text]
		}
	}
	l.freezeGraph(graphParts{
		name: g.name, nodesPath: g.nodes.path, edgesPath: g.edges.path, names: g.names, place: g.place, splits: g.splits, labels: labels, topology: g.topology, reversed: g.reversed, nodeFeatures: g.features,
		edgeFeatures: func() crf.Features {
			if len(s.EdgeTypes) > 0 && len(l.rules.Edges) == 0 {
				return crf.Constant(g.topology.NumEdges(), 1)
			}
			return g.edgeFeatures
		},
	})
}
