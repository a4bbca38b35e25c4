package linear

import (
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Fisher is the first estimate P of the Hessian of L: a Kronecker product for each type of nodes and of edges, as if
// none answered to another (docs/explanation/equations.md, section 8).
type Fisher struct {
	layout *crf.Layout
	spans  []crf.Span   // of all types: nodes, then edges
	at     []int        // [types] where their π begin
	parts  []*Kronecker // [types]
	// Squares [types][features] are Σ f²/ρ over the nodes or edges of a type.
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

const (
	// MaxRotated is the largest number of features of a type whose second moments are diagonalised. Of more only their
	// diagonal is used.
	MaxRotated = 512
	// relativeFloor of the regulariser in P keeps it invertible for l2 = 0.
	relativeFloor = 1e-9
)

// Kronecker is one product A ⊗ C + l2 I of the Hessian's estimate, in the eigenbasis of A.
type Kronecker struct {
	features, states int
	Squares          []float64 // diagonal of A
	values           []float64 // eigenvalues of A
	vectors          []float64 // [features*features] in columns; nil: A is diagonal
	floor            float64   // l2, or a little more
	rotated, shares  []float64 // scratch [features][states], [states]
}

// NewKronecker makes one of A [features*features], or of the diagonal of A [features].
func NewKronecker(features, states int, second []float64, l2 float64) (*Kronecker, error) {
	k := &Kronecker{features: features, states: states, Squares: second, values: second}
	k.rotated, k.shares = make([]float64, features*states), make([]float64, states)
	if len(second) > features {
		k.Squares = make([]float64, features)
		for j := range k.Squares {
			k.Squares[j] = second[j*features+j]
		}
		k.vectors = slices.Clone(second)
		var ok bool
		if k.values, ok = numeric.Eigen(k.vectors, features); !ok {
			return nil, errors.New("the second moments of the features could not be diagonalised")
		}
	}
	largest := max(0, simd.Max(k.values))
	if k.floor = max(l2, relativeFloor*largest); k.floor == 0 {
		k.floor = 1 // a type without features or elements: any value does
	}
	return k, nil
}

// Solve computes this type's part of P⁻¹g for every copy of its weights; dst may be g.
func (k *Kronecker) Solve(dst, g, mean []float64) {
	x, d := k.rotated, k.features
	for at := 0; at < len(g); at += len(x) {
		copy(x, g[at:])
		if k.vectors != nil {
			clear(x)
			simd.ScatterMatrix(x, k.vectors, g[at:], d, d, k.states)
		}
		for j, a := range k.values {
			k.solveRow(x[j*k.states:][:k.states], max(0, a), mean)
		}
		if k.vectors == nil {
			copy(dst[at:], x)
			continue
		}
		simd.MultiplyMatrix(dst[at:], k.vectors, x, d, d, k.states)
	}
}

// solveRow solves (a C + l2) x = r for a row of the eigenbasis, C being diag π − ππᵀ, by the Sherman–Morrison formula.
func (k *Kronecker) solveRow(r []float64, a float64, mean []float64) {
	total, rest := 0.0, 0.0
	shares := k.shares[:len(mean)]
	for i, p := range mean {
		one := 1 / (a*p + k.floor)
		r[i] *= one
		shares[i] = p * one
		total += p * r[i]
		rest += shares[i] // times the floor = 1 − a Σ p²/d, since Σp = 1, without cancellation
	}
	rest *= k.floor
	if rest <= 0 {
		return
	}
	simd.AddScaled(r, shares, total*a/rest)
}
