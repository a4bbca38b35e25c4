package dataset

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
)

// npzInstance is one instance file after the checks that need no other file.
type npzInstance struct {
	path, name   string
	nodes, edges elements
	graph        *graph.Graph
	both         *bothWays // nil: no edge is there both ways round
	rows, cols   int       // of the grid, or 0
	labels       [][]int32 // [samples][nodes], views of one array
	labelsFlat   bool      // labels was [nodes], not [samples, nodes]
	states       []int32   // nil, one for all nodes, or [nodes]
	weight       float64   // of the samples; 0 where not given
	directed     bool      // its edges lead from their first end to the second
	tied         bool      // it says that they do not
}

// elements are the nodes, or the edges, of an instance.
type elements struct {
	count    int
	types    []int32          // [count], nil where not given
	features map[string]array // by type name; under "" those of all, or bins
}

func nodesOf(in *npzInstance) *elements { return &in.nodes }
func edgesOf(in *npzInstance) *elements { return &in.edges }

func (e *elements) typeOf(i int) int {
	if e.types == nil {
		return 0
	}
	return int(e.types[i])
}

// counts returns the number of elements of each of n types.
func (e *elements) counts(n int) []int {
	counts := make([]int, n)
	if e.types == nil && n > 0 {
		counts[0] = e.count
	}
	for _, t := range e.types {
		counts[t]++
	}
	return counts
}

// newNPZInstance checks that the arrays of one file fit together.
func newNPZInstance(path string, c *npzContents, graphs *graphCache) (*npzInstance, []error) {
	b := &npzBuilder{c: c, problems: problems{file: path}}
	b.in = &npzInstance{path: path, name: strings.TrimSuffix(filepath.Base(path), ".npz")}
	b.checkShapes()
	if len(b.list) > 0 {
		return nil, b.errors()
	}
	b.countNodes()
	b.fill()
	if len(b.list) == 0 {
		b.buildGraph(graphs)
	}
	return b.in, b.errors()
}

// npzBuilder turns contents into an instance.
type npzBuilder struct {
	problems
	c     *npzContents
	in    *npzInstance
	known string // the array that told the number of nodes
}

// checkShapes checks everything about the arrays' dimensions that does not
// depend on the number of nodes.
func (b *npzBuilder) checkShapes() {
	if _, ok := b.c.arrays[edgesArray]; !ok {
		b.add(0, edgesArray, "all pairs of n nodes are "+fmt.Sprintf(allPairs, "(n, n)"),
			"the array is missing, want shape [m, 2] of integers")
	}
	_, bins := b.c.arrays[edgeBinsArray]
	for _, name := range slices.Sorted(maps.Keys(b.c.arrays)) {
		shape, rule := b.c.arrays[name].shape, instanceArrays.rule(name)
		if !rule.fits(shape) {
			remedy := rule.remedy
			if name == edgesArray && len(shape) == 2 && shape[0] == 2 {
				remedy = "turn it round, by edges.T"
			}
			b.add(0, name, remedy, "shape is %s, want %s", shapeText(shape), rule.shape)
		}
		base, _, typed := strings.Cut(name, ".")
		if _, all := b.c.arrays[base]; typed && all {
			b.add(0, name, "", "%s has features for all types already", base)
		}
		if bins && base == edgeFeaturesArray {
			b.add(0, name, "give one of the two", "edges have %s already", edgeBinsArray)
		}
	}
}

// countNodes takes the number of nodes from the first array that has data for
// every node, or else from the grid or the largest node of an edge. The latter
// two are believed only as far as the edges make them likely: a few bytes must
// not ask for gigabytes.
func (b *npzBuilder) countNodes() {
	edges := b.c.arrays[edgesArray]
	b.in.edges.count = edges.shape[0]
	if b.c.nodes > 0 {
		b.in.nodes.count, b.known = b.c.nodes, sizesArray
		return
	}
	if m := b.c.arrays[nodeFeaturesArray]; m.length() > 0 {
		b.in.nodes.count, b.known = m.rows(), nodeFeaturesArray
		return
	}
	for _, name := range []string{nodeTypesArray, labelsArray, statesArray} {
		a := b.c.arrays[name]
		if n := a.length(); n > 1 || n > 0 && name != statesArray {
			b.in.nodes.count, b.known = a.shape[len(a.shape)-1], name
			return
		}
	}
	b.known = edgesArray
	for _, s := range edges.ints {
		b.in.nodes.count = max(b.in.nodes.count, int(s)+1)
	}
	if a := b.c.arrays[gridShapeArray].ints; len(a) == 2 && a[0] > 0 && a[1] > 0 {
		b.in.nodes.count, b.known = int(a[0])*int(a[1]), gridShapeArray
	}
	// Without isolated nodes there are at most two nodes per edge.
	const someIsolated = 1024
	if b.in.nodes.count > 2*b.in.edges.count+someIsolated {
		b.add(0, b.known, "give the array "+statesArray+" with shape [n] if there really are that many",
			"it asks for %d nodes, but there are only %d edges", b.in.nodes.count, b.in.edges.count)
		b.in.nodes.count = 0
	}
}

// fill takes over the arrays whose lengths fit.
func (b *npzBuilder) fill() {
	in := b.in
	if len(b.list) > 0 {
		return
	}
	if in.nodes.count == 0 {
		b.add(0, b.known, "", "the network has no nodes")
		return
	}
	counts, known := [3]int{in.nodes.count, in.edges.count, 1}, [3]string{b.known, edgesArray}
	if b.c.checkRows(&b.problems, counts, known, false); len(b.list) > 0 {
		return
	}
	in.nodes.types, in.edges.types = b.c.integers(nodeTypesArray), b.c.integers(edgeTypesArray)
	b.fillStates()
	b.fillLabels()
	b.fillGrid()
	if a, ok := b.c.arrays[directedArray]; ok {
		if in.directed, in.tied = a.ints[0] == 1, a.ints[0] == 0; !in.directed && !in.tied {
			b.add(0, directedArray, "", "is %d, want 1 where edges lead from their first end to the second, else 0", a.ints[0])
		}
	}
	if m, ok := b.c.arrays[weightArray]; ok {
		if in.weight = m.at(0); !(in.weight >= numeric.Least && in.weight <= numeric.Largest) {
			const remedy = "leave the file out if it is not to count"
			b.add(0, weightArray, remedy, "is %v, want a positive number of %s", in.weight, numeric.Range)
		}
	}
	in.nodes.features, in.edges.features = b.c.features(nodeFeaturesArray), b.c.features(edgeFeaturesArray)
	if bins := b.c.integers(edgeBinsArray); bins != nil {
		in.edges.features[""] = array{shape: []int{len(bins), 1}, ints: bins}
	}
}

// integers returns an array, nil where it is not given.
func (c *npzContents) integers(name string) []int32 {
	a, ok := c.arrays[name]
	if ok && a.ints == nil {
		return []int32{} // the array is given, and empty
	}
	return a.ints
}

func (b *npzBuilder) fillStates() {
	a := b.c.arrays[statesArray]
	for i, k := range a.ints {
		if k < 1 || k > mostStates {
			place := statesArray
			if len(a.shape) > 0 {
				place = fmt.Sprintf("%s[%d]", statesArray, i)
			}
			b.add(0, place, "", "is %d, want 1 to %d", k, mostStates)
			return
		}
	}
	b.in.states = a.ints
}

func (b *npzBuilder) fillLabels() {
	a, ok := b.c.arrays[labelsArray]
	if !ok {
		return
	}
	n := b.in.nodes.count
	b.in.labelsFlat = len(a.shape) == 1
	for at := 0; at < len(a.ints); at += n {
		b.in.labels = append(b.in.labels, a.ints[at:at+n:at+n])
	}
}

func (b *npzBuilder) fillGrid() {
	a, ok := b.c.arrays[gridShapeArray]
	if !ok {
		return
	}
	rows, cols := int(a.ints[0]), int(a.ints[1])
	if rows < 1 || cols < 1 || rows*cols != b.in.nodes.count {
		b.add(0, gridShapeArray, "", "it is %d × %d, want a product of %d: %s has %d nodes", rows, cols, b.in.nodes.count,
			b.known, b.in.nodes.count)
		return
	}
	b.in.rows, b.in.cols = rows, cols
}

// features collects an array of features, or those by type. How many rows a
// type has is checked when the types are known.
func (c *npzContents) features(base string) map[string]array {
	found := map[string]array{}
	for name, m := range c.arrays {
		if of, kind, _ := strings.Cut(name, "."); of == base {
			found[kind] = m
		}
	}
	return found
}

func (b *npzBuilder) buildGraph(graphs *graphCache) {
	g, err := graphs.get(b.in.nodes.count, b.c.arrays[edgesArray].ints)
	var edge *graph.EdgeError
	if errors.As(err, &edge) && b.leaveOutReversed() {
		g, err = graphs.get(b.in.nodes.count, takeRows(b.c.arrays[edgesArray].ints, 2, b.in.both.kept))
	}
	if len(b.list) > 0 {
		return // of edges both ways round
	}
	if errors.As(err, &edge) {
		b.add(0, fmt.Sprintf("%s[%d]", edgesArray, b.in.row(edge.Edge)), "", "is (%d, %d): %s", edge.U, edge.V, edge.Reason)
	} else if err != nil {
		b.keep(&Error{File: b.file, Place: edgesArray, Problem: err.Error(), Cause: err})
	}
	b.in.graph = g
}

// labelPlace names an entry of the labels as the file has them.
func (in *npzInstance) labelPlace(sample, node int) string {
	if in.labelsFlat {
		return fmt.Sprintf("%s[%d]", labelsArray, node)
	}
	return fmt.Sprintf("%s[%d,%d]", labelsArray, sample, node)
}

// numbered are the labels of a sample.
func (in *npzInstance) numbered(sample int) numbered {
	return numbered{labels: in.labels[sample], typeOf: in.nodes.typeOf, place: func(e *Error, s int) *Error {
		e.File, e.Place = in.path, in.labelPlace(sample, s)
		return e
	}}
}

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
	if !b.agree(both.again) {
		return false
	}
	in.both, in.edges.count = both, len(both.kept)
	in.edges.types = takeRows(in.edges.types, 1, both.kept)
	if m, ok := in.edges.features[""]; ok {
		in.edges.features[""] = m.take(both.kept)
	}
	return true
}

// agree reports whether rows have the type and features of the rows of the same edges, or else a problem.
func (b *npzBuilder) agree(again [][2]int32) bool {
	for _, name := range slices.Sorted(maps.Keys(b.c.arrays)) {
		a, rule := b.c.arrays[name], instanceArrays.rule(name)
		if rule.of != ofEdges || name == edgesArray {
			continue
		}
		for _, x := range again {
			problem := ""
			if rule.name != name {
				problem = ", where each type has an array of features"
			} else if width := a.width(); !a.sameRows(int(x[0])*width, int(x[1])*width, width) {
				problem = ", with other " + name
			}
			if problem != "" {
				b.add(0, fmt.Sprintf("%s[%d]", edgesArray, x[0]), oneEdge, "joins the nodes of %s[%d] the other way round%s",
					edgesArray, x[1], problem)
				return false
			}
		}
	}
	return true
}

// oneEdge is what to do about two.
const oneEdge = "a network has one edge for two nodes: keep one of the two rows, or give both the same features"

// noteBothWays tells of edges that are there both ways round, and refuses those of directed types.
func (l *npzLoader) noteBothWays() {
	merged, where := 0, ""
	for _, in := range l.instances {
		if in.both == nil {
			continue
		}
		for _, x := range in.both.again {
			e, _ := slices.BinarySearch(in.both.kept, x[1])
			if t := &l.set.Schema.EdgeTypes[in.edges.typeOf(e)]; t.U == t.V && !t.Symmetric {
				l.at(in, fmt.Sprintf("%s[%d]", edgesArray, x[0]),
					`keep one of the two, or say that edges have no direction, by "directed": false`,
					"joins the nodes of %s[%d] the other way round; edges of type %q are directed, and a network has one edge for "+
						"two nodes", edgesArray, x[1], t.Name)
				return
			}
		}
		if merged == 0 {
			where = fmt.Sprintf("%s:%s[%d]", in.path, edgesArray, in.both.again[0][0])
		}
		merged += len(in.both.again)
	}
	if merged > 0 {
		l.warn("edges that are there both ways round count once (%d in all, %s is the first)", merged, where)
	}
}
