package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/simd"
)

// dense is the preconditioner of auto for large data: the Hessian as it is measured
// where the beliefs are (hessian), of all weights together. It is renewed as the number
// of passes grows, and costs a share of them at most. For small problems it is the Hessian
// itself (response), renewed at each step of descent, which makes that Newton's method.
type dense struct {
	denseState
	l        *learner
	stars    *hessian    // nil: it is not measured so
	squares  [][]float64 // of fisher, for it
	exact    bool        // it is the Hessian of L, by response
	size     int
	free     float64                     // work on renewals in any case
	passWork float64                     // of a pass of visits
	renewal  float64                     // work of one
	mean     func(h, gradient []float64) // makes it that of symmetric weights; nil: it is
	fresh    []float64                   // [size*size] scratch
	measured []float64                   // [size*size] the Hessian
}

// denseState is what a resumed run goes on from.
type denseState struct {
	has    bool      // a factor
	passes int       // that ended with an accepted step
	due    float64   // of them, before the next renewal
	spent  float64   // work on renewals
	factor []float64 // [size*size] L of H = L Lᵀ in the lower triangle
}

const (
	// maxDense is the largest number of weights with a dense Hessian.
	maxDense = 2048
	// nodesForWeight is how many nodes the data have at least for each weight: few beliefs
	// say little about so many directions.
	nodesForWeight = 4
	// mostOfVisit is how much more work than visits a solution per iteration may be.
	mostOfVisit = 4.0
	// renewalShare of the work of all passes, and freeRenewals, may go into renewals, or
	// freeExact, about a second, where they are exact.
	renewalShare = 0.5
	freeRenewals = 2e8
	freeExact    = 4e8
	// eigenWork times n³ is about what the eigenvalues of an n×n matrix take.
	eigenWork = 5.0
	// starsFrom is the accepted step of the first renewal, and starsGrowth how many times more of them there
	// are from one to the next.
	starsFrom, starsGrowth = 3, 2
	// factorWork and listWork are how much faster a multiplication is there than in a message.
	factorWork, listWork = 9.0, 30.0
	// stiffness is what is added to the diagonal of H, relatively: with l2 = 0 there are directions in which
	// nothing changes, and rounding would decide how far to go. stiffening times more is added at a time.
	stiffness, stiffening = 1e-9, 1e3
)

// newDense prepares it, unused where the data are small beside the weights.
func newDense(l *learner, squares [][]float64) *dense {
	size := l.model.Layout.Size
	n, nodes := float64(size), 0
	for _, in := range l.problem.Data {
		nodes += in.Graph.NumNodes()
	}
	d := &dense{l: l, size: size, exact: l.response != nil, squares: squares, passWork: l.passWork()}
	if d.exact {
		d.free, d.renewal = freeExact, l.response.Work
	} else if d.stars = newHessian(l); d.stars != nil {
		d.free, d.due, d.renewal = freeRenewals, starsFrom, d.stars.work()
		if float64(nodes) < nodesForWeight*n || n*n/linear.SolveWork*float64(l.perPass()) > mostOfVisit*d.passWork {
			d.stars = nil
		}
	}
	if !d.measures() {
		return d
	}
	if l.model.Layout.Symmetric() {
		d.mean = linear.Symmetric(&l.model.Layout)
	}
	d.renewal += n * n * n / factorWork
	d.factor, d.fresh, d.measured = make([]float64, size*size), make([]float64, size*size), make([]float64, size*size)
	return d
}

// measures reports whether there is anything to measure it by.
func (d *dense) measures() bool { return d.exact || d.stars != nil }

// measure measures the Hessian where the beliefs are. With a damping it is the system of a damped step, and gradient
// that of F less what messages answer to it.
func (d *dense) measure(gradient []float64, damping float64) (err error) {
	if d.exact {
		err = d.measureAll(gradient, damping)
	} else {
		err = d.stars.measure(d.measured, d.squares)
	}
	if d.mean != nil {
		d.mean(d.measured, gradient)
	}
	return err
}

// measureAll measures the Hessian itself.
func (d *dense) measureAll(gradient []float64, damping float64) error {
	clear(d.measured)
	clear(gradient)
	if err := d.l.response.Measure(d.measured, gradient, damping); err != nil {
		return err
	}
	l2 := d.l.problem.L2
	for i := range d.size {
		d.measured[i*d.size+i] += l2
	}
	for i := range gradient {
		gradient[i] += l2*d.l.model.Weights[i] - d.l.data[i]
	}
	return nil
}

// on reports whether there is a factor.
func (d *dense) on() bool { return d.has }

// endPass renews the factor if it is time, and reports whether it did. A Hessian that
// cannot be measured or factorised leaves the last one in place.
func (d *dense) endPass() bool {
	d.passes++
	if !d.measures() || float64(d.passes) < d.due || !d.affords(d.renewal) {
		return false
	}
	if !d.exact {
		d.due = starsGrowth * float64(d.passes)
	}
	return d.measure(nil, 0) == nil && d.decompose() && d.keep()
}

// keep takes the fresh factor.
func (d *dense) keep() bool {
	d.factor, d.fresh, d.has = d.fresh, d.factor, true
	return true
}

// solveDamped finds the right-hand side of a damped step, and the direction that solves it.
func (d *dense) solveDamped(direction, gradient []float64, damping float64) bool {
	if d.measure(gradient, damping) != nil || !d.factorise(stiffness) {
		return false
	}
	d.keep()
	d.solve(direction, gradient)
	return simd.Dot(direction, direction) <= math.MaxFloat64
}

// affords spends work on a renewal, or reports that it may not be spent.
func (d *dense) affords(work float64) bool {
	if d.spent+work > renewalShare*float64(d.passes)*d.passWork+d.free {
		return false
	}
	d.spent += work
	return true
}

// factorise writes the Cholesky factor of what was measured to d.fresh, with a share of its diagonal added. It
// reports false where that is not positive definite.
func (d *dense) factorise(share float64) bool {
	copy(d.fresh, d.measured)
	linear.Stiffen(d.fresh, d.size, share)
	return linear.Factorise(d.fresh, d.size, d.l.each)
}

// decompose factorises what was measured. Where rounding has left a convex objective an indefinite
// Hessian, more is added to its diagonal. The Hessian of another objective may be indefinite: its eigenvalues are
// taken without their signs then, and steps leave a saddle along the directions that fall.
func (d *dense) decompose() bool {
	if d.factorise(stiffness) {
		return true
	}
	for share := stiffness * stiffening; d.l.convex && share < 1; share *= stiffening {
		if d.factorise(share) {
			return true
		}
	}
	n := float64(d.size)
	return d.exact && !d.l.convex && d.affords(eigenWork*n*n*n) &&
		linear.Absolute(d.measured, d.size, stiffness) && d.factorise(stiffness)
}

// definite reports whether the Hessian itself, measured here, has positive eigenvalues alone.
func (d *dense) definite() bool {
	return d.exact && d.affords(d.renewal) && d.measure(nil, 0) == nil && d.factorise(stiffness)
}

// solve computes dst = H⁻¹ g; dst may be g.
func (d *dense) solve(dst, g []float64) {
	copy(dst, g)
	linear.Solve(d.factor, d.size, dst)
}
