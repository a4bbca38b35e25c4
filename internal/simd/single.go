package simd

import "math"

// The kernels of this file are single-precision twins of those of an iteration.
// What persists, log-messages, log-beliefs, sums and gradients, stays float64; the
// tables of edges, weights and sums of messages in the making and the beliefs of
// edges are float32. Offsets in lists count entries, of whatever size: those of
// beliefs and messages float64, those of tables and scratch float32, but for
// Message.Sum, which counts float64.

// implementation32 is what an implementation has in single precision.
type implementation32 struct {
	cavities       func(weights []float32, beliefs, messages []float64, list []Message)
	exp            func(dst, x []float32)
	log            func(dst, x []float32)
	products       func(out, weights, tables []float32, list []Message)
	allSafe        func(x []float32) bool
	absorbAll      func(messages, sums []float64, out []float32, list []Message, damping float64) (residual float64)
	exponentials   func(tables []float32, size int, inverse []float64) (done int)
	multiplyMatrix func(dst, f, w []float32, rows, d, k int)
	scatterMatrix  func(w []float64, f, t []float32, rows, d, k int)
	narrow         func(dst []float32, x []float64)
	edgeBeliefs    func(dst []float32, logZ, product, beliefs, messages []float64, tables []float32, edges []Edge, ku, kv int) (done int)
}

// TooSmall32 is TooSmall for single precision.
const TooSmall32 = 1e-30

// Padding32 is Padding for scratch of float32.
const Padding32 = 16

// smallestNormal32 is the smallest positive float32 that is not denormal, and
// flushed32 the smallest number of which Exp32 gives the exponential: the least
// float32 x with e^x ≥ smallestNormal32.
const (
	smallestNormal32 = 0x1p-126
	flushed32        = -0x1.5d589ep6
)

// moderate32 is the largest magnitude of an exponent that Exponentials32 takes.
const moderate32 = 40

// Cavities32 is Cavities: the difference is made in float64 and then rounded.
// It is −Inf where the message is, and where the belief is unless the message is a
// NaN.
func Cavities32(weights []float32, beliefs, messages []float64, list []Message) {
	active.single.cavities(weights, beliefs, messages, list)
}

// Exp32 computes dst[i] = e^x[i]. Results that are not normal numbers are 0: those
// of x < log 2^−126 = −87.34. len(x) ≥ len(dst); dst may be x.
func Exp32(dst, x []float32) { active.single.exp(dst, x[:len(dst)]) }

// Log32 computes dst[i] = log x[i], the natural logarithm: −Inf at ±0 and NaN
// below; x may be denormal. len(x) ≥ len(dst); dst may be x.
func Log32(dst, x []float32) { active.single.log(dst, x[:len(dst)]) }

// Narrow computes dst[i] = x[i], rounded to the nearest float32. len(x) ≥ len(dst).
func Narrow(dst []float32, x []float64) { active.single.narrow(dst, x[:len(dst)]) }

// Products32 is Products.
func Products32(out, weights, tables []float32, list []Message) {
	active.single.products(out, weights, tables, list)
}

// AllSafe32 reports whether every entry is in [TooSmall32, MaxFloat32].
func AllSafe32(x []float32) bool { return active.single.allSafe(x) }

// AbsorbAll32 is AbsorbAll with the messages of out, converted to float64 before
// anything is computed with them. It leaves out as it is.
func AbsorbAll32(messages, sums []float64, out []float32, list []Message, damping float64) (residual float64) {
	return active.single.absorbAll(messages, sums, out, list, damping)
}

// Exponentials32 is Exponentials for exponents θ·inverse[i], a product of float32,
// up to a magnitude of 40.
func Exponentials32(tables []float32, size int, inverse []float64) (done int) {
	return active.single.exponentials(tables[:size*len(inverse)], size, inverse)
}

// MultiplyMatrix32 is MultiplyMatrix, with sums in single precision.
func MultiplyMatrix32(dst, f, w []float32, rows, d, k int) {
	active.single.multiplyMatrix(dst[:rows*k], f[:rows*d], w[:d*k], rows, d, k)
}

// ScatterMatrix32 is ScatterMatrix: each sum over the rows is made in single
// precision, from 0, and then added to w in double. Its error grows with the number
// of rows: pass no more than 64 or so at a time.
func ScatterMatrix32(w []float64, f, t []float32, rows, d, k int) {
	active.single.scatterMatrix(w[:d*k], f[:rows*d], t[:rows*k], rows, d, k)
}

// EdgeBeliefs32 is EdgeBeliefs. Cavities, shifted to a largest entry of 0, are made
// in float64 and then rounded; what is summed over the table is float32; log Z and
// the product are put together in float64. An edge is not safe where the total,
// without the shifts, is not in [TooSmall32, MaxFloat32].
func EdgeBeliefs32(dst []float32, logZ, product, beliefs, messages []float64, tables []float32, edges []Edge, ku, kv int) (done int) {
	n := len(edges)
	return active.single.edgeBeliefs(dst[:n*ku*kv], logZ[:n], product[:n], beliefs, messages, tables, edges, ku, kv)
}

// cavity is belief − message, −Inf where the message is.
func cavity(belief, message float64) float64 {
	if message < -math.MaxFloat64 {
		return negativeInfinity
	}
	return belief - message
}
