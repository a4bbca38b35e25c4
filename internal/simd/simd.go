package simd

import "math"

// implementation is one complete set of kernels. The exported functions check lengths and call the active one.
type implementation struct {
	name           string
	exp            func(dst, x []float64)
	log            func(dst, x []float64) (safe bool)
	dot            func(x, y []float64) float64
	addScaled      func(dst, x []float64, a float64)
	extrapolate    func(x, old []float64, a float64)
	multiplyMatrix func(dst, f, w []float64, rows, d, k int, a float64) (done bool)
	scatterMatrix  func(w, f, t []float64, rows, d, k int)
	edgeBeliefs    func(dst, totals, products, tables, weights, logs []float64, at []int, ku, kv int)
	cavities       func(weights, beliefs, messages []float64, source, directed []int32, beliefAt, messageAt []int,
		n int, sizes []int32)
	products func(out, weights, tables []float64, directed, edge []int32, at []int, source, target int,
		sources, targets []int32)
	absorb func(messages, sums, potentials, out []float64, directed []int32, messageAt []int, rho []float64,
		same float64, list []Node, damping float64) (residual float64)
	totals func(totals, weights []float64, list []Node)
	settle func(beliefs, sums, logTotals []float64, list []Node) (residual float64)
	panels *panelKernels   // or none
	pairs  pairKernels     // or none
	narrow *implementation // for rows of few entries, or none
}

// pairKernels are for two states at either end of all edges: for as many messages or edges as a vector has entries,
// and more. They do the steps Cavities to Log, and WriteBeliefs of Edges.
type pairKernels struct {
	least    int
	messages func(out, beliefs, messages, tables []float64, source, directed, edge []int32, at []int) (safe bool)
	beliefs  func(dst, logZ, product, beliefs, messages, tables []float64, edge, u, v []int32, at []int) (safe bool)
}

// mostNarrow is the most entries of a row for which vectors of four are quicker: they do not fill half of one of eight.
const mostNarrow = 4

// forRows returns the kernels for rows of up to so many entries.
func (k *implementation) forRows(most int) *implementation {
	if k.narrow != nil && most <= mostNarrow {
		return k.narrow
	}
	return k
}

// active is chosen once, when the package is initialised.
var active = supported()[0]

// Name returns the name of the kernels in use: "avx512", "avx2" or "plain".
func Name() string { return active.name }

// TooSmall is the sum below which an entry of a multiplicative message is not
// trusted: terms that the exponential rounded to zero could then matter.
const TooSmall = 1e-290

var negativeInfinity = math.Inf(-1)

// Exp computes dst[i] = e^x[i]. len(x) ≥ len(dst); dst may be x.
func Exp(dst, x []float64) { active.exp(dst, x[:len(dst)]) }

// Log computes dst[i] = log x[i], the natural logarithm: −Inf at ±0 and NaN
// below. It reports whether every x[i] is in [TooSmall, MaxFloat64]. len(x) ≥ len(dst); dst may be x.
func Log(dst, x []float64) (safe bool) { return active.log(dst, x[:len(dst)]) }

// Max returns the largest entry: NaN if there is a NaN, −Inf if x is empty.
func Max(x []float64) float64 {
	largest := negativeInfinity
	for _, v := range x {
		if v > largest || v != v {
			largest = v
		}
	}
	return largest
}

// Dot returns Σ x[i] y[i]. len(y) ≥ len(x).
func Dot(x, y []float64) float64 { return active.dot(x, y[:len(x)]) }

// Entropy returns −Σ x[i] log x[i] over the entries that are not below the smallest normal number.
// len(scratch) ≥ len(x).
func Entropy(x, scratch []float64) (entropy float64) {
	logs := scratch[:len(x)]
	if !Log(logs, x) {
		for i, v := range x {
			if v < smallestNormal {
				logs[i] = 0
			}
		}
	}
	return -Dot(x, logs)
}

// AddScaled computes dst[i] += a x[i]. len(x) ≥ len(dst).
func AddScaled(dst, x []float64, a float64) { active.addScaled(dst, x[:len(dst)], a) }

// Extrapolate makes x[i] + a (x[i] − old[i]) of x[i], where both are finite, and keeps what x[i] was
// in old[i]. len(old) ≥ len(x).
func Extrapolate(x, old []float64, a float64) { active.extrapolate(x, old[:len(x)], a) }

// MultiplyMatrix computes dst[r*k+x] = Σ_j f[r*d+j] w[j*k+x]: many rows of features times the weights. Each sum is made
// in an order that depends on d alone, so that a row's result is the same in whatever company it comes. rows, d and k ≥
// 0; len(dst) ≥ rows·k, len(f) ≥ rows·d, len(w) ≥ d·k; dst is distinct from the others.
func MultiplyMatrix(dst, f, w []float64, rows, d, k int) {
	active.forRows(k).multiplyMatrix(dst[:rows*k], f[:rows*d], w[:d*k], rows, d, k, 0)
}

// MultiplyExp computes e^(a x) of what MultiplyMatrix gives, a ≠ 0, or reports false: an exponent has a magnitude above
// 300 or is a NaN, and dst is rubbish.
func MultiplyExp(dst, f, w []float64, rows, d, k int, a float64) (done bool) {
	return active.forRows(k).multiplyMatrix(dst[:rows*k], f[:rows*d], w[:d*k], rows, d, k, a)
}

// moderate is the largest magnitude of an exponent that MultiplyExp takes.
const moderate = 300

// Exponentials computes dst[i] = e^(a x[i]), or reports false, as MultiplyExp does of the product of 1 and x, a ≠ 0;
// len(dst) ≥ len(x); dst is distinct from x.
func Exponentials(dst, x []float64, a float64) (done bool) {
	return MultiplyExp(dst, one[:], x, 1, 1, len(x), a)
}

var one = [1]float64{1}

// ScatterMatrix computes w[j*k+x] += Σ_r f[r*d+j] t[r*k+x], the adjoint of MultiplyMatrix. Each sum is made in the
// order of the rows. rows, d and k ≥ 0; len(w) ≥ d·k, len(f) ≥ rows·d, len(t) ≥ rows·k; w is distinct from the others.
func ScatterMatrix(w, f, t []float64, rows, d, k int) {
	active.forRows(k).scatterMatrix(w[:d*k], f[:rows*d], t[:rows*k], rows, d, k)
}
