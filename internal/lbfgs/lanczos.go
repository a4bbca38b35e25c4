package lbfgs

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Lanczos estimates the smallest curvature of an objective at θ, by Lanczos' method (1950) on
// H x = λ P x, of the Hessian H and its estimate P, and looks for a way down along it where
// it is negative. Products with H are differences of gradients at θ + ε v and at θ.
//
// The pairs of quasi-Newton steps lend their room: to vectors v_k, with v_jᵀ P v_k = 1 where j = k and 0 elsewhere, and
// to P v_k; in the place after them to θ and to the gradient there, or the way to leave. What they had is forgotten.
type Lanczos struct {
	LanczosState
	q *Curvature
}

// LanczosState is what a resumed run goes on from.
type LanczosState struct {
	taken    int     // products
	second   bool    // the point at hand is the second to leave to, on the other side
	distance float64 // to the point at hand
	unit     float64 // distance where curvature is that of P
	away     bool    // the points are where to leave to
	there    float64 // objective at the first of them
	smallest float64 // curvature found last; NaN: none was
	largest  float64 // the largest in size
	goesTo   float64 // what that comes to if products go on to change as they did in their last passes
	here     float64 // objective at θ
	last     float64 // that of the last probe that came to its end, +Inf before
	slope    float64 // largest change of the gradient, by length
	rest     float64 // of the last product, what is in no v_j
	// curvature has v_kᵀ H v_j for j ≤ k in its rows, and unsettled what the last pass of each product has changed there.
	curvature, unsettled [Products][Products]float64
}

const (
	// Products is how many products there are at most, fewer than pairs are Kept: extreme curvatures show after few.
	Products = 9
	// clearlyNegative is the curvature, of the largest in size, that makes a saddle, where
	// products are not wrong by as much. The objective has to fall on the way, too.
	clearlyNegative = -1e-3
	// surelyNegative is what may be missing for the direction to be one of a curvature, as a share of that.
	surelyNegative = 0.5
	// stillInProducts is how many times what a pass has changed in a product is still to come, if changes shrink by a
	// tenth in each pass. Messages have settled enough where that changes the smallest curvature by no more than
	// settledShare of its size, or of clearlyNegative: its sign is known.
	stillInProducts = 9
	settledShare    = 0.5
	// leastRest is what a product has beside the v_j, of the largest curvature, where these are all that there is.
	leastRest = 3e-4
	// ProductStep and departure are the lengths of steps to points of products, and away from a saddle, in the norm of P
	// and by the root of the number of variables: about the changes of their potentials.
	ProductStep, departure = 1e-3, 0.1
	// departures is the factor by which the step away shrinks where the objective does not
	// fall by enoughOfCurve of what the curvature promises.
	departures, enoughOfCurve = 8, 0.25
	// lowerSaddle is how much lower, relatively, the next saddle has to be: where leaving
	// brings no more than that, curvature is no way down.
	lowerSaddle = 1e-6
)

// Possible refuses states, its own and that of its pairs, which no run can have kept.
func (z *Lanczos) Possible() error {
	switch q := z.q; {
	case !(0 <= q.pairs && q.pairs <= Kept && 0 <= q.place && q.place < Kept):
		return fmt.Errorf("%d pairs of curvature, the next in place %d: the file is damaged", q.pairs, q.place)
	case !(0 <= z.taken && z.taken <= Products):
		return fmt.Errorf("%d products with the Hessian: the file is damaged", z.taken)
	}
	return nil
}

// NewLanczos returns a Lanczos that borrows the memory of q.
func NewLanczos(q *Curvature) *Lanczos {
	return &Lanczos{q: q, LanczosState: LanczosState{smallest: math.NaN(), last: math.Inf(1)}}
}

// Due reports whether curvature is to be measured before a claim at a point of that value.
func (z *Lanczos) Due(value float64) bool {
	return !(value >= z.last-lowerSaddle*(1+math.Abs(z.last)))
}

// Begin starts at theta, with gradient and value there, and with points as far away. start
// is of the range and scale of gradients.
func (z *Lanczos) Begin(theta, gradient, start []float64, value, length float64) {
	z.q.Reset(1)
	copy(z.Theta(), theta)
	copy(z.scratch(), gradient)
	copy(z.q.y[0], start)
	z.LanczosState = LanczosState{distance: length, unit: length, here: value, smallest: z.smallest,
		largest: z.largest, goesTo: z.goesTo, last: z.last}
	z.normalise(0)
}

// Theta returns the weights at which curvature is measured, and Value the objective there.
func (z *Lanczos) Theta() []float64   { return z.q.s[Products] }
func (z *Lanczos) Value() float64     { return z.here }
func (z *Lanczos) scratch() []float64 { return z.q.y[Products] }

// Stay says that there was no way down, and Forget that the curvature was of another point.
func (z *Lanczos) Stay()   { z.last = z.here }
func (z *Lanczos) Forget() { z.smallest = math.NaN() }

// normalise makes v_k of what is in the place of P v_k, and returns its norm; 0 where nothing is left.
func (z *Lanczos) normalise(k int) float64 {
	v, pv := z.q.s[k], z.q.y[k]
	z.q.solve(v, pv)
	norm := math.Sqrt(max(0, simd.Dot(v, pv)))
	if !(norm > 0 && norm <= math.MaxFloat64) {
		return 0
	}
	for i := range v {
		v[i] /= norm
		pv[i] /= norm
	}
	return norm
}

// Point writes the weights at which the objective and its gradient are wanted next.
func (z *Lanczos) Point(dst []float64) {
	direction := z.scratch()
	if !z.away {
		direction = z.q.s[z.taken]
	}
	distance := z.distance
	if z.second {
		distance = -distance
	}
	for i, x := range z.Theta() {
		dst[i] = x + distance*direction[i]
	}
}

// length returns how long a step of a product is along directions of a curvature.
func (z *Lanczos) length(curvature float64) float64 {
	return z.unit / math.Sqrt(max(1, math.Abs(curvature)))
}

// Take takes objective and gradient at the point, and reports whether another is wanted.
func (z *Lanczos) Take(gradient []float64, value float64) (more bool) {
	if !z.away {
		return z.product(gradient)
	}
	if !z.second {
		z.there, z.second = value, true
		return true
	}
	if !(value < z.there) {
		value, z.second = z.there, false
	}
	if value < z.here+enoughOfCurve/2*z.smallest*z.distance*z.distance {
		z.last = z.here
		return false // that is the way
	}
	if z.distance, z.second = z.distance/departures, false; z.distance < z.length(z.largest) {
		z.away, z.last = false, z.here
		z.smallest = math.NaN() // the objective has none of it
	}
	return z.away
}

// project takes what a gradient shows of H v_k: the row of v_kᵀ H v_j. Messages that have not settled, and vectors
// that follow from them, make for rows that Lanczos' recursion does not know.
func (z *Lanczos) project(gradient []float64) {
	k := z.taken
	for j := range k + 1 {
		sum := 0.0
		for i, before := range z.scratch() {
			sum += z.q.s[j][i] * (gradient[i] - before)
		}
		z.curvature[k][j] = sum / z.distance
	}
}

// product takes a gradient, and so H v_k. It reports whether more points are wanted: for
// another product, or to leave to.
func (z *Lanczos) product(gradient []float64) (more bool) {
	k := z.taken
	z.project(gradient)
	w := z.q.y[k+1] // where the next P v_k goes
	for i, before := range z.scratch() {
		w[i] = (gradient[i] - before) / z.distance
	}
	z.rest = 0
	if k+1 < Products {
		for range 2 { // the second time for what rounding has left
			for j := range k + 1 {
				simd.AddScaled(w, z.q.y[j], -simd.Dot(z.q.s[j], w))
			}
		}
		z.rest = z.normalise(k + 1)
	}
	z.taken++
	shares := z.ritz(k + 1)
	ended := k+1 == Products || !(z.rest > leastRest*z.largest)
	if z.smallest < clearlyNegative*z.largest && z.goesTo < 0 &&
		(ended || z.rest*math.Abs(shares[k]) < -surelyNegative*z.smallest) {
		way := z.scratch()
		clear(way)
		for j, y := range shares {
			simd.AddScaled(way, z.q.s[j], y)
		}
		z.away, z.distance = true, z.length(z.smallest)*departure/ProductStep
		return true
	}
	z.distance = z.length(z.largest)
	if ended {
		z.last = z.here
	}
	return !ended
}

// ritz finds the smallest of the curvatures that n products show, where it goes, and the largest in
// size. It returns the shares of v_0 to v_(n−1) in the direction of the smallest.
func (z *Lanczos) ritz(n int) (shares []float64) {
	values, shares := z.eigen(n, n)
	z.smallest, z.largest = values[0], max(math.Abs(values[0]), math.Abs(values[n-1]))
	gone, _ := z.eigen(n, 0)
	z.goesTo = gone[0]
	return shares
}

// eigen returns the n curvatures, in ascending order, that n products show where those from the given one have gone
// on to change, and the shares of v_0 to v_(n−1) in the direction of the smallest.
func (z *Lanczos) eigen(n, from int) (values, shares []float64) {
	t := make([]float64, n*n)
	for k := range n {
		for j := range k + 1 {
			x := z.curvature[k][j]
			if k >= from {
				x += stillInProducts * z.unsettled[k][j]
			}
			t[j*n+k] = x
		}
	}
	values, ok := numeric.Eigen(t, n)
	shares = make([]float64, n)
	for k := range values {
		if shares[k] = t[k*n]; !ok {
			values[k], shares[k] = math.NaN(), 0
		}
	}
	return values, shares
}

// Text says what is known of the curvature, for a claim.
func (z *Lanczos) Text() string {
	if z.smallest*z.goesTo > 0 {
		return fmt.Sprintf(", smallest curvature found %.2g of the largest", z.smallest/z.largest)
	}
	return ""
}

// Settled reports whether a gradient, which the last pass has changed by so much, is near
// enough to that of messages at their fixed point.
func (z *Lanczos) Settled(gradient []float64, change float64) bool {
	if z.away {
		return change <= leastRest*z.slope*z.distance
	}
	square := 0.0
	for i, before := range z.scratch() {
		square += (gradient[i] - before) * (gradient[i] - before)
	}
	z.slope = max(z.slope, math.Sqrt(square)/z.distance)
	k := z.taken
	row := z.curvature[k]
	z.project(gradient)
	for j, before := range row {
		z.unsettled[k][j] = z.curvature[k][j] - before
	}
	z.ritz(k + 1)
	gone, _ := z.eigen(k+1, k)
	return !math.IsNaN(change) && math.Abs(gone[0]-z.smallest) <= settledShare*max(math.Abs(z.smallest),
		-clearlyNegative*z.largest)
}

// Leaves reports whether the way that was looked for leads away from a saddle.
func (z *Lanczos) Leaves() bool { return z.away }
