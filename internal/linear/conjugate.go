package linear

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// Conjugate solves the system of a large network by conjugate gradients
// (Hestenes and Stiefel 1952), with the blocks of the nodes as preconditioner.
type Conjugate struct {
	size     int
	nodeAt   []int   // [nodes+1] where each node's states begin
	blockAt  []int   // [nodes+1] where its k×k numbers do
	nodeOf   []int32 // [size] the node
	edges    []Ends
	besides  int       // Numbers in beside
	diagonal []float64 // k×k of each node
	factors  []float64 // their Cholesky factors
	beside   []float64 // ku×kv of each pair of hidden nodes

	residual, direction, image, scaled []float64
}

// Ends are where the states of both ends of an edge begin, −1 for nodes that are not in the system, and
// how many there are.
type Ends struct {
	U, V, KU, KV int
	at           int // in beside
}

const (
	// conjugateSteps bounds the steps, and conjugateShare is what a solution leaves of the right-hand side.
	conjugateSteps = 300
	conjugateShare = 1e-6
)

// NewConjugate takes how many states each node has, whose numbers begin one after another, and edges.
func NewConjugate(states []int, edges []Ends) *Conjugate {
	c := &Conjugate{nodeAt: make([]int, len(states)+1), blockAt: make([]int, len(states)+1), edges: edges}
	for i, k := range states {
		c.nodeAt[i+1], c.blockAt[i+1] = c.nodeAt[i]+k, c.blockAt[i]+k*k
		c.nodeOf = append(c.nodeOf, slices.Repeat([]int32{int32(i)}, k)...)
	}
	c.size = c.nodeAt[len(states)]
	for q := range edges {
		p := &edges[q]
		if p.at = c.besides; p.U >= 0 && p.V >= 0 {
			c.besides += p.KU * p.KV
		}
	}
	return c
}

// Numbers returns how many the system has.
func (c *Conjugate) Numbers() int {
	return 2*c.blockAt[len(c.blockAt)-1] + c.besides + 4*c.size
}

// Clear begins a system.
func (c *Conjugate) Clear() {
	blocks := c.blockAt[len(c.blockAt)-1]
	c.diagonal, c.factors = numeric.Resize(c.diagonal, blocks), numeric.Resize(c.factors, blocks)
	c.beside = numeric.Resize(c.beside, c.besides)
	clear(c.diagonal)
	clear(c.beside)
}

// AddDiagonal adds to the diagonal of number i.
func (c *Conjugate) AddDiagonal(i int, value float64) {
	node := c.nodeOf[i]
	x, k := i-c.nodeAt[node], c.nodeAt[node+1]-c.nodeAt[node]
	c.diagonal[c.blockAt[node]+x*k+x] += value
}

// Add adds rho times the blocks of S of the q-th edge, [k][k].
func (c *Conjugate) Add(q int, rho float64, pair []float64) {
	p := &c.edges[q]
	k := p.KU + p.KV
	if p.U >= 0 {
		c.addNode(int(c.nodeOf[p.U]), rho, pair, 0, p.KU, k)
	}
	if p.V >= 0 {
		c.addNode(int(c.nodeOf[p.V]), rho, pair, p.KU, p.KV, k)
	}
	if p.U >= 0 && p.V >= 0 {
		for x := range p.KU {
			AddShort(c.beside[p.at+x*p.KV:], pair[x*k+p.KU:][:p.KV], rho)
		}
	}
}

func (c *Conjugate) addNode(i int, rho float64, pair []float64, from, states, k int) {
	for x := range states {
		AddShort(c.diagonal[c.blockAt[i]+x*states:], pair[(from+x)*k+from:][:states], rho)
	}
}

// Factorise prepares the preconditioner. It reports false where a node's block is not positive definite.
func (c *Conjugate) Factorise() bool {
	copy(c.factors, c.diagonal)
	for i := range len(c.nodeAt) - 1 {
		k := c.nodeAt[i+1] - c.nodeAt[i]
		if !Factorise(c.factors[c.blockAt[i]:][:k*k], k, parallel.Serially) {
			return false
		}
	}
	return true
}

// Solve replaces x by the solution. It reports false where the matrix is found not to be
// positive definite, or there is none after conjugateSteps.
func (c *Conjugate) Solve(x []float64) bool {
	for _, v := range []*[]float64{&c.residual, &c.direction, &c.image, &c.scaled} {
		*v = numeric.Resize(*v, c.size)
	}
	copy(c.residual, x)
	clear(x)
	least := conjugateShare * conjugateShare * simd.Dot(c.residual, c.residual)
	before := 0.0
	for step := range conjugateSteps {
		if simd.Dot(c.residual, c.residual) <= least {
			return true
		}
		c.precondition()
		now := simd.Dot(c.residual, c.scaled)
		if step == 0 {
			copy(c.direction, c.scaled)
		} else {
			for i, z := range c.scaled {
				c.direction[i] = z + now/before*c.direction[i]
			}
		}
		before = now
		c.multiply()
		curvature := simd.Dot(c.direction, c.image)
		if !(curvature > 0 && curvature <= math.MaxFloat64) {
			return false
		}
		simd.AddScaled(x, c.direction, now/curvature)
		simd.AddScaled(c.residual, c.image, -now/curvature)
	}
	return false
}

// precondition solves with the blocks of the nodes.
func (c *Conjugate) precondition() {
	copy(c.scaled, c.residual)
	for i := range len(c.nodeAt) - 1 {
		k := c.nodeAt[i+1] - c.nodeAt[i]
		x, factor := c.scaled[c.nodeAt[i]:][:k], c.factors[c.blockAt[i]:][:k*k]
		for r := range x {
			row := factor[r*k:][:r+1]
			x[r] = (x[r] - DotShort(row[:r], x)) / row[r]
		}
		for r := k - 1; r >= 0; r-- {
			row := factor[r*k:][:r+1]
			x[r] /= row[r]
			AddShort(x, row[:r], -x[r])
		}
	}
}

// multiply writes Q times the direction to the image.
func (c *Conjugate) multiply() {
	for i := range len(c.nodeAt) - 1 {
		at := c.nodeAt[i]
		k := c.nodeAt[i+1] - at
		for x := range k {
			c.image[at+x] = DotShort(c.diagonal[c.blockAt[i]+x*k:][:k], c.direction[at:])
		}
	}
	for i := range c.edges {
		p := &c.edges[i]
		if p.U < 0 || p.V < 0 {
			continue
		}
		there := c.direction[p.V:][:p.KV]
		for x := range p.KU {
			row := c.beside[p.at+x*p.KV:][:p.KV]
			c.image[p.U+x] += DotShort(row, there)
			AddShort(c.image[p.V:], row, c.direction[p.U+x])
		}
	}
}
