package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// Graph tables are sets of nodes and edges: the order of rows, and which end of an edge
// without direction comes first, mean nothing. Blocks, spanning trees, folds and rounding
// go by numbers of nodes and edges, so that these must not come from the order of rows:
// nodes are numbered by identifier, and edges by their ends.

// missingFeatures in the column of features says that a node's are not known.
const missingFeatures = "?"

// What to do about rows that do not go together.
const (
	oneRow     = "keep one row for every node"
	ownName    = "give it one that no other node has, or leave the row out"
	unknownEnd = "give the node a row there, or leave this row out"
)

// featuresOf makes the features of all rows of a table.
func (l *tableLoader) featuresOf(t *table, p *problems, columns []column, bias bool) (*featureRows, crf.Features) {
	f := columnRows(t, columns, bias)
	if f.lists = t.plain; t.plain {
		f.limit, f.limitOf, f.used = mostFeatures, "any model", newTop()
		switch {
		case l.o.Recipe != nil:
			f.limit, f.limitOf = l.o.Recipe.FeatureDim, "the model"
		case l.manifest.NodeFeatures != nil:
			f.limit, f.limitOf = len(l.manifest.NodeFeatures), ManifestName
		}
	} else {
		perRow := min(denseEntry*float64(f.dim), sparseEntry*float64(f.entries())+sparseStart)
		before := len(l.problems)
		l.allow(t.path, "", fmt.Sprintf("the features of %d rows", len(t.rows)), float64(len(t.rows))*perRow, l.o.Memory, nil)
		if len(l.problems) > before {
			return f, crf.Features{}
		}
	}
	features, err := f.of(t, p)
	if err != nil {
		l.fail(&Error{File: t.path, Problem: err.Error(), Cause: err})
	}
	for i := range f.unknown {
		u, c := &f.unknown[i], &f.columns[i]
		instead := "they count as none of its texts"
		if c.Values == nil {
			instead = fmt.Sprintf("%.6g, the mean in training, stands for them", c.Mean)
		}
		if u.count > 0 {
			l.warn("%s:%d:%s: the model has not learned of the cell %q (and of %d more in this column): %s", t.path, u.line,
				abbreviate(c.Name), abbreviate(u.cell), u.count-1, instead)
		}
	}
	return f, features
}

// readNodes makes the nodes of a graph of their table.
func (l *tableLoader) readNodes(g *tableGraph) {
	t, p := g.nodes, &g.nodes.problems
	names, _ := l.namedStates(0)
	if l.o.Schema != nil {
		names = l.o.Schema.NodeTypes[0].States
	}
	l.labels.named = setOf(names)
	delete(l.labels.named, "")
	g.byName = map[string]int32{}
	var sound []int32
	for r, cells := range t.rows {
		label, ok := int32(crf.Unobserved), l.addName(p, g, r)
		if i := g.roles.label; ok && i >= 0 {
			label, ok = l.label(p, t, int(t.lines[r]), cells[i])
		}
		if !ok {
			continue
		}
		split := ""
		if i := g.roles.split; i >= 0 {
			split = unique.Make(cells[i]).Value() // one copy of each
		}
		sound = append(sound, int32(r))
		g.names, g.labels, g.splits = append(g.names, strings.Clone(cells[g.roles.id])), append(g.labels, label),
			append(g.splits, split)
	}
	t.pick(sound)
	if len(t.rows) == 0 && len(p.list) == 0 {
		below := " below the header"
		if t.plain {
			below = ""
		}
		p.add(0, "", "", "there are no nodes%s", below)
	}
	if l.ordered() {
		g.row = rowsInOrder(g.names)
		g.names, g.labels, g.splits = take(g.names, g.row), take(g.labels, g.row), take(g.splits, g.row)
		t.pick(g.row)
	}
	for i, name := range g.names {
		g.byName[name] = int32(i)
	}
	f, features := l.featuresOf(t, p, l.rules.Nodes, l.bias())
	p.sort()
	if l.fail(p.errors()...); len(p.list) > 0 {
		return
	}
	if g.features, g.used = features, f.used; t.plain {
		for _, cells := range t.rows {
			g.known = append(g.known, cells[plainColumns-1] != missingFeatures)
		}
	}
	l.noteAlike(g, f)
}

// addName takes the name of the node of a row, which no other has.
func (l *tableLoader) addName(p *problems, g *tableGraph, row int) (ok bool) {
	t := g.nodes
	name, line, place := t.rows[row][g.roles.id], int(t.lines[row]), abbreviate(t.header[g.roles.id])
	before, twice := g.byName[name]
	switch {
	case twice:
		p.add(line, place, l.otherID(t, oneRow), "node %q is on line %d already", abbreviate(name), t.lines[before])
	case name == "":
		p.add(line, place, ownName, "the node has no identifier")
	default:
		g.byName[name] = int32(row)
		return true
	}
	return false
}

// label reads a label: the number of its text or, of a plain table, of its state; −1 where it is hidden.
func (l *tableLoader) label(p *problems, t *table, line int, cell string) (label int32, ok bool) {
	switch {
	case t.plain:
		x, err := strconv.ParseInt(cell, 10, 32)
		if ok = err == nil && x >= -1 && x < mostStates; !ok {
			p.add(line, "", "begin the line with # if it is a header", "label is %q, want -1 (none) or 0 to %d",
				abbreviate(cell), mostStates-1)
		}
		return int32(x), ok
	case l.o.NoLabels:
		if l.unread++; !missingCell(cell) || l.labels.named[cell] {
			l.known++
		}
		return crf.Unobserved, true
	}
	return l.labels.see(t.path, line, cell), true
}

// otherID is a remedy for nodes that are there again: several graphs are in one table, or another
// column identifies nodes, where none was named.
func (l *tableLoader) otherID(t *table, remedy string) string {
	if t.column(graphNames...) >= 0 {
		return "write a pair of tables for each graph, as NAME.nodes.csv and NAME.edges.csv in one folder"
	}
	if t.plain || len(l.o.given(roleID)) > 0 {
		return remedy
	}
	return remedy + ", or say by {columns=id=NAME} which column identifies the nodes"
}

// ordered reports whether rows are brought into order. Models of before it hold
// numbers, such as counting numbers, of rows as they stood.
func (l *loader) ordered() bool { return l.o.Recipe == nil || l.o.Recipe.Sorted }

// rowsInOrder returns the rows of a table of nodes in the order of their names; nil where they stand in order.
func rowsInOrder(names []string) []int32 {
	if slices.IsSortedFunc(names, naturalCompare) {
		return nil
	}
	row := numbersTo(len(names))
	slices.SortFunc(row, func(a, b int32) int { return naturalCompare(names[a], names[b]) })
	return row
}

// numbersTo are 0 to n-1.
func numbersTo(n int) []int32 {
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	return numbers
}

// inverse returns the place of each number in an order; nil of nil.
func inverse(order []int32) []int32 {
	place := slices.Clone(order)
	for i, r := range order {
		place[r] = int32(i)
	}
	return place
}

// take returns the elements of a slice at these places, all as they stand where it is nil.
func take[T any](list []T, at []int32) []T {
	if at == nil {
		return list
	}
	taken := make([]T, len(at))
	for i, k := range at {
		taken[i] = list[k]
	}
	return taken
}

// edgeRows is the edges of a table without loops and repetitions.
type edgeRows struct {
	u, v            []int32
	rows            []int32 // where they stand
	loops, repeated []int   // the lines of those left out
	reversed        int     // the first of them that joins nodes the other way round; 0: none
}

// readEdges makes the edges of a graph of their table.
func (l *tableLoader) readEdges(g *tableGraph) {
	t, p := g.edges, &g.edges.problems
	e := l.joinRows(g, p)
	if problem := g.edgeHeaderMissing(); problem != nil {
		p.list, p.more = []error{problem}, 0
	}
	if len(e.loops) > 0 {
		l.warn("%s:%d: an edge from a node to itself is left out (%d in all)", t.path, e.loops[0], len(e.loops))
	}
	if len(e.repeated) > 0 {
		l.warn("%s:%d: an edge that is there already, in either direction, is left out (%d in all)", t.path, e.repeated[0],
			len(e.repeated))
	}
	l.chain(e.u, e.v, g.row)
	l.tied, g.reversed = l.tied || e.reversed > 0, e.reversed
	var turned []bool
	if l.ordered() {
		turned = e.sort(l.edgesDirected())
	}
	t.pick(e.rows)
	if len(l.rules.Edges) > 0 {
		_, g.edgeFeatures = l.featuresOf(t, p, l.rules.Edges, true)
	}
	p.sort()
	l.fail(p.errors()...)
	l.run(
		func() {
			var err error
			if g.topology, err = graph.FromEdges(len(g.names), e.u, e.v); err != nil {
				l.fail(&Error{File: t.path, Problem: err.Error(), Cause: err})
			} else if turned != nil {
				l.turned[g.topology] = turned
			}
		},
		func() { g.features, g.known = l.smoothed(g.nodes.path, g.topology, g.features, g.known) })
	t.rows, g.nodes.rows = nil, nil // no longer needed
}

// joinRows finds the edges of a table. Loops and repetitions are left out.
func (l *tableLoader) joinRows(g *tableGraph, p *problems) *edgeRows {
	t, e, f := g.edges, &edgeRows{}, columnRows(g.edges, l.rules.Edges, false)
	seen := map[[2]int32]int{} // by the ends, smaller first: the edge
	for r, cells := range t.rows {
		line := int(t.lines[r])
		u, v, ok := g.endsOf(p, line, cells)
		pair := [2]int32{min(u, v), max(u, v)}
		first, again := seen[pair]
		switch {
		case !ok:
		case u == v:
			e.loops = append(e.loops, line)
		case !again:
			seen[pair] = len(e.u)
			e.u, e.v, e.rows = append(e.u, u), append(e.v, v), append(e.rows, int32(r))
		default:
			e.repeated = append(e.repeated, line)
			if e.reversed == 0 && e.u[first] != u {
				e.reversed = line
			}
			if !f.same(t.rows[e.rows[first]], cells) {
				p.add(line, "", "a network has one edge for two nodes: make one row of such rows, or give both the same features; "+
					g.summed(e.reversed > 0), "it joins the nodes of line %d again, with other features", t.lines[e.rows[first]])
			}
		}
	}
	return e
}

// summed says how to write the table of edges with one row for two nodes, in which numbers
// are summed. ordered puts the ends of every row in order first, as rows that join nodes
// the other way round need.
func (g *tableGraph) summed(ordered bool) string {
	t := g.edges
	u, v := t.header[g.ends[0]], t.header[g.ends[1]]
	ends, separator, order := fmt.Sprintf("[%q, %q]", u, v), "", ""
	switch {
	case t.headed == "{":
		return "sum them, say"
	case t.headed != "":
		separator = fmt.Sprintf(`sep=r"[\s,;]+", engine="python", comment="#", header=%s, names=["%s"], `, t.headed,
			strings.Join(t.header, `", "`))
	case t.comma != ',':
		separator = fmt.Sprintf(`sep="%c", `, t.comma)
	}
	sum := fmt.Sprintf("pandas.read_csv(%q, %sdtype={%q: str, %q: str})", t.path, separator, u, v)
	if ordered {
		order, sum = fmt.Sprintf("t = %s; t[%s] = numpy.sort(t[%s], axis=1); ", sum, ends, ends), "t"
	}
	return "python3 -c " + shellWord("import numpy, pandas; "+order+sum+".groupby("+ends+")"+
		`.sum(numeric_only=True).to_csv("summed.csv")`) + " sums them, for use in the place of this table"
}

// endsOf finds the nodes that a row joins.
func (g *tableGraph) endsOf(p *problems, line int, cells []string) (u, v int32, ok bool) {
	var ends [2]int32
	for k, i := range g.ends {
		name, place, known := cells[i], abbreviate(g.edges.header[i]), false
		if ends[k], known = g.byName[name]; known {
			continue
		}
		remedy := ""
		if !p.full() { // it looks at all nodes
			remedy = g.unknownNode(name, cells)
		}
		if name == "" {
			p.add(line, place, cmp.Or(remedy, "fill in the identifier of a node, or leave the row out"),
				"the cell is empty, and names no node")
		} else {
			p.add(line, place, cmp.Or(remedy, unknownEnd), "there is no node %q in %s", abbreviate(name), g.nodes.path)
		}
		return 0, 0, false
	}
	return ends[0], ends[1], true
}

// edgeHeaderMissing tells of a header that is an edge.
func (g *tableGraph) edgeHeaderMissing() error {
	u, v := g.edges.header[g.ends[0]], g.edges.header[g.ends[1]]
	_, known := g.byName[u]
	if _, both := g.byName[v]; !known || !both {
		return nil
	}
	const problem = "the header is missing: the first line joins the nodes %q and %q"
	return &Error{File: g.edges.path, Line: 1, Problem: fmt.Sprintf(problem, abbreviate(u), abbreviate(v)),
		Remedy: "put a line with the names of the columns first, such as source and target"}
}

// unknownNode guesses why a node of a row is not known.
func (g *tableGraph) unknownNode(name string, cells []string) (remedy string) {
	var named []string // columns of this row that hold names of nodes
	for i, cell := range cells {
		if _, known := g.byName[cell]; known && g.edges.header[i] != "" {
			named = append(named, g.edges.header[i])
		}
	}
	if len(named) == 2 {
		return fmt.Sprintf("the columns %q and %q of this line name nodes: say {columns=source=%s,target=%s} if they are "+
			"the ends", abbreviate(named[0]), abbreviate(named[1]), named[0], named[1])
	}
	for i, column := range g.nodes.header {
		if column != "" && g.nodes.identifies(i, name) {
			return fmt.Sprintf("the column %q of that table has it: say {columns=id=%s} if it identifies the nodes",
				abbreviate(column), column)
		}
	}
	// A program may have taken identifiers for numbers, and people write them in any case.
	bare := func(name string) string { return strings.ToLower(strings.TrimLeft(wholeNumber(name), "0")) }
	for _, other := range g.names {
		if name != "" && bare(other) == bare(name) {
			return fmt.Sprintf("%q is one: write identifiers in the same case and, if they are numbers, "+
				"as whole numbers with the same leading zeros in both tables", other)
		}
	}
	return ""
}

// identifies reports whether the cells of a column all differ, and one of them is a name.
func (t *table) identifies(column int, name string) bool {
	seen := map[string]bool{}
	for _, cells := range t.rows {
		if cell := cells[column]; seen[cell] || missingCell(cell) {
			return false
		}
		seen[cells[column]] = true
	}
	return seen[name]
}

// sort brings edges into the order of their ends, the smaller number first. Where edges
// have no direction, the smaller end comes first, and turned says which are the other way
// round in the table.
func (e *edgeRows) sort(directed bool) (turned []bool) {
	low, high := make([]int32, len(e.u)), make([]int32, len(e.u))
	for i := range e.u {
		low[i], high[i] = min(e.u[i], e.v[i]), max(e.u[i], e.v[i])
	}
	order := numbersTo(len(e.u))
	slices.SortFunc(order, byEnds(low, high))
	e.u, e.v, e.rows = take(e.u, order), take(e.v, order), take(e.rows, order)
	if directed {
		return nil
	}
	turned = make([]bool, len(e.u))
	for i := range e.u {
		if e.u[i] > e.v[i] {
			e.u[i], e.v[i], turned[i] = e.v[i], e.u[i], true
		}
	}
	return turned
}

// byEnds compares edges by their ends, the smaller first, and then by their numbers.
func byEnds(low, high []int32) func(e, f int32) int {
	return func(e, f int32) int {
		return cmp.Or(cmp.Compare(low[e], low[f]), cmp.Compare(high[e], high[f]), cmp.Compare(e, f))
	}
}

// edgesDirected reports whether ends of the edges of tables mean something.
func (l *loader) edgesDirected() bool {
	if s := l.o.Schema; s != nil {
		return len(s.EdgeTypes) == 0 || !s.EdgeTypes[0].Symmetric
	}
	return l.manifest.directed() || l.directed || l.o.Directed
}

// asGiven returns the labels of an edge's ends in the order in which the data name them.
func (l *loader) asGiven(g *graph.Graph, e int, first, second int32) (x, y int32) {
	if turned := l.turned[g]; turned != nil && turned[e] {
		return second, first
	}
	return first, second
}
