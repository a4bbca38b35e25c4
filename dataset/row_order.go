package dataset

import (
	"cmp"
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// Graph tables are sets of nodes and edges: the order of rows, and which end of an edge
// without direction comes first, mean nothing. Blocks, spanning trees, folds and rounding
// go by numbers of nodes and edges, so that these must not come from the order of rows:
// nodes are numbered by identifier, and edges by their ends.

// ordered reports whether rows are brought into that order. Models of before it hold
// numbers, such as counting numbers, of rows as they stood.
func (l *loader) ordered() bool { return l.o.Recipe == nil || l.o.Recipe.Sorted }

// rowsInOrder returns the rows of a table of nodes in the order of their names, and the
// place of each row in that order; nil where they stand in order.
func rowsInOrder(names []string) (row, place []int32) {
	if slices.IsSortedFunc(names, naturalCompare) {
		return nil, nil
	}
	row = make([]int32, len(names))
	for i := range row {
		row[i] = int32(i)
	}
	slices.SortFunc(row, func(a, b int32) int { return naturalCompare(names[a], names[b]) })
	place = make([]int32, len(names))
	for i, r := range row {
		place[r] = int32(i)
	}
	return row, place
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

// reorder brings rows of features into another order.
func (f *filler) reorder(row []int32) {
	if !f.dense {
		f.start, f.index, f.value = takeSparse(f.start, f.index, f.value, row)
		if f.lists != nil {
			f.lists.known = take(f.lists.known, row)
		}
		return
	}
	of := func(i int32) []float64 { return f.numbers[int(i)*f.dim:][:f.dim] }
	first, done := make([]float64, f.dim), make([]bool, len(row))
	for i := range row { // each cycle of rows that change places, without a copy of all
		if done[i] {
			continue
		}
		copy(first, of(int32(i)))
		to := int32(i)
		for ; row[to] != int32(i); to = row[to] {
			copy(of(to), of(row[to]))
			done[to] = true
		}
		copy(of(to), first)
		done[to] = true
	}
}

// nodeOf is the node of a row.
func nodeOf(place []int32, row int32) int32 {
	if place == nil {
		return row
	}
	return place[row]
}

// takeSparse returns rows of sparse features in another order.
func takeSparse(start []int, index []int32, value []float64, row []int32) ([]int, []int32, []float64) {
	starts, indices, values := make([]int, 1, len(start)), make([]int32, 0, len(index)), make([]float64, 0, len(value))
	for _, r := range row {
		from, to := start[r], start[r+1]
		indices, values = append(indices, index[from:to]...), append(values, value[from:to]...)
		starts = append(starts, len(indices))
	}
	return starts, indices, values
}

// sort brings edges into the order of their ends, the smaller number first. Where edges
// have no direction, the smaller end comes first, and turned says which are the other way
// round in the table. row is where each edge stood; nil: where it stands.
func (t *edgeTable) sort(directed bool) (row []int32, turned []bool) {
	m := len(t.u)
	low, high := make([]int32, m), make([]int32, m)
	rows := make([]int32, m)
	for e := range t.u {
		low[e], high[e], rows[e] = min(t.u[e], t.v[e]), max(t.u[e], t.v[e]), int32(e)
	}
	if order := byEnds(low, high); !slices.IsSortedFunc(rows, order) {
		slices.SortFunc(rows, order)
		row, t.u, t.v = rows, take(t.u, rows), take(t.v, rows)
	}
	if directed {
		return row, nil
	}
	turned = make([]bool, m)
	for e := range t.u {
		if t.u[e] > t.v[e] {
			t.u[e], t.v[e], turned[e] = t.v[e], t.u[e], true
		}
	}
	return row, turned
}

// byEnds compares edges by their ends, the smaller first, and then by their numbers.
func byEnds(low, high []int32) func(e, f int32) int {
	return func(e, f int32) int {
		return cmp.Or(cmp.Compare(low[e], low[f]), cmp.Compare(high[e], high[f]), cmp.Compare(e, f))
	}
}

// sortEdges brings the edges of a table and their features into order.
func (l *loader) sortEdges(t *edgeTable) (turned []bool) {
	if !l.ordered() {
		return nil
	}
	row, turned := t.sort(l.edgesDirected())
	if row != nil && t.features != nil {
		t.features.reorder(row)
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

// join makes the topology of a graph; nil: it is refused. turned is as in edgeTable.sort.
func (l *loader) join(file string, nodes int, ends *edgeTable, turned []bool) *graph.Graph {
	topology, err := graph.FromEdges(nodes, ends.u, ends.v)
	if err != nil {
		l.fail(&Error{File: file, Problem: err.Error(), Cause: err})
		return nil
	}
	if l.turned == nil {
		l.turned = map[*graph.Graph][]bool{}
	}
	l.turned[topology] = turned
	return topology
}

// asGiven returns the labels of an edge's ends in the order in which the data name them.
func (l *loader) asGiven(g *graph.Graph, e int, first, second int32) (x, y int32) {
	if turned := l.turned[g]; turned != nil && turned[e] {
		return second, first
	}
	return first, second
}
