package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unique"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/sets"
)

// missingFeatures in the column of features says that a node's are not known.
const missingFeatures = "?"

// What to do about rows that do not go together.
const (
	oneRow     = "keep one row for every node"
	ownName    = "give it one that no other node has, or leave the row out"
	unknownEnd = "give the node a row there, or leave this row out"
)

// fillerOf makes a filler for the rows of a table.
func (l *tableLoader) fillerOf(s *sheet, columns []column, bias bool) *filler {
	if s.plain {
		return &filler{lists: l.featureLists(), start: []int{0}}
	}
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

// featureLists reads lists of features, as long as the model or dataset.json says.
func (l *tableLoader) featureLists() *featureLists {
	lists := &featureLists{limit: mostFeatures, limitOf: "any model", used: newTop(), ones: true}
	switch {
	case l.o.Recipe != nil:
		lists.limit, lists.limitOf = l.o.Recipe.FeatureDim, "the model"
	case l.manifest.NodeFeatures != nil:
		lists.limit, lists.limitOf = len(l.manifest.NodeFeatures), ManifestName
	}
	return lists
}

// readNodes reads the table of nodes of a graph.
func (l *tableLoader) readNodes(g *tableGraph) {
	s, p := g.nodes, &problems{file: g.nodes.path}
	f := l.fillerOf(s, l.rules.Nodes, l.bias())
	if f == nil {
		return
	}
	names, _ := l.namedStates(0)
	if l.o.Schema != nil {
		names = l.o.Schema.NodeTypes[0].States
	}
	l.labels.named = sets.Of(names)
	delete(l.labels.named, "")
	g.byName = map[string]int32{}
	alike := make([]alike, len(l.rules.Nodes))
	s.each(p, func(line int, cells []string) {
		if !l.addName(p, g, line, strings.TrimSpace(cells[g.roles.id])) {
			return
		}
		label := int32(crf.Unobserved)
		if i := g.roles.label; i >= 0 {
			var ok bool
			if label, ok = l.label(p, s, line, cells[i]); !ok {
				return
			}
		}
		g.labels = append(g.labels, label)
		if label >= 0 && l.o.Recipe == nil {
			for i := range alike {
				alike[i].see(label, strings.TrimSpace(cells[f.at[i]]))
			}
		}
		split := ""
		if i := g.roles.split; i >= 0 {
			split = unique.Make(strings.TrimSpace(cells[i])).Value() // one copy of each
		}
		g.splits = append(g.splits, split)
		if place, problem := f.add(line, cells); problem != "" {
			p.add(line, abbreviate(place), "", "%s", problem)
		}
	})
	if len(g.names) == 0 && len(p.list) == 0 {
		below := " below the header"
		if s.plain {
			below = ""
		}
		p.add(0, "", "", "there are no nodes%s", below)
	}
	l.fail(p.errors()...)
	l.warnUnknown(s, f)
	for i := range alike {
		if name := l.rules.Nodes[i].Name; alike[i].evident() {
			l.warn("%s: column %q tells the label of all %d nodes that have one, by a value for each: "+
				"say --columns ignore=%s if it was made of the labels", s.path, abbreviate(name), alike[i].seen, name)
		}
	}
	if len(p.list) > 0 {
		return
	}
	l.sortNodes(g, f)
	l.freezeFeatures(s, f, &g.features)
	if f.lists != nil {
		g.known, g.used = f.lists.known, f.lists.used
	}
}

// addName takes the name of a node, which no other has.
func (l *tableLoader) addName(p *problems, g *tableGraph, line int, name string) (ok bool) {
	place := abbreviate(g.nodes.header[g.roles.id])
	if before, twice := g.byName[name]; twice {
		p.add(line, place, l.otherID(g.nodes, oneRow), "node %q is on line %d already", abbreviate(name), g.lines[before])
		return false
	}
	if name == "" {
		p.add(line, place, ownName, "the node has no identifier")
		return false
	}
	name = strings.Clone(name)
	g.byName[name] = int32(len(g.names))
	g.names, g.lines = append(g.names, name), append(g.lines, int32(line))
	return true
}

// label reads a label: the number of its text or, of a plain table, of its state; −1 where it is hidden.
func (l *tableLoader) label(p *problems, s *sheet, line int, cell string) (label int32, ok bool) {
	switch {
	case s.plain:
		x, err := strconv.ParseInt(strings.TrimSpace(cell), 10, 32)
		if ok = err == nil && x >= -1 && x < mostStates; !ok {
			p.add(line, "", "begin the line with # if it is a header", "label is %q, want -1 (none) or 0 to %d",
				abbreviate(cell), mostStates-1)
		}
		return int32(x), ok
	case l.o.NoLabels:
		cell = strings.TrimSpace(cell)
		if l.unread++; !missingCell(cell) || l.labels.named[cell] {
			l.known++
		}
		return crf.Unobserved, true
	}
	return l.labels.see(s.path, line, cell), true
}

// sortNodes brings the nodes of a table into order.
func (l *tableLoader) sortNodes(g *tableGraph, f *filler) {
	if !l.ordered() {
		return
	}
	var row []int32
	if row, g.place = rowsInOrder(g.names); row != nil {
		g.names, g.lines, g.labels = take(g.names, row), take(g.lines, row), take(g.labels, row)
		g.splits = take(g.splits, row)
		f.reorder(row)
	}
}

// otherID is a remedy for nodes that are there again: several graphs are in one table, or another
// column identifies nodes, where none was named.
func (l *tableLoader) otherID(s *sheet, remedy string) string {
	if s.column(graphNames...) >= 0 {
		return "write a pair of tables for each graph, as NAME.nodes.csv and NAME.edges.csv in one folder"
	}
	if s.plain || len(l.o.given(roleID)) > 0 {
		return remedy
	}
	return remedy + ", or say by --columns id=NAME which column identifies the nodes"
}

func (l *tableLoader) bias() bool {
	if l.o.Recipe != nil {
		return l.o.Recipe.Bias
	}
	return !l.o.NoBias
}

// freezeFeatures makes features of what a filler has.
func (l *tableLoader) freezeFeatures(s *sheet, f *filler, into *crf.Features) {
	var err error
	switch {
	case f.lists != nil:
		value := f.value
		if f.lists.ones {
			value = nil
		}
		*into, err = crf.Sparse(f.start, f.index, value, int(f.lists.used.largest)+1)
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
func (l *tableLoader) warnUnknown(s *sheet, f *filler) {
	for i := range f.unknown {
		u, c := &f.unknown[i], &f.columns[i]
		instead := "they count as none of its texts"
		if c.Values == nil {
			instead = fmt.Sprintf("%.6g, the mean in training, stands for them", c.Mean)
		}
		if u.count > 0 {
			l.warn("%s:%d:%s: the model has not learned of the cell %q (and of %d more in this column): %s", s.path, u.line,
				abbreviate(c.Name), abbreviate(u.cell), u.count-1, instead)
		}
	}
}

// edgeTable is a table of edges without loops and repetitions.
type edgeTable struct {
	u, v            []int32
	lines           []int32            // [row]
	seen            map[[2]int32]int32 // by the ends, smaller first: the row
	features        *filler            // nil: the constant alone
	loops, repeated []int              // the lines of those left out
	reversed        int                // the first of them that joins nodes the other way round; 0: none
	differing       *Error             // the first of them that has other features
}

// readEdges reads the table of edges of a graph.
func (l *tableLoader) readEdges(g *tableGraph) {
	s, p, t := g.edges, &problems{file: g.edges.path}, &edgeTable{seen: map[[2]int32]int32{}}
	if len(l.rules.Edges) > 0 {
		if t.features = l.fillerOf(s, l.rules.Edges, true); t.features == nil {
			return
		}
	}
	s.each(p, func(line int, cells []string) {
		if ends, ok := g.endsOf(p, line, cells); ok {
			t.add(p, line, ends[0], ends[1], cells)
		}
	})
	if t.differing != nil {
		t.differing.Remedy += "; " + g.summed(t.reversed > 0)
	}
	if problem := g.edgeHeaderMissing(); problem != nil {
		p.list, p.more = []error{problem}, 0
	}
	l.fail(p.errors()...)
	t.warn(&l.loader, s.path)
	if t.features != nil {
		l.warnUnknown(s, t.features)
	}
	l.run(
		func() {
			l.chain(t.u, t.v, g.place)
			l.tied = l.tied || t.reversed > 0
			turned := l.sortEdges(t)
			g.topology, g.reversed = l.join(s.path, len(g.names), t, turned), t.reversed
		},
		func() {
			if t.features != nil {
				l.freezeFeatures(s, t.features, &g.edgeFeatures)
			}
		},
		func() { g.features, g.known = l.smoothed(g.nodes.path, g.topology, g.features, g.known) })
	s.data, g.nodes.data = nil, nil // no longer needed
}

// endsOf finds the nodes that a row joins.
func (g *tableGraph) endsOf(p *problems, line int, cells []string) (ends [2]int32, ok bool) {
	for k, i := range g.ends {
		name, place := strings.TrimSpace(cells[i]), abbreviate(g.edges.header[i])
		row, known := g.byName[name]
		if ends[k] = nodeOf(g.place, row); known {
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
		return ends, false
	}
	return ends, true
}

// add takes a row that joins two nodes; loops and repetitions are left out.
func (t *edgeTable) add(p *problems, line int, u, v int32, cells []string) {
	if u == v {
		t.loops = append(t.loops, line)
		return
	}
	f := t.features
	if f != nil {
		if place, problem := f.add(line, cells); problem != "" {
			p.add(line, abbreviate(place), "", "%s", problem)
			return
		}
	}
	pair := [2]int32{min(u, v), max(u, v)}
	first, again := t.seen[pair]
	if !again {
		t.seen[pair] = int32(len(t.u))
		t.u, t.v, t.lines = append(t.u, u), append(t.v, v), append(t.lines, int32(line))
		return
	}
	t.repeated = append(t.repeated, line)
	if t.reversed == 0 && t.u[first] != u {
		t.reversed = line
	}
	if f == nil {
		return
	}
	if !f.lastIs(int(first)) {
		e := &Error{File: p.file, Line: line,
			Problem: fmt.Sprintf("it joins the nodes of line %d again, with other features", t.lines[first]),
			Remedy:  "a network has one edge for two nodes: make one row of such rows, or give both the same features"}
		t.differing = cmp.Or(t.differing, e)
		p.keep(e)
	}
	f.dropLast()
}

// warn says what was left out.
func (t *edgeTable) warn(l *loader, path string) {
	if len(t.loops) > 0 {
		l.warn("%s:%d: an edge from a node to itself is left out (%d in all)", path, t.loops[0], len(t.loops))
	}
	if len(t.repeated) > 0 {
		l.warn("%s:%d: an edge that is there already, in either direction, is left out (%d in all)", path, t.repeated[0],
			len(t.repeated))
	}
}

// summed says how to write the table of edges with one row for two nodes, in which numbers
// are summed. ordered puts the ends of every row in order first, as rows that join nodes
// the other way round need.
func (g *tableGraph) summed(ordered bool) string {
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
	return fmt.Sprintf(`in Python %s%s.groupby(%s).sum(numeric_only=True).to_csv("summed.csv") sums them, `+
		`for use in the place of this table`, order, table, ends)
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
	if at := g.columnsOfNodes(cells); len(at) == 2 {
		u, v := g.edges.header[at[0]], g.edges.header[at[1]]
		return fmt.Sprintf("the columns %q and %q of this line name nodes: say --columns source=%s,target=%s if they are "+
			"the ends", abbreviate(u), abbreviate(v), u, v)
	}
	if g.otherIDs == nil {
		g.otherIDs = g.nodes.identifying()
	}
	for _, column := range g.nodes.header {
		if g.otherIDs[column][name] {
			return fmt.Sprintf("the column %q of that table has it: say --columns id=%s if it identifies the nodes",
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

// columnsOfNodes returns the columns of a row of edges that hold names of nodes.
func (g *tableGraph) columnsOfNodes(cells []string) (at []int) {
	for i, cell := range cells {
		if _, known := g.byName[strings.TrimSpace(cell)]; known && g.edges.header[i] != "" {
			at = append(at, i)
		}
	}
	return at
}
