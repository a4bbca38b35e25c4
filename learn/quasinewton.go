package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// quasiNewton is limited-memory BFGS (Nocedal 1980) on top of the estimate P⁻¹
// of the inverse Hessian: from pairs of a change s of the weights and the change
// y of the gradient that it made, it learns the curvature that P leaves out.
type quasiNewton struct {
	solve   func(dst, g []float64) // dst = P⁻¹ g
	s, y    [pairsKept][]float64
	scalars []float64 // see the constants below
	alpha   [pairsKept]float64
	plain   []float64 // scratch
}

// Places in quasiNewton.scalars.
const (
	memoryPairs   = iota // pairs stored since the last reset
	memoryNext           // where the next pair goes
	memoryScale          // γ: the scale of P⁻¹ in the two-loop recursion
	memoryInverse        // 1/sᵀy of each pair from here on
	memoryScalars = memoryInverse + pairsKept
)

const (
	// pairsKept is the memory of the recursion.
	pairsKept = 10
	// flattest bounds sᵀy/yᵀP⁻¹y from below: pairs that see less curvature are not used.
	flattest = 1e-8
)

func newQuasiNewton(size int, solve func(dst, g []float64)) *quasiNewton {
	q := &quasiNewton{solve: solve, scalars: make([]float64, memoryScalars), plain: make([]float64, size)}
	for i := range pairsKept {
		q.s[i], q.y[i] = make([]float64, size), make([]float64, size)
	}
	q.scalars[memoryScale] = 1
	return q
}

// memory returns what a resumed run must find as it was.
func (q *quasiNewton) memory() [][]float64 {
	memory := [][]float64{q.scalars}
	for i := range pairsKept {
		memory = append(memory, q.s[i], q.y[i])
	}
	return memory
}

// next returns the slices that the next pair is to be written to, before store.
func (q *quasiNewton) next() (s, y []float64) {
	i := int(q.scalars[memoryNext])
	return q.s[i], q.y[i]
}

// store keeps the pair written to next if it shows positive curvature.
func (q *quasiNewton) store() {
	c := q.scalars
	c[memoryPairs] = min(c[memoryPairs], pairsKept-1) // the oldest was overwritten
	i := int(c[memoryNext])
	s, y := q.s[i], q.y[i]
	q.solve(q.plain, y)
	sy, yPy := simd.Dot(s, y), simd.Dot(y, q.plain)
	if !(sy > flattest*yPy) {
		return
	}
	c[memoryInverse+i] = 1 / sy
	c[memoryScale] = min(sy/yPy, 1/flattest)
	c[memoryNext] = float64((i + 1) % pairsKept)
	c[memoryPairs]++
}

// reset forgets all pairs; scale is γ until the next pair measures it anew.
func (q *quasiNewton) reset(scale float64) {
	q.scalars[memoryPairs], q.scalars[memoryScale] = 0, scale
}

// direct writes the product of the inverse Hessian's approximation and the
// gradient to dst.
func (q *quasiNewton) direct(dst, gradient []float64) {
	c := q.scalars
	pairs, next := int(c[memoryPairs]), int(c[memoryNext])
	copy(dst, gradient)
	for n := 1; n <= pairs; n++ { // newest first
		i := (next - n + pairsKept) % pairsKept
		q.alpha[i] = c[memoryInverse+i] * simd.Dot(q.s[i], dst)
		simd.AddScaled(dst, q.y[i], -q.alpha[i])
	}
	q.solve(dst, dst)
	for j := range dst {
		dst[j] *= c[memoryScale]
	}
	for n := pairs; n >= 1; n-- {
		i := (next - n + pairsKept) % pairsKept
		beta := c[memoryInverse+i] * simd.Dot(q.y[i], dst)
		simd.AddScaled(dst, q.s[i], q.alpha[i]-beta)
	}
}

// quasiNewtonMemory lists what newQuasiNewton takes: pairs when they are first written to,
// as the system has it, which is no more often than there are passes.
func quasiNewtonMemory(m *Memory, size, passes float64) {
	vectors := 2*math.Floor(min(pairsKept, passes)) + 1
	m.Add("pairs of steps and changes of the gradient", vectors*doubleBytes*size, "%.0f vectors of %.0f weights × 8 bytes", vectors, size)
}
