package linear

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// Dense is a Hessian of all weights together at the beliefs of the moment, factorised: a preconditioner. For large data
// it is a Hessian of stars (Sample), renewed now and then, at a share of the work of the passes made so far. For small
// problems it is the Hessian itself (Response), renewed at each step of descent: that is Newton's method.
type Dense struct {
	DenseState
	DenseProblem
	stars    *Sample                     // nil: it is no Hessian of stars
	size     int                         // weights
	free     float64                     // the work that renewals may take in any case
	renewal  float64                     // the work of one
	symmetry func(h, gradient []float64) // makes these what they are on symmetric weights; nil: no type is symmetric
	fresh    []float64                   // [size*size] scratch
	measured []float64                   // [size*size] the Hessian
}

// DenseProblem is the problem whose Hessian a Dense is.
type DenseProblem struct {
	Model    *crf.Model // at the weights of the moment
	L2       float64
	Data     []float64 // [weights] M w̄
	Convex   bool      // whether the objective is
	Each     parallel.Loop
	Nodes    int         // in all networks
	PerPass  int         // visits in a pass
	PassWork float64     // the work of a pass of visits, in multiplications
	Response *Response   // nil: the problem is too large for it
	Squares  [][]float64 // Fisher.Squares
	// Sample makes a measurement by a sample of stars; it is asked once, if at all.
	Sample func() *Sample
	// In is any instance: its forms of features are those of all.
	In *crf.Instance
}

// DenseState is what a resumed run goes on from.
type DenseState struct {
	Has    bool      // whether there is a factor
	Passes int       // those that ended with an accepted step
	Due    float64   // how many of these there are at the next renewal, at least
	Spent  float64   // the work of all renewals
	Factor []float64 // [size*size] L of H = L Lᵀ in the lower triangle
}

const (
	// MaxDense is the largest number of weights with a dense Hessian.
	MaxDense = 2048
	// nodesForWeight is how many nodes the data have at least for each weight: few beliefs say little about so many
	// directions.
	nodesForWeight = 4
	// mostOfVisit is how many times the work of a visit a solution of the system may be.
	mostOfVisit = 4.0
	// renewalShare of the work of all passes, and freeRenewals beside it, may go into renewals; freeExact, about a second,
	// where they are exact.
	renewalShare = 0.5
	freeRenewals = 2e8
	freeExact    = 4e8
	// eigenWork times n³ is about what the eigenvalues of an n×n matrix take.
	eigenWork = 5.0
	// StarsFrom is how many steps are accepted before stars are measured first, and starsGrowth times as many before they
	// are measured again.
	StarsFrom, starsGrowth = 3, 2
	// factorWork is how many times faster a multiplication of a factorisation is than one for a message.
	factorWork = 9.0
	// stiffness is what is added to the diagonal of H, relatively: with l2 = 0 there are directions in which nothing
	// changes, and rounding would decide how far to go. If that is not enough, stiffening times as much is tried.
	stiffness, stiffening = 1e-9, 1e3
)

// Sampled reports whether a sample of stars is measured: not for weights of single nodes or edges, and not where there
// are few data beside the weights.
func (p *DenseProblem) Sampled() bool {
	layout, n := &p.Model.Layout, float64(p.Model.Layout.Size)
	return p.Response == nil && layout.UntiedSize == 0 && n <= MaxDense && float64(p.Nodes) >= nodesForWeight*n &&
		n*n/solveWork*float64(p.PerPass) <= mostOfVisit*p.PassWork
}

// NewDense prepares it. It stays without a factor where nothing measures it.
func NewDense(p DenseProblem) *Dense {
	d := &Dense{DenseProblem: p, size: p.Model.Layout.Size}
	switch {
	case p.Response != nil:
		d.free, d.renewal = freeExact, p.Response.Work
	case p.Sampled():
		d.stars, d.free, d.Due, d.renewal = p.Sample(), freeRenewals, StarsFrom, sampleWork(p.Model, p.In)
	default:
		return d
	}
	if p.Model.Layout.Symmetric() {
		d.symmetry = Symmetric(&p.Model.Layout)
	}
	n := float64(d.size)
	d.renewal += n * n * n / factorWork
	numbers := d.size * d.size
	d.Factor, d.fresh, d.measured = make([]float64, numbers), make([]float64, numbers), make([]float64, numbers)
	return d
}

// Measures reports whether there is anything to measure it by.
func (d *Dense) Measures() bool { return d.Exact() || d.stars != nil }

// Exact reports that it is the Hessian itself.
func (d *Dense) Exact() bool { return d.Response != nil }

// Measure measures the Hessian at the beliefs of the moment. With a damping the exact one is the system of a damped
// step, and gradient is that of F less the answer of messages; one of stars has the answers of damped messages.
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
	if d.symmetry != nil {
		d.symmetry(d.measured, gradient)
	}
	return err
}

// Renew is told of an accepted step. If it is time, it renews the factor, with a damping of stars, and reports that it
// did. Where the Hessian cannot be measured or factorised, the last factor stays.
func (d *Dense) Renew(damping float64) bool {
	d.Passes++
	if !d.Measures() || float64(d.Passes) < d.Due || !d.affords(d.renewal) {
		return false
	}
	if !d.Exact() {
		d.Due = starsGrowth * float64(d.Passes)
	}
	return d.Measure(nil, damping) == nil && d.decompose()
}

// SolveDamped finds the gradient of a damped step (Measure), and the direction of that step.
func (d *Dense) SolveDamped(direction, gradient []float64, damping float64) bool {
	if d.Measure(gradient, damping) != nil || !d.factorise(stiffness) {
		return false
	}
	d.Solve(direction, gradient)
	return simd.Dot(direction, direction) <= math.MaxFloat64
}

// affords reports whether a renewal of so much work is allowed, and counts its work if so.
func (d *Dense) affords(work float64) bool {
	if d.Spent+work > renewalShare*float64(d.Passes)*d.PassWork+d.free {
		return false
	}
	d.Spent += work
	return true
}

// factorise finds the Cholesky factor of what was measured, with a share of its diagonal added. Where that is not
// positive definite it reports false, and the last factor stays.
func (d *Dense) factorise(share float64) bool {
	copy(d.fresh, d.measured)
	Stiffen(d.fresh, d.size, share)
	if !Factorise(d.fresh, d.size, d.Each) {
		return false
	}
	d.Factor, d.fresh, d.Has = d.fresh, d.Factor, true
	return true
}

// decompose factorises what was measured. Where rounding has made the Hessian of a convex objective indefinite, more
// is added to its diagonal. The Hessian of another objective may be indefinite: then its eigenvalues are taken without
// their signs, and steps leave a saddle along the directions in which the objective falls.
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
		absolute(d.measured, d.size, stiffness) && d.factorise(stiffness)
}

// Solve computes dst = H⁻¹ g; dst may be g.
func (d *Dense) Solve(dst, g []float64) {
	copy(dst, g)
	solveFactor(d.Factor, d.size, dst)
}

// Symmetric returns a function that replaces H, in its lower triangle, by (H + S H S)/2. S swaps the states of both
// ends of symmetric edge types: those have one weight for the states a, b and b, a, which vectors over weights have in
// both places. On symmetric weights the result is the Hessian, and its steps stay there. A gradient beside H, unless
// it is nil, becomes symmetric too.
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
