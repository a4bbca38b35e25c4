package dataset

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/npy"
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
	samples      *samples  // nil: it was read from arrays
	statistics   *statistics
}

// elements are the nodes, or the edges, of an instance.
type elements struct {
	count    int
	types    []int32    // [count], nil where not given
	features npy.Values // or bins; without a shape where there are none
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
	b.in = &npzInstance{path: path, name: strings.TrimSuffix(filepath.Base(path), ".npz"), samples: c.samples}
	for _, step := range []func(){b.checkShapes, b.countNodes, b.fill, func() { b.buildGraph(graphs) }, b.readMeans} {
		if step(); len(b.list) > 0 {
			return nil, b.errors()
		}
	}
	return b.in, nil
}

// npzBuilder turns contents into an instance.
type npzBuilder struct {
	problems
	c     *npzContents
	in    *npzInstance
	known string // the array that told the number of nodes
}

// checkShapes checks everything about the arrays' dimensions that does not depend on the number of nodes.
func (b *npzBuilder) checkShapes() {
	if _, ok := b.c.arrays[edgesArray]; !ok {
		b.add(0, edgesArray, "all pairs of n nodes are numpy.argwhere(numpy.triu(numpy.ones((n, n)), 1))",
			"the array is missing, want shape [m, 2] of integers")
	}
	_, bins := b.c.arrays[edgeBinsArray]
	for _, name := range slices.Sorted(maps.Keys(b.c.arrays)) {
		shape, rule := b.c.arrays[name].Shape, knownArrays.rule(name)
		if !rule.fits(shape) {
			remedy := rule.remedy
			if name == edgesArray && len(shape) == 2 && shape[0] == 2 {
				remedy = "turn it round, by edges.T"
			}
			b.add(0, name, remedy, "shape is %s, want %s", npy.ShapeText(shape), rule.shape)
		}
		if bins && name == edgeFeaturesArray {
			b.add(0, name, "give one of the two", "edges have %s already", edgeBinsArray)
		}
	}
}

// countNodes takes the number of nodes from the first array that has data for every node, or else from the grid or the
// largest node of an edge. The latter two are believed only as far as the edges make them likely: a few bytes must not
// ask for gigabytes.
func (b *npzBuilder) countNodes() {
	edges, count := b.c.arrays[edgesArray], &b.in.nodes.count
	b.in.edges.count = edges.Rows()
	if b.c.nodes > 0 {
		*count, b.known = b.c.nodes, sizesArray
		return
	}
	for _, name := range []string{nodeFeaturesArray, nodeMeansArray, nodeTypesArray, labelsArray, statesArray} {
		a := b.c.arrays[name]
		if n := a.Len(); n > 1 || n > 0 && name != statesArray {
			*count, b.known = a.Shape[len(a.Shape)-1], name
			if name == nodeFeaturesArray || name == nodeMeansArray {
				*count = a.Rows()
			}
			return
		}
	}
	b.known = edgesArray
	for _, s := range edges.Ints {
		*count = max(*count, int(s)+1)
	}
	if a := b.c.arrays[gridShapeArray].Ints; len(a) == 2 && a[0] > 0 && a[1] > 0 {
		*count, b.known = int(a[0])*int(a[1]), gridShapeArray
	}
	// Without isolated nodes there are at most two nodes per edge.
	const someIsolated = 1024
	if *count > 2*b.in.edges.count+someIsolated {
		b.add(0, b.known, "give the array "+statesArray+" with shape [n] if there really are that many",
			"it asks for %d nodes, but there are only %d edges", *count, b.in.edges.count)
	} else if *count == 0 {
		b.add(0, b.known, "", "the network has no nodes")
	}
}

// fill takes over the arrays whose lengths fit.
func (b *npzBuilder) fill() {
	in, c, n := b.in, b.c, b.in.nodes.count
	counts, known := [3]int{n, in.edges.count, 1}, [3]string{b.known, edgesArray}
	if c.checkRows(&b.problems, counts, known, false); len(b.list) > 0 {
		return
	}
	in.nodes.types, in.edges.types = c.integers(nodeTypesArray), c.integers(edgeTypesArray)
	in.nodes.features, in.edges.features = c.arrays[nodeFeaturesArray], c.arrays[edgeFeaturesArray]
	if bins := c.integers(edgeBinsArray); bins != nil {
		in.edges.features = npy.Values{Shape: []int{len(bins), 1}, Ints: bins}
	}
	states, labels := c.arrays[statesArray], c.arrays[labelsArray]
	in.states, in.labelsFlat = states.Ints, len(labels.Shape) == 1
	for at := 0; at < len(labels.Ints); at += n {
		in.labels = append(in.labels, labels.Ints[at:at+n:at+n])
	}
	if i := slices.IndexFunc(states.Ints, func(k int32) bool { return k < 1 || k > mostStates }); i >= 0 {
		b.add(0, in.statesPlace(i), "", "is %d, want 1 to %d", states.Ints[i], mostStates)
	}
	if a, ok := c.arrays[gridShapeArray]; ok {
		in.rows, in.cols = int(a.Ints[0]), int(a.Ints[1])
		if in.rows < 1 || in.cols < 1 || in.rows*in.cols != n {
			b.add(0, gridShapeArray, "", "it is %d × %d, want a product of %d: %s has %d nodes", in.rows, in.cols, n, b.known, n)
		}
	}
	if a, ok := c.arrays[directedArray]; ok {
		if in.directed, in.tied = a.Ints[0] == 1, a.Ints[0] == 0; !in.directed && !in.tied {
			b.add(0, directedArray, "", "is %d, want 1 where edges lead from their first end to the second, else 0", a.Ints[0])
		}
	}
	if a, ok := c.arrays[weightArray]; ok {
		if in.weight = a.At(0); !(in.weight >= numeric.Least && in.weight <= numeric.Largest) {
			b.add(0, weightArray, "leave the file out if it is not to count", "is %v, want a positive number of %s", in.weight,
				numeric.Range)
		}
	}
}

// integers returns an array, nil where it is not given.
func (c *npzContents) integers(name string) []int32 {
	a, ok := c.arrays[name]
	if ok && a.Ints == nil {
		return []int32{} // the array is given, and empty
	}
	return a.Ints
}

func (b *npzBuilder) buildGraph(graphs *graphCache) {
	edges, edge := b.c.arrays[edgesArray].Ints, (*graph.EdgeError)(nil)
	g, err := graphs.get(b.in.nodes.count, edges)
	if errors.As(err, &edge) && b.leaveOutReversed(edges) {
		g, err = graphs.get(b.in.nodes.count, npy.TakeRows(edges, 2, b.in.both.kept))
	}
	switch b.in.graph = g; {
	case len(b.list) > 0: // of edges both ways round
	case errors.As(err, &edge):
		b.add(0, b.in.edgePlace(edge.Edge), "", "is (%d, %d): %s", edge.U, edge.V, edge.Reason)
	case err != nil:
		b.add(0, edgesArray, "", "%v", err)
	}
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

// statesAt returns the number of states the file gives for a node, or 0.
func (in *npzInstance) statesAt(s int) int {
	switch len(in.states) {
	case 0:
		return 0
	case 1:
		return int(in.states[0])
	}
	return int(in.states[s])
}

func (in *npzInstance) statesPlace(s int) string {
	if len(in.states) == 1 {
		return statesArray
	}
	return fmt.Sprintf("%s[%d]", statesArray, s)
}

// bothWays says which rows of edges are left out because another row joins the same nodes the other way round, as
// lists do that are made for passing messages both ways. A network has one edge for two nodes.
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

// edgePlace is where an edge stands.
func (in *npzInstance) edgePlace(edge int) string {
	return fmt.Sprintf("%s[%d]", edgesArray, in.row(edge))
}

// leaveOutReversed finds such rows. It reports whether there are any; then count, types and bins of edges are those of
// the rows that are kept.
func (b *npzBuilder) leaveOutReversed(edges []int32) bool {
	in, both, first := b.in, &bothWays{}, map[[2]int32]int32{} // the row of each edge
	out := make([]bool, in.edges.count)
	for e := range int32(in.edges.count) {
		u, v := edges[2*e], edges[2*e+1]
		f, again := first[[2]int32{v, u}]
		if !again || u == v {
			first[[2]int32{u, v}] = e
			continue
		}
		delete(first, [2]int32{v, u}) // a third row is one too many
		kept, left := f, e
		if u >= 0 && v >= 0 && max(u, v) < int32(in.nodes.count) && in.nodes.typeOf(int(v)) > in.nodes.typeOf(int(u)) {
			kept, left = e, f // without edge_types the end of the smaller type comes first
		}
		both.again, out[left] = append(both.again, [2]int32{left, kept}), true
	}
	slices.SortFunc(both.again, func(x, y [2]int32) int { return int(x[0] - y[0]) })
	if len(both.again) == 0 || !b.agree(both.again) {
		return false
	}
	both.kept = slices.DeleteFunc(numbersTo(len(out)), func(e int32) bool { return out[e] })
	in.both, in.edges.count = both, len(both.kept)
	in.edges.types = npy.TakeRows(in.edges.types, 1, both.kept)
	if in.edges.features.Shape != nil {
		in.edges.features = in.edges.features.Take(both.kept)
	}
	return true
}

// agree reports whether rows have the type and features of the rows of the same edges, or else a problem.
func (b *npzBuilder) agree(again [][2]int32) bool {
	for _, name := range slices.Sorted(maps.Keys(b.c.arrays)) {
		a := b.c.arrays[name]
		if knownArrays.rule(name).of != ofEdges || name == edgesArray {
			continue
		}
		for _, x := range again {
			if !a.SameRows(int(x[0]), int(x[1])) {
				b.add(0, fmt.Sprintf("%s[%d]", edgesArray, x[0]),
					"a network has one edge for two nodes: keep one of the two rows, or give both the same features",
					"joins the nodes of %s[%d] the other way round, with other %s", edgesArray, x[1], name)
				return false
			}
		}
	}
	return true
}

// noteBothWays tells of edges that are there both ways round, and refuses those of directed types.
func (l *npzLoader) noteBothWays() {
	merged, where := 0, ""
	for _, in := range l.instances {
		if in.both == nil {
			continue
		}
		for _, x := range in.both.again {
			place := fmt.Sprintf("%s[%d]", edgesArray, x[0])
			e, _ := slices.BinarySearch(in.both.kept, x[1])
			if t := &l.set.Schema.EdgeTypes[in.edges.typeOf(e)]; t.U == t.V && !t.Symmetric {
				l.at(in, place, `keep one of the two, or say that edges have no direction, by "directed": false`,
					"joins the nodes of %s[%d] the other way round; edges of type %q are directed, and a network has one edge for "+
						"two nodes", edgesArray, x[1], t.Name)
				return
			}
			if merged++; merged == 1 {
				where = in.path + ":" + place
			}
		}
	}
	if merged > 0 {
		l.warn("edges that are there both ways round count once (%d in all, %s is the first)", merged, where)
	}
}
