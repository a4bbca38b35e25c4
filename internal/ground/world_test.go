package ground

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/upsample"
)

// world is a random model and instance with types of every kind, and the same features again as plain matrices.
type world struct {
	model *crf.Model
	in    *crf.Instance
	node  [][][]float64 // [type][row][feature]
	edge  [][][]float64
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 23)) }

// form is one of the forms of features that drawFeatures makes.
type form int

const (
	formConstant form = iota
	formDense
	formDense32
	formBins
	formSparse
	formCoded
	formUpsampled
)

var allForms = []form{formConstant, formDense, formDense32, formBins, formSparse, formCoded, formUpsampled}

// drawFeatures returns rows × dim features in the given form, and as a matrix.
func drawFeatures(t testing.TB, rng *rand.Rand, f form, rows, dim int) (crf.Features, [][]float64) {
	t.Helper()
	matrix := make([][]float64, rows)
	for r := range matrix {
		matrix[r] = make([]float64, dim)
	}
	if f == formConstant || dim == 0 {
		for _, row := range matrix {
			for j := range row {
				row[j] = 1
			}
		}
		return crf.Constant(rows, dim), matrix
	}
	var features crf.Features
	var err error
	switch f {
	case formDense, formDense32:
		var x []float64
		var single []float32
		for _, row := range matrix {
			for j := range row {
				single = append(single, float32(rng.NormFloat64()))
				row[j] = float64(single[len(single)-1])
				x = append(x, row[j])
			}
		}
		if f == formDense {
			features, err = crf.Dense(x, dim)
		} else {
			features, err = crf.Dense(single, dim)
		}
	case formBins:
		bins := make([]int32, rows)
		for r := range bins {
			bins[r] = int32(rng.IntN(dim))
			matrix[r][bins[r]] = 1
		}
		features, err = crf.Bins(bins, dim)
	case formCoded:
		const codes = 3
		book, of := make([]float64, codes*dim), make([]int32, rows)
		for i := range book {
			book[i] = float64(rng.IntN(3)) * rng.NormFloat64() // some are 0
		}
		for r := range of {
			of[r] = int32(rng.IntN(codes))
			copy(matrix[r], book[int(of[r])*dim:])
		}
		features, err = crf.Coded(of, book, dim)
	case formUpsampled:
		of, over := upsample.Size{Rows: 3, Cols: 4}, upsample.Size{Rows: 5, Cols: 9}
		values := make(upsample.Values, of.Count()*(dim-1))
		for i := range values {
			values[i] = float32(rng.NormFloat64())
		}
		pixels := make([]int32, rows)
		for r := range pixels {
			pixels[r] = int32(rng.IntN(over.Count()))
		}
		features = crf.Compute(upsample.New(values, of, dim-1, over, true).Pick(pixels))
		for r := range matrix {
			features.Row(matrix[r], r)
		}
	case formSparse:
		start, index, value := []int{0}, []int32{}, []float64{}
		ones := rng.IntN(3) == 0
		for _, row := range matrix {
			for range rng.IntN(dim + 2) { // an index may come twice: the values add up
				j, x := rng.IntN(dim), rng.NormFloat64()
				if ones {
					x = 1
				}
				index, value = append(index, int32(j)), append(value, x)
				row[j] += x
			}
			start = append(start, len(index))
		}
		if ones {
			value = nil
		}
		features, err = crf.Sparse(start, index, value, dim)
	}
	oracle.OK(t, err)
	return features, matrix
}

// newWorld draws a world: four node types with 1 to 4 states, one of them without features and one untied; an edge type
// for every pair of node types, two for the first pair, one of them untied.
func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	rng := source(seed)
	const nodes = 24
	nodeType := make([]int32, nodes)
	for s := range nodeType {
		nodeType[s] = int32(rng.IntN(4))
	}
	count := func(types []int32, k int) int {
		n := 0
		for _, x := range types {
			if int(x) == k {
				n++
			}
		}
		return n
	}
	schema := crf.Schema{NodeTypes: []crf.NodeType{
		{Name: "a", States: crf.NumberedStates(3), Features: 1 + rng.IntN(9)},
		{Name: "b", States: crf.NumberedStates(1 + rng.IntN(4)), Features: 1 + rng.IntN(5)},
		{Name: "mute", States: crf.NumberedStates(2)},
		{Name: "own", States: crf.NumberedStates(4), Features: 1, Copies: max(1, count(nodeType, 3))},
	}}
	if count(nodeType, 3) == 0 {
		nodeType[0] = 3
	}
	typeOf := map[[2]int32][]int32{}
	for u := range int32(4) {
		for v := u; v < 4; v++ {
			for copies := range 1 + max(0, 1-int(u)-int(v)) {
				typeOf[[2]int32{u, v}] = append(typeOf[[2]int32{u, v}], int32(len(schema.EdgeTypes)))
				schema.EdgeTypes = append(schema.EdgeTypes, crf.EdgeType{
					Name: string('A'+rune(len(schema.EdgeTypes))) + string('0'+rune(copies)), U: int(u), V: int(v), Features: rng.IntN(7),
				})
			}
		}
	}
	var ends [2][]int32
	var edgeType []int32
	for u := range int32(nodes) {
		for v := u + 1; v < nodes; v++ {
			if rng.IntN(6) > 0 {
				continue
			}
			x, y := u, v
			if nodeType[x] > nodeType[y] {
				x, y = y, x
			}
			types := typeOf[[2]int32{nodeType[x], nodeType[y]}]
			ends[0], ends[1] = append(ends[0], x), append(ends[1], y)
			edgeType = append(edgeType, types[rng.IntN(len(types))])
		}
	}
	untied := int(typeOf[[2]int32{1, 1}][0])
	if n := count(edgeType, untied); n > 0 {
		schema.EdgeTypes[untied].Features, schema.EdgeTypes[untied].Copies = 1, n
	}
	g := oracle.Must(graph.FromEdges(nodes, ends[0], ends[1]))(t)
	w := &world{}
	spec := crf.InstanceSpec{Name: "world", Graph: g, NodeType: nodeType, EdgeType: edgeType}
	draw := func(types []int32, k, dim, copies int) (crf.Features, [][]float64) {
		f := allForms[rng.IntN(len(allForms))]
		if copies > 0 {
			f = formConstant
		}
		return drawFeatures(t, rng, f, count(types, k), dim)
	}
	for a, nt := range schema.NodeTypes {
		f, matrix := draw(nodeType, a, nt.Features, nt.Copies)
		spec.NodeFeat, w.node = append(spec.NodeFeat, f), append(w.node, matrix)
	}
	for b, et := range schema.EdgeTypes {
		f, matrix := draw(edgeType, b, et.Features, et.Copies)
		spec.EdgeFeat, w.edge = append(spec.EdgeFeat, f), append(w.edge, matrix)
	}
	for range 3 {
		labels := make([]int32, nodes)
		for s := range labels {
			labels[s] = int32(rng.IntN(schema.NodeStates(int(nodeType[s])))) - int32(rng.IntN(5)/4)
		}
		spec.Labels = append(spec.Labels, labels)
	}
	w.model = oracle.Must(crf.NewModel(schema))(t)
	for i := range w.model.Weights {
		w.model.Weights[i] = rng.NormFloat64()
	}
	w.in = oracle.Must(crf.NewInstance(&w.model.Schema, spec))(t)
	return w
}

// multiply is grounding by the formula: θ(x) = Σ_j W[x,j] f_j, the weights of
// row r being laid out as [feature][state] in the type's, or the row's own, copy.
func multiply(weights []float64, span crf.Span, f []float64, r int) []float64 {
	at := span.At
	if span.Untied {
		at += r * span.States * span.Features
	}
	theta := make([]float64, span.States)
	for x := range theta {
		for j, value := range f {
			theta[x] += weights[at+j*span.States+x] * value
		}
	}
	return theta
}

// nodeTheta and edgeTheta are the potentials of one node and one edge.
func (w *world) nodeTheta(weights []float64, s int32) []float64 {
	a, r := w.in.NodeType(s), w.in.NodeRow(s)
	return multiply(weights, w.model.Layout.Node[a], w.node[a][r], r)
}

func (w *world) edgeTheta(weights []float64, e int32) []float64 {
	b, r := w.in.EdgeType(e), w.in.EdgeRow(e)
	return multiply(weights, w.model.Layout.Edge[b], w.edge[b][r], r)
}

// blocks cuts the world's graph into random blocks.
func (w *world) blocks(t testing.TB, seed uint64, n int) *partition.Partition {
	t.Helper()
	of := make([]int32, w.in.Graph.NumNodes())
	for i, s := range source(seed).Perm(len(of)) {
		of[s] = int32(i % n)
	}
	return oracle.Must(partition.FromAssignment(w.in.Graph, of, n))(t)
}

// close reports whether two vectors agree to a few units in the last place of sums of about ten terms of order one.
func closeTo(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-13*(1+math.Abs(x)) })
}
