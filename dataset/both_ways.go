package dataset

import (
	"fmt"
	"slices"
)

// bothWays says which rows of edges are left out because another row joins the same nodes the
// other way round, as lists do that are made for passing messages both ways. A network has
// one edge for two nodes.
type bothWays struct {
	kept  []int32    // [edges] their rows
	again [][2]int32 // rows that are left out, and those of the same edges
}

// row returns the row of an edge in the file.
func (in *npzInstance) row(edge int) int {
	if in.both == nil {
		return edge
	}
	return int(in.both.kept[edge])
}

// leaveOutReversed finds such rows. It reports whether there are any; then count, types and
// bins of edges are those of the rows that are kept. Rows that are no edges are kept.
func (b *npzBuilder) leaveOutReversed() bool {
	edges, n, m := b.c.arrays[edgesArray].ints, int32(b.in.nodes.count), b.in.edges.count
	low, high, rows := make([]int32, m), make([]int32, m), make([]int32, 0, m)
	for e := range int32(m) {
		low[e], high[e] = min(edges[2*e], edges[2*e+1]), max(edges[2*e], edges[2*e+1])
		if low[e] >= 0 && high[e] < n && low[e] < high[e] {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, byEnds(low, high))
	same := func(e, f int32) bool { return low[e] == low[f] && high[e] == high[f] }
	both, dropped := &bothWays{}, make([]bool, m)
	for i := 1; i < len(rows); i++ {
		f, e := rows[i-1], rows[i]
		third := i > 1 && same(rows[i-2], f) // which is one too many
		if !same(f, e) || third || edges[2*f] != edges[2*e+1] {
			continue
		}
		// Without edge_types the end of the smaller type comes first.
		again, kept := e, f
		if b.in.nodes.typeOf(int(edges[2*f])) > b.in.nodes.typeOf(int(edges[2*e])) {
			again, kept = f, e
		}
		both.again, dropped[again] = append(both.again, [2]int32{again, kept}), true
	}
	if len(both.again) == 0 {
		return false
	}
	slices.SortFunc(both.again, func(x, y [2]int32) int { return int(x[0] - y[0]) })
	for e := range int32(m) {
		if !dropped[e] {
			both.kept = append(both.kept, e)
		}
	}
	in := b.in
	if types := in.edges.types; types != nil {
		for _, x := range both.again {
			if types[x[0]] != types[x[1]] {
				b.add(0, fmt.Sprintf("%s[%d]", edgesArray, x[0]), oneEdge,
					"joins the nodes of %s[%d] the other way round, with other %s",
					edgesArray, x[1], edgeTypesArray)
				return false
			}
		}
		in.edges.types = takeRows(types, 1, both.kept)
	}
	in.both, in.edges.count = both, len(both.kept)
	return true
}

// oneEdge is what to do about two.
const oneEdge = "a network has one edge for two nodes: keep one of the two rows, or give both the same features"

// mergeBothWays leaves rows of edge features out, as the edges of these rows were, and reports
// edges that are there both ways round and must not be: of directed types, or with other
// features. The types of edges must be known.
func (l *npzLoader) mergeBothWays() {
	merged, where := 0, ""
	for _, in := range l.instances {
		if in.both == nil {
			continue
		}
		if merged == 0 {
			where = fmt.Sprintf("%s:%s[%d]", in.path, edgesArray, in.both.again[0][0])
		}
		merged += len(in.both.again)
		if l.mergeRows(in); len(l.problems) > 0 {
			return
		}
	}
	if merged > 0 {
		l.warn("edges that are there both ways round count once (%d in all, %s is the first)", merged, where)
	}
}

func (l *npzLoader) mergeRows(in *npzInstance) {
	refuse := func(x [2]int32, remedy, format string, arguments ...any) {
		met := fmt.Sprintf("joins the nodes of %s[%d] the other way round", edgesArray, x[1])
		l.at(in, fmt.Sprintf("%s[%d]", edgesArray, x[0]), remedy, "%s", met+fmt.Sprintf(format, arguments...))
	}
	for _, x := range in.both.again {
		e, _ := slices.BinarySearch(in.both.kept, x[1])
		if t := &l.set.Schema.EdgeTypes[in.edges.typeOf(e)]; t.U == t.V && !t.Symmetric {
			refuse(x, `keep one of the two, or say that edges have no direction, by "directed": false`,
				"; edges of type %q are directed, and a network has one edge for two nodes", t.Name)
			return
		}
	}
	if l.set.Recipe.Untied || len(in.edges.features) == 0 {
		return // features are not used
	}
	_, edges := l.sides()
	m, name, all, _ := edges.find(in, 0)
	for _, x := range in.both.again {
		if !all {
			refuse(x, oneEdge, ", where each type has an array of features")
			return
		}
		for c := range m.columns() {
			if a, b := m.at(int(x[0])*m.columns()+c), m.at(int(x[1])*m.columns()+c); a != b {
				refuse(x, oneEdge, ", with other %s: %v and %v in column %d", name, a, b, c)
				return
			}
		}
	}
	in.edges.features[""] = m.take(in.both.kept)
}
