package learn

import "github.com/blockbp/blockbp/crf"

// fisher is the estimate P of the Hessian of L at the start: a Kronecker product for each type of nodes and of edges,
// as if none answered to another (docs/explanation/steps.md).
type fisher struct {
	layout *crf.Layout
	spans  []crf.Span   // of all types: nodes, then edges
	at     []int        // [types] where their π begin
	parts  []*kronecker // [types]
}

// newFisher sums the second moments of everything in the data.
func newFisher(p *StepProblem) (*fisher, error) {
	f, at := &fisher{layout: &p.Model.Layout, spans: allSpans(&p.Model.Layout)}, 0
	squares := make([][]float64, len(f.spans))
	for kind, span := range f.spans {
		f.at = append(f.at, at)
		at += span.States
		k, err := newKronecker(span.Features, span.States, p.statistics.ofType(kind), p.L2)
		if err != nil {
			return nil, err
		}
		f.parts, squares[kind] = append(f.parts, k), k.squares
	}
	p.statistics.squares = squares
	return f, nil
}

// solve computes dst = P⁻¹ g; dst may be g. beliefs are the mean beliefs of all types.
func (f *fisher) solve(dst, g, beliefs []float64) {
	for kind, span := range f.spans {
		f.parts[kind].solve(dst[span.At:][:span.Len], g[span.At:][:span.Len], beliefs[f.at[kind]:][:span.States])
	}
	f.layout.Symmetrise(dst) // without what rounding leaves
}
