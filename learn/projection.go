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
	inverse     []float64 // [kv*kv] of D_v − Tᵀ D_u⁻¹ T
	means       []float64 // [ku*kv] T_i/τ_i, then times the inverse
	row         []float64 // [ku*kv] scratch
}

// projectionFloor keeps D_v − Tᵀ D_u⁻¹ T, of which the constants are the null space,
// invertible: no right-hand side has a part there.
const projectionFloor = 1e-9

// of solves for a belief, which it keeps.
func (p *projection) of(belief []float64, ku, kv int) {
	p.ku, p.kv, p.belief = ku, kv, belief
	p.left, p.right = numeric.Resize(p.left, ku*kv*ku), numeric.Resize(p.right, ku*kv*kv)
	p.u, p.v = numeric.Resize(p.u, ku), numeric.Resize(p.v, kv)
	p.inverse, p.means, p.row = numeric.Resize(p.inverse, kv*kv), numeric.Resize(p.means, ku*kv), numeric.Resize(p.row, ku*kv)
	p.marginals()
	p.invert()
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

// invert finds the inverse of D_v − Tᵀ D_u⁻¹ T by Cholesky factors.
func (p *projection) invert() {
	k, z := p.kv, p.inverse
	clear(z)
	for i := range p.u {
		row, mean := p.belief[i*k:][:k], p.means[i*k:][:k]
		for x, t := range row {
			out := z[x*k:][:k]
			for y, m := range mean {
				out[y] -= t * m
			}
		}
	}
	for x, t := range p.v {
		z[x*k+x] += t + projectionFloor
	}
	invertPositive(z, k)
}

// invertPositive replaces a positive definite matrix by its inverse, in place: Gauss
// and Jordan without pivots.
func invertPositive(z []float64, k int) {
	for c := range k {
		pivot := 1 / math.Max(z[c*k+c], projectionFloor)
		row := z[c*k:][:k]
		for y := range row {
			row[y] *= pivot
		}
		row[c] = pivot
		for x := range k {
			if x == c {
				continue
			}
			out := z[x*k:][:k]
			factor := out[c]
			if factor == 0 {
				continue
			}
			out[c] = 0
			for y, r := range row {
				out[y] -= factor * r
			}
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
