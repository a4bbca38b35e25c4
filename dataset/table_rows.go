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

// Graph tables are sets of nodes and edges: the order of rows, and which end of an edge without direction comes first,
// mean nothing. Blocks, spanning trees, folds and rounding go by numbers of nodes and edges, so that these must not
// come from the order of rows: nodes are numbered by identifier, and edges by their ends.

// missingFeatures in the column of features says that a node's are not known.
const missingFeatures = "?"

// featuresOf makes the features of all rows of a table.
func (l *tableLoader) featuresOf(t *table, p *problems, columns []column, bias bool) crf.Features {
	f, before := columnRows(t, columns, bias), len(l.problems)
	l.allow(t.file, fmt.Sprintf("the features of %d rows", len(t.rows)),
		float64(len(t.rows))*float64(min(f.denseBytes(), f.sparseBytes())), nil)
	if len(l.problems) > before {
		return crf.Features{}
	}
	features, err := f.of(t, p)
	l.fail(ofFile(t.file, err))
	for i := range f.unknown {
		u, c, instead := &f.unknown[i], &f.columns[i], "they count as none of its texts"
		if c.Values == nil {
			instead = fmt.Sprintf("%.6g, the mean in training, stands for them", c.Mean)
		}
		if u.count > 0 {
			l.warn("%s:%d:%s: the model has not learned of the cell %q (and of %d more in this column): %s", t.file, u.line,
				abbreviate(c.Name), abbreviate(u.cell), u.count-1, instead)
		}
	}
	return features
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
		if !l.addName(p, g, r) {
			continue
		}
		label := int32(crf.Unobserved)
		if i := g.roles.label; i >= 0 {
			if _, err := strconv.Atoi(cells[i]); t.plain && err != nil {
				p.add(int(t.lines[r]), "", "begin the line with # if it is a header", "label is %q, want the number of a state, "+
					"or -1 for none", abbreviate(cells[i]))
			}
			label = l.label(t, names, int(t.lines[r]), cells[i])
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
		p.add(0, "", "", "there are no nodes")
	}
	g.row = rowsInOrder(g.names)
	g.names, g.labels, g.splits = take(g.names, g.row), take(g.labels, g.row), take(g.splits, g.row)
	t.pick(g.row)
	for i, name := range g.names {
		g.byName[name] = int32(i)
	}
	g.features = l.featuresOf(t, p, l.rules.Nodes, l.bias())
	l.fail(p.errors()...)
}

// addName takes the name of the node of a row, which no other has.
func (l *tableLoader) addName(p *problems, g *tableGraph, row int) (ok bool) {
	t, remedy := g.nodes, "keep one row for every node"
	name, line, place := t.rows[row][g.roles.id], int(t.lines[row]), abbreviate(t.header[g.roles.id])
	before, twice := g.byName[name]
	switch {
	case twice:
		if !t.plain && len(l.o.given(roleID)) == 0 { // another column may identify nodes
			remedy += ", say by {columns=id=NAME} which column identifies the nodes, or write a pair of tables for each graph"
		}
		p.add(line, place, remedy, "node %q is on line %d already", abbreviate(name), t.lines[before])
	case name == "":
		p.add(line, place, "give it one that no other node has, or leave the row out", "the node has no identifier")
	default:
		g.byName[name] = int32(row)
		return true
	}
	return false
}

// label reads a label: the number of its text, −1 where it is hidden. In a plain table -1 hides it, and others are the
// numbers of states, where these have names.
func (l *tableLoader) label(t *table, names []string, line int, cell string) int32 {
	if x, err := strconv.Atoi(cell); t.plain && err == nil {
		if x == crf.Unobserved {
			cell = ""
		} else if x >= 0 && x < len(names) && !l.labels.named[cell] {
			cell = names[x]
		}
	}
	if l.o.NoLabels {
		if l.unread++; !missingCell(cell) || l.labels.named[cell] {
			l.known++
		}
		return crf.Unobserved
	}
	return l.labels.see(t.file, line, cell)
}

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
	u, v []int32
	rows []int32 // where they stand
}

// readEdges makes the edges of a graph of their table.
func (l *tableLoader) readEdges(g *tableGraph) {
	t, p := g.edges, &g.edges.problems
	e := l.joinRows(g, p)
	l.chain(e.u, e.v, g.row)
	l.tied = l.tied || g.reversed > 0
	turned := e.sort(l.edgesDirected())
	t.pick(e.rows)
	if len(l.rules.Edges) > 0 {
		g.edgeFeatures = l.featuresOf(t, p, l.rules.Edges, true)
	}
	l.fail(p.errors()...)
	l.run(
		func() {
			var err error
			g.topology, err = graph.FromEdges(len(g.names), e.u, e.v)
			if l.fail(ofFile(t.file, err)); turned != nil {
				l.turned[g.topology] = turned
			}
		},
		func() { l.smooth(g) })
	t.rows, g.nodes.rows = nil, nil // no longer needed
}

// joinRows finds the edges of a table. Loops and repetitions are left out.
func (l *tableLoader) joinRows(g *tableGraph, p *problems) *edgeRows {
	t, e := g.edges, &edgeRows{}
	differ := func(a, b []string) bool {
		return slices.ContainsFunc(l.rules.Edges, func(c column) bool { at := t.column(c.Name); return a[at] != b[at] })
	}
	var loops, repeated []int  // their lines
	seen := map[[2]int32]int{} // by the ends, smaller first: the edge
	for r, cells := range t.rows {
		line := int(t.lines[r])
		u, known := g.end(p, line, cells, 0)
		v, both := int32(0), false
		if known {
			v, both = g.end(p, line, cells, 1)
		}
		pair := [2]int32{min(u, v), max(u, v)}
		first, again := seen[pair]
		switch {
		case !both:
		case u == v:
			loops = append(loops, line)
		case !again:
			seen[pair] = len(e.u)
			e.u, e.v, e.rows = append(e.u, u), append(e.v, v), append(e.rows, int32(r))
		default:
			repeated = append(repeated, line)
			if g.reversed == 0 && e.u[first] != u {
				g.reversed = line
			}
			if differ(t.rows[e.rows[first]], cells) {
				p.add(line, "", "a network has one edge for two nodes: make one row of such rows, such as their sum, by groupby "+
					"of pandas, or give both the same features", "it joins the nodes of line %d again, with other features",
					t.lines[e.rows[first]])
			}
		}
	}
	u, v := t.header[g.ends[0]], t.header[g.ends[1]]
	if _, known := g.byName[u]; known {
		if _, both := g.byName[v]; both {
			p.list, p.more = []error{wrong(t.file, 1, "", "put a line with the names of the columns first, such as source and "+
				"target", "the header is missing: the first line joins the nodes %q and %q", abbreviate(u), abbreviate(v))}, 0
		}
	}
	if len(loops) > 0 {
		l.warn("%s:%d: an edge from a node to itself is left out (%d in all)", t.file, loops[0], len(loops))
	}
	if len(repeated) > 0 {
		l.warn("%s:%d: an edge that is there already, in either direction, is left out (%d in all)", t.file, repeated[0],
			len(repeated))
	}
	return e
}

// end finds a node that a row joins. A program may have taken identifiers for numbers.
func (g *tableGraph) end(p *problems, line int, cells []string, k int) (node int32, known bool) {
	name, place := cells[g.ends[k]], abbreviate(g.edges.header[g.ends[k]])
	if node, known = g.byName[name]; known || p.over() {
		return node, known
	}
	if name == "" {
		p.add(line, place, "fill in the identifier of a node, or leave the row out", "the cell is empty, and names no node")
		return 0, false
	}
	remedy := "give the node a row there, or leave this row out; {columns=id=NAME} says which column identifies nodes, " +
		"and source=NAME,target=NAME which are the ends"
	bare := func(name string) string { return strings.TrimLeft(wholeNumber(name), "0") }
	if i := slices.IndexFunc(g.names, func(other string) bool { return bare(other) == bare(name) }); i >= 0 {
		remedy = fmt.Sprintf("%q is one: write identifiers that are numbers as whole numbers with the same leading "+
			"zeros in both tables", g.names[i])
	}
	p.add(line, place, remedy, "there is no node %q in %s", abbreviate(name), g.nodes.file)
	return 0, false
}

// sort brings edges into the order of their ends, the smaller number first. Where edges have no direction, the smaller
// end comes first, and turned says which are the other way round in the table.
func (e *edgeRows) sort(directed bool) (turned []bool) {
	order := numbersTo(len(e.u)) // no two edges have the same ends
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(min(e.u[a], e.v[a]), min(e.u[b], e.v[b])), cmp.Compare(max(e.u[a], e.v[a]),
			max(e.u[b], e.v[b])))
	})
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

// edgesDirected reports whether ends of the edges of tables mean something.
func (l *loader) edgesDirected() bool {
	if s := l.o.Schema; s != nil {
		return len(s.EdgeTypes) == 0 || !s.EdgeTypes[0].Symmetric
	}
	return l.manifest.directed() || l.directed || l.o.Directed
}
