package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// conjugate solves the system Q of response for a large network by conjugate gradients
// (Hestenes and Stiefel 1952), with the blocks of the nodes as preconditioner.
type conjugate struct {
	size     int
	nodeAt   []int // [nodes of the block + 1] where each node's states begin
	blockAt  []int // [nodes of the block + 1] where its k×k numbers do
	pairs    []conjugatePair
	diagonal []float64 // k×k of each node
	factors  []float64 // their Cholesky factors
	beside   []float64 // ku×kv of each pair of hidden nodes

	residual, direction, image, scaled []float64
}

// conjugatePair are the ends of an edge between hidden nodes, with the place of its block.
type conjugatePair struct{ u, v, ku, kv, at int }

const (
	// conjugateSteps bounds the steps, and conjugateShare is what a solution leaves of the
	// right-hand side.
	conjugateSteps = 300
	conjugateShare = 1e-6
)

// newConjugate takes the shape of the system from s, whose at says where states begin.
func newConjugate(s *responseUnit) *conjugate {
	c := &conjugate{nodeAt: make([]int, len(s.block.Nodes)+1), blockAt: make([]int, len(s.block.Nodes)+1)}
	for i, node := range s.block.Nodes {
		k := s.in.States(node)
		c.nodeAt[i+1], c.blockAt[i+1] = c.nodeAt[i]+k, c.blockAt[i]+k*k
	}
	c.size = c.nodeAt[len(s.block.Nodes)]
	at := 0
	for _, e := range s.block.Edges {
		u, v := s.in.Graph.U(e), s.in.Graph.V(e)
		p := conjugatePair{s.at[u], s.at[v], s.in.States(u), s.in.States(v), at}
		c.pairs = append(c.pairs, p)
		if p.u >= 0 && p.v >= 0 {
			at += p.ku * p.kv
		}
	}
	return c
}

// numbers returns how many the system has.
func (c *conjugate) numbers() int {
	n := 2 * c.blockAt[len(c.blockAt)-1]
	if len(c.pairs) > 0 {
		p := c.pairs[len(c.pairs)-1]
		n += p.at + p.ku*p.kv
	}
	return n + 4*c.size
}

// clear begins a system.
func (c *conjugate) clear() {
	blocks := c.blockAt[len(c.blockAt)-1]
	c.diagonal, c.factors = numeric.Resize(c.diagonal, blocks), numeric.Resize(c.factors, blocks)
	if len(c.pairs) > 0 {
		p := c.pairs[len(c.pairs)-1]
		c.beside = numeric.Resize(c.beside, p.at+p.ku*p.kv)
	}
	clear(c.diagonal)
	clear(c.beside)
}

// add adds rho times the blocks of S of the q-th edge, [k][k]. place says which of the
// block's nodes begins where.
func (c *conjugate) add(q int, rho float64, pair []float64, place []int32) {
	p := &c.pairs[q]
	k := p.ku + p.kv
	if p.u >= 0 {
		c.addNode(int(place[p.u]), rho, pair, 0, p.ku, k)
	}
	if p.v >= 0 {
		c.addNode(int(place[p.v]), rho, pair, p.ku, p.kv, k)
	}
	if p.u >= 0 && p.v >= 0 {
		for x := range p.ku {
			addShort(c.beside[p.at+x*p.kv:], pair[x*k+p.ku:][:p.kv], rho)
		}
	}
}

func (c *conjugate) addNode(i int, rho float64, pair []float64, from, states, k int) {
	for x := range states {
		addShort(c.diagonal[c.blockAt[i]+x*states:], pair[(from+x)*k+from:][:states], rho)
	}
}

// factorise prepares the preconditioner. It reports false where a node's block is not
// positive definite.
func (c *conjugate) factorise() bool {
	copy(c.factors, c.diagonal)
	for i := range len(c.nodeAt) - 1 {
		k := c.nodeAt[i+1] - c.nodeAt[i]
		if !factorise(c.factors[c.blockAt[i]:][:k*k], k, oneThread) {
			return false
		}
	}
	return true
}

// solve replaces x by the solution. It reports false where the matrix is found not to be
// positive definite, or there is none after conjugateSteps.
func (c *conjugate) solve(x []float64) bool {
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
func (c *conjugate) precondition() {
	copy(c.scaled, c.residual)
	for i := range len(c.nodeAt) - 1 {
		k := c.nodeAt[i+1] - c.nodeAt[i]
		x, factor := c.scaled[c.nodeAt[i]:][:k], c.factors[c.blockAt[i]:][:k*k]
		for r := range x {
			row := factor[r*k:][:r+1]
			x[r] = (x[r] - dotShort(row[:r], x)) / row[r]
		}
		for r := k - 1; r >= 0; r-- {
			row := factor[r*k:][:r+1]
			x[r] /= row[r]
			addShort(x, row[:r], -x[r])
		}
	}
}

// multiply writes Q times the direction to the image.
func (c *conjugate) multiply() {
	for i := range len(c.nodeAt) - 1 {
		at := c.nodeAt[i]
		k := c.nodeAt[i+1] - at
		for x := range k {
			c.image[at+x] = dotShort(c.diagonal[c.blockAt[i]+x*k:][:k], c.direction[at:])
		}
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		if p.u < 0 || p.v < 0 {
			continue
		}
		there := c.direction[p.v:][:p.kv]
		for x := range p.ku {
			row := c.beside[p.at+x*p.kv:][:p.kv]
			c.image[p.u+x] += dotShort(row, there)
			addShort(c.image[p.v:], row, c.direction[p.u+x])
		}
	}
}
