package linear

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// Fisher is the estimate P of the Hessian of L at the start: a Kronecker product for each type of nodes and of edges,
// as if none answered to another (docs/explanation/equations.md, section 8).
type Fisher struct {
	layout *crf.Layout
	spans  []crf.Span   // of all types: nodes, then edges
	at     []int        // [types] where their π begin
	parts  []*Kronecker // [types]
	// Squares [types][features] are Σ f²/ρ.
	Squares [][]float64
}

// NewFisher takes the second moments Σ f fᵀ/ρ of the features of each type, or their diagonal where these are many.
func NewFisher(layout *crf.Layout, l2 float64, moments func(kind int) []float64) (*Fisher, error) {
	f, at := &Fisher{layout: layout, spans: slices.Concat(layout.Node, layout.Edge)}, 0
	for kind, span := range f.spans {
		f.at = append(f.at, at)
		at += span.States
		k, err := NewKronecker(span.Features, span.States, moments(kind), l2)
		if err != nil {
			return nil, fmt.Errorf("learn: %w", err)
		}
		f.parts, f.Squares = append(f.parts, k), append(f.Squares, k.Squares)
	}
	return f, nil
}

// Solve computes dst = P⁻¹ g; dst may be g. beliefs are the mean beliefs of all types.
func (f *Fisher) Solve(dst, g, beliefs []float64) {
	for kind, span := range f.spans {
		f.parts[kind].Solve(dst[span.At:][:span.Len], g[span.At:][:span.Len], beliefs[f.at[kind]:][:span.States])
	}
	f.layout.Symmetrise(dst) // without what rounding leaves
}
