package learn

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
)

const (
	// maxRotated is the largest number of features whose second moments are
	// diagonalised: beyond, only their diagonal is used.
	maxRotated = 512
	// relativeFloor of the regulariser in P keeps it invertible for l2 = 0.
	relativeFloor = 1e-9
)

// kronecker is one product A ⊗ C + l2 I of the Hessian's estimate: of a type that is
// kept apart, or A and its eigenbasis for a part of fisher.
type kronecker struct {
	span   crf.Span
	second *mat.SymDense // A, nil where only its diagonal is used
	values []float64     // eigenvalues, or diagonal, of A
	// vectors [d*d] are the eigenvectors of A in columns, nil: identity; transposed
	// has them in rows.
	vectors, transposed []float64
	floor               float64   // l2, or a little more
	rotated             []float64 // scratch [features][states]
	shares              []float64 // scratch [states]
}

// newKronecker sums f fᵀ, scaled, over all nodes or edges of a type.
func newKronecker(p *statistics, span crf.Span, node bool, t int) *kronecker {
	d := span.Features
	k := &kronecker{span: span, rotated: make([]float64, span.Copy()), shares: make([]float64, span.States)}
	k.values = make([]float64, d)
	if d == 0 {
		return k
	}
	diagonal := span.Untied || d > maxRotated || slices.ContainsFunc(p.data, func(in *crf.Instance) bool {
		f, _, _ := elements(in, node, t)
		return ground.Tables(f) > 0 && f.Data().Book == nil // one-hot rows: A is diagonal
	})
	size := d * d
	if diagonal {
		size = d
	}
	sum := p.sumOver(p.data, size, func(sum []float64, _, i int, r ground.Range) {
		scale, edge := p.scales(p.data[i])
		if !node {
			scale = edge
		}
		addMoments(sum, diagonal, p.data[i], r, node, t, scale)
	})
	if !diagonal {
		k.setSecond(sum)
		return k
	}
	k.values = sum
	if span.Untied && span.Len > 0 {
		for j := range k.values {
			k.values[j] /= float64(span.Len / span.Copy()) // the mean over the copies
		}
	}
	return k
}

// setSecond takes the upper triangle of A.
func (k *kronecker) setSecond(dense []float64) {
	k.second = mat.NewSymDense(k.span.Features, dense)
}

// elements returns the features of the nodes or edges of type t, and the type and the
// row of each node or edge.
func elements(in *crf.Instance, node bool, t int) (f *crf.Features, typeOf, rowOf func(int32) int) {
	if node {
		return in.NodeFeatures(t), in.NodeType, in.NodeRow
	}
	return in.EdgeFeatures(t), in.EdgeType, in.EdgeRow
}

func (k *kronecker) diagonalise(l2 float64) error {
	if k.second != nil {
		var eigen mat.EigenSym
		if !eigen.Factorize(k.second, true) {
			return fmt.Errorf("learn: the second moments of the features could not be diagonalised")
		}
		eigen.Values(k.values)
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		k.vectors = vectors.RawMatrix().Data
		k.transposed = mat.DenseCopyOf(vectors.T()).RawMatrix().Data
	}
	largest := 0.0
	for _, x := range k.values {
		largest = max(largest, x)
	}
	k.floor = max(l2, relativeFloor*largest)
	if k.floor == 0 {
		k.floor = 1 // a type without features or elements: any value does
	}
	return nil
}

// solve computes this type's part of P⁻¹g, for mean belief π:
// in the eigenbasis of A, each row r solves (a(diag π − ππᵀ) + l2) x = r by the
// Sherman–Morrison formula.
func (k *kronecker) solve(dst, g, mean []float64) {
	size := k.span.Copy()
	if size == 0 {
		return
	}
	for at := k.span.At; at < k.span.At+k.span.Len; at += size {
		x := k.rotated
		if k.vectors == nil { // in its place
			x = dst[at:][:size]
		}
		k.rotate(x, g[at:][:size], true)
		for j, a := range k.values {
			k.solveRow(x[j*k.span.States:][:k.span.States], max(0, a), mean)
		}
		if k.vectors != nil {
			k.rotate(dst[at:][:size], x, false)
		}
	}
}

func (k *kronecker) solveRow(r []float64, a float64, mean []float64) {
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
	total *= a / rest
	for i, x := range shares {
		r[i] += x * total
	}
}

// rotate computes Vᵀx (forward) or Vx, x being [features][states]; dst is not x.
func (k *kronecker) rotate(dst, x []float64, forward bool) {
	if k.vectors == nil {
		copy(dst, x)
		return
	}
	v := k.vectors
	if forward {
		v = k.transposed
	}
	simd.MultiplyMatrix(dst, v, x, k.span.Features, k.span.Features, k.span.States)
}

// eigenCopies is how many matrices setSecond and diagonalise keep: the moments, and their
// eigenvectors in columns and in rows.
const eigenCopies = 3
