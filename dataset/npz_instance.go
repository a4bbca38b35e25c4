package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
)

// npzInstance is one instance file after the checks that need no other file.
type npzInstance struct {
	path, name    string
	nodes, edges  elements
	graph         *graph.Graph
	rows, cols    int        // of the grid, or 0
	labels        [][]int32  // [samples][nodes], views of one array
	labelShape    []int      // of the array
	states        npy.Values // one for all nodes, or [nodes]; without a shape where not given
	weight        float64    // of the samples; 0 where not given
	sampleWeights []float64  // nil: 1
	directed      bool       // its edges lead from their first end to the second
	tied          bool       // it says that they do not
	samples       *samples   // nil: it was read from arrays
	statistics    *statistics
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
	c  *npzContents
	in *npzInstance
	n  npy.Count // of nodes
}

// ofNodes are the arrays that tell how many nodes there are.
var ofNodes = []string{nodeFeaturesArray, nodeMeansArray, nodeTypesArray, labelsArray, statesArray}

// joinLattice gives a grid without edges those between neighbours in rows and columns.
func (b *npzBuilder) joinLattice() {
	shape, nodes := b.c.arrays[gridShapeArray].Ints, b.c.rules.Count(b.c.arrays, "n", ofNodes...)
	if b.c.has(edgesArray) || len(shape) != 2 || int(shape[0])*int(shape[1]) != nodes.Of {
		return
	}
	g, err := graph.Grid(int(shape[0]), int(shape[1]), graph.GridOptions{})
	if b.keep(err); err != nil {
		return
	}
	edges := make([]int32, 0, 2*g.NumEdges())
	for e := range int32(g.NumEdges()) {
		edges = append(edges, g.U(e), g.V(e))
	}
	b.c.arrays[edgesArray] = npy.Values{Shape: []int{len(edges) / 2, 2}, Ints: edges}
}

// has reports whether there is an array.
func (c *npzContents) has(name string) bool {
	_, ok := c.arrays[name]
	return ok
}

// checkShapes checks everything about the arrays' dimensions that does not depend on the number of nodes.
func (b *npzBuilder) checkShapes() {
	b.joinLattice()
	if b.c.rules.Check(b.c.arrays, nil, b.located); b.c.has(edgeBinsArray) && b.c.has(edgeFeaturesArray) {
		b.add(0, edgeFeaturesArray, "give one of the two", "edges have %s already", edgeBinsArray)
	}
}

// countNodes takes the number of nodes from the first array that has data for every node, or else from the grid or the
// largest node of an edge. The latter two are believed only as far as the edges make them likely: a few bytes must not
// ask for gigabytes.
func (b *npzBuilder) countNodes() {
	arrays, edges := b.c.arrays, b.c.arrays[edgesArray]
	b.in.edges.count, b.n = edges.Rows(), npy.Count{Of: b.c.nodes, Told: sizesArray}
	if b.n.Of == 0 {
		b.n = b.c.rules.Count(arrays, "n", ofNodes...)
	}
	if b.n.Of > 0 {
		return
	}
	b.n.Told = edgesArray
	for _, s := range edges.Ints {
		b.n.Of = max(b.n.Of, int(s)+1)
	}
	if a := arrays[gridShapeArray].Ints; len(a) == 2 && a[0] > 0 && a[1] > 0 {
		b.n = npy.Count{Of: int(a[0]) * int(a[1]), Told: gridShapeArray}
	}
	// Without isolated nodes there are at most two nodes per edge.
	const someIsolated = 1024
	if b.n.Of > 2*b.in.edges.count+someIsolated {
		b.add(0, b.n.Told, "give the array "+statesArray+" with shape [n] if there really are that many",
			"it asks for %d nodes, but there are only %d edges", b.n.Of, b.in.edges.count)
	} else if b.n.Of == 0 {
		b.add(0, b.n.Told, "", "the network has no nodes")
	}
}

// fill takes over the arrays whose lengths fit.
func (b *npzBuilder) fill() {
	in, c, n, labels := b.in, b.c, b.n.Of, b.c.arrays[labelsArray]
	samples := c.rules.Count(c.arrays, "samples", labelsArray)
	if len(labels.Shape) == 1 {
		samples.Of = 1
	}
	known := map[string]npy.Count{"n": b.n, "m": {Of: in.edges.count, Told: edgesArray}, "samples": samples}
	if k := c.rules.Count(c.arrays, "states", edgeMeansArray, nodeMeansArray); k.Of > 0 {
		known["states"] = k
	}
	if c.rules.Check(c.arrays, known, b.located); len(b.list) > 0 {
		return
	}
	in.nodes.count = n
	in.nodes.types, in.edges.types = c.arrays[nodeTypesArray].Ints, c.arrays[edgeTypesArray].Ints
	in.nodes.features, in.edges.features = c.arrays[nodeFeaturesArray], c.arrays[edgeFeaturesArray]
	if bins := c.arrays[edgeBinsArray].Ints; bins != nil {
		in.edges.features = npy.Values{Shape: []int{len(bins), 1}, Ints: bins}
	}
	states := c.arrays[statesArray]
	in.states, in.labelShape = states, labels.Shape
	for at := 0; at < len(labels.Ints); at += n {
		in.labels = append(in.labels, labels.Ints[at:at+n:at+n])
	}
	if i := slices.IndexFunc(states.Ints, func(k int32) bool { return k < 1 || k > mostStates }); i >= 0 {
		b.add(0, in.statesPlace(i), "", "is %d, want 1 to %d", states.Ints[i], mostStates)
	}
	if a, ok := c.arrays[gridShapeArray]; ok {
		in.rows, in.cols = int(a.Ints[0]), int(a.Ints[1])
		if in.rows < 1 || in.cols < 1 || in.rows*in.cols != n {
			b.add(0, gridShapeArray, "", "it is %d × %d, want a product of %d: %s has %d nodes", in.rows, in.cols, n,
				b.n.Told, n)
		}
	}
	if a, ok := c.arrays[directedArray]; ok {
		if in.directed, in.tied = a.Ints[0] == 1, a.Ints[0] == 0; !in.directed && !in.tied {
			b.add(0, directedArray, "", "is %d, want 1 where edges lead from their first end to the second, else 0", a.Ints[0])
		}
	}
	if a, ok := c.arrays[sampleWeights]; ok {
		for i := range a.Len() {
			w := a.At(i)
			if in.sampleWeights = append(in.sampleWeights, w); !(w >= 0 && w <= numeric.Largest) {
				b.add(0, fmt.Sprintf("%s[%d]", sampleWeights, i), "", "is %v, want a number that is not negative", w)
				break
			}
		}
	}
	if a, ok := c.arrays[weightArray]; ok {
		if in.weight = a.At(0); !(in.weight >= numeric.Least && in.weight <= numeric.Largest) {
			b.add(0, weightArray, "leave the file out if it is not to count", "is %v, want a positive number of %s", in.weight,
				numeric.Range)
		}
	}
}

func (b *npzBuilder) buildGraph(graphs *graphCache) {
	edges, edge := b.c.arrays[edgesArray].Ints, (*graph.EdgeError)(nil)
	g, err := graphs.get(b.in.nodes.count, edges)
	if b.in.graph = g; errors.As(err, &edge) {
		remedy := ""
		if n := int32(b.in.nodes.count); edge.U != edge.V && min(edge.U, edge.V) >= 0 && max(edge.U, edge.V) < n {
			remedy = "in Python i = numpy.unique(numpy.sort(edges), axis=0, " +
				"return_index=True)[1], and edges[i], edge_features[i]"
		}
		b.add(0, edgePlace(edge.Edge), remedy, "is (%d, %d): %s", edge.U, edge.V, edge.Reason)
	} else if err != nil {
		b.add(0, edgesArray, "", "%v", err)
	}
}

// labelPlace names an entry of the labels as the file has them.
func (in *npzInstance) labelPlace(sample, node int) string {
	return labelsArray + npy.IndexText(in.labelShape, sample*in.nodes.count+node)
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
	if of := in.states.Ints; len(of) > 0 {
		return int(of[min(s, len(of)-1)])
	}
	return 0
}

func (in *npzInstance) statesPlace(s int) string {
	return statesArray + npy.IndexText(in.states.Shape, min(s, len(in.states.Ints)-1))
}

// edgePlace is where an edge stands.
func edgePlace(edge int) string { return fmt.Sprintf("%s[%d]", edgesArray, edge) }
