package learn

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/stretch"
)

const (
	// maxRotated is the largest number of features whose second moments are
	// diagonalised: beyond, only their diagonal is used.
	maxRotated = 512
	// relativeFloor of the regulariser in P keeps it invertible for l2 = 0.
	relativeFloor = 1e-9
	// heldShare of the largest eigenvalue of A is the regulariser while messages lag behind the
	// weights: in directions with less curvature, such as those that only the borders of a grid
	// tell apart, they would move by many nats in one step (results/2026-11-lag.md).
	heldShare = 1e-3
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
	least, held         float64   // l2, or a little more; what holds steps that messages have to follow
	floor               float64   // one of them
	rotated             []float64 // scratch [features][states]
}

// newKronecker sums f fᵀ, scaled, over all nodes or edges of a type.
func newKronecker(span crf.Span, data []*crf.Instance, node bool, t int, scale func(*crf.Instance, int32) float64) *kronecker {
	d := span.Features
	k := &kronecker{span: span, values: make([]float64, d), rotated: make([]float64, span.Copy())}
	diagonal := span.Untied || d > maxRotated || d == 0
	row := make([]float64, d)
	var dense []float64
	for _, in := range data {
		f, typeOf, rowOf, n := elements(in, node, t)
		read := f.Reader()
		book := f.Data().Book
		if ground.Tables(f) > 0 && book == nil {
			diagonal = true // one-hot rows: A is diagonal
		}
		if !diagonal && dense == nil {
			dense = make([]float64, d*d)
		}
		if book != nil { // few distinct rows: each is added once, by how much there is of it
			weights := make([]float64, ground.Tables(f))
			for i := range int32(n) {
				if typeOf(i) == t {
					weights[ground.TableOf(f, rowOf(i))] += scale(in, i)
				}
			}
			for c, weight := range weights {
				k.add(dense, book[c*d:][:d], weight)
			}
			continue
		}
		if pixels, ok := f.Data().Computed.(*stretch.Map); ok && diagonal && dense == nil {
			element := make([]int32, f.Rows()) // of each row
			for i := range int32(n) {
				if typeOf(i) == t {
					element[rowOf(i)] = i
				}
			}
			pixels.AddSquares(k.values, func(row int) float64 { return scale(in, element[row]) })
			continue
		}
		for i := range int32(n) {
			switch {
			case typeOf(i) != t || d == 0:
			case diagonal && dense == nil && f.Data().Start != nil:
				weight := scale(in, i)
				for j, x := range f.Entries(rowOf(i)) {
					k.values[j] += weight * x * x
				}
			default:
				read(row, rowOf(i))
				k.add(dense, row, scale(in, i))
			}
		}
	}
	if span.Untied && span.Len > 0 {
		for j := range k.values {
			k.values[j] /= float64(span.Len / span.Copy()) // the mean over the copies
		}
	}
	if !diagonal && dense != nil {
		k.setSecond(dense)
	}
	return k
}

// setSecond takes the upper triangle of A.
func (k *kronecker) setSecond(dense []float64) {
	k.second = mat.NewSymDense(k.span.Features, dense)
}

// elements returns the features of the nodes or edges of type t, the type and the
// row of each node or edge, and their number over all types.
func elements(in *crf.Instance, node bool, t int) (f *crf.Features, typeOf, rowOf func(int32) int, n int) {
	if node {
		return in.NodeFeatures(t), in.NodeType, in.NodeRow, in.Graph.NumNodes()
	}
	return in.EdgeFeatures(t), in.EdgeType, in.EdgeRow, in.Graph.NumEdges()
}

// add adds weight·f fᵀ to the upper triangle of dense, or its diagonal to the
// values where dense is nil.
func (k *kronecker) add(dense, f []float64, weight float64) {
	for i, x := range f {
		if x == 0 {
			continue
		}
		x *= weight
		if dense == nil {
			k.values[i] += x * f[i]
			continue
		}
		out := dense[i*len(f):][:len(f)]
		for j := i; j < len(f); j++ {
			out[j] += x * f[j]
		}
	}
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
	k.least = max(l2, relativeFloor*largest)
	if k.least == 0 {
		k.least = 1 // a type without features or elements: any value does
	}
	k.floor, k.held = k.least, max(k.least, heldShare*largest)
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
		k.rotate(k.rotated, g[at:][:size], true)
		for j, a := range k.values {
			k.solveRow(k.rotated[j*k.span.States:][:k.span.States], max(0, a), mean)
		}
		k.rotate(dst[at:][:size], k.rotated, false)
	}
}

func (k *kronecker) solveRow(r []float64, a float64, mean []float64) {
	total, rest := 0.0, 0.0
	for i, p := range mean {
		d := a*p + k.floor
		r[i] /= d
		total += p * r[i]
		rest += p * k.floor / d // = 1 − a Σ p²/d, since Σp = 1, without cancellation
	}
	if rest <= 0 {
		return
	}
	for i, p := range mean {
		r[i] += a * p / (a*p + k.floor) * total / rest
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

// kroneckerBytes returns what newKronecker and diagonalise take.
func kroneckerBytes(span crf.Span, data []*crf.Instance, node bool, t int) float64 {
	d := float64(span.Features)
	bytes := doubleBytes * (d + float64(span.Copy()))
	if span.Untied || span.Features > maxRotated || span.Features == 0 {
		return bytes
	}
	for _, in := range data {
		if f, _, _, _ := elements(in, node, t); ground.Tables(f) > 0 && f.Data().Book == nil {
			return bytes
		}
	}
	return bytes + doubleBytes*eigenCopies*d*d
}
