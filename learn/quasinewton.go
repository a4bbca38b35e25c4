package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// quasiNewton is limited-memory BFGS (Nocedal 1980) on top of the estimate P⁻¹
// of the inverse Hessian: from pairs of a change s of the weights and the change
// y of the gradient that it made, it learns the curvature that P leaves out.
type quasiNewton struct {
	quasiNewtonState
	solve func(dst, g []float64) // dst = P⁻¹ g
	alpha [pairsKept]float64
	plain []float64 // scratch
}

// quasiNewtonState is what a resumed run goes on from.
type quasiNewtonState struct {
	s, y    [pairsKept][]float64
	pairs   int                // stored since the last reset
	place   int                // where the next pair goes
	scale   float64            // γ: of P⁻¹ in the two-loop recursion
	inverse [pairsKept]float64 // 1/sᵀy of each pair
}

const (
	// pairsKept is the memory of the recursion.
	pairsKept = 20
	// flattest bounds sᵀy/yᵀP⁻¹y from below: pairs that see less curvature are not used.
	flattest = 1e-8
)

func newQuasiNewton(size int, solve func(dst, g []float64)) *quasiNewton {
	all := make([]float64, (2*pairsKept+1)*size) // at once, which rounds least
	next := func() []float64 {
		x := all[:size:size]
		all = all[size:]
		return x
	}
	q := &quasiNewton{solve: solve, plain: next()}
	for i := range pairsKept {
		q.s[i], q.y[i] = next(), next()
	}
	q.scale = 1
	return q
}

// possible refuses a state that no run can have kept.
func (q *quasiNewtonState) possible() error {
	if !(0 <= q.pairs && q.pairs <= pairsKept && 0 <= q.place && q.place < pairsKept) {
		return stateErrorf("%d pairs of curvature, the next in place %d: the file is damaged", q.pairs, q.place)
	}
	return nil
}

// next returns the slices that the next pair is to be written to, before store.
func (q *quasiNewton) next() (s, y []float64) {
	return q.s[q.place], q.y[q.place]
}

// store keeps the pair written to next if it shows positive curvature.
func (q *quasiNewton) store() {
	q.pairs = min(q.pairs, pairsKept-1) // the oldest was overwritten
	s, y := q.next()
	q.solve(q.plain, y)
	sy, yPy := simd.Dot(s, y), simd.Dot(y, q.plain)
	if !(sy > flattest*yPy) {
		return
	}
	q.inverse[q.place] = 1 / sy
	q.scale = min(sy/yPy, 1/flattest)
	q.place = (q.place + 1) % pairsKept
	q.pairs++
}

// reset forgets all pairs; scale is γ until the next pair measures it anew.
func (q *quasiNewton) reset(scale float64) {
	q.pairs, q.scale = 0, scale
}

// rescale measures γ anew, of another P.
func (q *quasiNewton) rescale() {
	if q.scale = 1; q.pairs == 0 {
		return
	}
	i := (q.place - 1 + pairsKept) % pairsKept
	q.solve(q.plain, q.y[i])
	if scale := 1 / (q.inverse[i] * simd.Dot(q.y[i], q.plain)); scale > flattest {
		q.scale = min(scale, 1/flattest)
	}
}

// direct writes the product of the inverse Hessian's approximation and the
// gradient to dst.
func (q *quasiNewton) direct(dst, gradient []float64) {
	copy(dst, gradient)
	for n := 1; n <= q.pairs; n++ { // newest first
		i := (q.place - n + pairsKept) % pairsKept
		q.alpha[i] = q.inverse[i] * simd.Dot(q.s[i], dst)
		simd.AddScaled(dst, q.y[i], -q.alpha[i])
	}
	q.solve(dst, dst)
	for j := range dst {
		dst[j] *= q.scale
	}
	for n := q.pairs; n >= 1; n-- {
		i := (q.place - n + pairsKept) % pairsKept
		beta := q.inverse[i] * simd.Dot(q.y[i], dst)
		simd.AddScaled(dst, q.s[i], q.alpha[i]-beta)
	}
}

// quasiNewtonMemory lists what newQuasiNewton takes: pairs when they are first written to,
// as the system has it, which is no more often than there are passes.
func quasiNewtonMemory(m *Memory, size, passes float64) {
	vectors := 2*math.Floor(min(pairsKept/2, passes)) + 1
	more := 2 * math.Floor(max(0, min(pairsKept, passes)-pairsKept/2))
	const reason = "%.0f vectors of %.0f weights × 8 bytes"
	m.Add("pairs of steps and changes of the gradient", vectors*doubleBytes*size, reason, vectors, size)
	m.perhaps("more such pairs", more*doubleBytes*size, reason+", after more steps", more, size)
}
