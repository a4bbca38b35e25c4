package simd

import "math"

// implementation is one complete set of kernels. The exported functions check
// lengths and call the active one.
type implementation struct {
	name           string
	exp            func(dst, x []float64)
	log            func(dst, x []float64)
	expShift       func(dst, x []float64, shift float64) (total float64)
	max            func(x []float64) float64
	vectorTable    func(out, weight, values []float64)
	tableVector    func(out, weight, values []float64)
	dot            func(x, y []float64) float64
	entropy        func(x []float64) float64
	addScaled      func(dst, x []float64, a float64)
	extrapolate    func(x, old []float64, a float64)
	scatterRows    func(w, f, t []float64)
	pairProduct    func(dst, left, right, values []float64) (total float64)
	exponentiate   func(dst, theta []float64, inverse, lowest float64) (largest float64, safe bool)
	absorb         func(old, message, sum []float64, rho, damping float64) (residual float64)
	edgeBelief     func(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool)
	multiplyMatrix func(dst, f, w []float64, rows, d, k int)
	scatterMatrix  func(w, f, t []float64, rows, d, k int)
	edgeBeliefs    func(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int)
	// feasibleEdges leaves how far each edge was off before the rest was spread; none, or for tables of
	// fewer entries than leastFeasible: edgeBeliefs and panels do its work.
	feasibleEdges func(dst, logZ, product, off, beliefs, messages, tables []float64, edges []Edge, ku, kv int, enough float64) (done int)
	leastFeasible int
	cavities      func(weights, beliefs, messages []float64, list []Message)
	products      func(out, weights, tables []float64, list []Message)
	allSafe       func(x []float64) bool
	absorbAll     func(messages, sums, out []float64, list []Message, damping float64) (residual float64)
	shift         func(sums []float64, list []Node) (done int)
	totals        func(totals, weights []float64, list []Node)
	settle        func(beliefs, sums, logTotals []float64, list []Node) (residual float64)
	exponentials  func(tables []float64, size int, inverse []float64) (done int)
	panels        *panelKernels // or none
	uniform       uniform       // all or none
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

// Dot returns Σ x[i] y[i]. len(y) ≥ len(x).
func Dot(x, y []float64) float64 { return active.dot(x, y[:len(x)]) }

// Entropy returns −Σ x[i] log x[i], where 0 log 0 = 0; no entry may be negative. What
// is below the smallest normal number counts as that in the logarithm.
func Entropy(x []float64) float64 { return active.entropy(x) }

// AddScaled computes dst[i] += a x[i]. len(x) ≥ len(dst).
func AddScaled(dst, x []float64, a float64) { active.addScaled(dst, x[:len(dst)], a) }

// Extrapolate makes x[i] + a (x[i] − old[i]) of x[i], where both are finite, and keeps what x[i] was
// in old[i]. len(old) ≥ len(x).
func Extrapolate(x, old []float64, a float64) { active.extrapolate(x, old[:len(x)], a) }

// MultiplyRows computes dst[x] = Σ_j f[j] w[j*len(dst)+x]: one row of features
// times the weights, as in grounding. len(w) ≥ len(f)*len(dst); dst is distinct
// from the others.
func MultiplyRows(dst, f, w []float64) { VectorTable(dst, f, w) }

// ScatterRows computes w[j*len(t)+x] += f[j] t[x], the adjoint of MultiplyRows.
// len(w) ≥ len(f)*len(t); w is distinct from the others.
func ScatterRows(w, f, t []float64) {
	active.scatterRows(w[:len(f)*len(t)], f, t)
}

// PairProduct computes dst[i*len(right)+j] = left[i] values[i*len(right)+j]
// right[j] and returns the sum of all. len(dst) and len(values) ≥
// len(left)*len(right); dst may be values.
func PairProduct(dst, left, right, values []float64) (total float64) {
	n := len(left) * len(right)
	return active.pairProduct(dst[:n], left, right, values[:n])
}
