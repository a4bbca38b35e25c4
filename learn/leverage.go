package learn

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/stretch"
)

// leverage tells, for an element (a node or an edge) of a type, how much of what the data
// know of any one feature it has:
//
//	Σ_j x_j² / Σ_{elements of the type} x_j²
//
// A sample drawn without regard to it misses features that few elements have, and a
// Hessian measured on it would have no curvature for their weights.
type leverage struct {
	nodes, edges [][]float64   // [type][feature] 1 / Σ x_j², or 0
	row          []float64     // scratch
	last         *crf.Features // read by
	read         func(dst []float64, row int)
}

// newLeverage sums the squares of the features of all free units.
func newLeverage(l *learner) *leverage {
	v := &leverage{nodes: squaresOf(l.model.Layout.Node), edges: squaresOf(l.model.Layout.Edge)}
	for _, u := range l.units {
		if u.isFree() {
			v.add(u.in)
		}
	}
	for _, sums := range [][][]float64{v.nodes, v.edges} {
		for _, squares := range sums {
			for j, x := range squares {
				if x > 0 {
					squares[j] = 1 / x
				}
			}
		}
	}
	return v
}

// squaresOf returns room for a sum for each feature of each type.
func squaresOf(spans []crf.Span) [][]float64 {
	sums := make([][]float64, len(spans))
	for t, span := range spans {
		sums[t] = make([]float64, span.Features)
	}
	return sums
}

func (v *leverage) add(in *crf.Instance) {
	var pixels []*stretch.Map // [node types]
	for t := range v.nodes {
		m, _ := in.NodeFeatures(t).Data().Computed.(*stretch.Map)
		if pixels = append(pixels, m); m != nil {
			m.AddSquares(v.nodes[t], func(int) float64 { return 1 })
		}
	}
	for s := range int32(in.Graph.NumNodes()) {
		t := in.NodeType(s)
		if pixels[t] != nil {
			continue
		}
		for j, x := range v.features(in.NodeFeatures(t), in.NodeRow(s), len(v.nodes[t])) {
			v.nodes[t][j] += x * x
		}
	}
	for e := range int32(in.Graph.NumEdges()) {
		t := in.EdgeType(e)
		for j, x := range v.features(in.EdgeFeatures(t), in.EdgeRow(e), len(v.edges[t])) {
			v.edges[t][j] += x * x
		}
	}
}

// features returns a row of features; valid until the next call.
func (v *leverage) features(f *crf.Features, row, n int) []float64 {
	v.row = numeric.Resize(v.row, n)
	if v.last != f {
		v.last, v.read = f, f.Reader()
	}
	v.read(v.row, row)
	return v.row
}

// node returns the leverage of a node.
func (v *leverage) node(in *crf.Instance, s int32) float64 {
	t := in.NodeType(s)
	return v.of(in.NodeFeatures(t), in.NodeRow(s), v.nodes[t])
}

// edge returns the leverage of an edge.
func (v *leverage) edge(in *crf.Instance, e int32) float64 {
	t := in.EdgeType(e)
	return v.of(in.EdgeFeatures(t), in.EdgeRow(e), v.edges[t])
}

func (v *leverage) of(f *crf.Features, row int, inverse []float64) (sum float64) {
	for j, x := range v.features(f, row, len(inverse)) {
		sum += x * x * inverse[j]
	}
	return sum
}
