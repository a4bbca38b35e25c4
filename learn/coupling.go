package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// coupling says how messages into the ends of an edge answer to each other and to the
// potentials of the edge. With its belief T, the sums u and v of T over either end, and a
// damping δ,
//
//	M = [D_u + δ_u  T − u vᵀ; Tᵀ − v uᵀ  D_v + δ_v]
//
// is ρ times the Hessian of its term in (7), but along constants: messages may have any.
// A function f of the joint states has the answer M⁻¹ Cov f, where Cov f is
// Σ_ij T_ij (e_i; e_j) (f_ij − mean of f), and a rest without covariance with either end.
type coupling struct {
	ku, kv  int
	belief  []float64 // [ku*kv] T
	sums    []float64 // [ku+kv] u and v
	root    []float64 // [ku+kv] √τ of the nodes at both ends, 0 for observed ones
	factor  []float64 // [(ku+kv)²] of M
	inverse []float64 // [(ku+kv)²] M⁻¹
	mean    []float64 // [ku+kv] M⁻¹ (u; v)
	parts   []float64 // [ku*kv][ku+kv] the answer to each joint state
	means   []float64 // [ku*kv] its mean
	row     []float64 // [ku*kv] scratch
	change  []float64 // [ku+kv] scratch
}

const (
	// couplingFloor is the share by which the diagonal of M is larger: ends that are sure of
	// each other leave no inverse.
	couplingFloor = 1e-11
	// dampedShare of the beliefs that damp is uniform: a model that is sure of something else
	// than the labels has to leave that, at no curvature of its own.
	dampedShare = 0.1
)

// resize makes room for an edge.
func (c *coupling) resize(ku, kv int) {
	c.ku, c.kv = ku, kv
	k := ku + kv
	for _, x := range []*[]float64{&c.belief, &c.row, &c.means} {
		*x = numeric.Resize(*x, ku*kv)
	}
	c.factor, c.inverse = numeric.Resize(c.factor, k*k), numeric.Resize(c.inverse, k*k)
	for _, x := range []*[]float64{&c.sums, &c.root, &c.mean, &c.change} {
		*x = numeric.Resize(*x, k)
	}
}

// sum finds the sums.
func (c *coupling) sum() {
	clear(c.sums)
	for i := range c.ku {
		for j, t := range c.belief[i*c.kv:][:c.kv] {
			c.sums[i] += t
			c.sums[c.ku+j] += t
		}
	}
}

// damped returns p̃(1 − p̃), where p̃ is mixed from the belief p in one of k states and uniform
// ones.
func damped(p float64, k int) float64 {
	p += dampedShare * (1/float64(k) - p)
	return p * (1 - p)
}

// invert finds M⁻¹. It reports false where there is none.
func (c *coupling) invert(damping float64) bool {
	k, m := c.ku+c.kv, c.factor
	for x, p := range c.sums {
		states := c.ku
		if x >= c.ku {
			states = c.kv
		}
		if clear(m[x*k:][:x]); p > 0 || damping > 0 {
			m[x*k+x] = p*(1+couplingFloor) + damping*damped(p, states)
		} else {
			m[x*k+x] = 1 // a state that is forbidden moves nothing
		}
	}
	for i, p := range c.sums[:c.ku] {
		for j, q := range c.sums[c.ku:] {
			m[(c.ku+j)*k+i] = c.belief[i*c.kv+j] - p*q
		}
	}
	for i := range k {
		row := m[i*k:][:i+1]
		for j := range row[:i] {
			row[j] = (row[j] - dotShort(row[:j], m[j*k:])) / m[j*k+j]
		}
		pivot := row[i] - dotShort(row[:i], row)
		if !(pivot > 0 && pivot <= math.MaxFloat64) {
			return false
		}
		row[i] = math.Sqrt(pivot)
	}
	for column := range k {
		x := c.inverse[column*k:][:k]
		clear(x)
		x[column] = 1
		for i := column; i < k; i++ {
			x[i] = (x[i] - dotShort(m[i*k+column:][:i-column], x[column:])) / m[i*k+i]
		}
		for i := k - 1; i >= column; i-- {
			x[i] /= m[i*k+i]
			addShort(x[column:], m[i*k+column:][:i-column], -x[i])
		}
		for i := range column {
			x[i] = c.inverse[i*k+column]
		}
	}
	for i := range k {
		c.mean[i] = dotShort(c.inverse[i*k:][:k], c.sums)
	}
	return true
}

// of finds the answers to all joint states for a belief; none where M has no inverse.
func (c *coupling) of(belief []float64, ku, kv int) {
	c.resize(ku, kv)
	copy(c.belief, belief)
	c.sum()
	if !c.invert(0) {
		clear(c.inverse)
		clear(c.mean)
	}
	c.divide()
}

// respond writes S = P √τ M⁻¹ √τ P + √τ √τᵀ of both ends to dst [(ku+kv)²], where P takes
// out the part along √τ at either end.
func (c *coupling) respond(dst []float64) {
	k := c.ku + c.kv
	for i, p := range c.root {
		for j, q := range c.root {
			dst[i*k+j] = p * c.inverse[i*k+j] * q
		}
		if p == 0 {
			dst[i*k+i] = 1
		}
	}
	ends := [2][2]int{{0, c.ku}, {c.ku, k}}
	for range 2 { // from the right, then from the left
		for i := range k {
			for _, end := range ends {
				row, root := dst[i*k+end[0]:i*k+end[1]], c.root[end[0]:end[1]]
				addShort(row, root, -dotShort(row, root))
			}
			for j := range i {
				dst[i*k+j], dst[j*k+i] = dst[j*k+i], dst[i*k+j]
			}
		}
	}
	for _, end := range ends {
		for i := end[0]; i < end[1]; i++ {
			addShort(dst[i*k+end[0]:], c.root[end[0]:end[1]], c.root[i])
		}
	}
}

// divide finds the answers to all joint states.
func (c *coupling) divide() {
	k := c.ku + c.kv
	c.parts = numeric.Resize(c.parts, c.ku*c.kv*k)
	for n, t := range c.belief {
		left, right := c.inverse[n/c.kv*k:][:k], c.inverse[(c.ku+n%c.kv)*k:][:k]
		for x, m := range c.mean {
			c.parts[n*k+x] = t * (left[x] + right[x] - m)
		}
		c.means[n] = dotShort(c.sums, c.parts[n*k:][:k])
	}
}

// project adds the answer to f [ku*kv] to dst [ku+kv].
func (c *coupling) project(dst, f []float64) {
	k, lacks := c.ku+c.kv, c.change
	clear(lacks)
	mean := dotShort(c.belief, f)
	for n, t := range c.belief {
		lacks[n/c.kv] += t * (f[n] - mean)
		lacks[c.ku+n%c.kv] += t * (f[n] - mean)
	}
	for x := range k {
		dst[x] += dotShort(c.inverse[x*k:][:k], lacks)
	}
}

// rest returns the covariances of the rest of joint state n with those of all others.
func (c *coupling) rest(n int) []float64 {
	k, t := c.ku+c.kv, c.belief[n]
	for m := range c.row {
		part := c.parts[m*k:][:k]
		c.row[m] = t * (c.means[m] - part[n/c.kv] - part[c.ku+n%c.kv] - c.belief[m])
	}
	c.row[n] += t
	return c.row
}

// answered returns what is left of the belief after messages have answered to the excess, as
// linear equations have it.
func (c *coupling) answered(excess []float64) []float64 {
	k := c.ku + c.kv
	for x, p := range c.root {
		c.change[x] = p * excess[x]
	}
	for n, t := range c.belief {
		c.row[n] = t - dotShort(c.parts[n*k:][:k], c.change)
	}
	return c.row
}
