package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// projection divides functions of the states of an edge into one of each end and a
// rest that has no covariance with either, under a belief T:
//
//	1{i,j} = a_ij(x_u) + b_ij(x_v) + rest,    [D_u T; Tᵀ D_v] (a; b) = T_ij (e_i; e_j)
//
// with D the marginals of T.
type projection struct {
	ku, kv      int
	belief      []float64 // T
	left, right []float64 // [ku*kv][ku], [ku*kv][kv]: a and b of each joint state
	u, v        []float64 // marginals
	inverse     []float64 // [kv*kv] a generalised one of D_v − Tᵀ D_u⁻¹ T
	weights     []float64 // [kv*kv] scratch, as the next two
	pivots      []float64 // [kv]
	order       []int
	means       []float64 // [ku*kv] T_i/τ_i, then times the inverse
	row         []float64 // [ku*kv] scratch
}

// projectionFloor is the least that states of one end tell apart those of the other, as a
// share of what independent ends do: the solution for sure beliefs has no bound without.
const projectionFloor = 1e-9

// of solves for a belief, which it keeps.
func (p *projection) of(belief []float64, ku, kv int) {
	p.ku, p.kv, p.belief = ku, kv, belief
	p.u, p.v = numeric.Resize(p.u, ku), numeric.Resize(p.v, kv)
	p.weights, p.pivots = numeric.Resize(p.weights, kv*kv), numeric.Resize(p.pivots, kv)
	p.inverse, p.means, p.row = numeric.Resize(p.inverse, kv*kv), numeric.Resize(p.means, ku*kv), numeric.Resize(p.row, ku*kv)
	p.marginals()
	p.invert()
	p.left, p.right = numeric.Resize(p.left, ku*kv*ku), numeric.Resize(p.right, ku*kv*kv)
	z := p.inverse
	for i := range ku {
		mean := p.means[i*kv:][:kv]
		zMean := p.row[:kv]
		for y := range zMean {
			zMean[y] = dotShort(z[y*kv:][:kv], mean)
		}
		for j := range kv {
			t := belief[i*kv+j]
			b := p.right[(i*kv+j)*kv:][:kv]
			for y := range b {
				b[y] = t * (z[j*kv+y] - zMean[y])
			}
			a := p.left[(i*kv+j)*ku:][:ku]
			for x := range a {
				a[x] = -dotShort(p.means[x*kv:][:kv], b)
			}
			if p.u[i] > 0 {
				a[i] += t / p.u[i]
			}
		}
	}
}

// marginals sums the belief over either end and divides each row by its sum.
func (p *projection) marginals() {
	clear(p.v)
	for i := range p.u {
		row, mean := p.belief[i*p.kv:][:p.kv], p.means[i*p.kv:][:p.kv]
		p.u[i] = 0
		for j, t := range row {
			p.u[i] += t
			p.v[j] += t
		}
		clear(mean)
		if p.u[i] > 0 {
			for j, t := range row {
				mean[j] = t / p.u[i]
			}
		}
	}
}

// invert finds a generalised inverse of A = D_v − Tᵀ D_u⁻¹ T: that with the likeliest state
// left out. A is the Laplacian of a graph of the states, with weights Σ_x T(x,y) T(x,z)/τ(x),
// and states are eliminated by sums of these alone (Grassmann, Taksar and Heyman 1985): where
// beliefs are nearly sure, differences would have nothing but rounding left.
func (p *projection) invert() {
	k := p.kv
	w := p.weights
	clear(w)
	for i := range p.u {
		row, mean := p.belief[i*k:][:k], p.means[i*k:][:k]
		for x, t := range row {
			addShort(w[x*k:], mean, t)
		}
	}
	total := 0.0
	for _, t := range p.v {
		total += t
	}
	last := 0
	for x, t := range p.v {
		if t > p.v[last] {
			last = x
		}
		for y, o := range p.v {
			w[x*k+y] += projectionFloor * t * o / total
		}
	}
	z := p.inverse
	clear(z)
	p.order = p.order[:0]
	for x, t := range p.v {
		if x != last && t > 0 {
			p.order = append(p.order, x)
			z[x*k+x] = 1
		}
	}
	for n, x := range p.order {
		out := w[x*k:][:k]
		sum := out[last]
		for _, y := range p.order[n+1:] {
			sum += out[y]
		}
		if !(sum > 0) { // underflow: x is told from no other state
			sum = math.Inf(1)
		}
		p.pivots[x] = sum
		for _, y := range p.order[n+1:] {
			share := w[y*k+x] / sum
			if share == 0 {
				continue
			}
			w[y*k+last] += share * out[last]
			for _, o := range p.order[n+1:] {
				w[y*k+o] += share * out[o]
			}
			addShort(z[y*k:], z[x*k:][:k], share)
		}
	}
	for n := len(p.order) - 1; n >= 0; n-- {
		x := p.order[n]
		row, out := z[x*k:][:k], w[x*k:][:k]
		for _, y := range p.order[n+1:] {
			addShort(row, z[y*k:][:k], out[y])
		}
		for y := range row {
			row[y] /= p.pivots[x]
		}
	}
}

// rest returns the covariances of the rest of joint state i with those of all others.
func (p *projection) rest(i int) []float64 {
	t, x, y := p.belief[i], i/p.kv, i%p.kv
	for n := range p.row {
		p.row[n] = -t * (p.left[n*p.ku+x] + p.right[n*p.kv+y])
	}
	p.row[i] += t
	return p.row
}
