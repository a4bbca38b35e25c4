package learn

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
)

// leverage tells, for an element (a node or an edge) of a type, how much of what the data
// know of any one feature it has:
//
//	Σ_j x_j² / Σ_{elements of the type} x_j²
//
// A sample drawn without regard to it misses features that few elements have, and a
// Hessian measured on it would have no curvature for their weights.
type leverage struct {
	nodes, edges [][]float64 // [type][feature] 1 / Σ x_j², or 0
}

// newLeverage sums the squares of the features of all free units.
func newLeverage(l *learner) *leverage {
	v := &leverage{}
	ones := func(int32) float64 { return 1 }
	sums := func(spans []crf.Span, node bool) (all [][]float64) {
		for t, span := range spans {
			squares := l.adder().sumOver(l.problem.Data, span.Features, func(sum []float64, _, i int, r ground.Range) {
				addMoments(sum, true, l.problem.Data[i], r, node, t, ones)
			})
			for j, x := range squares {
				if x > 0 {
					squares[j] = 1 / x
				}
			}
			all = append(all, squares)
		}
		return all
	}
	v.nodes, v.edges = sums(l.model.Layout.Node, true), sums(l.model.Layout.Edge, false)
	return v
}

// of returns the leverage of rows of features of a type in an instance, for one goroutine.
func (v *leverage) of(in *crf.Instance, t int, nodes bool) func(row int) float64 {
	if nodes {
		return leverageOf(in.NodeFeatures(t), v.nodes[t])
	}
	return leverageOf(in.EdgeFeatures(t), v.edges[t])
}

func leverageOf(f *crf.Features, inverse []float64) func(row int) float64 {
	of := func(x []float64) (sum float64) {
		for j, x := range x {
			sum += x * x * inverse[j]
		}
		return sum
	}
	if data := f.Data(); data.Book != nil {
		each := make([]float64, ground.Tables(f))
		for c := range each {
			each[c] = of(data.Book[c*data.Dim:][:data.Dim])
		}
		return func(row int) float64 { return each[data.Bins[row]] }
	}
	x, read := make([]float64, len(inverse)), f.Reader()
	return func(row int) float64 {
		read(x, row)
		return of(x)
	}
}
