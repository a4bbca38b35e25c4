package simd

import "math"

// implementation is one complete set of kernels. The exported functions check
// lengths and call the active one.
type implementation struct {
	name            string
	exp             func(dst, x []float64)
	log             func(dst, x []float64)
	expShift        func(dst, x []float64, shift float64) (total float64)
	max             func(x []float64) float64
	vectorTable     func(out, weight, values []float64)
	tableVector     func(out, weight, values []float64)
	addScaled       func(dst, x []float64, a float64)
	scatterRows     func(w, f, t []float64)
	messageForward  func(out, belief, message, values []float64) (safe bool)
	messageBackward func(out, belief, message, values []float64) (safe bool)
	normaliseLog    func(belief, sum []float64, rho float64) (possible bool)
	pairProduct     func(dst, left, right, values []float64) (total float64)
	exponentiate    func(dst, theta []float64, inverse, lowest float64) (largest float64, safe bool)
	absorb          func(old, message, sum []float64, rho, damping float64) (residual float64)
	edgeBelief      func(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool)
	multiplyMatrix  func(dst, f, w []float64, rows, d, k int)
	scatterMatrix   func(w, f, t []float64, rows, d, k int)
	edgeBeliefs     func(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int)
	nodeUpdate      func(belief, sum, beliefs, messages, tables []float64, in []Incoming, rho, damping float64, normalise bool) (residual float64, done int, possible bool)
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
// below. len(x) ≥ len(dst); dst may be x.
func Log(dst, x []float64) { active.log(dst, x[:len(dst)]) }

// ExpShift computes dst[i] = exp(x[i] − shift) and returns the sum.
// len(x) ≥ len(dst); dst may be x.
func ExpShift(dst, x []float64, shift float64) (total float64) {
	return active.expShift(dst, x[:len(dst)], shift)
}

// Max returns the largest entry: NaN if there is a NaN, −Inf if x is empty.
func Max(x []float64) float64 { return active.max(x) }

// VectorTable computes out[j] = Σ_i weight[i] values[i*len(out)+j].
// len(values) ≥ len(weight)*len(out); out is distinct from the others.
func VectorTable(out, weight, values []float64) {
	active.vectorTable(out, weight, values[:len(weight)*len(out)])
}

// TableVector computes out[i] = Σ_j values[i*len(weight)+j] weight[j].
// len(values) ≥ len(weight)*len(out); out is distinct from the others.
func TableVector(out, weight, values []float64) {
	active.tableVector(out, weight, values[:len(weight)*len(out)])
}

// AddScaled computes dst[i] += a x[i]. len(x) ≥ len(dst).
func AddScaled(dst, x []float64, a float64) { active.addScaled(dst, x[:len(dst)], a) }

// MultiplyRows computes dst[x] = Σ_j f[j] w[j*len(dst)+x]: one row of features
// times the weights, as in grounding. len(w) ≥ len(f)*len(dst); dst is distinct
// from the others.
func MultiplyRows(dst, f, w []float64) { VectorTable(dst, f, w) }

// ScatterRows computes w[j*len(t)+x] += f[j] t[x], the adjoint of MultiplyRows.
// len(w) ≥ len(f)*len(t); w is distinct from the others.
func ScatterRows(w, f, t []float64) {
	active.scatterRows(w[:len(f)*len(t)], f, t)
}

// MessageForward computes the log-message of an edge in the direction of its
// table's rows to its columns,
//
//	out[x] = log Σ_y exp(belief[y] − message[y] − shift) values[y*len(out)+x],
//
// shifted so that its largest entry is 0. belief and message [source states] are
// logarithms; a state where either is −Inf is forbidden. values [source states ×
// len(out)] is the exponentiated potential table. It reports false, and leaves
// rubbish in out, where a sum is not in [TooSmall, MaxFloat64], a NaN is met or
// there is no state at all: the caller must then redo the message with
// logarithms throughout. len(message) ≥ len(belief); out is distinct from the
// others.
func MessageForward(out, belief, message, values []float64) (safe bool) {
	return active.messageForward(out, belief, message[:len(belief)], values[:len(belief)*len(out)])
}

// MessageBackward is MessageForward against the direction of the table:
//
//	out[x] = log Σ_y values[x*len(belief)+y] exp(belief[y] − message[y] − shift).
func MessageBackward(out, belief, message, values []float64) (safe bool) {
	return active.messageBackward(out, belief, message[:len(belief)], values[:len(belief)*len(out)])
}

// NormaliseLog computes belief[i] = s − log Σ exp(s), s = (sum[i] − max)/rho,
// with the largest sum taken out. It reports false, and leaves belief as it was,
// where the largest sum is not finite or a sum is NaN. rho > 0 is finite.
// len(sum) ≥ len(belief); belief may be sum.
func NormaliseLog(belief, sum []float64, rho float64) (possible bool) {
	return active.normaliseLog(belief, sum[:len(belief)], rho)
}

// PairProduct computes dst[i*len(right)+j] = left[i] values[i*len(right)+j]
// right[j] and returns the sum of all. len(dst) and len(values) ≥
// len(left)*len(right); dst may be values.
func PairProduct(dst, left, right, values []float64) (total float64) {
	n := len(left) * len(right)
	return active.pairProduct(dst[:n], left, right, values[:n])
}
