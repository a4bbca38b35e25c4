package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/linear"
)

// fisher is the estimate P of the Hessian of L at the start: a Kronecker product for each type of nodes and of edges,
// as if none answered to another (docs/explanation/equations.md, section 8).
type fisher struct {
	layout *crf.Layout
	spans  []crf.Span          // of all types: nodes, then edges
	at     []int               // [types] where their π begin
	parts  []*linear.Kronecker // [types]
	// squares [types][features] are Σ f²/ρ.
	squares [][]float64
}

// newFisher sums the second moments of everything in the data.
func newFisher(l *learner, s *statistics) (*fisher, error) {
	f, at := &fisher{layout: s.layout, spans: allSpans(s.layout)}, 0
	for kind, span := range f.spans {
		f.at = append(f.at, at)
		at += span.States
		k, err := linear.NewKronecker(span.Features, span.States, s.ofType(kind), l.problem.L2)
		if err != nil {
			return nil, fmt.Errorf("learn: %w", err)
		}
		f.parts, f.squares = append(f.parts, k), append(f.squares, k.Squares)
	}
	return f, nil
}

// solve computes dst = P⁻¹ g; dst may be g. beliefs are the mean beliefs of all types.
func (f *fisher) solve(dst, g, beliefs []float64) {
	for kind, span := range f.spans {
		f.parts[kind].Solve(dst[span.At:][:span.Len], g[span.At:][:span.Len], beliefs[f.at[kind]:][:span.States])
	}
	f.layout.Symmetrise(dst) // without what rounding leaves
}
