package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// dense is the preconditioner of auto for large data: the Hessian as it is measured
// where the beliefs are (hessian), of all weights together. It is renewed as the number
// of passes grows, and costs a share of them at most.
type dense struct {
	measure           func(dst []float64) error // nil: not used
	each              eachThread
	size              int
	passWork          float64
	renewal, solution float64   // work of one
	factor            []float64 // [size*size] L of H = L Lᵀ in the lower triangle
	fresh             []float64 // [size*size] scratch
	scalars           []float64 // see the constants below
}

// Places in dense.scalars.
const (
	denseOn     = iota // 1 where there is a factor
	densePasses        // made
	denseDue           // passes to be made before the next renewal
	denseSpent         // work on renewals
	denseScalars
)

const (
	// maxDense is the largest number of weights with a dense Hessian.
	maxDense = 2048
	// nodesForWeight is how many nodes the data have at least for each weight: few beliefs
	// say little about so many directions.
	nodesForWeight = 4
	// mostOfVisit is how much more work than visits a solution per iteration may be.
	mostOfVisit = 4.0
	// renewalShare of the work of all passes, and freeRenewals, may go into renewals.
	renewalShare = 0.5
	freeRenewals = 2e8
	// renewalGrowth is how many times more passes there are from one renewal to the next.
	renewalGrowth = 1.2
	// mostPromised is the gain per variable, twice over, that a whole step may promise:
	// beyond, beliefs are not those of where the weights go, and their covariances mislead.
	mostPromised = 0.01
	// firstRenewal is the pass of the first, where the end of steps at visits does not ask for it before: what
	// converges by then does not need one.
	firstRenewal = 40
	// solveWork, factorWork and listWork are how much faster a multiplication is there
	// than in a message.
	solveWork, factorWork, listWork = 2.0, 9.0, 30.0
)

// newDense prepares it, unused where the data are small beside the weights.
func newDense(p *StepProblem) *dense {
	n := float64(p.Model.Layout.Size)
	d := &dense{size: p.Model.Layout.Size, passWork: p.PassWork, solution: n * n / solveWork, scalars: make([]float64, denseScalars)}
	nodes := 0
	for _, in := range p.Data {
		nodes += in.Graph.NumNodes()
	}
	if p.Hessian == nil || n > maxDense || float64(nodes) < nodesForWeight*n || d.solution*float64(p.PerPass) > mostOfVisit*p.PassWork {
		return d
	}
	if d.measure, d.each = p.Hessian, p.each; d.each == nil {
		d.each = oneThread
	}
	d.renewal = p.HessianWork + n*n*n/factorWork
	d.factor, d.fresh = make([]float64, d.size*d.size), make([]float64, d.size*d.size)
	d.scalars[denseDue] = firstRenewal
	return d
}

// on reports whether there is a factor.
func (d *dense) on() bool { return d.scalars[denseOn] > 0 }

func (d *dense) memory() [][]float64 { return [][]float64{d.scalars, d.factor} }

// endPass renews the factor if it is time, and reports whether it did. A Hessian that
// cannot be measured or factorised leaves the last one in place.
func (d *dense) endPass() bool {
	c := d.scalars
	c[densePasses]++
	if d.measure == nil || c[densePasses] < c[denseDue] || c[denseSpent]+d.renewal > renewalShare*c[densePasses]*d.passWork+freeRenewals {
		return false
	}
	c[denseSpent] += d.renewal
	c[denseDue] = renewalGrowth * c[densePasses]
	if d.measure(d.fresh) != nil {
		return false
	}
	stiffen(d.fresh, d.size)
	if !factorise(d.fresh, d.size, d.each) {
		return false
	}
	d.factor, d.fresh = d.fresh, d.factor
	c[denseOn] = 1
	return true
}

// hasten asks for a renewal at the end of the next pass.
func (d *dense) hasten() { d.scalars[denseDue] = min(d.scalars[denseDue], d.scalars[densePasses]) }

// solve computes dst = H⁻¹ g; dst may be g.
func (d *dense) solve(dst, g []float64) {
	copy(dst, g)
	for i := range dst {
		row := d.factor[i*d.size:][:d.size]
		dst[i] = (dst[i] - simd.Dot(row[:i], dst[:i])) / row[i]
	}
	for i := len(dst) - 1; i >= 0; i-- {
		row := d.factor[i*d.size:][:d.size]
		dst[i] /= row[i]
		simd.AddScaled(dst[:i], row[:i], -dst[i])
	}
}

// stiffness is what is added to the diagonal of H, relatively: with l2 = 0 there are
// directions in which nothing changes, and rounding would decide how far to go.
const stiffness = 1e-9

// stiffen raises the diagonal of h [n*n] by a share of itself, or of its mean where it is
// zero.
func stiffen(h []float64, n int) {
	mean := 0.0
	for i := range n {
		mean += h[i*n+i] / float64(n)
	}
	for i := range n {
		if x := &h[i*n+i]; *x > 0 {
			*x *= 1 + stiffness
		} else {
			*x = mean
		}
	}
}

// eachThread calls do for all i < n, on any threads.
type eachThread func(n int, do func(worker, i int))

// oneThread is an eachThread without others.
func oneThread(n int, do func(worker, i int)) {
	for i := range n {
		do(0, i)
	}
}

const (
	// rowsFactored is how many rows of a factor are computed together: many for what threads do
	// side by side, few beside what only comes one row after another. rowsOfThread of them
	// take each row above at a time.
	rowsFactored = 48
	rowsOfThread = 4
)

// factorise replaces the lower triangle of h [n*n] by its Cholesky factor. It reports
// false where h is not positive definite.
func factorise(h []float64, n int, each eachThread) bool {
	// solve finds the entries of the rows lo ≤ i < hi of the factor in the columns from to to.
	solve := func(lo, hi, from, to int) {
		for j := from; j < to; j++ {
			other := h[j*n:][:j+1]
			for i := lo; i < hi; i++ {
				row := h[i*n:][:n]
				row[j] = (row[j] - simd.Dot(row[:j], other[:j])) / other[j]
			}
		}
	}
	for lo := 0; lo < n; lo += rowsFactored {
		hi := min(n, lo+rowsFactored)
		if lo > 0 {
			each((hi-lo+rowsOfThread-1)/rowsOfThread, func(_, part int) {
				first := lo + part*rowsOfThread
				solve(first, min(hi, first+rowsOfThread), 0, lo)
			})
		}
		for i := lo; i < hi; i++ {
			solve(i, i+1, lo, i)
			row := h[i*n:][:n]
			pivot := row[i] - simd.Dot(row[:i], row[:i])
			if !(pivot > 0 && pivot <= math.MaxFloat64) {
				return false
			}
			row[i] = math.Sqrt(pivot)
		}
	}
	return true
}

// denseMemory lists what newDense and newHessian take.
func denseMemory(m *Memory, l *learner) {
	layout := &l.model.Layout
	if layout.UntiedSize > 0 || layout.Size > maxDense {
		return
	}
	hessianMemory(m, l)
	if n := float64(layout.Size); denseFits(l) {
		m.perhaps("Hessian of all weights", 2*doubleBytes*n*n, "2 × %d² weights × 8 bytes, where steps go wrong or after %d passes", layout.Size, firstRenewal)
	}
}

// denseFits decides as newDense does.
func denseFits(l *learner) bool {
	n, nodes := float64(l.model.Layout.Size), 0
	for _, in := range l.problem.Data {
		nodes += in.Graph.NumNodes()
	}
	return float64(nodes) >= nodesForWeight*n && n*n/solveWork*float64(l.perPass()) <= mostOfVisit*l.passWork()
}
