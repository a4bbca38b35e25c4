package dataset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Graph tables are sets of nodes and edges: the order of rows, and which end of an edge without direction comes first,
// mean nothing. Blocks, spanning trees, folds and rounding go by numbers of nodes and edges, so that these must not
// come from the order of rows: nodes are numbered by identifier, and edges by their ends.

// missingFeatures in the column of features says that a node's are not known.
const missingFeatures = "?"

// readNodes makes the nodes of a graph of their table, in the order of their names.
func (l *tableLoader) readNodes(g *tableGraph) {
	t := g.nodes
	l.labels.named = numeric.SetOf(l.namesOfStates())
	delete(l.labels.named, "")
	g.byName = map[string]int32{}
	g.names = numeric.Map(t.Rows, func(cells []string) string { return strings.Clone(cells[t.Roles[formats.RoleID]]) })
	g.row = rowsInOrder(g.names)
	g.names = formats.Take(g.names, g.row)
	t.Pick(g.row)
	for r, cells := range t.Rows {
		line := int(t.Lines[r])
		l.checkName(g, g.names[r], line)
		g.byName[formats.Key(g.names[r])] = int32(r)
		g.labels = append(g.labels, l.labels.see(t.File, line, t.Cell(cells, formats.RoleLabel)))
		g.splits = append(g.splits, unique.Make(t.Cell(cells, formats.RoleSplit)).Value()) // one copy of each
	}
	if len(t.Rows) == 0 {
		t.Add(0, "", "", "there are no nodes")
	}
	if l.o.NoLabels {
		l.skip(g.labels)
	}
	g.features = l.featuresOf(t, l.rules.Nodes, l.bias())
	l.fail(t.Errors()...)
}

// checkName checks that a node has a name, which none before has.
func (l *tableLoader) checkName(g *tableGraph, name string, line int) {
	t, remedy := g.nodes, "keep one row for every node"
	place := option.Short(t.Header[t.Roles[formats.RoleID]])
	if name == "" {
		t.Add(line, place, "give it one that no other node has, or leave the row out", "the node has no identifier")
	} else if before, twice := g.byName[formats.Key(name)]; twice {
		if !t.Plain && len(l.o.given(formats.RoleID)) == 0 { // another column may identify nodes
			remedy += ", say by {columns=id=NAME} which column identifies the nodes, or write a pair of tables for each graph"
		}
		t.Add(line, place, remedy, "node %q is on line %d already", option.Short(name), t.Lines[before])
	}
}

// rowsInOrder returns the rows of a table of nodes in the order of their names; nil where they stand in order.
func rowsInOrder(names []string) []int32 {
	if slices.IsSortedFunc(names, numeric.NaturalOrder) {
		return nil
	}
	row := numeric.To(len(names))
	slices.SortStableFunc(row, func(a, b int32) int { return numeric.NaturalOrder(names[a], names[b]) })
	return row
}

// inverse returns the place of each number in an order; nil of nil.
func inverse(order []int32) []int32 {
	place := slices.Clone(order)
	for i, r := range order {
		place[r] = int32(i)
	}
	return place
}

// totals matches what rows are called that sum up others.
var totals = regexp.MustCompile(`(?i)^(grand )?(totals?|sum|all|average|mean)$`)

// edgeRows is the edges of a table without loops and repetitions.
type edgeRows struct {
	u, v []int32
	rows []int32 // where they stand
}

// readEdges makes the edges of a graph of their table.
func (l *tableLoader) readEdges(g *tableGraph) {
	t, e := g.edges, l.joinRows(g)
	l.chain(e.u, e.v, g.row)
	l.tied = l.tied || g.reversed > 0
	directed := l.manifest.directed() || l.directed || l.o.Directed || l.inTurn() // then ends mean something
	if s := l.o.Schema; s != nil {
		directed = len(s.EdgeTypes) == 0 || !s.EdgeTypes[0].Symmetric
	}
	turned := e.sort(directed)
	t.Pick(e.rows)
	g.edgeFeatures = l.featuresOf(t, l.rules.Edges, true)
	var err error
	if g.topology, err = graph.FromEdges(len(g.names), e.u, e.v); turned != nil {
		l.turned[g.topology] = turned
	}
	v := slices.IndexFunc(g.names, totals.MatchString)
	if v >= 0 && !slices.Contains(slices.Concat(e.u, e.v), int32(v)) {
		l.warn("%s:%d: no edge joins the node %q; if it sums up the other rows, leave it out", g.nodes.File,
			g.nodes.Lines[v], g.names[v])
	}
	l.fail(append(t.Errors(), option.OfFile(t.File, err))...)
	t.Rows, g.nodes.Rows = nil, nil // no longer needed
}

// joinRows finds the edges of a table. Loops and repetitions are left out.
func (l *tableLoader) joinRows(g *tableGraph) *edgeRows {
	t, e := g.edges, &edgeRows{}
	var loops, repeated []int  // their lines
	seen := map[[2]int32]int{} // by the ends, smaller first: the edge
	for r, cells := range t.Rows {
		line := int(t.Lines[r])
		u, known := g.end(line, cells, formats.RoleSource)
		v, both := g.end(line, cells, formats.RoleTarget)
		pair := [2]int32{min(u, v), max(u, v)}
		first, again := seen[pair]
		switch {
		case !known || !both:
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
			if before := e.rows[first]; slices.ContainsFunc(l.rules.Edges, func(c column) bool {
				return cells[t.Column(c.Name)] != t.Rows[before][t.Column(c.Name)]
			}) {
				remedy := "a network has one edge for two nodes: give both rows the same features, or keep one"
				if p := formats.Look(t.File); len(t.List) == 0 && p.Best().What != formats.EdgeList {
					remedy = p.Advise("rows that join the same nodes", fmt.Sprint(t.Roles[formats.RoleSource]),
						fmt.Sprint(t.Roles[formats.RoleTarget]))
					if t.Bare {
						remedy = strings.ReplaceAll(remedy, "dtype=str", `dtype=str, names=["`+strings.Join(t.Header, `", "`)+`"]`)
					}
				}
				t.Add(line, "", remedy, "it joins the nodes of line %d again, with other features", t.Lines[before])
			}
		}
	}
	tell := func(what string, lines []int) {
		if len(lines) > 0 {
			l.warn("%s:%d: "+what+" is left out (%d in all)", t.File, lines[0], len(lines))
		}
	}
	tell("an edge from a node to itself", loops)
	tell("an edge that is there already, in either direction,", repeated)
	return e
}

// end finds a node that a row joins. A program may have taken identifiers for numbers.
func (g *tableGraph) end(line int, cells []string, role string) (node int32, known bool) {
	t := g.edges
	name, place := cells[t.Roles[role]], option.Short(t.Header[t.Roles[role]])
	if node, known = g.byName[formats.Key(name)]; known || t.Over() {
		return node, known
	}
	if name == "" {
		t.Add(line, place, "fill in the identifier of a node, or leave the row out", "the cell is empty, and names no node")
		return 0, false
	}
	remedy := "give the node a row there, or leave this row out; {columns=id=NAME} says which column identifies nodes, " +
		"and source=NAME,target=NAME which are the ends"
	bare := formats.Bare(name)
	if i := slices.IndexFunc(g.names, func(n string) bool { return formats.Bare(n) == bare }); i >= 0 {
		remedy = fmt.Sprintf("%q is one: write identifiers alike in both tables, those that are numbers as whole numbers "+
			"with the same leading zeros", option.Short(g.names[i]))
	}
	unknown := func(n string) bool { _, is := g.byName[formats.Key(n)]; return !is }
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ,;|", r) })
	if len(parts) > 1 && !slices.ContainsFunc(parts, unknown) {
		remedy = formats.Look(t.File).Advise("several names in a cell", strconv.Itoa(t.Roles[role]))
	}
	t.Add(line, place, remedy, "there is no node %q in %s", option.Short(name), g.nodes.File)
	return 0, false
}

// sort brings edges into the order of their ends, the smaller number first. Where edges have no direction, the smaller
// end comes first, and turned says which are the other way round in the table.
func (e *edgeRows) sort(directed bool) (turned []bool) {
	order := numeric.To(len(e.u)) // no two edges have the same ends
	ends := func(a int32) int64 { return int64(min(e.u[a], e.v[a]))<<32 + int64(max(e.u[a], e.v[a])) }
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(ends(a), ends(b)) })
	e.u, e.v, e.rows = formats.Take(e.u, order), formats.Take(e.v, order), formats.Take(e.rows, order)
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
