package linear

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// Dense is the Hessian of all weights together, as it is measured where the beliefs are: a preconditioner, renewed as
// the number of accepted steps grows, at a share of the cost of as many passes. For large data it is of stars (Sample).
// For small problems it is the Hessian itself (Response), renewed at each step of descent: that is Newton's method.
type Dense struct {
	DenseState
	DenseProblem
	stars    *Sample                     // nil: it is not measured so
	size     int                         // weights
	free     float64                     // work on renewals in any case
	renewal  float64                     // work of one
	mean     func(h, gradient []float64) // makes it that of symmetric weights; nil: it is
	fresh    []float64                   // [size*size] scratch
	measured []float64                   // [size*size] the Hessian
}

// DenseProblem is what a Dense is of.
type DenseProblem struct {
	Model    *crf.Model // at the weights of the moment
	L2       float64
	Data     []float64 // [weights] M w̄
	Convex   bool      // the objective is
	Each     parallel.Loop
	Nodes    int         // of all networks
	PerPass  int         // steps in a pass
	PassWork float64     // of a pass of visits: see Response
	Response *Response   // nil: not for this problem
	Squares  [][]float64 // of Fisher
	// Sample makes a measurement by a sample of stars; it is asked once, if at all.
	Sample func() *Sample
	// In is any instance: its forms of features are those of all.
	In *crf.Instance
}

// DenseState is what a resumed run goes on from.
type DenseState struct {
	Has    bool      // a factor
	Passes int       // that ended with an accepted step
	Due    float64   // of them, before the next renewal
	Spent  float64   // work on renewals
	Factor []float64 // [size*size] L of H = L Lᵀ in the lower triangle
}

const (
	// MaxDense is the largest number of weights with a dense Hessian.
	MaxDense = 2048
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
	// StarsFrom is the accepted step of the first renewal by stars, and starsGrowth how many times more of them there
	// are from one to the next.
	StarsFrom, starsGrowth = 3, 2
	// factorWork is how much faster a multiplication is there than in a message.
	factorWork = 9.0
	// stiffness is what is added to the diagonal of H, relatively: with l2 = 0 there are directions in which
	// nothing changes, and rounding would decide how far to go. stiffening times more is added at a time.
	stiffness, stiffening = 1e-9, 1e3
)

// Sampled reports whether a sample of stars is measured: not for weights of single nodes or edges, and not where the
// data are small beside the weights.
func (p *DenseProblem) Sampled() bool {
	layout, n := &p.Model.Layout, float64(p.Model.Layout.Size)
	return p.Response == nil && layout.UntiedSize == 0 && n <= MaxDense && float64(p.Nodes) >= nodesForWeight*n &&
		n*n/SolveWork*float64(p.PerPass) <= mostOfVisit*p.PassWork
}

// NewDense prepares it, unused where nothing measures it.
func NewDense(p DenseProblem) *Dense {
	d := &Dense{DenseProblem: p, size: p.Model.Layout.Size}
	switch {
	case p.Response != nil:
		d.free, d.renewal = freeExact, p.Response.Work
	case p.Sampled():
		d.stars, d.free, d.Due, d.renewal = p.Sample(), freeRenewals, StarsFrom, SampleWork(p.Model, p.In)
	default:
		return d
	}
	if p.Model.Layout.Symmetric() {
		d.mean = Symmetric(&p.Model.Layout)
	}
	n := float64(d.size)
	d.renewal += n * n * n / factorWork
	numbers := d.size * d.size
	d.Factor, d.fresh, d.measured = make([]float64, numbers), make([]float64, numbers), make([]float64, numbers)
	return d
}

// Measures reports whether there is anything to measure it by, and Exact that this is the Hessian itself.
func (d *Dense) Measures() bool { return d.Exact() || d.stars != nil }

// Exact reports that it is the Hessian itself.
func (d *Dense) Exact() bool { return d.Response != nil }

// Measure measures the Hessian where the beliefs are. With a damping it is the system of a damped step, and gradient
// that of F less what messages answer to it; of stars it is one of damped messages.
func (d *Dense) Measure(gradient []float64, damping float64) (err error) {
	if d.Exact() {
		clear(d.measured)
		clear(gradient)
		err = d.Response.Measure(d.measured, gradient, damping)
		for i := range gradient {
			gradient[i] += d.L2*d.Model.Weights[i] - d.Data[i]
		}
	} else {
		err = d.stars.Measure(d.measured, d.Squares, damping)
	}
	for i := range d.size {
		d.measured[i*d.size+i] += d.L2
	}
	if d.mean != nil {
		d.mean(d.measured, gradient)
	}
	return err
}

// Renew is told of an accepted step: if it is time, it renews the factor, with a damping of stars, and reports that it
// did. A Hessian that cannot be measured or factorised leaves the last one in place.
func (d *Dense) Renew(damping float64) bool {
	d.Passes++
	if !d.Measures() || float64(d.Passes) < d.Due || !d.affords(d.renewal) {
		return false
	}
	if !d.Exact() {
		d.Due = starsGrowth * float64(d.Passes)
	}
	return d.Measure(nil, damping) == nil && d.decompose() && d.keep()
}

// keep takes the fresh factor.
func (d *Dense) keep() bool {
	d.Factor, d.fresh, d.Has = d.fresh, d.Factor, true
	return true
}

// SolveDamped finds the right-hand side of a damped step, and the direction that solves it.
func (d *Dense) SolveDamped(direction, gradient []float64, damping float64) bool {
	if d.Measure(gradient, damping) != nil || !d.factorise(stiffness) {
		return false
	}
	d.keep()
	d.Solve(direction, gradient)
	return simd.Dot(direction, direction) <= math.MaxFloat64
}

// affords spends work on a renewal, or reports that it may not be spent.
func (d *Dense) affords(work float64) bool {
	if d.Spent+work > renewalShare*float64(d.Passes)*d.PassWork+d.free {
		return false
	}
	d.Spent += work
	return true
}

// factorise writes the Cholesky factor of what was measured to d.fresh, with a share of its diagonal added. It
// reports false where that is not positive definite.
func (d *Dense) factorise(share float64) bool {
	copy(d.fresh, d.measured)
	Stiffen(d.fresh, d.size, share)
	return Factorise(d.fresh, d.size, d.Each)
}

// decompose factorises what was measured. Where rounding has left a convex objective an indefinite
// Hessian, more is added to its diagonal. The Hessian of another objective may be indefinite: its eigenvalues are
// taken without their signs then, and steps leave a saddle along the directions that fall.
func (d *Dense) decompose() bool {
	if d.factorise(stiffness) {
		return true
	}
	for share := stiffness * stiffening; d.Convex && share < 1; share *= stiffening {
		if d.factorise(share) {
			return true
		}
	}
	n := float64(d.size)
	return d.Exact() && !d.Convex && d.affords(eigenWork*n*n*n) &&
		Absolute(d.measured, d.size, stiffness) && d.factorise(stiffness)
}

// Solve computes dst = H⁻¹ g; dst may be g.
func (d *Dense) Solve(dst, g []float64) {
	copy(dst, g)
	solveFactor(d.Factor, d.size, dst)
}

// Symmetric returns a function that makes (H + S H S)/2 of H, of whose lower triangle alone counts, S being the swap of
// the states of both ends of symmetric edge types: those have one weight for the states a, b and for b, a, and all
// vectors over weights have it in both places. On symmetric weights that is the Hessian, and it has no part that leads
// away from them. A gradient that belongs to H becomes symmetric too; it may be nil.
func Symmetric(layout *crf.Layout) func(h, gradient []float64) {
	n := layout.Size
	swap := make([]int, n)
	for i := range swap {
		swap[i] = i
	}
	for _, s := range layout.Edge {
		for i := s.At; s.Ends > 0 && i < s.At+s.Len; i++ {
			joint := (i - s.At) % s.States
			swap[i] += joint%s.Ends*s.Ends + joint/s.Ends - joint
		}
	}
	return func(dst, gradient []float64) {
		if gradient != nil {
			layout.Symmetrise(gradient)
		}
		for i := range n {
			for j := range i + 1 {
				row, column := max(swap[i], swap[j]), min(swap[i], swap[j])
				if row > i || row == i && column > j {
					mean := 0.5*dst[i*n+j] + 0.5*dst[row*n+column]
					dst[i*n+j], dst[row*n+column] = mean, mean
				}
			}
		}
	}
}
