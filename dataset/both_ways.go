package dataset

import (
	"fmt"
	"maps"
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
	edges, n, m := b.c.ints[edgesArray].data, int32(b.in.nodes.count), b.in.edges.count
	ends := func(e int32) (low, high int32, ok bool) {
		low, high = min(edges[2*e], edges[2*e+1]), max(edges[2*e], edges[2*e+1])
		return low, high, low >= 0 && high < n && low < high
	}
	// Rows by their lower ends, each in the order of the file.
	start, rows := make([]int32, n+1), make([]int32, m)
	for e := range int32(m) {
		if low, _, ok := ends(e); ok {
			start[low+1]++
		}
	}
	for s := range n {
		start[s+1] += start[s]
	}
	next := slices.Clone(start[:n])
	for e := range int32(m) {
		if low, _, ok := ends(e); ok {
			rows[next[low]] = e
			next[low]++
		}
	}
	both := &bothWays{}
	dropped := make([]bool, m)
	first, of := make([]int32, n), make([]int32, n) // by the higher end: its first row, of which lower end, plus 1
	for low := range n {
		for _, e := range rows[start[low]:start[low+1]] {
			_, high, _ := ends(e)
			switch f := first[high]; {
			case of[high] != low+1:
				first[high], of[high] = e, low+1
			case f >= 0 && edges[2*f] == edges[2*e+1]:
				// Without edge_types the end of the smaller type comes first.
				again, kept := e, f
				if b.in.nodes.typeOf(int(edges[2*f])) > b.in.nodes.typeOf(int(edges[2*e])) {
					again, kept = f, e
				}
				both.again = append(both.again, [2]int32{again, kept})
				dropped[again], first[high] = true, -1 // a third row is one too many
			}
		}
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
	for name, data := range map[string]*[]int32{edgeTypesArray: &in.edges.types, edgeBinsArray: &in.edgeBins} {
		if *data == nil {
			continue
		}
		for _, x := range both.again {
			if (*data)[x[0]] != (*data)[x[1]] {
				b.add(0, fmt.Sprintf("%s[%d]", edgesArray, x[0]), oneEdge, "joins the nodes of %s[%d] the other way round, with other %s", edgesArray, x[1], name)
				return false
			}
		}
		*data = takeRows(*data, 1, both.kept)
	}
	in.both, in.edges.count = both, len(both.kept)
	return true
}

// oneEdge is what to do about two.
const oneEdge = "a network has one edge for two nodes: keep one of the two rows, or give both the same features"

// takeRows returns rows of the given width.
func takeRows[T any](values []T, width int, rows []int32) []T {
	if values == nil {
		return nil
	}
	taken := make([]T, 0, len(rows)*width)
	for _, r := range rows {
		taken = append(taken, values[int(r)*width:][:width]...)
	}
	return taken
}

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
	types := make([]int32, in.edges.count+len(in.both.again)) // of all rows
	for e, r := range in.both.kept {
		types[r] = int32(in.edges.typeOf(e))
	}
	for _, x := range in.both.again {
		types[x[0]] = types[x[1]]
		if t := &l.set.Schema.EdgeTypes[types[x[1]]]; t.U == t.V && !t.Symmetric {
			l.at(in, fmt.Sprintf("%s[%d]", edgesArray, x[0]), "keep one of the two, or say that edges have no direction, by \"directed\": false", "joins the nodes of %s[%d] the other way round; edges of type %q are directed, and a network has one edge for two nodes",
				edgesArray, x[1], t.Name)
			return
		}
	}
	if l.set.Recipe.Untied {
		return // features are not used
	}
	_, edges := l.sides()
	for _, kind := range slices.Sorted(maps.Keys(in.edges.features)) {
		m, t := in.edges.features[kind], slices.Index(edges.names, kind)
		place := make([]int32, len(types)) // of each row in the array
		kept, rows := make([]int32, 0, in.edges.count), int32(0)
		for r := range place {
			if place[r] = rows; kind == "" || int(types[r]) == t {
				rows++
			}
		}
		if int(rows) != m.rows() {
			continue // checkFeatures says so
		}
		for _, r := range in.both.kept {
			if kind == "" || int(types[r]) == t {
				kept = append(kept, place[r])
			}
		}
		for _, x := range in.both.again {
			if kind != "" && int(types[x[0]]) != t {
				continue
			}
			for c := range m.columns() {
				if a, b := m.at(int(place[x[0]])*m.columns()+c), m.at(int(place[x[1]])*m.columns()+c); a != b {
					l.at(in, fmt.Sprintf("%s[%d]", edgesArray, x[0]), oneEdge, "joins the nodes of %s[%d] the other way round, with other %s: %v and %v in column %d",
						edgesArray, x[1], edges.array, a, b, c)
					return
				}
			}
		}
		in.edges.features[kind] = matrix{shape: []int{len(kept), m.columns()}, data: takeRows(m.data, m.columns(), kept), data32: takeRows(m.data32, m.columns(), kept)}
	}
}
