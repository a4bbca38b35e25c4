package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
)

// npzInstance is one instance file: its arrays as they were read, and what they are after checks of the file alone.
type npzInstance struct {
	npy.Set
	ofFolder int      // nodes of an instance that was cut out of an array folder; else 0
	samples  *samples // of a table or an alignment; nil: of arrays

	spec         crf.InstanceSpec // without types and features; labels are views of one array
	nodes, edges elements
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

// form says where features come from; none: where there are none.
func (e *elements) form(none string) string {
	switch {
	case e.features.Ints != nil:
		return formBins
	case e.features.Shape != nil:
		return formDense
	}
	return none
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

// check checks that the arrays of the file fit together, if all could be read, and returns all that is wrong with them.
// Instances without a name are called as it is.
func (in *npzInstance) check(graphs *graphCache) []error {
	read := in.Errors()
	if in.Partial {
		return read
	}
	in.Problems = option.Problems{File: in.File}
	in.spec.Name = cmp.Or(in.spec.Name, strings.TrimSuffix(filepath.Base(in.File), ".npz"))
	for _, step := range []func(){in.fill, func() { in.buildGraph(graphs) }, in.readMeans} {
		if len(in.List) == 0 {
			step()
		}
	}
	return append(read, in.Errors()...)
}

// ofNodes are the arrays that tell how many nodes there are.
var ofNodes = []string{nodeFeaturesArray, nodeMeansArray, nodeTypesArray, labelsArray, statesArray}

// joinLattice gives a grid without edges those between neighbours in rows and columns.
func (in *npzInstance) joinLattice() {
	shape, nodes := in.Arrays[gridShapeArray].Ints, in.Count("n", ofNodes...)
	if in.Has(edgesArray) || len(shape) != 2 || nodes.Of == 0 {
		return
	}
	in.Arrays[edgesArray] = npy.Values{Shape: []int{0, 2}}
	if int(shape[0])*int(shape[1]) != nodes.Of { // which fill reports
		return
	}
	edges, err := latticeEdges(int(shape[0]), int(shape[1]), false)
	if err != nil {
		in.Add(0, gridShapeArray, "", "%v", err)
	} else {
		in.Arrays[edgesArray] = npy.Values{Shape: []int{len(edges) / 2, 2}, Ints: edges}
	}
}

// latticeEdges are the ends of the edges of a grid.
func latticeEdges(rows, cols int, periodic bool) ([]int32, error) {
	g, err := graph.Grid(rows, cols, graph.GridOptions{Torus: periodic})
	if err != nil {
		return nil, err
	}
	edges := make([]int32, 0, 2*g.NumEdges())
	for e := range int32(g.NumEdges()) {
		edges = append(edges, g.U(e), g.V(e))
	}
	return edges, nil
}

// countNodes takes the number of nodes from the first array that has data for every node, or else from the grid or the
// largest node of an edge. These two are believed as far as edges make them likely: few bytes must not ask for many.
func (in *npzInstance) countNodes() (n npy.Count, problem *option.Error) {
	edges := in.Arrays[edgesArray]
	if n = (npy.Count{Of: in.ofFolder, Told: sizesArray}); n.Of == 0 {
		n = in.Count("n", ofNodes...)
	}
	if n.Of > 0 {
		return n, nil
	}
	n.Told = edgesArray
	for _, s := range edges.Ints {
		n.Of = max(n.Of, int(s)+1)
	}
	if a := in.Arrays[gridShapeArray].Ints; len(a) == 2 && a[0] > 0 && a[1] > 0 {
		n = npy.Count{Of: int(a[0]) * int(a[1]), Told: gridShapeArray}
	}
	// Without isolated nodes there are at most two nodes per edge.
	const someIsolated = 1024
	if m := len(edges.Ints) / 2; n.Of > 2*m+someIsolated {
		problem = option.At(in.File, 0, n.Told, "give the array "+statesArray+" with shape [n] if there really are that many",
			"it asks for %d nodes, but there are only %d edges", n.Of, m)
	} else if n.Of == 0 {
		problem = option.At(in.File, 0, n.Told, "", "the network has no nodes")
	}
	return n, problem
}

// fill takes over the arrays whose lengths fit.
func (in *npzInstance) fill() {
	in.joinLattice()
	n, problem := in.countNodes()
	m, labels, spec := len(in.Arrays[edgesArray].Ints)/2, in.Arrays[labelsArray], &in.spec
	samples := in.Count("samples", labelsArray)
	if len(labels.Shape) == 1 {
		samples.Of = 1
	}
	known := map[string]npy.Count{"n": n, "m": {Of: m, Told: edgesArray}, "samples": samples}
	if k := in.Count("states", edgeMeansArray, nodeMeansArray); k.Of > 0 {
		known["states"] = k
	}
	if in.Check(known); in.Has(edgeBinsArray) && in.Has(edgeFeaturesArray) {
		in.Add(0, edgeFeaturesArray, "give one of the two", "edges have %s already", edgeBinsArray)
	}
	if len(in.List) == 0 && problem != nil {
		in.Keep(problem)
	}
	if len(in.List) > 0 {
		return
	}
	in.nodes = elements{n.Of, in.Arrays[nodeTypesArray].Ints, in.Arrays[nodeFeaturesArray]}
	in.edges = elements{m, in.Arrays[edgeTypesArray].Ints, in.Arrays[edgeFeaturesArray]}
	if bins := in.Arrays[edgeBinsArray].Ints; bins != nil {
		in.edges.features = npy.Values{Shape: []int{len(bins), 1}, Ints: bins}
	}
	for at := 0; at < len(labels.Ints); at += n.Of {
		spec.Labels = append(spec.Labels, labels.Ints[at:at+n.Of:at+n.Of])
	}
	if a := in.Arrays[gridShapeArray].Ints; a != nil {
		spec.Rows, spec.Cols = int(a[0]), int(a[1])
		if spec.Rows < 1 || spec.Cols < 1 || spec.Rows*spec.Cols != n.Of {
			in.Add(0, gridShapeArray, "", "it is %d × %d, want a product of %d: %s has %d nodes", a[0], a[1], n.Of, n.Told, n.Of)
		}
	}
	a := in.Arrays[weightArray]
	if a.Len() > 0 {
		spec.Weight = a.At(0)
	}
	a = in.Arrays[sampleWeights]
	for i := range a.Len() {
		spec.SampleWeights = append(spec.SampleWeights, a.At(i))
	}
}

func (in *npzInstance) buildGraph(graphs *graphCache) {
	edges, edge := in.Arrays[edgesArray].Ints, (*graph.EdgeError)(nil)
	g, err := graphs.get(in.nodes.count, edges)
	if in.spec.Graph = g; errors.As(err, &edge) {
		remedy := ""
		if n := int32(in.nodes.count); edge.U == edge.V {
			remedy = "leave loops out, in Python edges[edges[:, 0] != edges[:, 1]]"
		} else if min(edge.U, edge.V) >= 0 && max(edge.U, edge.V) < n {
			remedy = "in Python numpy.unique(numpy.sort(edges), axis=0, " +
				"return_index=True)[1] are the rows of edges, and of their features, to keep"
		} else if slices.Min(edges) > 0 && slices.Max(edges) == n {
			remedy = "nodes count from 0: subtract 1"
		}
		in.Add(0, edgePlace(edge.Edge), remedy, "is (%d, %d): %s", edge.U, edge.V, edge.Reason)
	} else if err != nil {
		in.Add(0, edgesArray, "", "%v", err)
	}
}

// numbered are the labels of a sample.
func (in *npzInstance) numbered(sample int) numbered {
	place := func(e *option.Error, s int) *option.Error {
		e.File, e.Place = in.File, labelsArray+npy.IndexText(in.Arrays[labelsArray].Shape, sample*in.nodes.count+s)
		return e
	}
	return numbered{labels: in.spec.Labels[sample], typeOf: in.nodes.typeOf, place: place, hides: hiddenNumber}
}

func (in *npzInstance) statesPlace(s int) string {
	states := in.Arrays[statesArray]
	return statesArray + npy.IndexText(states.Shape, min(s, len(states.Ints)-1))
}

// edgePlace is where an edge stands.
func edgePlace(edge int) string { return fmt.Sprintf("%s[%d]", edgesArray, edge) }
