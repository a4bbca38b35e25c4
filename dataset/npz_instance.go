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
	option.Problems
	rules    npy.Rules
	arrays   map[string]npy.Values
	ofFolder int      // nodes of an instance that was cut out of an array folder; else 0
	samples  *samples // of a table or an alignment; nil: of arrays

	spec         crf.InstanceSpec // without types and features; labels are views of one array
	nodes, edges elements
	states       npy.Values // one for all nodes, or [nodes]; without a shape where not given
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

// check checks that the arrays of the file fit together. Instances without a name are called as it is.
func (in *npzInstance) check(path string, graphs *graphCache) []error {
	in.File, in.spec.Name = path, cmp.Or(in.spec.Name, strings.TrimSuffix(filepath.Base(path), ".npz"))
	for _, step := range []func(){in.fill, func() { in.buildGraph(graphs) }, in.readMeans} {
		if step(); len(in.List) > 0 {
			break
		}
	}
	return in.Errors()
}

// ofNodes are the arrays that tell how many nodes there are.
var ofNodes = []string{nodeFeaturesArray, nodeMeansArray, nodeTypesArray, labelsArray, statesArray}

// joinLattice gives a grid without edges those between neighbours in rows and columns.
func (in *npzInstance) joinLattice() {
	shape, nodes := in.arrays[gridShapeArray].Ints, in.rules.Count(in.arrays, "n", ofNodes...)
	if in.has(edgesArray) || len(shape) != 2 || nodes.Of == 0 {
		return
	}
	in.arrays[edgesArray] = npy.Values{Shape: []int{0, 2}}
	if int(shape[0])*int(shape[1]) != nodes.Of { // which fill reports
		return
	}
	edges, err := latticeEdges(int(shape[0]), int(shape[1]), false)
	if err != nil {
		in.Add(0, gridShapeArray, "", "%v", err)
	} else {
		in.arrays[edgesArray] = npy.Values{Shape: []int{len(edges) / 2, 2}, Ints: edges}
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

// has reports whether there is an array.
func (in *npzInstance) has(name string) bool {
	_, ok := in.arrays[name]
	return ok
}

// countNodes takes the number of nodes from the first array that has data for every node, or else from the grid or the
// largest node of an edge. These two are believed as far as edges make them likely: few bytes must not ask for many.
func (in *npzInstance) countNodes() (n npy.Count, problem *option.Error) {
	edges := in.arrays[edgesArray]
	if n = (npy.Count{Of: in.ofFolder, Told: sizesArray}); n.Of == 0 {
		n = in.rules.Count(in.arrays, "n", ofNodes...)
	}
	if n.Of > 0 {
		return n, nil
	}
	n.Told = edgesArray
	for _, s := range edges.Ints {
		n.Of = max(n.Of, int(s)+1)
	}
	if a := in.arrays[gridShapeArray].Ints; len(a) == 2 && a[0] > 0 && a[1] > 0 {
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
	m, labels, spec := len(in.arrays[edgesArray].Ints)/2, in.arrays[labelsArray], &in.spec
	samples := in.rules.Count(in.arrays, "samples", labelsArray)
	if len(labels.Shape) == 1 {
		samples.Of = 1
	}
	known := map[string]npy.Count{"n": n, "m": {Of: m, Told: edgesArray}, "samples": samples}
	if k := in.rules.Count(in.arrays, "states", edgeMeansArray, nodeMeansArray); k.Of > 0 {
		known["states"] = k
	}
	if in.rules.Check(in.arrays, known, in.Located); in.has(edgeBinsArray) && in.has(edgeFeaturesArray) {
		in.Add(0, edgeFeaturesArray, "give one of the two", "edges have %s already", edgeBinsArray)
	}
	if len(in.List) == 0 && problem != nil {
		in.Keep(problem)
	}
	if len(in.List) > 0 {
		return
	}
	in.nodes = elements{n.Of, in.arrays[nodeTypesArray].Ints, in.arrays[nodeFeaturesArray]}
	in.edges = elements{m, in.arrays[edgeTypesArray].Ints, in.arrays[edgeFeaturesArray]}
	if bins := in.arrays[edgeBinsArray].Ints; bins != nil {
		in.edges.features = npy.Values{Shape: []int{len(bins), 1}, Ints: bins}
	}
	in.states = in.arrays[statesArray]
	for at := 0; at < len(labels.Ints); at += n.Of {
		spec.Labels = append(spec.Labels, labels.Ints[at:at+n.Of:at+n.Of])
	}
	if a := in.arrays[gridShapeArray].Ints; a != nil {
		spec.Rows, spec.Cols = int(a[0]), int(a[1])
		if spec.Rows < 1 || spec.Cols < 1 || spec.Rows*spec.Cols != n.Of {
			in.Add(0, gridShapeArray, "", "it is %d × %d, want a product of %d: %s has %d nodes", a[0], a[1], n.Of, n.Told, n.Of)
		}
	}
	a := in.arrays[weightArray]
	if a.Len() > 0 {
		spec.Weight = a.At(0)
	}
	a = in.arrays[sampleWeights]
	for i := range a.Len() {
		spec.SampleWeights = append(spec.SampleWeights, a.At(i))
	}
}

func (in *npzInstance) buildGraph(graphs *graphCache) {
	edges, edge := in.arrays[edgesArray].Ints, (*graph.EdgeError)(nil)
	g, err := graphs.get(in.nodes.count, edges)
	if in.spec.Graph = g; errors.As(err, &edge) {
		remedy := ""
		if n := int32(in.nodes.count); edge.U == edge.V {
			remedy = "leave loops out, in Python edges[edges[:, 0] != edges[:, 1]]"
		} else if min(edge.U, edge.V) >= 0 && max(edge.U, edge.V) < n {
			remedy = "in Python i = numpy.unique(numpy.sort(edges), axis=0, " +
				"return_index=True)[1], and edges[i], edge_features[i]"
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
		e.File, e.Place = in.File, labelsArray+npy.IndexText(in.arrays[labelsArray].Shape, sample*in.nodes.count+s)
		return e
	}
	return numbered{labels: in.spec.Labels[sample], typeOf: in.nodes.typeOf, place: place, hides: hiddenNumber}
}

func (in *npzInstance) statesPlace(s int) string {
	return statesArray + npy.IndexText(in.states.Shape, min(s, len(in.states.Ints)-1))
}

// edgePlace is where an edge stands.
func edgePlace(edge int) string { return fmt.Sprintf("%s[%d]", edgesArray, edge) }
