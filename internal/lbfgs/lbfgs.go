// Package lbfgs makes smooth functions small by steps of limited-memory BFGS, and looks with the memory
// of these steps for a way down from saddles.
package lbfgs

import (
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// Curvature is limited-memory BFGS (Nocedal 1980) on top of the estimate P⁻¹ of the inverse Hessian: from pairs of a
// change s of the weights and the change y of the gradient that it made, it learns the curvature that P leaves out.
type Curvature struct {
	State
	solve func(dst, g []float64) // dst = P⁻¹ g
	alpha [Kept]float64
	plain []float64 // scratch
}

// State is what a resumed run goes on from.
type State struct {
	s, y    [Kept][]float64
	pairs   int           // stored since the last reset
	place   int           // where the next pair goes
	scale   float64       // γ: of P⁻¹ in the two-loop recursion
	inverse [Kept]float64 // 1/sᵀy of each pair
}

const (
	// Kept is how many pairs the recursion remembers.
	Kept = 20
	// flattest bounds sᵀy/yᵀP⁻¹y from below: pairs that see less curvature are not used.
	flattest = 1e-8
)

// New returns a Curvature without pairs, of so many weights.
func New(size int, solve func(dst, g []float64)) *Curvature {
	all := make([]float64, (2*Kept+1)*size) // at once, which rounds least
	next := func() []float64 {
		x := all[:size:size]
		all = all[size:]
		return x
	}
	q := &Curvature{solve: solve, plain: next()}
	for i := range Kept {
		q.s[i], q.y[i] = next(), next()
	}
	q.scale = 1
	return q
}

// Next returns the slices that the next pair is to be written to, before Store.
func (q *Curvature) Next() (s, y []float64) {
	return q.s[q.place], q.y[q.place]
}

// Store keeps the pair written to Next if it shows positive curvature.
func (q *Curvature) Store() {
	q.pairs = min(q.pairs, Kept-1) // the oldest was overwritten
	s, y := q.Next()
	q.solve(q.plain, y)
	sy, yPy := simd.Dot(s, y), simd.Dot(y, q.plain)
	if !(sy > flattest*yPy) {
		return
	}
	q.inverse[q.place] = 1 / sy
	q.scale = min(sy/yPy, 1/flattest)
	q.place = (q.place + 1) % Kept
	q.pairs++
}

// Reset forgets all pairs; scale is γ until the next pair measures it anew.
func (q *Curvature) Reset(scale float64) {
	q.pairs, q.scale = 0, scale
}

// Rescale measures γ anew, of another P.
func (q *Curvature) Rescale() {
	if q.scale = 1; q.pairs == 0 {
		return
	}
	i := (q.place - 1 + Kept) % Kept
	q.solve(q.plain, q.y[i])
	if scale := 1 / (q.inverse[i] * simd.Dot(q.y[i], q.plain)); scale > flattest {
		q.scale = min(scale, 1/flattest)
	}
}

// Direct writes the product of the inverse Hessian's approximation and the gradient to dst.
func (q *Curvature) Direct(dst, gradient []float64) {
	copy(dst, gradient)
	for n := 1; n <= q.pairs; n++ { // newest first
		i := (q.place - n + Kept) % Kept
		q.alpha[i] = q.inverse[i] * simd.Dot(q.s[i], dst)
		simd.AddScaled(dst, q.y[i], -q.alpha[i])
	}
	q.solve(dst, dst)
	for j := range dst {
		dst[j] *= q.scale
	}
	for n := q.pairs; n >= 1; n-- {
		i := (q.place - n + Kept) % Kept
		beta := q.inverse[i] * simd.Dot(q.y[i], dst)
		simd.AddScaled(dst, q.s[i], q.alpha[i]-beta)
	}
}

// Vectors returns how many vectors of weights a Curvature has that so many passes write to, and how
// many more of them where they write to all: the system gives memory when it is first written to.
func Vectors(passes float64) (usual, more float64) {
	return 2*math.Floor(min(Kept/2, passes)) + 1, 2 * math.Floor(max(0, min(Kept, passes)-Kept/2))
}
