package linear

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Coupling says how the two messages along an edge answer to each other and to a change of the edge's potentials. With
// the belief T of the edge, the sums u and v of T over the states of either end, and a damping δ,
//
//	M = [D_u + δ_u  T − u vᵀ; Tᵀ − v uᵀ  D_v + δ_v]
//
// is ρ times the Hessian of the edge's term in (7), but for constants, which messages are free to have. Where the
// potentials change by f, messages answer by M⁻¹ Cov f, with Cov f = Σ_ij T_ij (e_i; e_j) (f_ij − mean of f). What is
// left of f beside its answer is its rest: it has no covariance with the states of either end.
type Coupling struct {
	KU, KV  int       // states of both ends
	Belief  []float64 // [ku*kv] T
	Sums    []float64 // [ku+kv] u and v
	Root    []float64 // [ku+kv] √τ of the nodes at both ends, 0 for observed ones
	factor  []float64 // [(ku+kv)²] of M
	Inverse []float64 // [(ku+kv)²] M⁻¹
	mean    []float64 // [ku+kv] M⁻¹ (u; v), for Divide
	Parts   []float64 // [ku*kv][ku+kv] the answer to each joint state
	means   []float64 // [ku*kv] the mean of that answer
	row     []float64 // [ku*kv] scratch
	change  []float64 // [ku+kv] scratch
}

const (
	// couplingFloor is the share by which M's diagonal is enlarged: M has no inverse where an end is sure given the other.
	couplingFloor = 1e-11
	// dampedShare of the beliefs by which damping is weighed is uniform: a model that is sure, and not of the labels, has
	// to leave that, where it has no curvature of its own.
	dampedShare = 0.1
)

// Resize makes room for an edge.
func (c *Coupling) Resize(ku, kv int) {
	c.KU, c.KV = ku, kv
	k := ku + kv
	for _, x := range []*[]float64{&c.Belief, &c.row, &c.means} {
		*x = numeric.Resize(*x, ku*kv)
	}
	c.factor, c.Inverse = numeric.Resize(c.factor, k*k), numeric.Resize(c.Inverse, k*k)
	for _, x := range []*[]float64{&c.Sums, &c.Root, &c.mean, &c.change} {
		*x = numeric.Resize(*x, k)
	}
}

// Sum finds Sums.
func (c *Coupling) Sum() {
	clear(c.Sums)
	for i := range c.KU {
		for j, t := range c.Belief[i*c.KV:][:c.KV] {
			c.Sums[i] += t
			c.Sums[c.KU+j] += t
		}
	}
}

// Damped returns p̃(1 − p̃), by which damping counts for a state: p̃ is mixed from the belief in it, one of k, and 1/k.
func Damped(p float64, k int) float64 {
	p += dampedShare * (1/float64(k) - p)
	return p * (1 - p)
}

// Invert finds M⁻¹, in Inverse. It reports false where there is none.
func (c *Coupling) Invert(damping float64) bool {
	k, m := c.KU+c.KV, c.factor
	for x, p := range c.Sums {
		states := c.KU
		if x >= c.KU {
			states = c.KV
		}
		if clear(m[x*k:][:x]); p > 0 || damping > 0 {
			m[x*k+x] = p*(1+couplingFloor) + damping*Damped(p, states)
		} else {
			m[x*k+x] = 1 // a state that is forbidden moves nothing
		}
	}
	for i, p := range c.Sums[:c.KU] {
		for j, q := range c.Sums[c.KU:] {
			m[(c.KU+j)*k+i] = c.Belief[i*c.KV+j] - p*q
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
		x := c.Inverse[column*k:][:k]
		clear(x)
		x[column] = 1
		for i := column; i < k; i++ {
			x[i] = (x[i] - dotShort(m[i*k+column:][:i-column], x[column:])) / m[i*k+i]
		}
		for i := k - 1; i >= column; i-- {
			x[i] /= m[i*k+i]
			AddShort(x[column:], m[i*k+column:][:i-column], -x[i])
		}
		for i := range column {
			x[i] = c.Inverse[i*k+column]
		}
	}
	for i := range k {
		c.mean[i] = dotShort(c.Inverse[i*k:][:k], c.Sums)
	}
	return true
}

// Of finds the answers of damped messages to all joint states, given the edge's belief; zeros where M has no inverse.
func (c *Coupling) Of(belief []float64, ku, kv int, damping float64) {
	c.Resize(ku, kv)
	copy(c.Belief, belief)
	c.Sum()
	if !c.Invert(damping) {
		clear(c.Inverse)
		clear(c.mean)
	}
	c.Divide()
}

// Respond writes S = P √τ M⁻¹ √τ P + √τ √τᵀ of both ends to dst [(ku+kv)²]. P takes out the part along √τ at each end.
func (c *Coupling) Respond(dst []float64) {
	k := c.KU + c.KV
	for i, p := range c.Root {
		for j, q := range c.Root {
			dst[i*k+j] = p * c.Inverse[i*k+j] * q
		}
		if p == 0 {
			dst[i*k+i] = 1
		}
	}
	ends := [2][2]int{{0, c.KU}, {c.KU, k}}
	for range 2 { // from the right, then from the left
		for i := range k {
			for _, end := range ends {
				row, root := dst[i*k+end[0]:i*k+end[1]], c.Root[end[0]:end[1]]
				AddShort(row, root, -dotShort(row, root))
			}
			for j := range i {
				dst[i*k+j], dst[j*k+i] = dst[j*k+i], dst[i*k+j]
			}
		}
	}
	for _, end := range ends {
		for i := end[0]; i < end[1]; i++ {
			AddShort(dst[i*k+end[0]:], c.Root[end[0]:end[1]], c.Root[i])
		}
	}
}

// Divide finds the answers to all joint states, in Parts: to potentials that change by 1 at one of them.
func (c *Coupling) Divide() {
	k := c.KU + c.KV
	c.Parts = numeric.Resize(c.Parts, c.KU*c.KV*k)
	for n, t := range c.Belief {
		left, right := c.Inverse[n/c.KV*k:][:k], c.Inverse[(c.KU+n%c.KV)*k:][:k]
		for x, m := range c.mean {
			c.Parts[n*k+x] = t * (left[x] + right[x] - m)
		}
		c.means[n] = dotShort(c.Sums, c.Parts[n*k:][:k])
	}
}

// Project adds the answer to f [ku*kv] to dst [ku+kv].
func (c *Coupling) Project(dst, f []float64) {
	k, lacks := c.KU+c.KV, c.change
	clear(lacks)
	mean := dotShort(c.Belief, f)
	for n, t := range c.Belief {
		lacks[n/c.KV] += t * (f[n] - mean)
		lacks[c.KU+n%c.KV] += t * (f[n] - mean)
	}
	for x := range k {
		dst[x] += dotShort(c.Inverse[x*k:][:k], lacks)
	}
}

// Rest returns the covariances of the rest of joint state n with the rests of all joint states.
func (c *Coupling) Rest(n int) []float64 {
	k, t := c.KU+c.KV, c.Belief[n]
	for m := range c.row {
		part := c.Parts[m*k:][:k]
		c.row[m] = t * (c.means[m] - part[n/c.KV] - part[c.KU+n%c.KV] - c.Belief[m])
	}
	c.row[n] += t
	return c.row
}

// Answered returns what is left of the belief after messages have answered to the excess, as linear equations have it.
func (c *Coupling) Answered(excess []float64) []float64 {
	k := c.KU + c.KV
	for x, p := range c.Root {
		c.change[x] = p * excess[x]
	}
	for n, t := range c.Belief {
		c.row[n] = t - dotShort(c.Parts[n*k:][:k], c.change)
	}
	return c.row
}
